"""Tests of stats/crossed: a plain loop beside it, laws, and what simulated items show."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from unmask.stats import crossed
from unmask.stats.clustering import Design, codes


def grid(families=4, words=5, frames=2):
    """Family, side, word and frame of items; words lie in a side, frames in a family."""
    rows = np.array(list(itertools.product(range(families), (0, 1), range(words), range(frames))))
    family, side, word, frame = rows.T
    cell = family * 2 + side
    design = Design(codes(cell * words + word), cell, family * frames + frame, family)
    return design, side, cell


def drawn(rng, design, side, lean=0.0, sides=0.0, word=0.7, frame=0.5):
    """Answers of a logistic model with words and frames of their own."""
    eta = lean + sides * (1 - 2 * side)
    eta = eta + word * rng.normal(size=design.count)[design.clusters]
    eta = eta + frame * rng.normal(size=design.crossed.max() + 1)[design.crossed]
    return (rng.random(len(side)) < expit(eta)).astype(float)


def plain_correlations(values, cells, units):
    """The moment equations with whole matrices: pairs of items, centring and all."""
    n = len(values)
    centre = np.eye(n)
    for c in set(cells.tolist()):
        mine = cells == c
        centre[np.ix_(mine, mine)] -= 1 / mine.sum()
    apart = centre @ values
    spread = np.array([apart[cells == c] @ apart[cells == c] / max((cells == c).sum() - 1, 1)
                       for c in cells])  # fmt: skip
    pairs = [(u[:, None] == u[None, :]) & ~np.eye(n, dtype=bool) for u in units]
    root = np.sqrt(np.outer(spread, spread))
    expected = [[np.trace(b @ centre @ (m * root) @ centre) for m in pairs] for b in pairs]
    seen = [apart @ b @ apart - np.trace(b @ centre @ np.diag(spread) @ centre) for b in pairs]
    return np.linalg.solve(np.array(expected), np.array(seen))


def test_correlations_by_whole_matrices():
    design, side, cell = grid()
    rng, positive = np.random.default_rng(0), 0
    for _ in range(20):
        values = drawn(rng, design, side, word=1.5, frame=1.5)
        units = [design.clusters, design.crossed]
        expected = plain_correlations(values, cell, units)
        if (expected >= 0).all():
            positive += 1
            found = crossed._Moments(values, cell, units).correlations()
            assert found == pytest.approx(np.minimum(expected, 1).tolist(), abs=1e-9)
    assert positive >= 5


def test_the_variance_of_a_share_by_a_double_loop():
    design, side, _ = grid(3, 4, 2)
    values = drawn(np.random.default_rng(1), design, side, lean=0.4)
    fit = crossed.fitted(values, design)
    weight = np.random.default_rng(2).random(len(values))
    weight /= weight.sum()
    share = fit.share(weight)
    cells, spread = fit.cells, np.zeros(len(values))
    for c in range(cells.max() + 1):
        mine = cells == c
        part, size = weight[mine].sum() / 2, mine.sum()
        mean = values[mine].mean()
        smooth = (mean * size + part) / (size + 2 * part)
        spread[mine] = min(0.25, smooth * (1 - smooth) * size / (size - 1))
    value = 0.0
    for i, j in itertools.product(range(len(values)), repeat=2):
        alike = 1.0 if i == j else sum(
            r * (u[i] == u[j]) for r, u in zip(fit.correlations, fit.units, strict=True)
        )  # fmt: skip
        value += weight[i] * weight[j] * alike * math.sqrt(spread[i] * spread[j])
    assert share.share == pytest.approx(float(weight @ values))
    assert share.widest.value == pytest.approx(value)


def test_independent_items_of_one_cell_have_wilsons_interval():
    values = np.repeat([1.0, 0.0], [60, 40])
    share = crossed.fitted(values, Design(np.arange(100))).share(np.full(100, 0.01))
    assert share.wilson(0.95) == pytest.approx(
        proportion_confint(60, 100, method="wilson"), abs=3e-3
    )
    # p and interval agree at the interval's own ends
    for end in share.wilson(0.95):
        assert 2 * share.tail(end) == pytest.approx(0.05, abs=1e-3)
    assert share.tail(share.share) == 0.5


def test_order_of_items_and_names_of_units_do_not_matter():
    design, side, _ = grid()
    values = drawn(np.random.default_rng(3), design, side)
    order = np.random.default_rng(4).permutation(len(values))
    names = np.random.default_rng(5).permutation(design.count)
    other = Design(
        codes(names[design.clusters[order]]),
        design.strata[order],
        design.crossed[order],
        design.families[order],
    )
    one, two = crossed.fitted(values, design), crossed.fitted(values[order], other)
    assert one.correlations == pytest.approx(two.correlations)
    assert one.df == pytest.approx(two.df)
    weight = np.full(len(values), 1 / len(values))
    assert one.share(weight).wilson(0.9) == pytest.approx(two.share(weight).wilson(0.9))


def test_turning_all_answers_around_mirrors_the_interval():
    design, side, _ = grid()
    values = drawn(np.random.default_rng(6), design, side, lean=0.8, sides=1.0)
    weight = np.where(design.families == 0, 1.0, 0.0)
    weight /= weight.sum()
    one, two = (crossed.fitted(v, design).share(weight).wilson(0.95) for v in (values, 1 - values))
    assert one == pytest.approx((1 - two[1], 1 - two[0]))


def test_a_category_of_two_frames_borrows_what_frames_do_elsewhere():
    """One family alone has one degree of freedom for its two frames; with eleven it has eleven."""
    design, side, _ = grid(11, 8, 2)
    rng = np.random.default_rng(7)
    chosen = design.families == 0
    alone = design.chosen(chosen)
    widths, held, sure = [], [], []
    for _ in range(60):
        values = drawn(rng, design, side, lean=1.6)
        weight = chosen / chosen.sum()
        low, high = crossed.fitted(values, design).share(weight).wilson(0.95)
        own = crossed.fitted(values[chosen], alone).share(np.full(32, 1 / 32)).wilson(0.95)
        widths.append((high - low) / (own[1] - own[0]))
        held.append(low <= 0.797 <= high)
        sure.append(low > 0.5)
    assert np.median(widths) < 0.95
    assert np.mean(held) > 0.88
    assert np.mean(sure) > 0.6  # with one degree of freedom it was 14 %


def test_one_more_exception_does_not_widen_the_interval_beyond_measure():
    """32, 31 and 30 of 32 preferred: lower ends that go down step by step."""
    design, side, _ = grid(11, 8, 2)
    values = drawn(np.random.default_rng(8), design, side, lean=1.0)
    first = np.flatnonzero(design.families == 0)
    lows = []
    for lost in range(3):
        values[first] = 1.0
        values[first[: 5 * lost : 5]] = 0.0
        weight = np.zeros(len(values))
        weight[first] = 1 / 32
        lows.append(crossed.fitted(values, design).share(weight).wilson(0.95)[0])
    assert lows[0] > lows[1] > lows[2] > 0.6


def test_where_all_answers_are_alike_a_correlation_is_assumed():
    design = Design(np.repeat(np.arange(12), 10))
    same = crossed.fitted(np.ones(120), design)
    assert same.correlations == (crossed.ASSUMED_CORRELATION,)
    assert same.share(np.full(120, 1 / 120)).wilson(0.95)[0] < 0.97
    assert same.share(np.full(120, 1 / 120)).wilson(0.95)[1] == 1.0


def test_small_cells_are_put_together():
    cells = codes(["a"] * 6 + ["b", "c", "d"])
    assert len(set(crossed._large(cells)[6:].tolist())) == 1
    assert len(set(crossed._large(cells).tolist())) == 2


def test_sides_weigh_alike():
    weight = crossed.even_sides(codes([0] * 6 + [1] * 4), codes([0, 0, 1, 1, 1, 1, 0, 0, 0, 0]))
    assert weight[:2].sum() == pytest.approx(0.3)
    assert weight[2:6].sum() == pytest.approx(0.3)
    assert weight.sum() == pytest.approx(1.0)


def test_clusters_weigh_alike_within_their_side():
    families, sides = codes([0] * 6 + [1] * 2), codes([0, 0, 0, 1, 1, 1, 0, 1])
    clusters = codes([0, 0, 1, 2, 2, 2, 3, 4])
    weight = crossed.even_sides(families, sides, clusters)
    # five clusters, three in the first family; its sides have two and one
    assert weight[:3] == pytest.approx([3 / 5 / 2 / 2 / 2, 3 / 5 / 2 / 2 / 2, 3 / 5 / 2 / 2])
    assert weight[3:6] == pytest.approx([3 / 5 / 2 / 3] * 3)
    assert weight[6:] == pytest.approx([2 / 5 / 2] * 2)


@pytest.mark.parametrize(("lean", "sides"), [(0.0, 0.0), (0.0, 2.0), (1.6, 2.0)])
def test_intervals_hold_the_truth(lean, sides):
    """Fails if the frames' part is left out (88 %), or the words' (86 %)."""
    design, side, _ = grid(9, 8, 2)
    rng = np.random.default_rng(9)
    far = np.random.default_rng(0).normal(size=200_000) * math.hypot(0.9, 0.7)
    true = float((expit(lean + sides + far) + expit(lean - sides + far)).mean() / 2)
    weight, held, rejected = np.full(len(side), 1 / len(side)), [], []
    for _ in range(150):
        values = drawn(rng, design, side, lean=lean, sides=sides, word=0.9, frame=0.7)
        share = crossed.fitted(values, design).share(weight)
        low, high = share.wilson(0.95)
        held.append(low <= true <= high)
        rejected.append(2 * share.tail(true) <= 0.05)
    assert np.mean(held) >= 0.91
    assert np.mean(rejected) == pytest.approx(1 - np.mean(held), abs=0.01)


def test_a_part_with_one_item_of_each_cell_keeps_its_variance():
    """200 families of 8; a category has two items of each, one a side: 400 tosses."""
    family, side = np.repeat(np.arange(200), 8), np.tile(np.repeat([0, 1], 4), 200)
    category = np.tile(np.arange(4), 400)
    design = Design(np.arange(1600), family * 2 + side)
    chosen = category == 0
    rng, away = np.random.default_rng(0), []
    for _ in range(40):
        wins = (rng.random(1600) < 0.5).astype(float)
        share = crossed.fitted(wins, design).share(chosen / chosen.sum())
        assert math.sqrt(share.widest.value) == pytest.approx(0.025, rel=0.15)
        away.append(2 * share.tail(0.5) <= 0.05)
    assert np.mean(away) <= 0.2


def test_many_cells_and_clusters_take_no_minutes():
    rng = np.random.default_rng(1)
    family, side = rng.integers(1000, size=20_000), rng.integers(2, size=20_000)
    design = Design(
        codes(rng.integers(5000, size=20_000)), codes(family * 2 + side),
        codes(rng.integers(40, size=20_000)), codes(family),
    )  # fmt: skip
    fit = crossed.fitted((rng.random(20_000) < 0.5).astype(float), design)
    tables = fit.share(np.full(20_000, 1 / 20_000)).shared
    assert all(t.shape == (len(set(fit.cells.tolist())),) * 2 for t in tables)


def test_fits_of_one_design_share_what_they_know_and_nothing_else():
    """Other answers, other cells and other weights: each as a design of its own has it."""
    design, side, cell = grid()
    plain = Design(design.clusters, None, design.crossed, design.families)
    rng = np.random.default_rng(11)
    for _ in range(4):
        values = drawn(rng, design, side, 0.4, 0.3)
        weight = rng.random(len(side)) * (rng.random(len(side)) < 0.7)
        weight /= weight.sum()
        for cells in (None, cell, cell // 2):
            shared = crossed.fitted(values, plain, cells)
            alone = Design(plain.clusters, None, plain.crossed, plain.families)
            other = crossed.fitted(values, alone, cells)
            one, two = shared.share(weight), other.share(weight)
            assert one.wilson(0.9) == two.wilson(0.9)
            assert one.tail(0.5) == two.tail(0.5)
            assert shared.described(weight, one) == other.described(weight, two)
            assert shared.variance(weight) == other.variance(weight)
    assert len(plain.known.made) == 4 * 3


def test_the_tail_is_where_the_interval_of_two_sides_meets_the_null():
    rng, met = np.random.default_rng(5), 0
    for _ in range(40):
        design, side, _ = grid(families=1, words=6)
        values = drawn(rng, design, side, rng.normal(), rng.normal())
        share = crossed.fitted(values, design).share(np.full(len(side), 1 / len(side)))
        for null in (0.5, 0.4, 0.6):
            if share.share != null and (tail := share.tail(null)) > 1e-4:
                ends = share.wilson(1 - 2 * tail)
                assert min(abs(end - null) for end in ends) < 1e-9
                met += 1
    assert met > 60
