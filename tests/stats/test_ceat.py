"""Tests of stats/ceat."""

import numpy as np
import pytest
from scipy.stats import norm, t
from statsmodels.stats.meta_analysis import combine_effects

from unmask.answer.verdict import decide
from unmask.errors import DataError
from unmask.stats import ceat, effects, log_odds


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


def test_everything_that_is_said_of_combined_effects_by_hand(rng):
    """Interval, prediction interval, spread and quantiles from their formulas."""
    e, v = rng.normal(0.4, 0.3, 50), rng.uniform(0.005, 0.05, 50)
    samples = ceat.Samples(e, v, np.zeros((0, 3)))
    got = ceat.random_effects(samples)
    w = 1 / v
    q = float((w * (e - (w * e).sum() / w.sum()) ** 2).sum())
    tau2 = (q - 49) / (w.sum() - (w**2).sum() / w.sum())
    star = 1 / (v + tau2)
    value, se = (star * e).sum() / star.sum(), star.sum() ** -0.5
    assert (got.value, got.se) == pytest.approx((value, se))
    assert (got.low, got.high) == pytest.approx((value - 1.959964 * se, value + 1.959964 * se))
    ahead = t.ppf(0.975, 48) * np.sqrt(tau2 + se**2)
    assert got.more["prediction"] == pytest.approx([value - ahead, value + ahead])
    assert got.more["I2"] == pytest.approx(1 - 49 / q)
    assert got.more["tau2"] == pytest.approx(tau2)
    assert got.more["sd"] == pytest.approx(np.sqrt(((e - value) ** 2).sum() / 49))
    assert got.more["mean"] == pytest.approx(e.mean())
    assert got.p == pytest.approx(2 * norm.sf(abs(value / se)))
    assert ceat.random_effects(samples, "one").p == pytest.approx(norm.sf(value / se))
    equal = ceat.random_effects(ceat.Samples(np.ones(4), np.ones(4), np.zeros((0, 3))))
    assert (equal.more["I2"], equal.more["tau2"], equal.value) == (0.0, 0.0, 1.0)
    one = ceat.random_effects(ceat.Samples(np.ones(1), np.ones(1), np.zeros((0, 3))))
    assert (one.more["sd"], one.more["tau2"], one.se) == (None, 0.0, 1.0)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 1)])
def test_ceat_on_log_odds_needs_two_words_a_side_as_lpbs_does(a, b, rng):
    halves = {
        name: (rng.normal(size=3 * n), [f"w{k}" for k in range(n) for _ in range(3)])
        for name, n in (("A", a), ("B", b))
    }
    for samples in (0, 50):
        with pytest.raises(DataError, match="at least two words per set"):
            log_odds.summarise(halves, samples=samples)


def test_more_samples_do_not_make_the_interval_over_words_narrower(rng):
    """What the pages of husse2022 say of CEAT."""
    scores = rng.normal(size=(4000, 12)) + np.repeat(rng.normal(size=12)[None], 4000, 0)
    few, many = (ceat.combined(ceat.sampled(scores[:n], 6), 6) for n in (100, 4000))
    assert (many.high - many.low) == pytest.approx(few.high - few.low, rel=0.15)
    published = [e.more["monte_carlo"]["se"] for e in (few, many)]
    assert published[1] < 0.3 * published[0]


def test_samples_of_sets_of_unlike_sizes(rng):
    """Three words of X and one of Y: the first three scores are X's."""
    vectors = [[effects.unit(rng.normal(size=(2, 4))) for _ in range(n)] for n in (3, 1, 2, 2)]
    indices = [ceat.draw_indices([2] * len(words), 20, rng, True) for words in vectors]
    got = ceat.ceat_samples(vectors, indices)
    for k in range(20):
        x, y, a, b = (
            np.stack([stored[drawn[k, w]] for w, stored in enumerate(words)])
            for words, drawn in zip(vectors, indices, strict=True)
        )
        scores = [effects.associations(w, a, b) for w in (x, y)]
        assert got.effects[k] == pytest.approx(effects.effect_size(*scores))


def test_one_word_a_side_has_a_number_and_no_interval(rng):
    """As published for sets of one word: the samples are +-sqrt(2), their mean is the score."""
    scores = rng.normal(size=(400, 2)) + [0.3, 0]
    estimate = ceat.combined(ceat.sampled(scores, 1), 1)
    signs = np.sign(scores[:, 0] - scores[:, 1]) * np.sqrt(2)
    weights = 1 / (scores.var(axis=1, ddof=1) + estimate.more["tau2"])
    assert estimate.value == pytest.approx((weights * signs).sum() / weights.sum())
    assert np.isnan([estimate.low, estimate.high, estimate.se]).all()
    assert estimate.p is None
    assert estimate.more["words"] == [1, 1]
    assert estimate.more["monte_carlo"]["interval"][0] < estimate.value
    assert decide(estimate, 0.2, 0.001, 1.0, "").word == "inconclusive"
