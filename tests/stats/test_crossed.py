"""Tests of stats/crossed: plain loops beside it, laws, and what simulated items show."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from unmask.stats.bounded_scores import INNER, NORMAL_BOUND, bounded_scores
from unmask.stats.clustering import Design
from unmask.stats.crossed import Crossed
from unmask.stats.crossed_fit import Fit
from unmask.stats.preference import Margins
from unmask.stats.word_preference import between_units, sampling_noise, word_preference


def columns(pairs=2, words=5, templates=2, category=None):
    """Items of group pairs with two groups, words within a group, templates within a category."""
    rows = list(itertools.product(range(pairs), "ab", range(words), range(templates)))
    return {
        "cluster": [f"{p}{g}{w}" for p, g, w, _ in rows],
        "category": [f"c{p}" if category is None else category for p, *_ in rows],
        "group_pair": [f"p{p}" for p, *_ in rows],
        "group": [g for _, g, *_ in rows],
        "template": [f"t{t}" for *_, t in rows] if templates > 1 else [""] * len(rows),
    }


def unbalanced(counts):
    """Items of one category: for each group pair so many about each of its groups."""
    rows = [(p, g, k) for p, pair in enumerate(counts) for g, n in zip("ab", pair, strict=True)
            for k in range(n)]  # fmt: skip
    return Design.of(
        {
            "cluster": [f"{p}{g}{k}" for p, g, k in rows],
            "category": ["c"] * len(rows),
            "group_pair": [f"p{p}" for p, *_ in rows],
            "group": [g for _, g, _ in rows],
            "template": [""] * len(rows),
        }
    )


def even(design, chosen=None):
    chosen = np.ones(len(design.clusters), bool) if chosen is None else chosen
    return chosen / chosen.sum()


def drawn(rng, design, bias=0.0, pair=1.0, cell=1.0, word=0.4, template=0.0, noise=0.7):
    """Margins with word preferences of pairs and of templates in them, words, templates, noise."""
    model = Crossed.of(design)
    n = len(design.clusters)
    values = bias + noise * rng.standard_t(5, n)
    values += word * rng.normal(size=design.count)[design.clusters]
    values += model.sign * pair * rng.normal(size=model.pair.max() + 1)[model.pair]
    values += model.sign * cell * rng.normal(size=model.unit.max() + 1)[model.unit]
    if model.template is not None:
        values += template * rng.normal(size=model.template.max() + 1)[model.template]
    return values


def test_balanced_items_need_no_adjustment():
    """Their mean is the plain mean, and whatever word preference is added changes nothing."""
    design = Design.of(columns())
    model, rng = Crossed.of(design), np.random.default_rng(0)
    values = drawn(rng, design)
    mean = Fit.of(model, values).mean(even(design))
    assert mean.value == pytest.approx(values.mean())
    moved = values + 7.0 * model.sign * (1 + model.pair)
    other = Fit.of(model, moved).mean(even(design))
    assert other.value == pytest.approx(mean.value)
    assert other.words.value == pytest.approx(mean.words.value)


def test_two_pairs_are_not_pooled_and_their_groups_weigh_alike():
    design = unbalanced([(2, 6), (5, 3)])
    values = np.random.default_rng(1).normal(size=16)
    expected = (values[:2].mean() + values[2:8].mean()) / 2 * 8 / 16
    expected += (values[8:13].mean() + values[13:].mean()) / 2 * 8 / 16
    assert Fit.of(Crossed.of(design), values).mean(even(design)).value == pytest.approx(expected)


def test_the_adjusted_mean_is_the_mean_of_adjusted_values():
    design = unbalanced([(2, 9), (8, 3), (4, 4), (12, 1), (1, 6)])
    rng, model = np.random.default_rng(2), Crossed.of(design)
    values = drawn(rng, design)
    preference = word_preference(model, values)
    left = values - model.sign * preference.values[model.unit]
    for chosen in (np.ones(len(values), bool), design.pairs == 1, design.pairs == 4):
        mean = Fit.of(model, values, preference).mean(even(design, chosen))
        assert mean.value == pytest.approx(left[chosen].mean())


def test_the_posterior_mean_by_numerical_integration():
    own, noise = np.array([1.2, 0.3, -0.4, 0.9, 0.1]), np.array([0.1, 0.2, 0.3, 0.1, 0.4])

    def density(spread):
        precision = 1 / (noise + spread**2)
        centre = precision @ own / precision.sum()
        return np.exp(0.5 * np.log(precision).sum() - 0.5 * np.log(precision.sum())
                      - 0.5 * precision @ (own - centre) ** 2)  # fmt: skip

    top = 4 * np.sqrt(np.var(own) + np.mean(noise))
    whole = quad(density, 0, top)[0]
    expected = quad(lambda s: s**2 * density(s), 0, top)[0] / whole
    assert between_units(own, noise) == pytest.approx(expected, rel=0.01)


def test_the_noise_of_a_word_preference_is_its_sampling_variance():
    """Writers have items about all pairs and groups, so most of what they add cancels."""
    rng = np.random.default_rng(2)
    rows = [(p, g, k) for p in range(5) for g, n in (("a", 120), ("b", 12)) for k in range(n)]
    writers = rng.integers(0, 25, len(rows))
    design = Design.of(
        {
            "cluster": [f"w{w}" for w in writers],
            "category": [f"c{p}" for p, *_ in rows],
            "group_pair": [f"p{p}" for p, *_ in rows],
            "group": [g for _, g, _ in rows],
            "template": [""] * len(rows),
        }
    )
    model, own, noise = Crossed.of(design), [], []
    for _ in range(400):
        values = rng.normal(size=len(rows)) + rng.normal(size=25)[design.clusters]
        own.append(np.bincount(model.unit, weights=model.contrast * values))
        noise.append(sampling_noise(model, values))
    assert np.mean(noise, axis=0) == pytest.approx(np.var(own, axis=0), rel=0.25)


def test_pooling_follows_what_the_pairs_have_in_common():
    """Pairs that agree lend each other their preference; pairs that do not keep their own."""
    design = unbalanced([(60, 3)] * 9)
    rng, model = np.random.default_rng(3), Crossed.of(design)
    alike = word_preference(model, 2.0 * model.sign + rng.normal(size=len(model.sign)))
    apart = word_preference(model, drawn(rng, design, pair=5.0, cell=0.0))
    assert alike.unit_weight.max() < 0.6 < 0.95 < apart.unit_weight.min()
    assert alike.size == pytest.approx(2.0, abs=0.3)


def test_the_variance_of_words_by_a_double_loop():
    design = Design.of(columns(2, 4, 3))
    rng, model = np.random.default_rng(4), Crossed.of(design)
    values = drawn(rng, design)
    cells = model.cell
    mean = [values[cells == cells[i]].mean() for i in range(len(values))]
    residual = (values - mean) / np.sqrt(1 - 1 / 4)
    weight = even(design)
    expected = sum(
        weight[i] * weight[j] * residual[i] * residual[j]
        for i, j in itertools.product(range(len(values)), repeat=2)
        if design.clusters[i] == design.clusters[j]
    )
    words = Fit.of(model, values).mean(weight).words
    assert words.value == pytest.approx(expected)
    assert words.df == 2 * 2 * 4 - 4  # words, less one for each group of each pair


def test_laws_of_the_mean_margin():
    design = unbalanced([(3, 9), (8, 3), (4, 4), (12, 5)])
    values = drawn(np.random.default_rng(5), design, bias=0.4)
    mean = Margins(values, design).fit.mean(even(design))
    turned = Margins(-values, design).fit.mean(even(design))
    assert turned.value == pytest.approx(-mean.value)
    assert turned.variance.value == pytest.approx(mean.variance.value)
    scaled = Margins(3 * values, design)
    assert scaled.fit.mean(even(design)).value == pytest.approx(mean.value)
    order = np.random.default_rng(6).permutation(len(values))
    shuffled = Design(
        design.clusters[order],
        design.strata[order],
        None,
        design.pairs[order],
        design.signs[order],
        design.categories[order],
    )
    other = Margins(values[order], shuffled).fit.mean(even(design))
    assert other.value == pytest.approx(mean.value)
    assert other.variance.value == pytest.approx(mean.variance.value)


def test_scores_are_bounded_and_their_mean_is_hubers_location():
    design = Design(np.arange(9))
    margins = np.array([-1.0, -0.5, -0.2, 0.0, 0.1, 0.3, 0.6, 1.0, 500.0])
    scores, unit = bounded_scores(Crossed.of(design), margins)
    location, bound = unit * scores.mean(), unit * NORMAL_BOUND
    assert np.clip(margins - location, -bound, bound).sum() == pytest.approx(0.0, abs=1e-3)
    away = np.abs(margins - location)
    assert bound == pytest.approx(np.quantile(away, INNER), abs=1e-3)
    inside = np.mean(away <= bound)
    expected = location + np.clip(margins - location, -bound, bound) / inside
    assert unit * scores == pytest.approx(expected, abs=1e-3)
    assert scores.max() < 5


@pytest.mark.parametrize("kind", ["two modes", "two values", "heavy tails"])
def test_odd_shapes_of_margins_keep_the_size(kind):
    rng, design = np.random.default_rng(12), Design.of(columns(4, 8, 3))
    n, sure = len(design.clusters), []
    for _ in range(300):
        values = {
            "two modes": rng.choice([-5.0, 5.0], n) + 0.3 * rng.normal(size=n),
            "two values": rng.choice([-1.0, 1.0], n),
            "heavy tails": rng.standard_t(1.5, n),
        }[kind] + 1.5 * design.signs
        estimate = Margins(values, design).fit.estimate(np.ones(n, bool))
        sure.append(estimate.p <= 0.05)
    assert np.mean(sure) < 0.085


@pytest.mark.parametrize("sizes", [(8, 30), (20, 20), (10, 10)])
def test_groups_of_unequal_spread_keep_the_size(sizes):
    """One group's margins vary four times as much as the other's; there is no stereotype."""
    rng, n = np.random.default_rng(8), sum(sizes)
    facts = {"cluster": list(range(n)), "category": ["c"] * n, "group_pair": ["p"] * n}
    group = ["a"] * sizes[0] + ["b"] * sizes[1]
    design = Design.of({**facts, "group": group, "template": [""] * n})
    spread, sure = np.where(np.array(group) == "a", 1.0, 0.25), []
    for _ in range(600):
        values = spread * rng.normal(size=n) + 2.0 * design.signs
        sure.append(Margins(values, design).fit.estimate(np.ones(n, bool)).p <= 0.05)
    assert np.mean(sure) < 0.09  # one bound for both groups: 0.2 to 0.4


def test_bias_types_of_unequal_spread_keep_the_size():
    """One of eight bias types varies three times as much; there is no stereotype."""
    rng, design = np.random.default_rng(5), Design.of(columns(8, 8, 2))
    wide, sure = design.categories == 0, []
    for _ in range(300):
        values = drawn(rng, design) * np.where(wide, 3.0, 1.0)
        sure.append(Margins(values, design).fit.estimate(wide).p <= 0.05)
    assert np.mean(sure) < 0.09  # one bound and one variance for all: 0.3 to 0.5


def test_a_bias_type_in_which_nothing_varies_has_no_interval():
    rng, design = np.random.default_rng(5), Design.of(columns(6, 8, 2))
    constant = design.categories == 0
    fit = Margins(np.where(constant, 1.0, drawn(rng, design)), design).fit
    assert np.isnan(fit.estimate(constant).low)
    assert fit.estimate(design.categories == 1).low < fit.estimate(design.categories == 1).high


def test_templates_of_one_group_each_count_as_an_effect():
    """Group a is in template 1 and b in template 2: the templates' effect cannot be told apart."""
    rng, words = np.random.default_rng(6), 16
    rows = [(c, g, w) for c in range(4) for g in "ab" for w in range(words)]
    design = Design.of(
        {
            "cluster": [f"{c}{g}{w}" for c, g, w in rows],
            "category": [f"c{c}" for c, *_ in rows],
            "group_pair": [f"p{c}" for c, *_ in rows],
            "group": [g for _, g, _ in rows],
            "template": [f"{c}{g}" for c, g, _ in rows],
        }
    )
    sure = []
    for _ in range(200):
        effect = 0.8 * rng.normal(size=8)[np.array([2 * c + (g == "b") for c, g, _ in rows])]
        values = effect + 0.8 * rng.normal(size=len(rows))
        sure.append(Margins(values, design).fit.estimate(design.categories == 0).p <= 0.05)
    assert np.mean(sure) < 0.09  # without it: 0.5


def test_a_strongly_preferred_word_flattens_no_margin():
    """Bounds are about the cell: a preference of 9 nats leaves the spread as it is."""
    design = Design.of(columns(3, 16, 1))
    model = Crossed.of(design)
    quiet = drawn(np.random.default_rng(7), design, pair=0.0, cell=0.0)
    loud = quiet + 9.0 * model.sign
    fits = [Margins(v, design) for v in (quiet, loud)]
    assert fits[1].fit.mean(even(design)).value == pytest.approx(
        fits[0].fit.mean(even(design)).value
    )
    assert fits[1].wins.values.mean() == pytest.approx(fits[0].wins.values.mean(), abs=0.03)


@pytest.mark.parametrize(
    ("design", "template"),
    [
        (Design.of(columns(6, 8, 2)), 0.0),
        (Design.of(columns(6, 8, 3)), 0.3),
        (Design.of(columns(6, 12, 4, category="c")), 0.2),
        (unbalanced([(40, 8), (30, 30), (50, 4), (25, 3), (10, 10), (60, 5)]), 0.0),
    ],
    ids=["two templates", "templates differ", "one category", "unbalanced"],
)
def test_tests_keep_their_size_and_intervals_hold(design, template):
    """Mean margins and adjusted shares without bias, with word preferences of 1 nat and more."""
    rng, sure = np.random.default_rng(8), {"margin": [], "share": []}
    weight = even(design)
    for _ in range(300):
        margins = Margins(drawn(rng, design, template=template), design)
        estimate = margins.fit.estimate(np.ones(len(weight), bool))
        sure["margin"].append(estimate.p <= 0.05)
        share, _ = margins.wins.share(weight, adjust=True)
        low, high = share.wilson(0.95)
        sure["share"].append(not low <= 0.5 <= high)
    for name, rejected in sure.items():
        assert np.mean(rejected) < 0.085, name  # 5 % and two standard errors, and what df cost


def test_a_bias_is_found_more_often_by_margins_than_by_raw_answers():
    rng, design = np.random.default_rng(9), Design.of(columns(1, 8, 3))
    weight, found = even(design), {"margin": 0, "raw": 0}
    for _ in range(200):
        values = drawn(rng, design, bias=0.5)
        margins = Margins(values, design)
        found["margin"] += margins.fit.estimate(weight > 0).p <= 0.05
        raw, _ = Fit.of(Crossed.of(design), (values > 0).astype(float)).share(weight)
        found["raw"] += 2 * raw.tail(0.5) <= 0.05
    assert found["margin"] > 1.3 * found["raw"]


def test_the_adjusted_share_is_what_no_word_preference_would_leave():
    """Of normal margins with mean bias and spread 1: the share is Phi(bias), whatever the word."""
    rng, design = np.random.default_rng(10), unbalanced([(300, 60)] * 4)
    values = 0.5 + rng.normal(size=len(design.clusters))
    for preference in (0.0, 2.0):
        margins = Margins(values + preference * design.signs, design)
        share, _ = margins.wins.share(even(design), adjust=True)
        assert share.share == pytest.approx(norm.cdf(0.5), abs=0.04)


def test_a_share_near_its_end_varies_less_than_the_others():
    """Templates that differ at 50 % say little about a bias type at 100 %."""
    rng, design = np.random.default_rng(4), Design.of(columns(6, 8, 2))
    category = design.categories
    values = drawn(rng, design, template=0.8) + np.where(category == 0, 6.0, 0.0)
    fit = Fit.of(Crossed.of(design), (values > 0).astype(float), share=True)
    first, second = ((category == c) / np.sum(category == c) for c in (0, 1))
    assert fit.mean(second).templates.value > 0
    assert fit.mean(first).templates == (0.0, fit.mean(second).templates.df, 0.0)
    low, high = fit.share(first)[0].wilson(0.95)
    assert low > 0.8
    assert high == 1


def test_three_groups_of_a_pair_have_no_sign():
    facts = {
        "cluster": list("abcdef"),
        "category": ["c"] * 6,
        "group_pair": ["p"] * 6,
        "group": ["x", "y", "z"] * 2,
        "template": [""] * 6,
    }
    assert Design.of(facts).signs.tolist() == [0] * 6
    assert Design.of({**facts, "group": ["x", "y"] * 3}).signs.tolist() == [1, -1] * 3
    assert Design.of({**facts, "group": [""] * 6}).signs.tolist() == [0] * 6


def test_a_pair_with_one_group_has_the_order_of_the_set():
    facts = {
        "cluster": list("abcd"),
        "category": ["c"] * 4,
        "group_pair": ["p", "p", "q", "q"],
        "group": ["men", "women", "women", "women"],
        "template": [""] * 4,
    }
    assert Design.of(facts).signs.tolist() == [1, -1, -1, -1]


def test_many_items_take_no_minutes():
    design = Design.of(columns(60, 24, 4))
    rng = np.random.default_rng(11)
    margins = Margins(drawn(rng, design), design)
    assert margins.fit.estimate(np.ones(len(design.clusters), bool)).se > 0
