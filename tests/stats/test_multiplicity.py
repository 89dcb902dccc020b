"""Tests of stats/multiplicity."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from unmask.stats.multiplicity import corrected, shrunken, with_shrunken
from unmask.types import Estimate


def test_shrunken_values_are_nearer_to_the_truth():
    rng = np.random.default_rng(0)
    raw = shrunk = 0.0
    for _ in range(300):
        truth = 55 + rng.normal(0, 3, 9)
        se = rng.uniform(4, 14, 9)
        seen = truth + se * rng.normal(size=9)
        raw += ((seen - truth) ** 2).mean()
        shrunk += ((shrunken(seen, se**2) - truth) ** 2).mean()
    assert shrunk < 0.4 * raw
    alike = shrunken(np.array([50.0, 60.0, 70.0]), np.full(3, 1e-6))
    assert alike == pytest.approx([50, 60, 70], abs=1e-3)


def test_holm_by_hand_and_by_statsmodels():
    p = [0.01, 0.04, 0.03]
    # sorted .01 x 3, .03 x 2, .04 x 1, made monotone
    assert corrected(p) == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.01, np.nan, 0.04]).tolist() == pytest.approx(
        [0.02, np.nan, 0.04], nan_ok=True
    )
    assert corrected(p, "bh") == pytest.approx(multipletests(p, method="fdr_bh")[1])


def test_shrunken_values_by_their_formula():
    values, v = np.array([50.0, 60.0, 80.0, 55.0]), np.array([9.0, 16.0, 25.0, np.nan])
    w = 1 / v[:3]
    mean = (w * values[:3]).sum() / w.sum()
    q = (w * (values[:3] - mean) ** 2).sum()
    between = (q - 2) / (w.sum() - (w**2).sum() / w.sum())
    star = 1 / (v[:3] + between)
    centre = (star * values[:3]).sum() / star.sum()
    expected = [
        centre + between / (between + s) * (x - centre)
        for x, s in zip(values[:3], v[:3], strict=True)
    ]
    assert shrunken(values, v) == pytest.approx([*expected, 55.0])
    assert shrunken(values[:2], v[:2]).tolist() == [50.0, 60.0]  # two have no common mean


def test_a_category_that_stands_still_does_not_draw_the_others_to_itself():
    """Two categories at 50.0 with hardly any variance of their own, and one at 63 of many items."""

    def made(value, se, n):
        return Estimate(value, value - 2 * se, value + 2 * se, 0.95, "m", n, 50.0, 0.1, se)

    found = with_shrunken(
        {"gender": made(63.3, 4.0, 128), "age": made(50.0, 0.4, 32), "class": made(50.0, 0.4, 32),
         "race": made(58.0, 7.0, 24)}
    )  # fmt: skip
    assert found["gender"].more["shrunken"] > 59
