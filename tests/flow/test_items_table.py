"""Tests of flow/items_table: the design of items from their columns, made once for all results."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import items_table
from unmask.flow.evaluate import evaluate
from unmask.options import Options, Spec
from unmask.stats.clustering import COLUMNS, Design


def design(**columns):
    size = len(next(iter(columns.values())))
    return Design.of({name: [""] * size for name in COLUMNS} | columns)


def test_templates_are_a_sample_where_every_item_has_one():
    words, templates = ["a", "a", "b", "b"], ["x", "y", "x", "y"]
    assert design(cluster=words, template=templates).templates.tolist() == [0, 1, 0, 1]
    for some in (["x"] * 4, ["", "x", "y", "x"], [""] * 4):
        assert design(cluster=words, template=some).templates is None


def test_groups_are_strata_where_every_item_has_one():
    words, pairs = ["a", "b", "c", "d"], ["f", "f", "g", "g"]
    both = design(cluster=words, group_pair=pairs, group=["1", "2", "1", "2"])
    assert both.strata.tolist() == [0, 1, 2, 3]
    assert both.pairs.tolist() == [0, 0, 1, 1]
    some = design(cluster=words, group_pair=pairs, group=["", "2", "1", "2"])
    assert some.strata is None


def test_measures_of_one_data_set_share_its_layout(monkeypatch):
    made, own = [], items_table.Layout.of.__func__
    monkeypatch.setattr(
        items_table.Layout, "of", classmethod(lambda cls, *a: made.append(1) or own(cls, *a))
    )
    data = replace(bundled_pairs(), items=bundled_pairs().items[::9])
    specs = [Spec(tiny("bert"), name, data) for name in ("aul", "pll", "cps")]
    together = evaluate(specs, Options(cache=False))
    assert len(made) == 1
    for spec, found in zip(specs, together, strict=True):
        (alone,) = evaluate([spec], Options(cache=False))
        assert found.overall == alone.overall
        assert found.by_category == alone.by_category
        assert found.accuracy == alone.accuracy
        assert list(found.extras) == list(alone.extras)
        for name, estimate in found.extras.items():  # scores are rounded by what is beside them
            numbers = [estimate.value, estimate.low, estimate.high]
            other = alone.extras[name]
            same = [other.value, other.low, other.high]
            assert numbers == pytest.approx(same, abs=1e-6, nan_ok=True)


def test_what_is_left_out_changes_the_layout():
    about = items_table.about_sentences(replace(bundled_pairs(), items=bundled_pairs().items[:6]))
    every = np.ones(len(about.frame), bool)
    some = (about.frame["item"] != about.frame["item"].iloc[0]).to_numpy()
    assert about.layout(every) is about.layout(every.copy())
    assert len(about.layout(every).design.clusters) == 6
    assert len(about.layout(some).design.clusters) == 5
