"""Do intervals cover and tests reject as they say? A part here, the whole in make test-all."""

import importlib.util
import sys

import numpy as np
import pytest

from conftest import ROOT
from unmask.stats.clustering import Design
from unmask.stats.preference import Margins

FILE = ROOT / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def coverage():
    sys.path.insert(0, str(FILE.parent))
    spec = importlib.util.spec_from_file_location("coverage_study", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for the processes of the study
    spec.loader.exec_module(module)
    return module


PARTS = {
    "unequal": "shares", "triplets": "shares", "templates": "effects", "comparisons": "others",
    "agreements": "others",
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_study(coverage, part):
    """150 repetitions: 95 % comes out between 90 and 99 by chance; a broken interval does not."""
    frame = coverage.study(150, (getattr(getattr(coverage, PARTS[part]), part),))
    assert len(frame) > 2
    assert (frame.covers.dropna() >= 87).all(), frame
    assert frame.covers.median() >= 93
    assert (frame.rejects.dropna() <= 13).all(), frame


def test_a_bootstrap_of_items_would_be_noticed(coverage):
    """The study can fail: clustered tosses as if they were independent."""
    from unmask.stats.intervals import share

    def draw(rng, seed):
        wins, number = coverage.shares.tossed(rng, 12, 20, 0.6, 0.2)
        found = share(wins, range(len(number)), ideal=60)
        return found.low, 60.0, found.high, found.p

    row = coverage.shares.repeated("naive", "12 x 20", True, 150, draw)
    assert row.covers < 80
    assert row.rejects > 20


def test_templates_left_out_would_be_noticed():
    """The study can fail: templates that are a sample, taken as they are."""
    from simulation import pairs

    columns = pairs.grid(3, 4, 16, 4)
    design = Design.of(columns)
    blind = Design.of({**columns, "template": [""] * len(columns["template"])})
    rng, some = np.random.default_rng(0), np.array(columns["category"]) == "type 0"
    held = {"with": 0, "without": 0}
    for _ in range(150):
        values = pairs.margins(rng, columns, pairs.Liking(template=0.8))
        for name, known in (("with", design), ("without", blind)):
            e = Margins(values, known).fit.estimate(some)
            held[name] += e.low <= 0 <= e.high
    assert held["with"] >= 0.88 * 150
    assert held["without"] < 0.75 * 150


@pytest.mark.slow
def test_the_whole_study(coverage):
    """Every interval and test that a user can see: bounds as docs/coverage.md states them.

    With as many repetitions as that has: of fewer, shares are beyond the bounds by chance.
    """
    frame = coverage.study(1000)
    enough = frame[frame.enough]
    hard = enough.scenario.str.contains(r"exponential|97 %|0\.97|90 %, alike 0\.2|margin")
    hard |= enough.what.str.contains(r"tails|adjusted share|reliability|decided|ranks|run:")
    for name, low, high in (("covers", 91.5, 99.8), ("rejects", 0.0, 8.5)):
        usual = enough[~hard][name].dropna()
        assert usual.between(low, high).all(), enough[~hard & ~enough[name].between(low, high)]
    middle = enough[~hard].covers.median()
    assert 94 <= middle <= 97.5
    assert (frame.covers.dropna() >= 80).all()
    assert (frame[~frame.enough].covers.dropna() >= 90).mean() > 0.95
    runs = frame[frame.what == "run: anything is called biased"]
    assert (runs.rejects <= 7.5).all(), runs
    promised = frame[frame.what.str.contains("power of 80")]
    assert promised.power.between(73, 90).all(), promised
