"""Tests of models/unique_rows."""

import random

import numpy as np
import pytest

from unmask.models.unique_rows import MaskingRule, causal_rule, find_unique_rows
from unmask.queries import EACH, LATER, NOTHING, RowQueries, all_fit, sums


def made_asks(rng, causal):
    """Sentences that repeat, asked about in every way."""
    rows = [tuple(rng.integers(0, 4, rng.integers(2, 6)).tolist()) for _ in range(12)]
    asks = []
    for _ in range(60):
        row = rows[rng.integers(len(rows))]
        at = tuple(rng.integers(1, len(row), rng.integers(1, 4)).tolist())
        gold = tuple(rng.integers(0, 4, len(at)).tolist())
        some = frozenset(rng.integers(0, len(row), 3).tolist())
        each = tuple(frozenset(rng.integers(0, len(row), 2).tolist()) for _ in at)
        ways = [LATER] if causal else [EACH, LATER, (NOTHING,), (some,), each]
        asks.append(RowQueries(row, at, gold, ways[rng.integers(len(ways))]))
    return asks


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["masked", "causal", "permutation"])
def test_questions_are_sorted_out_as_by_hand(kind, seed):
    rng = np.random.default_rng(seed)
    mask = 3  # a token that also stands in sentences: rows may meet only in their tokens
    rules = {"masked": MaskingRule(mask), "causal": causal_rule()}
    show = rules.get(kind, MaskingRule(apart=True))
    asks = made_asks(rng, kind == "causal")
    flags = [bool(rng.integers(2)) for _ in asks]
    found = find_unique_rows(asks, flags, show)
    queries = [(q, flag) for a, flag in zip(asks, flags, strict=True) for q in a.queries]

    def shown(q):
        if kind == "causal":
            return q.row
        if kind == "masked":
            return tuple(mask if i in q.hidden else t for i, t in enumerate(q.row))
        return q.row, tuple(sorted(q.hidden))

    rows = {shown(q) for q, _ in queries}
    weighted = {shown(q) for q, flag in queries if flag}
    assert found.count == len(rows)
    order = found.of(np.arange(found.count))
    assert sorted(order.tolist()) == list(range(len(queries)))
    for r in range(found.count):
        tokens = tuple(found.tokens[found.starts[r] : found.starts[r + 1]].tolist())
        mine = (tokens, found.hidden[r]) if kind == "permutation" else tokens
        assert found.attended[r] == (mine in weighted)
        for i in found.of(np.array([r])):
            q = queries[i][0]
            assert shown(q) == mine
            assert found.places[found.slot[i]] == q.at - (kind == "causal")
            assert found.slots[r] <= found.slot[i] < found.slots[r + 1]
            assert found.gold[i] == q.gold


def test_sums_of_neighbours_also_of_none():
    values = np.array([1.0, 2, 4, 8])
    assert sums(values, np.array([0, 2, 0, 1, 1, 0])).tolist() == [0, 3, 0, 4, 8, 0]
    assert sums(values[:0], np.array([0, 0])).tolist() == [0, 0]


ROW = (2, 7, 8, 9, 3)


@pytest.mark.parametrize("seed", range(20))
def test_asks_fit_together_as_one_by_one(seed):
    rng = random.Random(seed)
    odd = [(), (1,), (4, 4), (5,), (-1, 2), (1.5,), (True,), (np.int64(3),), ("1",)]
    sets = [EACH, LATER, (NOTHING,), (NOTHING, NOTHING)]
    for _ in range(40):
        asks = [
            RowQueries(
                ROW, at, rng.choice([tuple(range(len(at))), (1,), (-1,), (0, 2)]), rng.choice(sets)
            )
            for at in rng.choices(odd[1:3] if rng.random() < 0.7 else odd, k=rng.randint(0, 4))
        ]
        try:
            each = all(a.fits for a in asks)
        except TypeError:
            continue
        assert all_fit(asks) == each, asks
