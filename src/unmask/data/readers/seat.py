"""The sentence files of SEAT (May et al. 2019): four sets of sentences each."""

import re
from pathlib import Path

from unmask.data.readers.table import read_json
from unmask.errors import DataError
from unmask.text.contexts import Source, WordTest, from_sentences
from unmask.text.inflection import forms
from unmask.types import Stimuli

_KEYS = ("targ1", "targ2", "attr1", "attr2")


def read_file(path: Path, name: str, stimuli: Stimuli | None) -> WordTest:
    """A file of SEAT's form: each sentence belongs to the longest of its set's words in it.

    `stimuli` are the word sets that its sentences were made from; a word is found in singular and
    plural, and both are the same word. `about` counts the sentences in which none was found.
    """
    content = read_json(path)
    try:
        sets = {_label(content[k]["category"]): content[k]["examples"] for k in _KEYS}
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} does not have SEAT's format (no {error}); it needs targ1, targ2, attr1 and "
            "attr2."
        ) from error
    if stimuli is None:
        raise DataError(f"{path}: no word sets are known for {name!r}.")
    words = {
        label: {form: w for w in terms for form in forms(w)}
        for label, terms in zip(sets, stimuli.sets.values(), strict=True)
    }
    sets_used, mentions, lost = from_sentences(sets, words)
    labels = list(sets_used)
    test = Stimuli(
        name,
        {k: sets_used[k] for k in labels[:2]},
        {k: sets_used[k] for k in labels[2:]},
        source="may2019",
        unequal=True,
    )
    about = {"sentences_without_their_word": lost} if lost else {}
    return WordTest(test, Source(path.name, lambda s: mentions), about)


def _label(category: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", category).lower().replace(" ", "-")
