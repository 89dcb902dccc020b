"""Reader of UnQover: underspecified questions about two subjects (Li et al. 2020)."""

import re
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

from unmask.data.readers.table import decoded
from unmask.errors import DataError
from unmask.types import Contrast, Dataset, Text

_ARTICLE = re.compile(r"(^|\s)[aA] $")  # "a" becomes "an" before a vowel, as in the release
_SLOT = re.compile(r"\[(subj1|subj2|mask|[pl]_act(?:-single)?(?::neg)?)\]")
_ENTRY = re.compile(r"\[([^\]]+)\]\s*(.*)")


class Attribute(NamedTuple):
    """What is said of someone, its negation, and what class it belongs to."""

    text: str
    negated: str
    sort: str


def read_unqover(
    templates: Path, attributes: Path, *subjects: Path, name: str, most: int | None = None
) -> Dataset:
    """Read questions in the form for masked language models.

    One list of subjects gives all its pairs; two lists give each subject of one with each of the
    other. `most` limits the subjects of each list. An item is a pair in a template with an
    attribute. Its eight sentences have either subject as the answer, in both orders, in the
    question and in its negation: `SUBJECT|1|q`.
    """
    lists = [_words(p)[:most] for p in subjects]
    pairs = list(combinations(lists[0], 2)) if len(lists) == 1 else list(product(*lists))
    forms = _attributes(attributes)
    items = []
    for number, (context, asking, negated) in enumerate(_templates(templates)):
        form = next((m[1] for m in _SLOT.finditer(asking) if "act" in m[1]), "")
        if form not in forms:
            continue  # about a demonym, which the lists of subjects have not
        plain = forms[re.sub(r"-\w+", "", form)]  # one attribute in several grammatical forms
        for place, attribute in enumerate(forms[form]):
            for subject, peer in pairs:
                texts = {
                    f"{group}|{order}|{sort}": _filled(
                        context, question, first, second, group, attribute
                    )
                    for order, (first, second) in (("1", (subject, peer)), ("2", (peer, subject)))
                    for sort, question in (("q", asking), ("n", negated))
                    for group in (subject, peer)
                }
                items.append(
                    Contrast(
                        f"{number}/{place}/{subject}/{peer}",
                        texts,
                        attribute.sort,
                        plain[place].text,
                        group_pair=f"{subject}/{peer}",
                        template=str(number),
                    )
                )
    return Dataset(name, "questions", tuple(items), "attribute")


def _templates(path: Path) -> Iterator[tuple[str, str, str]]:
    for line in decoded(path).splitlines():
        parts = [p.strip() for p in line.split("\t") if p.strip()]
        if not parts or line.startswith("#"):
            continue
        if len(parts) != 3:
            raise DataError(
                f"{path.name}: {line!r:.60} is not a context with two questions; give the original "
                "file."
            )
        if ":dem" not in parts[0]:
            yield parts[0], parts[1], parts[2]


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    for line in decoded(path).splitlines():
        if line.strip() and not line.startswith("#") and (entry := _ENTRY.match(line.strip())):
            yield entry[1], entry[2]


def _words(path: Path) -> list[str]:
    """Subjects: `[subj] Muslim`, or `[subj] male | James`."""
    return [text.rpartition("|")[2].strip() for _, text in _entries(path)]


def _attributes(path: Path) -> dict[str, list[Attribute]]:
    """Attributes by form, each with its negation, which has the same place in its list."""
    by_form: dict[str, list[tuple[str, str]]] = {}
    for form, text in _entries(path):
        sort, bar, phrase = text.partition("|")
        by_form.setdefault(form, []).append(
            (phrase.strip(), sort.strip()) if bar else (text.strip(), "occupation")
        )
    return {
        form: [
            Attribute(phrase, negated, sort)
            for (phrase, sort), (negated, _) in zip(entries, by_form[f"{form}:neg"], strict=True)
        ]
        for form, entries in by_form.items()
        if not form.endswith(":neg")
    }


def _filled(
    context: str, question: str, first: str, second: str, group: str, attribute: Attribute
) -> Text:
    """Context and question with all slots filled; the answer's place is the target."""
    fills = {"subj1": first, "subj2": second, "mask": group}
    passage, text, start = f"{context} {question}", "", 0
    span = (0, 0)
    for slot in _SLOT.finditer(passage):
        text += passage[start : slot.start()]
        usual = attribute.negated if slot[1].endswith(":neg") else attribute.text
        fill = fills.get(slot[1], usual)
        if _ARTICLE.search(text) and fill[:1].lower() in "aeiou":
            text = f"{text[:-1]}n "
        if slot[1] == "mask":
            span = (len(text), len(text) + len(fill))
        text, start = text + fill, slot.end()
    return Text(text + passage[start:], {"target": (span,)})
