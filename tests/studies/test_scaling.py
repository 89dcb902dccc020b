"""Does bias grow with size: slopes within families, on planted data."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import invoke
from simulation import pairs
from simulation.answers import result
from unmask.errors import DataError
from unmask.stats.growth import growth
from unmask.studies.scaling import read_families, scaling
from unmask.types import Results

COLUMNS = pairs.grid(2, 4, 8, 2)


def runs(shape, families=2, sizes=5, lms=None):
    """Results of models whose bias is a function of the step of their size."""
    rng, out = np.random.default_rng(0), []
    for family, step in itertools.product(range(families), range(sizes)):
        name = f"family-{family}-size-{step}"
        values = pairs.margins(rng, COLUMNS, pairs.Liking(template=0.0), shape(step))
        model = {"kind": "masked", "parameters": 10**6 * 2**step, "architecture": f"F{family}"}
        found = replace(result(COLUMNS, values, "cps", name), provenance={"model": model})
        out.append(found)
    return Results(out)


def plain_slope(x, y, families):
    """Centred within families, by hand."""
    x, y = np.array(x, float), np.array(y, float)
    for family in set(families):
        mine = np.array([f == family for f in families])
        x[mine] -= x[mine].mean()
        y[mine] -= y[mine].mean()
    return float(x @ y / (x @ x))


def test_the_slope_and_its_p_by_hand():
    sizes, scores = [1, 2, 4, 8, 16], [5.0, 30.0, -20.0, 40.0, 9.0]
    found = growth(np.array(sizes), np.array(scores), ["a"] * 5)
    assert found.value == pytest.approx(plain_slope(np.log2(sizes), scores, ["a"] * 5))
    orders = list(itertools.permutations(scores))
    slopes = [abs(plain_slope(np.log2(sizes), o, ["a"] * 5)) for o in orders]
    assert found.p == pytest.approx(np.mean(np.array(slopes) >= abs(found.value) - 1e-9))
    assert found.p > 0.5  # all five sizes count, not the smallest and the largest
    assert found.low < 0 < found.high


def test_families_may_differ_and_single_sizes_say_nothing():
    sizes = np.array([1, 2, 4, 1, 2, 4, 8.0])
    scores = np.array([10, 11, 12, 50, 51, 52, 99.0])
    families = ["a"] * 3 + ["b"] * 3 + ["alone"]
    found = growth(sizes, scores, families)
    assert found.value == pytest.approx(1.0)
    assert found.n == 6
    assert found.p == pytest.approx(2 / 36)
    with_units = growth(sizes * 1e6, scores, families)
    assert with_units.value == pytest.approx(found.value)


def test_too_few_models_have_a_slope_and_no_interval():
    found = growth(np.array([1.0, 2.0]), np.array([3.0, 5.0]), ["a", "a"])
    assert (found.value, found.p) == (2.0, 1.0)
    assert np.isnan(found.low)
    assert np.isnan(growth(np.array([1.0, 2.0]), np.array([3.0, 5.0]), ["a", "b"]).value)


@pytest.mark.parametrize(
    ("shape", "verdict"),
    [
        (lambda k: 0.25 * k, "grows"),
        (lambda k: 1.0 - 0.25 * k, "falls"),
        (lambda k: 0.0, "not shown"),
        (lambda k: 0.8 - 0.4 * abs(k - 2), "not shown"),
    ],
    ids=["grows", "falls", "stays", "peaks"],
)
def test_planted_trends(shape, verdict):
    found = scaling(runs(shape))
    assert found.slopes.verdict.tolist() == [verdict]
    assert len(found.models) == 10
    assert len(found.sentences) == 1


def test_families_from_a_file_and_the_command(tmp_path):
    file = tmp_path / "families.toml"
    names = [f"family-{f}-size-{s}" for f in range(2) for s in range(5)]
    quoted = ", ".join(f'"{n}"' for n in names)
    file.write_text(f"[families]\nall = [{quoted}]\n")
    assert set(read_families(file).values()) == {"all"}
    found = scaling(runs(lambda k: 0.25 * k), read_families(file))
    assert found.slopes.families.tolist() == [1]
    with pytest.raises(DataError, match="in no family"):
        scaling(runs(lambda k: 0.0), {"other": "x"})
    file.write_text("families = 3")
    with pytest.raises(DataError, match="does not define families"):
        read_families(file)
    folder = tmp_path / "r"
    unmask.save(unmask.run("bundled", "cps", "bundled-pairs", limit=30), folder)
    status, _, err = invoke("scaling", folder)
    assert status == 2
    assert "no measure has two models of one family that are fit for a verdict" in err
