"""Tests of flow/run_likelihood."""

import numpy as np
import pytest

import unmask
from conftest import KINDS, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan, run_likelihood
from unmask.options import Options, Spec
from unmask.types import Dataset


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
def test_slices_change_nothing(family, monkeypatch):
    """Seven sentences at a time, or all at once."""
    kind = KINDS.get(family, "masked")
    names = {"causal": ["ll"]}.get(kind, ["pll", "sss", "aul", "aula"])
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    specs = [Spec(tiny(family), n, data) for n in names]
    whole = unmask.evaluate_specs(specs)
    monkeypatch.setattr(run_likelihood, "CPU_PACE", run_likelihood.Pace(7, 7, 0))
    told = []
    cut = unmask.evaluate_specs(
        specs, Options(keep=("tokens",), progress=lambda *args: told.append(args))
    )
    for one, two in zip(whole, cut, strict=True):
        assert np.allclose(one.items.score, two.items.score, atol=1e-5, equal_nan=True)
        assert one.items.drop(columns="score").equals(two.items.drop(columns="score"))
        assert one.settings["queries"] == two.settings["queries"]
        assert len(two.artifacts["tokens"]) == two.items.tokens.sum()
        assert two.coverage == one.coverage
    done = [d for _, d, _ in told]
    assert done == sorted(done)
    assert all(d < total for _, d, total in told[:-1])
    assert told[-1][1] == told[-1][2] == cut[0].settings["rows"]


@pytest.mark.parametrize("first", [None, 7, 1])
def test_slices_hold_every_item_once(first):
    items = bundled_pairs().items
    sets = [Dataset(str(n), "triplets", items[:n]) for n in (3, 4, 50, 2)]
    found = list(plan.slices(sets, 30, first))
    if first is None:
        assert [d.name for d, _, _ in found[0]] == ["3", "4", "50"]
    for data in sets:
        mine = [i for part in found for whole, p, _ in part if whole is data for i in p.items]
        assert tuple(mine) == data.items
    sizes = [sum(len(i.texts) for _, p, _ in part for i in p.items) for part in found]
    assert max(sizes) <= 30
    assert first is None or sizes[0] <= max(first, 3)


def test_a_plain_run_says_nothing_of_how_layers_multiply():
    """`products` is told where float32 products are made from halves, on a GPU."""
    (result,) = unmask.run(tiny("bert"), "aul", "bundled-pairs", limit=4)
    assert "products" not in result.settings
    assert "recheck" not in result.settings
