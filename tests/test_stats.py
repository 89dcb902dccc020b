"""Statistics against hand-computed values, closed forms and other libraries."""

import itertools
import math

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.multitest import multipletests

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats import effects, intervals, preference
from unmask.stats.families import corrected


def test_share_by_hand():
    found = intervals.share(np.array([1, 1, 1, 0.0]), list("abcd"), ideal=50)
    assert found.value == 75
    assert found.n == 4
    # Wilson for 3 of 4: centre (p + z2/2n) / (1 + z2/n), z = 1.96
    z2 = 1.959964**2
    centre = (0.75 + z2 / 8) / (1 + z2 / 4)
    reach = math.sqrt(z2 * (0.75 * 0.25 / 4 + z2 / 64)) / (1 + z2 / 4)
    assert found.more["wilson"] == pytest.approx([100 * (centre - reach), 100 * (centre + reach)])


def test_macro_is_the_mean_of_cluster_means():
    wins = np.array([1, 1, 1, 0, 0.0])
    clusters = ["a", "a", "a", "a", "b"]
    assert intervals.share(wins, clusters).value == pytest.approx(60)
    assert intervals.share(wins, clusters, macro=True).value == pytest.approx((75 + 0) / 2)


def test_bootstrap_agrees_with_the_closed_form(rng):
    """The bootstrap's standard error of a mean is s / sqrt(n)."""
    x = rng.normal(size=400)
    found = intervals.bootstrap(x, np.arange(400))
    assert found.se == pytest.approx(x.std() / 20, rel=0.03)
    assert found.low == pytest.approx(x.mean() - 1.96 * x.std() / 20, abs=0.01)


def test_whole_clusters_are_resampled(rng):
    """Items that repeat their cluster's value carry no more information than the clusters."""
    value = rng.integers(0, 2, 30).astype(float)
    wins, clusters = np.repeat(value, 10), np.repeat(np.arange(30), 10)
    clustered = intervals.share(wins, clusters)
    alone = intervals.share(value, np.arange(30))
    assert clustered.se == pytest.approx(alone.se, rel=0.05)
    assert clustered.more["design_effect"] == pytest.approx(10, rel=0.1)


def test_bootstrap_equals_a_plain_loop(rng):
    """The matrix product of counts is the same as picking clusters one by one."""
    sums = rng.normal(size=(7, 2))
    fast = intervals.resample(sums, Resampling(draws=50, seed=3))
    again = np.random.default_rng(3)
    slow = [sums[again.integers(7, size=7)].sum(0) for _ in range(50)]
    assert np.allclose(fast, slow)


def test_all_alike_gives_wilson_and_one_cluster_too():
    found = intervals.share(np.ones(20), np.arange(20))
    assert found.method == "wilson"
    assert found.low < 100
    assert intervals.share(np.array([1, 0.0]), ["a", "a"]).method == "wilson"


def test_nothing_is_an_error_never_50():
    with pytest.raises(DataError):
        intervals.share(np.array([]), [])
    scores = {"stereotype": np.ones(3), "antistereotype": np.ones(3)}
    with pytest.raises(DataError, match="ties"):
        preference.summarise(scores, list("abc"), ties="drop")


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
    found = preference.summarise(scores, ["a", "a", "b"], macro=True)
    assert found["score"].value == pytest.approx(75)
    assert found["lms"].value == pytest.approx(100 * (0.75 + 1) / 2)
    assert found["icat"].value == pytest.approx(87.5 * 25 / 50)
    assert found["log_ratio"].value == pytest.approx(((1 - 1) / 2 + 1) / 2)


# ---------------------------------------------------------------- association


def test_effect_size_by_hand():
    x, y = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    # mean difference 1; s over (1, 2, 0, 1): squares 0 + 1 + 1 + 0, over 3
    assert effects.effect_size(x, y) == pytest.approx(1 / math.sqrt(2 / 3))


def test_swapping_flips_the_sign_and_scale_does_not_matter(rng):
    x, y, a, b = (rng.normal(size=(n, 6)) for n in (5, 5, 4, 7))

    def d(x, y, a, b):
        return effects.effect_size(effects.associations(x, a, b), effects.associations(y, a, b))

    assert d(x, y, a, b) == pytest.approx(-d(y, x, a, b))
    assert d(x, y, a, b) == pytest.approx(-d(x, y, b, a))
    assert d(x, y, a, b) == pytest.approx(d(3 * x, y, a * 0.1, b))


def test_associations_equal_a_plain_loop(rng):
    x, a, b = (rng.normal(size=(n, 8)) for n in (3, 4, 5))

    def cos(u, v):
        return u @ v / (np.linalg.norm(u) * np.linalg.norm(v))

    slow = [np.mean([cos(w, v) for v in a]) - np.mean([cos(w, v) for v in b]) for w in x]
    assert effects.associations(x, a, b) == pytest.approx(slow, abs=1e-12)


def test_perfect_separation_has_p_one_in_12870():
    x, y = np.arange(8) + 10.0, np.arange(8.0)
    found = effects.permutation(x, y)
    assert found.method == "exact"
    assert found.p == 1 / 12870
    assert effects.permutation(x, y, sided="two").p == 2 / 12870


def test_exact_permutation_equals_itertools(rng):
    x, y = rng.normal(size=5) + 0.5, rng.normal(size=6)
    pool = np.concatenate([x, y])
    hits = [sum(pool[list(c)]) >= x.sum() - 1e-12 for c in itertools.combinations(range(11), 5)]
    assert effects.permutation(x, y).p == pytest.approx(np.mean(hits))


def test_sampled_permutation_is_near_the_exact_one(rng):
    x, y = rng.normal(size=7) + 0.6, rng.normal(size=7)
    exact = effects.permutation(x, y)
    sums = effects.sampled_sums(np.concatenate([x, y]), 7, 50_000, seed=1)
    assert np.mean(sums >= x.sum() - 1e-12) == pytest.approx(exact.p, abs=0.006)


def test_sampled_subsets_are_uniform():
    """Each of the C(5, 2) subsets of distinct powers of two comes a tenth of the time."""
    sums = effects.sampled_sums(2.0 ** np.arange(5), 2, 50_000, seed=0)
    _, counts = np.unique(sums, return_counts=True)
    assert len(counts) == 10
    assert np.abs(counts / 50_000 - 0.1).max() < 0.006
    large = effects.sampled_sums(2.0 ** np.arange(5), 3, 100, seed=0)
    assert set(large) <= {31 - s for s in sums}


def test_null_p_values_are_uniform():
    """Permuted labels: 500 null data sets, exact and one-sided."""
    rng = np.random.default_rng(11)
    p = []
    for _ in range(500):
        scores = rng.normal(size=12)
        p.append(effects.permutation(scores[:6], scores[6:]).p)
    for level in (0.05, 0.25, 0.5, 0.75):
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=0.06)


def test_random_effects_against_statsmodels(rng):
    samples = effects.Samples(rng.normal(1, 0.4, 200), rng.uniform(0.02, 0.3, 200))
    ours = effects.random_effects(samples)
    theirs = combine_effects(samples.effects, samples.variances, method_re="chi2")
    assert ours.more["tau2"] == pytest.approx(theirs.tau2, rel=1e-9)
    assert ours.value == pytest.approx(theirs.mean_effect_re, rel=1e-9)
    assert ours.more["I2"] == pytest.approx(theirs.i2, rel=1e-9)
    assert ours.se == pytest.approx(theirs.sd_eff_w_re, rel=1e-9)


def test_ceat_equals_the_published_formula_in_a_plain_loop(rng):
    """The same index draws, one sample at a time, a cosine for each pair."""
    sizes = {"X": [4, 7, 5], "Y": [3, 6, 5], "A": [8, 2], "B": [5, 5, 3]}
    raw = {k: [rng.normal(size=(n, 9)) for n in ns] for k, ns in sizes.items()}
    unit = [[effects.unit(v) for v in raw[k]] for k in "XYAB"]
    draws = [effects.draw_indices(sizes[k], 40, rng, reuse=True) for k in "XYAB"]
    fast = effects.ceat_samples(unit, draws)

    def cos(u, v):
        return float(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)))

    for i in range(40):
        x, y, a, b = (
            [raw[k][w][draws[n][i, w]] for w in range(len(raw[k]))] for n, k in enumerate("XYAB")
        )
        s = [np.mean([cos(w, v) for v in a]) - np.mean([cos(w, v) for v in b]) for w in x + y]
        spread = np.std(s, ddof=1)
        e = (np.mean(s[:3]) - np.mean(s[3:])) / spread
        assert fast.effects[i] == pytest.approx(e, abs=1e-10)
        assert fast.variances[i] == pytest.approx(spread**2, abs=1e-10)
    w = 1 / fast.variances
    e, n = fast.effects, 40
    q = (w * e**2).sum() - (w * e).sum() ** 2 / w.sum()
    tau2 = max(0, (q - (n - 1)) / (w.sum() - (w**2).sum() / w.sum()))
    v = fast.variances + tau2
    found = effects.random_effects(fast)
    assert found.value == pytest.approx((e / v).sum() / (1 / v).sum(), abs=1e-10)
    assert found.se == pytest.approx((1 / v).sum() ** -0.5, abs=1e-10)


def test_draws_without_replacement_show_each_context_once(rng):
    drawn = effects.draw_indices([5, 100], 20, rng, reuse=False)
    assert len(set(drawn[:, 1])) == 20
    assert drawn[:, 0].max() < 5


def test_effect_interval_covers_the_value_and_words_are_clusters(rng):
    x, y = rng.normal(1, 1, 40), rng.normal(0, 1, 40)
    words = [str(i // 10) for i in range(40)]
    alone = effects.effect_estimate(x, y)
    clustered = effects.effect_estimate(np.repeat(x[:4], 10), np.repeat(y[:4], 10), words, words)
    single = effects.effect_estimate(x[:4], y[:4])
    assert alone.low < alone.value < alone.high
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.25)
    with pytest.raises(DataError, match="two words"):
        effects.effect_estimate(x[:1], y)


def test_holm_by_hand_and_by_statsmodels():
    p = [0.01, 0.04, 0.03]
    # sorted .01 x 3, .03 x 2, .04 x 1, made monotone
    assert corrected(p) == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.01, np.nan, 0.04]).tolist() == pytest.approx(
        [0.02, np.nan, 0.04], nan_ok=True
    )
    assert corrected(p, "bh") == pytest.approx(multipletests(p, method="fdr_bh")[1])
