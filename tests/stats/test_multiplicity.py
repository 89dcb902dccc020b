"""Tests of stats/multiplicity."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from unmask.options import Resampling
from unmask.stats.multiplicity import corrected, family_wise, shrunken, together
from unmask.stats.student_t import beyond
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


def test_tests_that_lean_on_the_same_clusters_cost_less():
    """Ten tests of one thing count as one; ten of ten things as ten (Bonferroni, about)."""
    rng = np.random.default_rng(0)
    shared = {f"c{i}": v for i, v in enumerate(rng.normal(size=30))}
    same = family_wise([0.01] * 10, [shared] * 10)
    assert same == pytest.approx([0.01] * 10, abs=0.003)
    apart = [{f"{k}-{i}": v for i, v in enumerate(rng.normal(size=30))} for k in range(10)]
    assert family_wise([0.01] * 10, apart) == pytest.approx([1 - 0.99**10] * 10, abs=0.01)
    assert family_wise([0.01] * 10, [{}] * 10) == pytest.approx([1 - 0.99**10] * 10, abs=0.01)


def test_the_family_is_stepped_down_and_keeps_its_order():
    p = [0.2, 1e-9, 0.012, 0.04]
    found = family_wise(p, [{str(k): 1.0} for k in range(4)])
    holm = corrected(p)
    assert (found >= np.array(p)).all()
    assert found == pytest.approx(holm, abs=0.02)  # independent tests: Sidak's, near Holm's
    assert np.argsort(found).tolist() == np.argsort(p).tolist()
    assert family_wise([0.03], [{"a": 2.0}])[0] == pytest.approx(0.03, abs=0.005)
    assert len(family_wise([], [])) == 0


def test_any_false_alarm_in_a_family_is_rare():
    """Six tests on 40 clusters, correlated .8, under the null: any of them in 5 % of families."""
    rng = np.random.default_rng(1)
    alarms = alone = 0
    for seed in range(300):
        shared = rng.normal(size=40)
        rows = [np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.normal(size=40) for _ in range(6)]
        t = [row.mean() / (row.std(ddof=1) / np.sqrt(40)) for row in rows]
        p = [2 * beyond(abs(v), 39) for v in t]
        pulls = [{str(i): v for i, v in enumerate(row - row.mean())} for row in rows]
        alone += min(p) <= 0.05
        alarms += family_wise(p, pulls, Resampling(draws=1000, seed=seed)).min() <= 0.05
    assert alone > 30
    assert 4 <= alarms <= 27  # 5 % of 300, give or take


def test_a_category_that_stands_still_does_not_draw_the_others_to_itself():
    """Two categories at 50.0 with hardly any variance of their own, and one at 63 of many items."""

    def made(value, se, n):
        return Estimate(value, value - 2 * se, value + 2 * se, 0.95, "m", n, 50.0, 0.1, se)

    found = together(
        {"gender": made(63.3, 4.0, 128), "age": made(50.0, 0.4, 32), "class": made(50.0, 0.4, 32),
         "race": made(58.0, 7.0, 24)}
    )  # fmt: skip
    assert found["gender"].more["shrunken"] > 59
