"""The sentence files of SEAT (May et al. 2019): four sets of sentences each."""

import re
from functools import cache
from pathlib import Path

from unmask.data.cards import Card
from unmask.data.catalogue import locate
from unmask.data.contrasts import packaged, read_json
from unmask.data.stimuli import stimuli
from unmask.errors import DataError
from unmask.text.contexts import WordTest, given
from unmask.types import Stimuli

# Meade et al.'s copy has May et al.'s files unchanged, and the religion tests beside them.
_SOURCE = (
    "https://raw.githubusercontent.com/McGill-NLP/bias-bench"
    "/aba440322fb38600f7790e457a17941f0b12bf20/data/seat"
)
_KEYS = ("targ1", "targ2", "attr1", "attr2")
_WORDS = {
    "sent-angry_black_woman_stereotype": "abw",
    "sent-angry_black_woman_stereotype_b": "abw-b",
    "sent-heilman_double_bind_competent_one_word": "double-bind-competent",
    "sent-heilman_double_bind_likable_one_word": "double-bind-likable",
}


@cache
def files() -> dict[str, Card]:
    """The cards of the files, by name without ending."""
    return {
        row["file"].removesuffix(".jsonl"): _card(row) for row in packaged("seat.json")["files"]
    }


def _card(row: dict[str, object]) -> Card:
    name = str(row["file"])
    religion = "religion" in name
    return Card(
        name.removesuffix(".jsonl"),
        "sentences of a SEAT test",
        lambda path: (_ for _ in ()).throw(DataError(f"{path} holds a word test")),
        ("meade2022",) if religion else ("may2019",),
        "none stated" if religion else "CC BY-NC 4.0 (not for commercial use)",
        path=f"seat/{name}",
        url=f"{_SOURCE}/{name}",
        checksum=f"git:{row['blob']}",
        size=int(str(row["size"])),
    )


def read(name: str) -> WordTest:
    """A SEAT file as a word test: each sentence belongs to the longest of its set's words in it."""
    path, note = locate(files()[name])
    return read_file(path, name, note)


def read_file(path: Path, name: str, note: dict[str, object]) -> WordTest:
    """A file of SEAT's form."""
    content = read_json(path)
    try:
        sets = {_label(content[k]["category"]): content[k]["examples"] for k in _KEYS}
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} has not SEAT's form (no {error}); it needs targ1, targ2, attr1 and attr2."
        ) from error
    known = _words(name)
    listed = known.sets.values() if known else [()] * 4
    words = {k: [f for w in ws for f in _forms(w)] for k, ws in zip(sets, listed, strict=True)}
    used, met = given(sets, words)
    labels = list(used)
    test = Stimuli(
        name,
        {k: used[k] for k in labels[:2]},
        {k: used[k] for k in labels[2:]},
        {"source": "may2019", "unequal": True},
    )
    return WordTest(test, lambda s: met, path.name, note)


def _words(name: str) -> Stimuli | None:
    """The word sets that a file's sentences were made from."""
    weat = re.fullmatch(r"sent-weat(\d+b?)", name)
    found = f"weat-{weat[1]}" if weat else _WORDS.get(name, "")
    return stimuli().get(found)


def _forms(word: str) -> list[str]:
    """A word, its plural and its singular: the files use all three."""
    odd = {"man": "men", "woman": "women", "child": "children", "salary": "salaries"}
    return [word, word + "s", word.removesuffix("s"), odd.get(word, word)]


def _label(category: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", category).lower().replace(" ", "-")
