"""Tests of flow/plan."""

from dataclasses import replace

import pytest

from conftest import tiny
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.flow import plan
from unmask.measures import LIKELIHOOD
from unmask.queries import EACH, NOTHING, RowQueries
from unmask.types import Dataset


@pytest.mark.parametrize("name", ["pll", "aul"])
def test_a_measure_asks_one_record_a_sentence(name):
    planned = plan.plan(tiny("bert"), LIKELIHOOD[name], bundled_pairs())
    assert len(planned.asks) == sum(planned.values > 0) < planned.count


WRONG = {
    "text": lambda s, codec: [RowQueries(s.ids, ("1",), (5,), EACH)],
    "part of a place": lambda s, codec: [RowQueries(s.ids, (-0.5,), (5,), EACH)],
    "beyond": lambda s, codec: [RowQueries(s.ids, (len(s.ids),), (5,), EACH)],
    "before": lambda s, codec: [RowQueries(s.ids, (-1,), (5,), EACH)],
    "no gold": lambda s, codec: [RowQueries(s.ids, (1, 2), (5,), EACH)],
    "gold below 0": lambda s, codec: [RowQueries(s.ids, (1,), (-5,), EACH)],
    "gold no number": lambda s, codec: [RowQueries(s.ids, (1,), (float("nan"),), EACH)],
    "sets": lambda s, codec: [RowQueries(s.ids, (1, 2, 3), (5, 6, 7), (NOTHING, NOTHING))],
    "huge": lambda s, codec: [RowQueries(s.ids, (2**70,), (5,), EACH)],
    "nothing": lambda s, codec: [RowQueries(s.ids, (), (), EACH)],
    "none": lambda s, codec: None,
    "no ask": lambda s, codec: [5],
}


@pytest.mark.parametrize("what", list(WRONG))
def test_what_a_plan_does_wrong_is_one_sentence(what):
    """Wherever it stands among others that are right."""

    def wrong(sentence, codec):
        return (
            WRONG[what](sentence, codec) if len(sentence.ids) % 3 == 0 else right(sentence, codec)
        )

    right = LIKELIHOOD["pll"].plans["masked"]
    mine = replace(LIKELIHOOD["pll"], name="mine", plans={"masked": wrong})
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    with pytest.raises(DataError, match="the plan of 'mine' fails"):
        plan.plan(tiny("bert"), mine, data)
