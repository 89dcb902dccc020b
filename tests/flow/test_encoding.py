"""Tests of flow/encoding: which sentences need a closer look."""

from types import SimpleNamespace

import numpy as np
import pytest

from unmask.flow.encoding import _Flat
from unmask.queries import Encoded

UNKNOWN, RESERVED = 7, frozenset({5, 6})


def sentence(rng):
    """Tokens of which a few are unknown or reserved, whatever is special."""
    size = int(rng.integers(1, 9))
    ids = rng.choice([1, 2, 3, 4, 5, 6, 7], size, p=[0.3, 0.3, 0.2, 0.08, 0.04, 0.04, 0.04])
    specials = [{0, size - 1}, {0}, set(), set(range(size))][rng.integers(4)]
    return Encoded(tuple(ids.tolist()), frozenset(specials))


@pytest.mark.parametrize("seed", range(30))
def test_one_look_at_all_tokens_finds_what_a_loop_does(seed):
    rng = np.random.default_rng(seed)
    unknown = None if seed % 5 == 0 else UNKNOWN
    some = [sentence(rng) for _ in range(40)]
    flat = _Flat(some, SimpleNamespace(unknown=unknown, reserved=RESERVED))
    content = [[e.ids[i] for i in e.content] for e in some]
    strange = {*RESERVED} if unknown is None else {*RESERVED, unknown}
    assert flat.odd.tolist() == [not c or bool(strange & {*c}) for c in content]
    assert flat.unknown == sum(c.count(unknown) for c in content)
    assert flat.tokens == sum(map(len, content))
    assert flat.lengths.tolist() == [len(e.ids) for e in some]
