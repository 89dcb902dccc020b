"""Statistics against hand-computed values, closed forms and other libraries."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_1samp, ttest_ind
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import tt_ind_solve_power
from statsmodels.stats.proportion import proportion_confint

from unmask.errors import DataError
from unmask.stats import ceat, effects, intervals, preference
from unmask.stats.clustering import Design, codes
from unmask.stats.effects import attribute_variance
from unmask.stats.multiplicity import corrected, shrunken


def test_share_by_hand():
    found = intervals.share(np.array([1, 1, 1, 0.0]), list("abcd"), ideal=50)
    assert found.value == 75
    assert found.n == 4
    # The score equation: the share lies t standard errors of the bound from each bound.
    (variance, df), p = (
        intervals.uncertain(
            np.array([1, 1, 1, 0.0]), np.full(4, 0.25), Design(np.arange(4)), np.ones(4)
        ).widest,
        0.75,
    )
    smooth = 3.5 / 5
    for bound in (found.low / 100, found.high / 100):
        scale = bound * (1 - bound) / (smooth * (1 - smooth))
        assert abs(p - bound) == pytest.approx(t.ppf(0.975, df) * math.sqrt(variance * scale))


def test_wilson_of_many_independent_items_is_that_of_statsmodels():
    wins = np.repeat([1.0, 0.0], [1300, 700])
    found = intervals.share(wins, np.arange(2000), ideal=50)
    low, high = proportion_confint(1300, 2000, method="wilson")
    assert (found.low, found.high) == pytest.approx((100 * low, 100 * high), abs=0.01)
    assert found.method == "Wilson"


def test_clustered_variance_is_that_of_statsmodels(rng):
    """A mean is a regression on a constant with clustered errors."""
    clusters = np.repeat(np.arange(25), 6)
    wins = (rng.random(len(clusters)) < rng.random(25)[clusters]).astype(float)
    groups = {"groups": clusters, "use_correction": True}
    fitted = OLS(wins, np.ones(len(wins))).fit(cov_type="cluster", cov_kwds=groups)
    weight = intervals.weights(Design(clusters))
    variance = Design(clusters).variance(weight * (wins - wins.mean()), weight)
    assert variance.value == pytest.approx(float(fitted.bse[0]) ** 2)
    assert variance.df == pytest.approx(24)


def test_unequal_clusters_count_as_fewer():
    """CR2 by hand: one cluster with half of the weight."""
    clusters = np.repeat([0, 1, 2, 3], [6, 2, 2, 2])
    wins = np.array([1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0.0])
    pulls, share = (wins - wins.mean()) / 12, np.array([6, 2, 2, 2]) / 12
    sums = np.array([pulls[clusters == c].sum() for c in range(4)])
    found = Design(clusters).variance(pulls)
    assert found.value == pytest.approx(float((sums**2 / (1 - share)).sum()))
    assert found.df == pytest.approx(1 / (share**2).sum() - 1)
    assert 1 < found.df < 3


def test_two_ways_of_clustering_by_hand(rng):
    words, frames = np.repeat(np.arange(12), 5), np.tile(np.arange(5), 12)
    values = rng.normal(size=60) + rng.normal(size=12)[words] + 2 * rng.normal(size=5)[frames]
    pulls = (values - values.mean()) / 60

    def one_way(units):
        sums = [pulls[units == u].sum() for u in set(units)]
        return len(sums) / (len(sums) - 1) * sum(s**2 for s in sums)

    expected = one_way(words) + one_way(frames) - one_way(words * 5 + frames)
    found = Design(words, crossed=frames).variance(pulls)
    # frames that differ more than words alone do are what decides, with their 4 degrees of freedom
    assert found.value == pytest.approx(expected) or found.value == pytest.approx(one_way(frames))
    assert found.df >= 4 - 1e-9
    words_only = Design(words).variance(pulls)
    assert found.value > words_only.value


def test_strata_take_out_what_is_fixed(rng):
    """Words within a side: the difference between the sides is no error."""
    side = np.repeat([0, 1], 40)
    wins = np.where(side == 0, rng.random(80) < 0.95, rng.random(80) < 0.1).astype(float)
    plain = intervals.share(wins, np.arange(80), ideal=50)
    fixed = intervals.share(wins, Design(np.arange(80), strata=side), ideal=50)
    assert fixed.value == plain.value
    assert fixed.se < 0.6 * plain.se
    # A cluster that lies in two strata cannot be drawn within one: they are ignored.
    across = Design(np.tile(np.arange(40), 2), strata=side)
    pulls = (wins - wins.mean()) / 80
    assert across.variance(pulls) == Design(across.clusters).variance(pulls)


def test_p_turns_the_interval_around(rng):
    for seed in range(200):
        draw = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(12), draw.integers(1, 6, 12))
        wins = (draw.random(len(clusters)) < draw.choice([0.5, 0.7, 0.95])).astype(float)
        found = intervals.share(wins, clusters, ideal=50)
        assert found.excludes_ideal == (found.p < 0.05)


def test_mean_is_the_t_interval_of_scipy(rng):
    x = rng.normal(0.3, 1, 40)
    found, theirs = intervals.mean_estimate(x, np.arange(40), ideal=0.0), ttest_1samp(x, 0)
    bounds = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high))
    assert found.p == pytest.approx(theirs.pvalue)
    clusters = np.repeat(np.arange(8), 5)
    means = ttest_1samp([x[clusters == c].mean() for c in range(8)], 0)
    macro = intervals.mean_estimate(x, clusters, ideal=0.0, macro=True)
    assert macro.p == pytest.approx(means.pvalue)


def test_macro_is_the_mean_of_cluster_means():
    wins = np.array([1, 1, 1, 0, 0.0])
    clusters = ["a", "a", "a", "a", "b"]
    assert intervals.share(wins, clusters).value == pytest.approx(60)
    assert intervals.share(wins, clusters, macro=True).value == pytest.approx((75 + 0) / 2)


def test_whole_clusters_are_resampled(rng):
    """Items that repeat their cluster's value carry no more information than the clusters."""
    value = rng.integers(0, 2, 30).astype(float)
    wins, clusters = np.repeat(value, 10), np.repeat(np.arange(30), 10)
    clustered = intervals.share(wins, clusters)
    alone = intervals.share(value, np.arange(30))
    assert clustered.se == pytest.approx(alone.se, rel=0.05)
    assert clustered.more["design_effect"] == pytest.approx(10, rel=0.1)


def test_nothing_has_zero_width():
    """All alike, or all ties: Wilson's interval says how little that is; one cluster has none."""
    for wins, clusters in (
        (np.ones(20), np.arange(20)),
        (np.full(16, 0.5), np.arange(16)),
        (np.ones(30), np.repeat(np.arange(3), 10)),
    ):
        found = intervals.share(wins, clusters, ideal=50)
        assert found.high - found.low > 10
        assert found.low <= found.value <= found.high
    alone = intervals.share(np.array([1, 0.0, 1]), ["a", "a", "a"], ideal=50)
    assert math.isnan(alone.low)
    assert alone.p is None


def test_detectable_is_of_the_null():
    """The same items detect the same, whatever the score."""
    even = intervals.share(np.repeat([1.0, 0.0], [200, 200]), np.arange(400), ideal=50)
    high = intervals.share(np.repeat([1.0, 0.0], [360, 40]), np.arange(400), ideal=50)
    assert high.more["detectable"] == pytest.approx(even.more["detectable"], rel=0.02)
    # 2.8 standard errors of 2.5 points
    assert even.more["detectable"] == pytest.approx(2.8 * 2.5, rel=0.02)


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
    samples = ceat.Samples(rng.normal(1, 0.4, 200), rng.uniform(0.02, 0.3, 200), np.ones((4, 3)))
    ours = ceat.random_effects(samples)
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
    draws = [ceat.draw_indices(sizes[k], 40, rng, reuse=True) for k in "XYAB"]
    fast = ceat.ceat_samples(unit, draws)

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
    found = ceat.random_effects(fast)
    assert found.value == pytest.approx((e / v).sum() / (1 / v).sum(), abs=1e-10)
    assert found.se == pytest.approx((1 / v).sum() ** -0.5, abs=1e-10)


def test_draws_without_replacement_show_each_context_once(rng):
    drawn = ceat.draw_indices([5, 100], 20, rng, reuse=False)
    assert len(set(drawn[:, 1])) == 20
    assert drawn[:, 0].max() < 5


def test_the_noncentral_interval_turns_the_test_around(rng):
    x, y = rng.normal(1, 1, 9), rng.normal(0, 1, 12)
    d = effects.effect_size(x, y)
    seen = ttest_ind(x, y).statistic
    low, high = (v * math.sqrt(9 * 12 / 21) for v in effects.noncentral(d, 9, 12))
    assert nct.cdf(seen, 19, low) == pytest.approx(0.975, abs=1e-6)
    assert nct.cdf(seen, 19, high) == pytest.approx(0.025, abs=1e-6)
    within = (x.mean() - y.mean()) / math.sqrt((8 * x.var(ddof=1) + 11 * y.var(ddof=1)) / 19)
    assert effects.within(d, 9, 12) == pytest.approx(within)


def test_the_smallest_effect_is_that_of_statsmodels():
    needed = tt_ind_solve_power(nobs1=8, alpha=0.05, power=0.8, ratio=1.0)
    assert effects.smallest_effect(8, 8) == pytest.approx(needed, rel=1e-3)
    assert effects.mixture(needed, 8, 8) == pytest.approx(1.2, abs=0.01)  # 8 words: only d >= 1.2


def test_words_are_the_unit(rng):
    """Sentences that repeat their word say no more than the words."""
    x, y = rng.normal(1, 1, 8), rng.normal(0, 1, 8)
    names = [str(i // 10) for i in range(80)]
    single = effects.effect_estimate(effects.by_words(x, y))
    many = effects.by_words(np.repeat(x, 10), np.repeat(y, 10), names, names)
    clustered = effects.effect_estimate(many)
    assert clustered.p == single.p
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.05)
    with pytest.raises(DataError, match="two words"):
        effects.by_words(x[:1], y)


def test_without_a_word_equals_a_plain_loop(rng):
    sizes = rng.integers(1, 6, 10)
    names = [f"w{i}" for i in np.repeat(np.arange(10), sizes)]
    scores = rng.normal(size=len(names))
    first = np.array([int(n[1]) < 5 for n in names])
    x, y = scores[first], scores[~first]
    xs, ys = ([n for n, f in zip(names, first, strict=True) if f == k] for k in (True, False))
    words = effects.by_words(x, y, xs, ys)
    for k, got in enumerate(words.without()):
        for i, value in enumerate(got):
            gone = f"w{i + 5 * k}"
            kept = [np.array([n != gone for n in some]) for some in (xs, ys)]
            slow = effects.effect_size(x[kept[0]], y[kept[1]])
            assert value == pytest.approx(slow, abs=1e-9)


def test_attribute_variance_adds_what_is_missing():
    """The difference of means is bilinear: its variance over all four sets, by simulation."""
    rng = np.random.default_rng(4)
    values, rows, columns = [], [], []
    for _ in range(3000):
        x, y, a, b = (rng.normal(size=(n, 3)) for n in (6, 6, 5, 5))
        x[:, 0] += 1
        a[:, 0] += 0.7
        found = np.concatenate([x, y]) @ np.concatenate([a, b]).T
        scores = found[:, :5].mean(1) - found[:, 5:].mean(1)
        values.append(scores[:6].mean() - scores[6:].mean())
        rows.append(scores[:6].var(ddof=1) / 6 + scores[6:].var(ddof=1) / 6)
        columns.append(attribute_variance(found, (6, 6, 5, 5)).value)
    assert np.mean(rows) < 0.85 * np.var(values)
    # No variance is negative, so the mean of its estimates is a little too large.
    assert 0.97 < (np.mean(rows) + np.mean(columns)) / np.var(values) < 1.15


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


@pytest.mark.parametrize(
    "names",
    [
        [3, 1, 1, 7],
        [-1, 5, -1],
        [10**12, 5, 5],
        [True, False],
        ["b", "a", "b"],
        [[0, 1], [1, 0]],
        np.array([4, 4, 2], np.uint8),
        np.arange(3000)[::-1] // 7,
        [],
    ],
)
def test_names_become_numbers_in_their_order(names):
    found = codes(names)
    assert found.dtype == np.int64
    assert np.array_equal(found, np.unique(np.asarray(names), return_inverse=True)[1])
