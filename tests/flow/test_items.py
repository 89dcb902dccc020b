"""Tests of flow/items: the design of items from their columns."""

import pandas as pd

from unmask.flow.items import designed


def facts(**columns):
    size = len(next(iter(columns.values())))
    empty = {name: [""] * size for name in ("cluster", "family", "side", "frame")}
    return pd.DataFrame(empty | columns)


def test_frames_are_crossed_where_every_item_has_one():
    words, frames = ["a", "a", "b", "b"], ["x", "y", "x", "y"]
    assert designed(facts(cluster=words, frame=frames)).crossed.tolist() == [0, 1, 0, 1]


def test_one_frame_or_an_item_without_one_crosses_nothing():
    words = ["a", "a", "b", "b"]
    for frames in (["x"] * 4, ["", "x", "y", "x"], [""] * 4):
        assert designed(facts(cluster=words, frame=frames)).crossed is None


def test_sides_are_strata_where_every_item_has_one():
    words, families = ["a", "b", "c", "d"], ["f", "f", "g", "g"]
    both = designed(facts(cluster=words, family=families, side=["1", "2", "1", "2"]))
    assert both.strata.tolist() == [0, 1, 2, 3]
    assert designed(facts(cluster=words, family=families, side=["", "2", "1", "2"])).strata is None
    assert both.families.tolist() == [0, 0, 1, 1]
