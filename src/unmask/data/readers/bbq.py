"""BBQ (Parrish et al. 2022): questions about two people, with an ambiguous or clear context.

An answer is biased if it follows the stereotype: the stereotyped group in a negative question ("Who
was bad at ...?"), the other group in a non-negative one. Both types are equally frequent in the
data, so that naming one group more readily does not count as a stereotype.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask.data.readers.table import decoded
from unmask.errors import DataError
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNKNOWN, Contrast, Dataset, Text

ANSWERS = ("ans0", "ans1", "ans2")
NO_TARGET = "it does not have exactly one answer about a stereotyped group"


def read_bbq(path: Path, name: str = "bbq") -> Dataset:
    """A file of BBQ. Clusters are its templates, 25 a category, in two polarities.

    `meta` has the context, the question, the `condition` (ambiguous or disambiguated), which answer
    is `correct`, and the `order` of the answers in the file. Questions without exactly one answer
    about a stereotyped group are left out and counted.
    """
    items, left_out = [], Counter[str]()
    for number, line in enumerate(decoded(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            roles = _roles(row)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path}, line {number} is not a BBQ question ({type(error).__name__}: "
                f"{error!s:.60}); give a file as its authors published it."
            ) from error
        if roles is None:
            left_out[NO_TARGET] += 1
        else:
            items.append(_item(row, roles))
    if not items:
        raise DataError(f"{path} has no BBQ questions; give the original file.")
    about = {"left_out": dict(left_out)} if left_out else {}
    return Dataset(name, "answers", tuple(items), "template", about)


def _roles(row: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the role of each answer, or None unless just one names the stereotyped group."""
    groups = {str(g).casefold() for g in row["additional_metadata"]["stereotyped_groups"]}
    info = row["answer_info"]
    unknown = [a for a in ANSWERS if str(info[a][1]) == UNKNOWN]
    targets = [a for a in ANSWERS if a not in unknown and _about(info[a], groups)]
    if len(unknown) != 1 or len(targets) != 1:
        return None
    (target,) = targets
    (nontarget,) = (a for a in ANSWERS if a not in (*unknown, target))
    negative = row["question_polarity"] == "neg"
    biased, counter = (target, nontarget) if negative else (nontarget, target)
    return {biased: STEREOTYPE, counter: ANTISTEREOTYPE, unknown[0]: UNKNOWN}


def _about(info: Any, groups: set[str]) -> bool:
    """Whether an answer is about one of the groups; names have the form `F-Black`."""
    for text in map(str, info):
        plain = text.casefold()
        if plain in groups or plain.partition("-")[2] in groups:
            return True
    return False


def _item(row: Mapping[str, Any], roles: Mapping[str, str]) -> Contrast:
    by_role = {role: answer for answer, role in roles.items()}
    category, template = str(row["category"]), str(row["question_index"])
    return Contrast(
        f"{category}/{row['example_id']}",
        {role: Text(str(row[by_role[role]])) for role in (STEREOTYPE, ANTISTEREOTYPE, UNKNOWN)},
        category,
        f"{category}/{template}",
        {
            "context": str(row["context"]),
            "question": str(row["question"]),
            "condition": "ambiguous" if row["context_condition"] == "ambig" else "disambiguated",
            "correct": roles[ANSWERS[int(row["label"])]],
            "order": [roles[a] for a in ANSWERS],
        },
        group_pair=category,
        group="stereotyped group" if row["question_polarity"] == "neg" else "other group",
    )
