"""Cluster the items of a user's file by their changed words, if the file gives no clusters.

Rows that swap the same words ("he" and "she" in sixty sentences) are not sixty observations: the
model's preference between these words affects all of them. They form one cluster in either order,
and the word in the stereotype gives the target group.
"""

import re
from collections import Counter
from dataclasses import replace

from unmask.text.roles import align
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset

CHANGED_WORDS = "changed words"
ARTICLES = {"a", "an"}  # they depend on the following word
_WORD = re.compile(r"[\w'\u2019-]+")


def clustered(data: Dataset) -> Dataset:
    """Add clusters from the changed words, and target groups if words occur in both orders.

    A set with clusters of its own is unchanged, and so is one in which no two items change the same
    words. If all items change the same two words, these are not a sample of words, and only equal
    rows form a cluster. `about["notes"]` reports what was derived.
    """
    if data.cluster != "item" or data.shape not in ("pairs", "triplets"):
        return data
    words = [changed_words(item) for item in data.items]
    pairs = [" | ".join(sorted(pair)) for pair in words]
    real = {
        p for p, (pro, anti) in zip(pairs, words, strict=True) if pro != anti
    }  # a change at all
    if len(real) == 1:
        return _by_sentences(data)
    if len(set(pairs)) == len(pairs):
        return data
    sides = [pro for pro, _ in words]
    swapped = _swapped(pairs, sides) and not any(item.group for item in data.items)
    items = tuple(
        replace(i, cluster=pair, group_pair=pair, group=side)
        if swapped
        else replace(i, cluster=pair)
        for i, pair, side in zip(data.items, pairs, sides, strict=True)
    )
    note = (
        f"{data.name} has no column 'cluster': its {len(items)} items are grouped by the "
        f"{len(set(pairs))} pairs of words in which their sentences differ"
        f"{', with the word in the stereotype as the target group' if swapped else ''}. Add the "
        "column, or give --cluster none if items are independent."
    )
    return _noted(replace(data, items=items, cluster=CHANGED_WORDS), note)


def changed_words(item: Contrast) -> tuple[str, str]:
    """Return the words only in the stereotype, and those only in the antistereotype."""
    pro, anti = (_words(item.texts[k].string) for k in (STEREOTYPE, ANTISTEREOTYPE))
    places = align(pro, anti).changed
    halves = (
        " ".join(w for i in indices if (w := words[i]) not in ARTICLES)
        for words, indices in zip((pro, anti), places, strict=True)
    )
    first, second = halves
    return (first, second) if first or second else (" ".join(pro), " ".join(anti))


def _words(sentence: str) -> list[str]:
    return _WORD.findall(sentence.lower())


def _swapped(pairs: list[str], sides: list[str]) -> bool:
    """Whether at least half of the items have a word pair that occurs in both orders."""
    ways = Counter(pair for pair, _ in set(zip(pairs, sides, strict=True)))
    return sum(ways[pair] > 1 for pair in pairs) * 2 >= len(pairs)


def _by_sentences(data: Dataset) -> Dataset:
    """Cluster rows with the same sentences."""
    keys = [" / ".join(sorted(t.string.lower() for t in i.texts.values())) for i in data.items]
    if len(set(keys)) == len(keys):
        return data
    items = tuple(replace(i, cluster=key) for i, key in zip(data.items, keys, strict=True))
    note = (
        f"{data.name} has {len(keys) - len(set(keys))} rows that repeat others; they count as one "
        "observation (--cluster none counts each row)."
    )
    return _noted(replace(data, items=items, cluster="sentences"), note)


def _noted(data: Dataset, note: str) -> Dataset:
    return replace(data, about={**data.about, "notes": (*data.about.get("notes", ()), note)})
