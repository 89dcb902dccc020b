"""The mean margin: a plain matrix beside the model, laws, and outliers."""

import numpy as np
import pytest

from unmask.stats import margins
from unmask.stats.clustering import Design, codes
from unmask.stats.crossed import fitted


def crossed(words=12, frames=6, seed=0, moved=0.0):
    rng = np.random.default_rng(seed)
    word, frame = (v.ravel() for v in np.meshgrid(range(words), range(frames), indexing="ij"))
    values = 0.3 + 0.5 * rng.normal(size=words)[word] + rng.normal(size=len(word))
    values = values + moved * rng.normal(size=frames)[frame]
    return values, Design(codes(word), crossed=codes(frame))


def test_the_variance_is_that_of_the_whole_matrix():
    """w' S w, with S built entry by entry from the estimated correlations."""
    values, design = crossed()
    fit = fitted(values, design, answers=False)
    n = len(values)
    weight = np.full(n, 1 / n)
    spread = values.var(ddof=1)
    table = np.eye(n)
    for r, units in zip(fit.correlations, fit.units, strict=True):
        for i in range(n):
            for j in range(n):
                if i != j and units[i] == units[j]:
                    table[i, j] += r
    assert fit.variance(weight).value == pytest.approx(weight @ table @ weight * spread)


def test_the_mean_and_its_sign():
    values, design = crossed()
    every = np.ones(len(values), bool)
    one = margins.Margins(values, design).estimate(every)
    two = margins.Margins(-values, design).estimate(every)
    assert one.value == pytest.approx(margins.drawn_in(values).mean())
    assert (two.value, two.low, two.high) == pytest.approx((-one.value, -one.high, -one.low))
    assert one.p == pytest.approx(two.p)
    assert one.low < one.value < one.high


def test_far_margins_are_drawn_in_and_near_ones_are_not():
    values = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 1e6])
    found = margins.drawn_in(values)
    assert found[:5].tolist() == values[:5].tolist()
    reach = 1.5 + margins.FAR * margins.NORMAL * 1.5
    assert found[5] == pytest.approx(reach)
    assert margins.drawn_in(np.array([0.0, 0.0, 0.0, 5.0])).tolist() == [0, 0, 0, 5]
    mostly_tied = margins.drawn_in(np.array([0.0] * 6 + [5.0] * 3 + [1e6]))
    assert mostly_tied.max() < 50


def test_margins_that_are_not_there_do_not_count():
    values, design = crossed()
    values[:6] = np.nan
    every = np.ones(len(values), bool)
    found = margins.Margins(values, design).estimate(every)
    assert found.n == len(values) - 6
    only = np.zeros(len(values), bool)
    only[:6] = True
    assert margins.Margins(values, design).estimate(only) is None


def test_an_infinite_margin_is_drawn_in_and_not_forgotten():
    """A sentence that is impossible counts against the others, as it does for the share."""
    values, design = crossed()
    values[:6] = -np.inf
    found = margins.Margins(values, design).estimate(np.ones(len(values), bool))
    finite = margins.Margins(values[6:], design.chosen(np.arange(len(values)) >= 6))
    assert found.n == len(values)
    assert found.more["drawn_in"] >= 6
    assert found.value < finite.estimate(np.ones(len(values) - 6, bool)).value - 0.1
    values[:50] = -np.inf
    assert margins.Margins(values, design).estimate(np.ones(len(values), bool)) is None


@pytest.mark.parametrize(("words", "moved"), [(10, 0.0), (30, 0.0), (20, 0.3)])
def test_the_interval_holds_what_it_promises(words, moved):
    """Other words and frames of the same kind."""
    hits, times = 0, 300
    for seed in range(times):
        values, design = crossed(words, 6, seed, moved)
        found = margins.Margins(values, design).estimate(np.ones(len(values), bool))
        hits += found.low <= 0.3 <= found.high
    assert 0.91 < hits / times <= 0.99
