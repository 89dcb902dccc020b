"""Tests of stats/effects."""

import math

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_ind
from statsmodels.stats.power import tt_ind_solve_power

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats import effects
from unmask.stats.effects import attribute_variance


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


def sentences(rng, words, most=5):
    """Scores of some words, several sentences each, and the word of each score."""
    names = [f"w{k}" for k in range(words) for _ in range(rng.integers(1, most))]
    return rng.normal(size=len(names)) + rng.normal(size=words)[[int(n[1:]) for n in names]], names


def test_what_is_kept_of_words_by_a_plain_loop(rng):
    (x, xs), (y, ys) = sentences(rng, 6), sentences(rng, 5)
    x = x + 0.8
    found = effects.by_words(x, y, xs, ys)
    both = np.concatenate([x, y])
    assert found.value == pytest.approx((x.mean() - y.mean()) / both.std(ddof=1))
    assert found.spread == pytest.approx(both.std(ddof=1))
    assert found.sizes == (len(x), len(y))
    means = [[np.mean([v for v, w in zip(*h, strict=True) if w == n]) for n in dict.fromkeys(h[1])]
             for h in ((x, xs), (y, ys))]  # fmt: skip
    assert [m.tolist() for m in found.means] == [pytest.approx(m) for m in means]
    over_words = sum(np.var(m) * len(m) for m in means) / (len(means[0]) + len(means[1]) - 2)
    over_all = (x.var(ddof=1) * (len(x) - 1) + y.var(ddof=1) * (len(y) - 1)) / (len(both) - 2)
    ratio = math.sqrt(over_words / over_all) if over_words < over_all else 1.0
    assert found.ratio == pytest.approx(ratio)
    for side, (scores, words) in enumerate(((x, xs), (y, ys))):
        for k, name in enumerate(dict.fromkeys(words)):
            kept = np.array([v for v, w in zip(scores, words, strict=True) if w != name])
            one, two = (kept, y) if side == 0 else (x, kept)
            spread = np.concatenate([one, two]).std(ddof=1)
            expected = (one.mean() - two.mean()) / spread
            assert found.without()[side][k] == pytest.approx(expected)


def test_the_jackknife_by_hand(rng):
    parts = [rng.normal(size=7), rng.normal(size=4)]
    expected = sum((len(p) - 1) / len(p) * ((p - p.mean()) ** 2).sum() for p in parts)
    assert effects.jackknife(parts) == pytest.approx(expected)


def test_the_interval_reaches_as_far_as_the_wider_of_two(rng):
    """The noncentral t's in units of sentences, or the jackknife's; no farther than d can go."""
    (x, xs), (y, ys) = sentences(rng, 9), sentences(rng, 9)
    words = effects.by_words(x + 1.2, y, xs, ys)
    found = effects.effect_estimate(words)
    parts = [effects.jackknife([v]) for v in words.without()]
    own = math.sqrt(sum(parts))
    reach = t.ppf(0.975, sum(parts) ** 2 / sum(p**2 / 8 for p in parts)) * own  # Welch's df
    seen = effects.effect_size(*words.means)
    points = (effects.within(seen, 9, 9), *effects.noncentral(seen, 9, 9))
    middle, low, high = (effects.mixture(words.ratio * v, *words.sizes) for v in points)
    most = max(abs(words.value), (len(x) + len(y)) / math.sqrt(len(x) * len(y)))
    bounds = (
        max(-most, min(words.value - reach, low + words.value - middle)),
        min(most, max(words.value + reach, high + words.value - middle)),
    )
    assert (found.low, found.high) == pytest.approx(bounds)
    assert found.se == pytest.approx(own)
    assert found.more["df"] == 16
    assert found.n == 18


def test_attribute_words_widen_the_interval_and_give_their_own_test(rng):
    from unmask.stats.clustering import Variance

    x, y = rng.normal(size=8) + 1, rng.normal(size=8)
    words = effects.by_words(x, y)
    plain = effects.effect_estimate(words)
    other = Variance(0.04, 12.0)
    found = effects.effect_estimate(words, attributes=other)
    own, added = effects.jackknife(words.without()), 0.04 / words.spread**2
    both = (own + added) ** 2 / (own**2 / 14 + added**2 / 12)  # Satterthwaite's
    usual, wider = t.ppf(0.975, 14), t.ppf(0.975, both)
    below = math.sqrt((words.value - plain.low) ** 2 - (usual * words.tails) ** 2)
    further = wider * math.hypot(math.sqrt(added), words.tails)
    expected = math.hypot(below * wider / usual, further)
    assert words.value - found.low == pytest.approx(expected)
    assert found.se == pytest.approx(math.hypot(plain.se, 0.2 / words.spread))
    own = x.var(ddof=1) / 8 + y.var(ddof=1) / 8
    df = (own + 0.04) ** 2 / (own**2 / 14 + 0.04**2 / 12)
    gap = abs(x.mean() - y.mean())
    assert found.p == pytest.approx(2 * t.sf(gap / math.sqrt(own + 0.04), df))
    assert found.more["p_method"] == "t over the words of four sets"
    reach = t.ppf(0.975, 12) + t.ppf(0.8, 12)
    alone = effects.mixture(words.ratio * effects.smallest_effect(8, 8), 8, 8)
    expected = math.hypot(alone, reach * 0.2 / words.spread)
    assert found.more["mde"] == pytest.approx(min(2.0, expected))


def test_units_of_an_effect_turn_into_one_another():
    for d, n, m in ((0.4, 8, 8), (-1.1, 5, 12), (1.5, 20, 6)):
        total = n + m
        r = d * math.sqrt(n * m / (total * (total - 1)))
        expected = r / math.sqrt(1 - r**2) * math.sqrt((total - 2) * total / (n * m))
        assert effects.within(d, n, m) == pytest.approx(expected)
        share = n * m / total**2
        assert effects.mixture(d, n, m) == pytest.approx(d / math.sqrt(1 + share * d**2))
    assert math.isfinite(effects.within(9.0, 8, 8))


def test_an_effect_has_0_as_its_ideal_and_its_words_as_n(rng):
    found = effects.effect_estimate(effects.by_words(rng.normal(size=7), rng.normal(size=6)))
    assert (found.ideal, found.n, found.level) == (0.0, 13, 0.95)
    assert found.more["words"] == [7, 6]
    assert found.excludes_ideal == (found.low > 0 or found.high < 0)


def test_the_interplay_of_a_block_by_hand(rng):
    block = rng.normal(size=(4, 3))
    total = 0.0
    for i in range(4):
        for j in range(3):
            total += (block[i, j] - block[i].mean() - block[:, j].mean() + block.mean()) ** 2
    assert effects._interplay(block) == pytest.approx(total / (3 * 2) / 12)


def test_templates_by_a_plain_loop():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    gap = [x[:, t].mean() - y[:, t].mean() for t in range(4)]
    inside = 0.0
    for block in (x, y):
        rows, columns = block.shape
        rest = sum(
            (block[i, j] - block[i].mean() - block[:, j].mean() + block.mean()) ** 2
            for i in range(rows)
            for j in range(columns)
        )
        inside += rest / ((rows - 1) * (columns - 1)) / (rows * columns)
    found = effects.template_variance(x, y, paired=True)
    assert found.value == pytest.approx(max(np.var(gap, ddof=1) / 4 - inside, 0))
    assert found.df == 3
    apart = effects.template_variance(x, y, paired=False)
    assert apart.df == 6
    assert effects.template_variance(x[:, :2], y[:, :2], paired=True) is None
    # a template that moves both sets alike is no error of their difference
    moved = np.array([0.0, 5, -5, 9])
    same = effects.template_variance(x + moved, y + moved, paired=True)
    assert same.value == pytest.approx(found.value)


@pytest.mark.parametrize("words", [8, 25])
def test_templates_are_a_sample_too(words):
    """Five templates by set that differ by .5: over words alone the interval holds in 83 %."""
    rng = np.random.default_rng(3)
    held, alone = [], []
    names = [str(w) for w in range(words) for _ in range(5)]
    for _ in range(150):
        x, y = (
            rng.normal(size=(words, 1)) + 0.5 * rng.normal(size=(1, 5))
            + 0.7 * rng.normal(size=(words, 5)) for _ in range(2)
        )  # fmt: skip
        found = effects.by_words(x.ravel(), y.ravel(), names, names)
        how = Resampling(splits=0)
        wide = effects.effect_estimate(
            found, templates=effects.template_variance(x, y, paired=True), resampling=how
        )
        plain = effects.effect_estimate(found, resampling=how)
        held.append(wide.low <= 0 <= wide.high)
        alone.append(plain.low <= 0 <= plain.high)
    assert np.mean(held) > 0.9
    assert np.mean(held) > np.mean(alone)


def test_heavy_tails_widen_the_interval():
    normal = np.array([-1.5, -1, -0.6, -0.3, 0.0, 0.0, 0.3, 0.6, 1, 1.5])
    heavy = np.append(normal[:-1], 9.0)
    light, wide = (effects.by_words(v + 1.5, normal) for v in (normal, heavy))
    assert light.tails == 0
    apart = np.concatenate([heavy - heavy.mean(), normal - normal.mean()])
    excess = 20 * (apart**4).sum() / (apart**2).sum() ** 2 - 3
    assert wide.tails == pytest.approx(abs(wide.value) / 2 * math.sqrt(2 * excess / 20))
    assert effects.by_words(np.array([1.0, 1]), np.array([0.0, 0])).tails == 0


def test_words_without_any_spread_have_a_p_all_the_same():
    from unmask.stats.clustering import Variance

    words = effects.by_words(np.ones(3), np.zeros(3))
    assert effects.effect_estimate(words, templates=Variance(0.0, 2.0)).p == 0
