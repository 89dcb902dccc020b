"""Do intervals cover and tests reject as they say? A part here, the whole in make test-all."""

import importlib.util

import pytest

from conftest import ROOT

FILE = ROOT / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def coverage():
    spec = importlib.util.spec_from_file_location("coverage_study", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", ["unequal", "triplets", "two_sided", "comparisons", "agreements"])
def test_a_part_of_the_study(coverage, part):
    """150 repetitions: 95 % comes out between 90 and 99 by chance; a broken interval does not."""
    frame = coverage.study(150, (getattr(coverage, part),))
    assert len(frame) > 4
    assert (frame.covers.dropna() >= 87).all(), frame
    assert frame.covers.median() >= 93
    assert (frame.rejects.dropna() <= 13).all(), frame


def test_a_bootstrap_of_items_would_be_noticed(coverage):
    """The study can fail: clustered tosses as if they were independent."""
    from unmask.stats.intervals import share

    def draw(rng, seed):
        wins, number = coverage.tossed(rng, 12, 20, 0.6, 0.2)
        found = share(wins, range(len(number)), ideal=60)
        return found.low, 60.0, found.high, found.p

    row = coverage.repeated("naive", "12 x 20", True, 150, draw)
    assert row.covers < 80
    assert row.rejects > 20


@pytest.mark.slow
def test_the_whole_study(coverage):
    """Every interval and test that a user can see: bounds as docs/coverage.md states them."""
    frame = coverage.study(600)
    enough = frame[frame.enough]
    hard = enough.scenario.str.contains(r"exponential|97 %|0\.97|90 %, alike 0\.2|2 frames|margin")
    for name, low, high in (("covers", 92, 99.5), ("rejects", 0.5, 8)):
        usual = enough[~hard][name].dropna()
        assert usual.between(low, high).all(), enough[~hard & ~enough[name].between(low, high)]
    middle = enough[~hard].covers.median()
    assert 94 <= middle <= 97
    assert (frame.covers.dropna() >= 84).all()
    assert (frame[~frame.enough].covers.dropna() >= 90).mean() > 0.95
