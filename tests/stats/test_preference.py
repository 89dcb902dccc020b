"""Tests of stats/preference."""

import math

import numpy as np
import pytest

from unmask.errors import DataError
from unmask.stats import intervals, preference
from unmask.stats.clustering import as_design
from unmask.types import Estimate


def summarise(scores, clusters, **how):
    return preference.Preferences(scores, as_design(clusters), **how).estimates()


def test_icat_has_no_interval_and_says_where_to_look():
    rng = np.random.default_rng(0)
    scores = {k: rng.normal(size=60) for k in ("stereotype", "antistereotype", "unrelated")}
    found = summarise(scores, list(range(60)), ties="half")
    assert math.isnan(found["icat"].low)
    ss, deviation = found["score"], found["deviation"]
    assert deviation.value == pytest.approx(abs(ss.value - 50))
    assert deviation.low <= deviation.value <= deviation.high
    assert (deviation.low == 0) == (ss.low <= 50 <= ss.high)


def test_nothing_is_an_error_never_50():
    with pytest.raises(DataError):
        intervals.share(np.array([]), [])
    scores = {"stereotype": np.ones(3), "antistereotype": np.ones(3)}
    with pytest.raises(DataError, match="ties"):
        summarise(scores, list("abc"), ties="drop")


def test_tie_rules_by_hand():
    pro, anti = np.array([2, 1, 1, np.nan]), np.array([1, 1, 2, 0.0])
    assert preference.preferred(pro, anti).tolist() == [1, 0, 0, 0]
    assert preference.preferred(pro, anti, "half").tolist() == [1, 0.5, 0, 0]
    assert np.isnan(preference.preferred(pro, anti, "drop")[1])


def test_stereoset_scores_by_hand():
    """Two terms: a with ss 1/2 and lms 3/4, b with ss 1 and lms 1."""
    scores = {
        "stereotype": np.array([3.0, 1.0, 5.0]),
        "antistereotype": np.array([2.0, 2.0, 4.0]),
        "unrelated": np.array([1.0, 1.5, 0.0]),
    }
    found = summarise(scores, ["a", "a", "b"], macro=True)
    assert found["score"].value == pytest.approx(75)
    assert found["lms"].value == pytest.approx(100 * (0.75 + 1) / 2)
    assert found["icat"].value == pytest.approx(87.5 * 25 / 50)
    assert found["margin"].n == 3


@pytest.mark.parametrize(
    ("low", "high", "value", "expected"),
    [
        (54, 66, 60, (10, 4, 16)),
        (34, 46, 40, (10, 4, 16)),
        (48, 60, 54, (4, 0, 10)),
        (38, 52, 45, (5, 0, 12)),
        (50, 60, 55, (5, 0, 10)),
    ],
)
def test_the_deviation_has_the_interval_that_the_score_leaves_it(low, high, value, expected):
    ss = Estimate(value, low, high, 0.95, "m", 10, 50.0, 0.2, 3.0)
    found = preference.deviation(ss)
    assert (found.value, found.low, found.high) == expected
    assert (found.ideal, found.p, found.n, found.se) == (0.0, 0.2, 10, 3.0)


def test_icat_by_hand():
    assert preference.icat(np.array([50.0, 60.0, 30.0, 100.0]), np.array([90.0] * 4)).tolist() == (
        [90.0, 72.0, 54.0, 0.0]
    )
    ss, lms = (Estimate(v, 1, 99, 0.95, "m", 10, 50.0) for v in (60.0, 80.0))
    found = preference.icat_estimate(ss, lms)
    assert (found.value, found.ideal) == (64.0, 100.0)
    assert math.isnan(found.low)


def test_a_category_of_dropped_ties_costs_no_other():
    import pandas as pd

    from unmask.flow.estimates import preferences
    from unmask.options import Resampling

    rows = [
        {"item": f"{c}{k}", "label": label, "category": c, "cluster": f"{c}{k}", "group_pair": "",
         "group": "", "template": "", "reason": None,
         "score": 0.0 if c == "b" or label == "antistereotype" else float(k % 3 - 1) or 0.5}
        for c in "ab" for k in range(20) for label in ("stereotype", "antistereotype")
    ]  # fmt: skip
    found = preferences(pd.DataFrame(rows), ties="drop", macro=False, resampling=Resampling())
    assert list(found.by_category) == ["a"]
    assert found.overall.n == 20


def test_the_word_preference_is_the_gap_between_the_groups():
    """90 % of the items about the one group, 40 % of those about the other: 50 points."""
    pro = np.array([1.0] * 18 + [-1.0] * 2 + [1.0] * 8 + [-1.0] * 12) + np.arange(40) / 1000
    facts = {"cluster": list(range(40)), "category": ["c"] * 40, "group_pair": ["p"] * 40,
             "group": ["a"] * 20 + ["b"] * 20, "template": [""] * 40}  # fmt: skip
    scores = {"stereotype": pro, "antistereotype": np.zeros(40)}
    found = preference.Preferences(scores, preference.Design.of(facts)).estimates()
    noise = 0.9 * 0.1 / 19 + 0.4 * 0.6 / 19
    assert found["word_preference"].value == pytest.approx(100 * math.sqrt(0.25 - noise))
    assert found["score"].value == pytest.approx(65.0)
    plain = summarise(scores, list(range(40)))
    assert not {"word_preference", "adjusted"} & set(plain)
