"""Tests of stats/sequential: published bounds, and what they promise."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

from unmask.stats.sequential import FIVE, at_look, bounds, levels, sequential_p
from unmask.types import Estimate


def test_five_even_looks_have_the_published_bounds():
    """Lan and DeMets (1983), O'Brien and Fleming's spending, two-sided 5 %."""
    published = (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)
    assert bounds(0.05, FIVE) == pytest.approx(published, abs=2e-4)
    assert bounds(0.05, (0.5, 1.0)) == pytest.approx((2.9626, 1.9686), abs=2e-4)
    assert bounds(0.05, (1.0,)) == pytest.approx((norm.isf(0.025),))


@pytest.mark.parametrize("look", range(5))
@pytest.mark.parametrize("error", [0.001, 0.01, 0.05, 0.2])
def test_a_sequential_p_turns_the_bounds_around(look, error):
    alone = 2 * norm.sf(bounds(error, FIVE)[look])
    assert sequential_p(alone, look) == pytest.approx(error, rel=1e-3)


def test_one_look_changes_nothing():
    assert sequential_p(0.03, 0, (1.0,)) == 0.03


def test_the_error_rate_of_all_looks_together():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(40_000, 5))
    z = np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, 6))
    crossed = (np.abs(z) > np.array(bounds(0.05, FIVE))).any(axis=1)
    assert crossed.mean() == pytest.approx(0.05, abs=0.004)


def test_an_estimate_of_an_early_look_is_less_sure():
    estimate = Estimate(
        60.0, 52.0, 68.0, 0.95, "m", 10, 50.0, 0.014, 4.0, {"inner": [53.4, 66.6], "mde": 11.2}
    )

    def at_level(level):
        reach = 4.0 * float(ndtri((1 + level) / 2))
        return replace(estimate, low=60 - reach, high=60 + reach)

    early, last = (at_look(estimate, *map(at_level, levels(0.95, k, FIVE)), k) for k in (1, 4))
    assert early.low < last.low < 52.0
    assert early.p > last.p > 0.014
    assert early.more["inner"][0] < last.more["inner"][0] < 53.4
    assert early.more["mde"] > last.more["mde"] > 11.2
    assert early.value == 60.0
