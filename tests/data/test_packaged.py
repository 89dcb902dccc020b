"""Tests of data/packaged."""

import re
from collections import Counter

from data_lines import CROWS
from unmask.data import defects
from unmask.data.packaged import bundled_pairs


def test_the_bundled_pairs_cover_the_nine_types():
    data = bundled_pairs()
    counts = Counter(i.category for i in data.items)
    assert set(counts) == set(CROWS)
    assert len(data.items) >= 180
    assert min(counts.values()) >= 15
    assert len({i.id for i in data.items}) == len(data.items)


def test_the_bundled_pairs_differ_in_one_place_and_are_grammatical():
    data = defects.flagged(bundled_pairs())
    assert not [i.id for i in data.items if i.meta["flags"]]
    for item in data.items:
        for text in item.texts.values():
            ((a, b),) = text.spans["fill"]
            rest = text.string[:a] + text.string[b:]
            assert rest == item.meta["context"].replace("BLANK", "")
            assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiouh]", text.string), text.string
            assert re.fullmatch(r"[A-Z].*\.", text.string)
