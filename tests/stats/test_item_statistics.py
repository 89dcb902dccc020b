"""Tests of stats/item_statistics."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from unmask.errors import DataError
from unmask.stats.clustering import Design, codes
from unmask.stats.item_statistics import (
    STATISTICS,
    gap_of_sides,
    mean,
    over_items,
    standardised,
    strongest_lean,
)


def facts(n, **columns):
    usual = {
        "category": "c",
        "cluster": [str(i) for i in range(n)],
        "group_pair": "",
        "group": "",
        "template": "",
    }
    return pd.DataFrame({**usual, **columns}, index=range(n))


def jackknifed(statistic, values, about):
    """How far each item influence, by leaving it out."""
    n = len(values)
    whole = statistic(values, about).value
    left = [
        statistic(np.delete(values, i), about.drop(index=i).reset_index(drop=True)).value
        for i in range(n)
    ]
    return (whole - np.array(left)) * (n - 1) / n


@pytest.mark.parametrize("statistic", [mean, standardised])
def test_pulls_are_those_of_leaving_an_item_out(rng, statistic):
    values = rng.normal(0.3, 1, 400)
    found = statistic(values, facts(400))
    assert found.influence.sum() == pytest.approx(0, abs=1e-12)
    assert np.corrcoef(found.influence, jackknifed(statistic, values, facts(400)))[0, 1] > 0.999


def test_the_p_of_a_mean_is_students(rng):
    values = rng.normal(0.2, 1, 60)
    design = Design(codes(range(60)))
    estimate = over_items(mean(values, facts(60)), design, ideal=0.0)
    expected = ttest_1samp(values, 0.0)
    assert estimate.p == pytest.approx(expected.pvalue)


def test_the_interval_of_an_effect_size_holds_it(rng):
    """d_z = 0.4 of heavy-tailed pairs in clusters of three: held in about 95 of 100."""
    held = 0
    for _ in range(300):
        values = np.repeat(rng.normal(0, 1, 40), 3) + rng.normal(0, 1, 120) + 0.4 * np.sqrt(2)
        design = Design(codes(np.repeat(range(40), 3)))
        estimate = over_items(standardised(values, facts(120)), design, ideal=0.0)
        held += estimate.low <= 0.4 <= estimate.high
    assert held >= 275


def test_the_gap_weighs_stereotypes_alike():
    values = np.array([1.0, 3.0, 5.0, 0.0, 0.0, 2.0])
    about = facts(
        6, group=["men"] * 3 + ["women"] * 3, cluster=["a/1", "a/2", "b/3", "c/4", "c/5", "d/6"]
    )
    found = gap_of_sides(values, about)
    assert found.value == (2 + 5) / 2 - (0 + 2) / 2
    with pytest.raises(DataError, match="two groups"):
        gap_of_sides(values, facts(6, group="men"))


def test_alike_values_have_no_effect_size():
    with pytest.raises(DataError, match="0 / 0"):
        standardised(np.ones(5), facts(5))


def test_the_strongest_lean_by_hand():
    about = facts(
        4, group_pair=["x/y"] * 4, cluster=["rich", "poor"] * 2, frame=["0", "0", "1", "1"]
    )
    values = np.array([0.4, -0.1, 0.2, -0.1])
    assert strongest_lean(values, about).value == pytest.approx(0.3)
    assert STATISTICS["eta"](values, about).value == pytest.approx(1.0)
