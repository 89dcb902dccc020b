"""The sentence files of SEAT (May et al. 2019): four sets of sentences each."""

import re
from pathlib import Path

from unmask.data.readers.table import read_json
from unmask.errors import DataError
from unmask.text.contexts import Source, WordTest, given
from unmask.types import Stimuli

_KEYS = ("targ1", "targ2", "attr1", "attr2")


def read_file(path: Path, name: str, known: Stimuli | None) -> WordTest:
    """A file of SEAT's form: each sentence belongs to the longest of its set's words in it.

    `known` are the word sets that its sentences were made from.
    """
    content = read_json(path)
    try:
        sets = {_label(content[k]["category"]): content[k]["examples"] for k in _KEYS}
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} has not SEAT's form (no {error}); it needs targ1, targ2, attr1 and attr2."
        ) from error
    listed = known.sets.values() if known else [()] * 4
    words = {k: [f for w in ws for f in _forms(w)] for k, ws in zip(sets, listed, strict=True)}
    used, met = given(sets, words)
    labels = list(used)
    test = Stimuli(
        name,
        {k: used[k] for k in labels[:2]},
        {k: used[k] for k in labels[2:]},
        source="may2019",
        unequal=True,
    )
    return WordTest(test, Source(path.name, lambda s: met))


def _forms(word: str) -> list[str]:
    """A word, its plural and its singular: the files use all three."""
    odd = {"man": "men", "woman": "women", "child": "children", "salary": "salaries"}
    return [word, word + "s", word.removesuffix("s"), odd.get(word, word)]


def _label(category: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", category).lower().replace(" ", "-")
