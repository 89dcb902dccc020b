"""Tests of stats/choice_effects, in plain loops."""

import itertools

import numpy as np
import pandas as pd
import pytest

from unmask.errors import DataError
from unmask.stats.choice_effects import effects_of_choices, pairs_of_choices


@pytest.fixture
def frame():
    rng = np.random.default_rng(2)
    rows = [
        {"a": a, "b": b, "c": c, "score": 2 * (a == "x") + (b == "q") * (a == "x") + rng.normal()}
        for a, b, c in itertools.product("xy", "pqr", "12")
    ]
    return pd.DataFrame(rows)


def test_each_choice_by_hand(frame):
    found = effects_of_choices(frame, ["a", "b", "c"]).set_index("choice")
    whole = frame.score.var(ddof=0)
    for factor in "abc":
        others = [f for f in "abc" if f != factor]
        means = frame.groupby(factor).score.mean()
        alone = np.var([means[v] for v in frame[factor]])
        groups = [part.score.to_numpy() for _, part in frame.groupby(others)]
        total = np.mean([np.var(g) for g in groups])
        apart = [(x - y) ** 2 for g in groups for x, y in itertools.combinations(g, 2)]
        row = found.loc[factor]
        assert row.options == frame[factor].nunique()
        assert row["alone"] == pytest.approx(100 * alone / whole)
        assert row["total"] == pytest.approx(100 * total / whole)
        assert row["moves by"] == pytest.approx(np.sqrt(np.mean(apart)))
        assert row["twins"] == 12


def test_pairs_by_hand(frame):
    found = pairs_of_choices(frame, ["a", "b", "c"]).set_index("choices").share
    whole = frame.score.var(ddof=0)

    def between(*factors):
        return np.var(frame.groupby(list(factors)).score.transform("mean"))

    for one, two in itertools.combinations("abc", 2):
        both = between(one, two) - between(one) - between(two)
        assert found[f"{one} x {two}"] == pytest.approx(100 * max(both, 0) / whole)
    assert found.is_monotonic_decreasing
    assert len(pairs_of_choices(frame, ["a", "b", "c"], most=2)) == 2


def test_a_choice_that_is_fixed_by_another_has_no_twins():
    frame = pd.DataFrame({"a": list("xxyy"), "b": list("pqrs"), "score": [1.0, 2.0, 4.0, 8.0]})
    found = effects_of_choices(frame, ["a", "b"]).set_index("choice")
    assert found.twins["a"] == 0
    assert found.twins["b"] == 4  # its options differ within one of a's, which they fix
    with pytest.raises(DataError, match="nothing to explain"):
        effects_of_choices(frame.assign(score=1.0), ["a", "b"])
