"""Defects of items that can be seen without a model."""

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from unmask.data.readers.table import read_table
from unmask.errors import DataError
from unmask.support.printable import INVISIBLE
from unmask.text.roles import align
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset

MIN_ITEMS_OF_WRITER = 3  # a writer with fewer items is not checked
SHORT_SWAP, MOST_CHANGED = 2, 0.5  # words that a swap replaces: these, or this share at most
LENGTHS = 1.5  # ratio of lengths from which the longer sentence is at a disadvantage
AGREED = 3  # of five annotators
FLAGS = {
    "identical": "the two sentences are the same",
    "empty difference": "one sentence only adds words to the other",
    "blank": "BLANK is missing, occurs twice, or is glued to a word",
    "contradictory": "another item has the same sentences with the two labels exchanged",
    "duplicate": "another item has the same sentences",
    "several changes": "the sentences differ in more than one place, or in most words",
    "length": f"one sentence is more than {LENGTHS} times as long",
    "case": "the sentences differ in letter case where they should not",
    "few by writer": f"its writer has fewer than {MIN_ITEMS_OF_WRITER} items",
    "low agreement": f"fewer than {AGREED} annotators chose its bias type",
}


def flagged(data: Dataset) -> Dataset:
    """Return the data set with `meta["flags"]` on every item."""
    keys = [sentence_key(i) for i in data.items]
    pairs = Counter(keys)
    writers = Counter(i.cluster for i in data.items) if data.cluster == "writer" else None
    exchanged = _exchanged(data)
    if data.shape == "answers":
        return data  # its answers are not sentences to be compared
    if data.shape == "continuations":  # its sentences are meant to differ altogether
        by_item: list[tuple[str, ...]] = [("duplicate",) if pairs[key] > 1 else () for key in keys]
    else:
        by_item = [
            ("contradictory",) * contradicts + tuple(_flags(i, pairs[key], writers))
            for i, key, contradicts in zip(data.items, keys, exchanged, strict=True)
        ]
    items = zip(data.items, by_item, strict=True)
    return replace(
        data, items=tuple(replace(i, meta={**i.meta, "flags": flags}) for i, flags in items)
    )


def _exchanged(data: Dataset) -> list[bool]:
    """Return for each item whether another has the same sentences with the labels exchanged."""
    all_pairs = all(STEREOTYPE in i.texts and ANTISTEREOTYPE in i.texts for i in data.items)
    if not all_pairs or data.shape == "answers":
        return [False] * len(data.items)
    pairs = [
        tuple(_plain(i.texts[k].string) for k in (STEREOTYPE, ANTISTEREOTYPE)) for i in data.items
    ]
    pair_set = set(pairs)
    return [pair[0] != pair[1] and pair[::-1] in pair_set for pair in pairs]


def _plain(sentence: str) -> str:
    """Normalise a sentence by what a reader cannot see: spaces, case, Unicode variants."""
    text = INVISIBLE.sub("", unicodedata.normalize("NFKC", sentence))
    return " ".join(text.split()).casefold()


def without_contradictions(data: Dataset) -> Dataset:
    """Remove items that contradict each other; a note counts them.

    With both of them, any model would score 50 whatever it prefers.
    """
    exchanged = _exchanged(data)
    if not any(exchanged):
        return data
    items = tuple(i for i, gone in zip(data.items, exchanged, strict=True) if not gone)
    subject = (
        f"{sum(exchanged)} of {len(data.items)} items contradict each other: the same two "
        "sentences, with stereotype and antistereotype exchanged"
    )
    if not items:
        raise DataError(f"{data.name!r}: {subject}; keep the correct one of each pair.")
    notes = (*data.about.get("notes", ()), f"{data.name}: {subject}; they are left out.")
    return replace(data, items=items, about={**data.about, "notes": notes})


def without_flagged(data: Dataset) -> Dataset:
    """Return only the items without a flag."""
    items = tuple(i for i in flagged(data).items if not i.meta.get("flags"))
    about = {**data.about, "unflagged": True}
    return replace(data, name=f"{data.name}:unflagged", items=items, about=about)


def excluded(path: Path) -> dict[str, set[str]]:
    """Return the ids of items to exclude, by data set (empty for any), from a table with `item`."""
    rows = read_table(path, ["item"])
    ids: dict[str, set[str]] = {}
    for row in rows:
        ids.setdefault(str(row.get("data") or ""), set()).add(str(row["item"]))
    return ids


def chosen_on(path: Path) -> set[str]:
    """Return the models whose answers determined the excluded items, if the table says so."""
    rows = read_table(path, ["item"])
    return {name for row in rows for name in str(row.get("chosen_on") or "").split()}


def without(data: Dataset, ids: Mapping[str, set[str]], file: str) -> Dataset:
    """Remove the items that a file excludes; `about` counts them."""
    names = ("", data.name, data.name.partition(":")[0])
    gone = set().union(*(ids.get(name, set()) for name in names))
    items = tuple(i for i in data.items if i.id not in gone)
    if len(items) == len(data.items):
        return data
    if not items:
        raise DataError(f"{file!r} excludes all items of {data.name!r}; keep at least one.")
    about = {**data.about, "excluded": {"file": file, "items": len(data.items) - len(items)}}
    return replace(data, items=items, about=about)


def sentence_key(item: Contrast) -> tuple[str, ...]:
    """Return a key that is equal for items with the same sentences, ignoring order and case."""
    return tuple(sorted(_plain(t.string) for t in item.texts.values()))


def _flags(item: Contrast, repeats: int, writers: Counter[str] | None) -> list[str]:
    """Return an item's visible defects; `repeats` items, including this one, have its words."""
    flags = []
    if STEREOTYPE in item.texts and ANTISTEREOTYPE in item.texts:
        pro, anti = (item.texts[k].string for k in (STEREOTYPE, ANTISTEREOTYPE))
        flags += _pair_flags(pro, anti)
    context = item.meta.get("context")
    if context is not None and _bad_blank(context):
        flags.append("blank")
    if repeats > 1:
        flags.append("duplicate")
    if writers is not None and writers[item.cluster] < MIN_ITEMS_OF_WRITER:
        flags.append("few by writer")
    if item.meta.get("ratings") and item.meta["agreement"] < AGREED:
        flags.append("low agreement")
    return flags


def _pair_flags(pro: str, anti: str) -> list[str]:
    if pro == anti:
        return ["identical"]
    if pro.lower() == anti.lower():
        return ["case"]
    flags = []
    pro_words, anti_words = pro.split(), anti.split()
    changed = align(pro.lower().split(), anti.lower().split()).changed
    if not changed[0] or not changed[1]:
        flags.append("empty difference")
    most = max(SHORT_SWAP, MOST_CHANGED * max(len(pro_words), len(anti_words)))
    if max(map(_regions, changed)) > 1 or min(map(len, changed)) > most:
        flags.append("several changes")
    # A capital at the start of a sentence is not a mismatch.
    words = zip(pro_words[1:], anti_words[1:], strict=False)
    if any(a != b and a.lower() == b.lower() for a, b in words):
        flags.append("case")
    if max(len(pro), len(anti)) > LENGTHS * min(len(pro), len(anti)):
        flags.append("length")
    return flags


def _regions(places: tuple[int, ...]) -> int:
    if places and places[-1] - places[0] == len(places) - 1:  # most are one
        return 1
    return sum(1 for a, b in zip((-9, *places), places, strict=False) if b != a + 1)


def _bad_blank(context: str) -> bool:
    if context.count("BLANK") != 1:
        return True
    at = context.index("BLANK")
    before, after = context[at - 1 : at], context[at + 5 : at + 6]
    return before.isalnum() or after.isalnum()
