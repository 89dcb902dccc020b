"""Tests of text/roles."""

import difflib
import random

import pytest

from unmask.text.roles import align


def by_difflib(first, second):
    same, changed = ([], []), ([], [])
    for tag, a, b, c, d in difflib.SequenceMatcher(None, first, second).get_opcodes():
        into = same if tag == "equal" else changed
        into[0].extend(range(a, b))
        into[1].extend(range(c, d))
    return tuple(map(tuple, same)), tuple(map(tuple, changed))


@pytest.mark.parametrize("words", [3, 6, 30, 300])
def test_quick_alignment_is_difflibs(words):
    """Few words: repeats everywhere; many: mostly one substitution, which goes the quick way."""
    rng = random.Random(words)
    for _ in range(1500):
        first = [rng.randrange(words) for _ in range(rng.randrange(0, 14))]
        second = list(first)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            a = rng.randrange(len(second) + 1)
            b = min(a + rng.randrange(3), len(second))
            second[a:b] = [rng.randrange(words) for _ in range(rng.randrange(3))]
        found = align(first, second)
        assert (found.same, found.changed) == by_difflib(first, second), (first, second)
