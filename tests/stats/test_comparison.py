"""Tests of stats/comparison."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, mannwhitneyu, t

import unmask
from conftest import tiny
from unmask.api import run
from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats import comparison
from unmask.stats.clustering import Design
from unmask.studies import compare as comparing
from unmask.types import Estimate


def test_mcnemar_by_the_binomial():
    a = np.array([1] * 10 + [0] * 3 + [1] * 5)
    b = np.array([0] * 10 + [1] * 3 + [1] * 5)
    p, lost, won = comparison.exact_mcnemar(a, b)
    assert (lost, won) == (10, 3)
    assert p == pytest.approx(binomtest(3, 13).pvalue)
    assert comparison.exact_mcnemar(a, a)[0] == 1.0


def test_sign_flip_exact_by_hand(rng):
    difference = rng.normal(0.4, 1, 8)
    p = comparison.sign_flip(difference, np.arange(8))
    flips = [
        abs(sum(s * d for s, d in zip(signs, difference, strict=True)))
        for signs in itertools.product((-1, 1), repeat=8)
    ]
    assert p == pytest.approx(np.mean(np.array(flips) >= abs(difference.sum()) - 1e-12))


def test_paired_difference_finds_a_small_change(rng):
    base = rng.random(400)
    a, b = (base < 0.5).astype(float), (base < 0.56).astype(float)
    paired = comparison.paired_difference(a, b, np.arange(400), scale=100)
    assert paired.value == pytest.approx(100 * (b.mean() - a.mean()))
    assert paired.p < 0.01
    with pytest.raises(DataError, match="paired items"):
        comparison.paired_difference(a, b[:-1], np.arange(400))


def test_equivalence_by_the_t_distribution():
    found = Estimate(1.0, 0, 2, 0.95, "m", 10, 0.0, None, 0.5, {"df": 9})
    # distance to +3 is 2, that is 4 standard errors
    assert comparison.equivalence(found, 3) == pytest.approx(t.sf(4, 9))
    assert comparison.equivalence(found, 1) == pytest.approx(0.5)
    assert math.isnan(comparison.equivalence(replace(found, se=math.nan), 1))


def test_equivalence_is_rarely_claimed_of_what_is_not():
    """The true difference is the margin itself, in 8 clusters: at most 5 % are claimed."""
    rng = np.random.default_rng(8)
    clusters, claimed = np.repeat(np.arange(8), 20), 0
    for _ in range(400):
        a = (rng.random(160) < 0.5).astype(float)
        up = rng.beta(2, 2, 8)[clusters]
        b = np.where(rng.random(160) < 0.4, rng.random(160) < up, a)
        shift = np.where(rng.random(160) < 0.1, 1.0, 0.0)  # 5 points: half of them were 0 before
        b = np.maximum(b, shift)
        found = comparison.paired_difference(
            a, b, clusters, scale=100, resampling=Resampling(draws=50)
        )
        claimed += comparison.equivalence(found, 5) <= 0.05
    assert claimed / 400 <= 0.06


def test_two_runs_that_agree_in_all_items_are_not_proven_equal():
    a = (np.arange(60) % 3 == 0).astype(float)
    found = comparison.paired_difference(a, a, np.arange(60), scale=100)
    assert (found.value, found.p) == (0, 1)
    assert found.low < -3 < 3 < found.high


def test_mcnemar_is_left_out_where_items_are_clustered(tmp_path):
    for name in ("bert", "roberta"):
        unmask.save(run([tiny(name)], ["aul"], ["bundled-pairs"]), tmp_path / name)
    frame, _ = comparing.compare(comparing.runs_of([tmp_path / "bert", tmp_path / "roberta"]))
    assert frame.p_mcnemar.isna().all()
    assert frame.p.notna().all()


def test_null_comparisons_reject_five_per_cent():
    """1000 comparisons of clustered coin tosses without a difference."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(30), 5)
    p = []
    for seed in range(1000):
        chance = np.repeat(rng.beta(2, 2, 30), 5)
        a, b = (rng.random(150) < chance).astype(float), (rng.random(150) < chance).astype(float)
        p.append(comparison.sign_flip(b - a, clusters, resampling=Resampling(draws=400, seed=seed)))
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.07


def test_equivalence_of_shares_uses_the_error_that_the_margin_implies():
    found = Estimate(
        1.0, -2, 4, 0.95, "m", 200, 0.0, 0.5, 1.5, {"df": 30.0, "changed": (0.02, 100.0)}
    )
    spread = max(0.02 - 0.01**2, 1 / 200)
    se = 1.5 * math.sqrt(max(1.0, (max(0.02, 0.03) - 0.03**2) / spread))
    expected = max(t.sf((3 + 1) / se, 30), t.sf((3 - 1) / se, 30))
    assert comparison.equivalence(found, 3) == pytest.approx(expected)
    plain = replace(found, more={"df": 30.0})
    expected = max(t.sf(4 / 1.5, 30), t.sf(2 / 1.5, 30))
    assert comparison.equivalence(plain, 3) == pytest.approx(expected)
    assert math.isnan(comparison.equivalence(replace(found, se=0.0), 3))


def test_two_runs_that_hardly_differ_have_a_least_error():
    """Bonett and Price's two more changed items, in plain arithmetic."""
    first, second = np.ones(50), np.ones(50)
    second[:3] = 0
    found = comparison.paired_difference(first, second, np.arange(50), scale=100.0)
    lost, won = 4, 1
    changed, gap = (lost + won) / 52, (won - lost) / 52
    assert found.se == pytest.approx(100 * math.sqrt((changed - gap**2) / 50))
    assert found.value == pytest.approx(-6)
    assert found.more["changed"] == (pytest.approx(0.06), 100.0)


def test_the_difference_of_effects_is_the_jackknife():
    rng = np.random.default_rng(0)
    first, second = ([rng.normal(size=6), rng.normal(size=5)] for _ in range(2))
    found = comparison.effect_difference((0.4, 0.9), first, second)
    changes = [b - a for a, b in zip(first, second, strict=True)]
    variance = sum((len(c) - 1) / len(c) * ((c - c.mean()) ** 2).sum() for c in changes)
    assert found.value == pytest.approx(0.5)
    assert found.se == pytest.approx(math.sqrt(variance))
    assert found.more["df"] == 9
    assert found.p == pytest.approx(2 * t.sf(0.5 / math.sqrt(variance), 9))


def test_the_least_error_halves_where_enough_clusters_show_a_change():
    first, second = np.ones(400), np.ones(400)
    second[:8] = 0
    few = comparison.paired_difference(first, second, np.arange(400))
    changed, gap = 10 / 402, -8 / 402
    assert few.se == pytest.approx(math.sqrt((changed - gap**2) / 400))
    second[:12] = 0
    many = comparison.paired_difference(first, second, np.arange(400))
    own = (second - first).var(ddof=1) / 400
    changed, gap = 14 / 402, -12 / 402
    assert many.se == pytest.approx(math.sqrt(max(own, (changed - gap**2) / 400 / 2)))


def test_ranks_are_compared_exactly_within_strata():
    """One stratum is scipy's rank-sum test; several are every way to deal them, counted."""
    x, y = [1.0, 2, 5, 7], [3.0, 4, 6, 8]
    assert comparison.rank_sum([[x, y]]) == pytest.approx(mannwhitneyu(x, y, method="exact").pvalue)
    strata = [[[1.0, 2.5], [2.5, 4]], [[1.0], [2, 3]], [[2.0, 3], [1]]]

    def sums(first, second):
        every = [*first, *second]
        return [sum(some) for some in itertools.combinations(every, len(first))]

    ways = [sum(some) for some in itertools.product(*(sums(*s) for s in strata))]
    seen, centre = sum(sum(a) for a, _ in strata), np.mean(ways)
    expected = np.mean([abs(w - centre) >= abs(seen - centre) - 1e-9 for w in ways])
    assert comparison.rank_sum(strata) == pytest.approx(expected)
    # the sets swapped: the same p
    assert comparison.rank_sum([[b, a] for a, b in strata]) == pytest.approx(expected)


def paired_answers(seed, first, second, like=0.0):
    """Answers of two runs with these true shares, some of them the same, to 30 words x 4 frames."""
    rng = np.random.default_rng(seed)
    words, frames = (a.ravel() for a in np.meshgrid(np.arange(30), np.arange(4), indexing="ij"))
    design = Design(words, None, frames, np.zeros(120, np.int64))
    one, two = (rng.random(120) < share for share in (first, second))
    two = np.where(rng.random(120) < like, one, two)
    answers = comparison.PairedValues(one.astype(float), two.astype(float), design)
    return answers.bias(np.full(120, 1 / 120))


def test_a_bias_has_the_values_of_both_runs():
    bias = paired_answers(1, 0.6, 0.8)
    assert bias.first + bias.second == pytest.approx(bias.total.value)
    assert bias.second - bias.first == pytest.approx(bias.difference.value)


@pytest.mark.parametrize(
    ("shares", "margin"),
    [((0.5, 0.6), 10), ((0.7, 0.7), 0), ((0.3, 0.7), 0), ((0.3, 0.75), 5), ((0.6, 0.35), 5)],
)
def test_non_inferiority_errs_as_promised_at_the_margin(shares, margin):
    """The second is worse by just the margin: "no worse" and "worse" are rarely shown, each."""
    found = [paired_answers(s, *shares) for s in range(150)]
    no_worse = np.mean([b.no_worse(margin) <= 0.05 for b in found])
    worse = np.mean([b.worse(margin) <= 0.05 for b in found])
    assert no_worse <= 0.1
    assert worse <= 0.1


def test_non_inferiority_is_shown_where_it_is_so():
    clear = [paired_answers(s, 0.75, 0.55) for s in range(100)]
    assert np.mean([b.no_worse(2) <= 0.05 for b in clear]) > 0.5
    turned = [paired_answers(s, 0.25, 0.55) for s in range(100)]  # worse on the other side, by less
    assert np.mean([b.no_worse(2) <= 0.05 for b in turned]) > 0.5
    worse = [paired_answers(s, 0.55, 0.85) for s in range(100)]
    assert np.mean([b.worse(2) <= 0.05 for b in worse]) > 0.8
    assert np.mean([b.no_worse(2) <= 0.05 for b in worse]) == 0


def test_the_same_run_twice_is_no_worse_than_itself_by_a_margin():
    same = paired_answers(3, 0.7, 0.7, like=1.0)
    assert same.difference.value == 0
    assert same.no_worse(5) <= 0.05
    assert same.no_worse(0) > 0.3
    assert same.worse(0) > 0.3


@pytest.mark.parametrize("alike", [0.0, 0.6])
def test_non_inferiority_holds_its_level_against_a_fair_baseline(alike):
    """400 independent items, a is fair and b worse by just the margin: the hardest case."""
    passed = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        shared = rng.random(400)
        draw = [np.where(rng.random(400) < alike, shared, rng.random(400)) for _ in range(2)]
        one, two = (draw[0] < 0.5).astype(float), (draw[1] < 0.55).astype(float)
        answers = comparison.PairedValues(one, two, Design(np.arange(400)))
        passed += answers.bias(np.full(400, 1 / 400)).no_worse(5) <= 0.05
    assert passed / 300 <= 0.08
