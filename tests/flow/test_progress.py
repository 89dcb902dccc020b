"""Tests of flow/progress."""

from conftest import tiny
from unmask.flow.loading import loaded
from unmask.flow.progress import Meter
from unmask.options import Options


def test_what_is_planned_so_far_tells_of_the_rest():
    """Half of the sentences planned into 10 rows: 20 are expected, and never fewer than done."""
    told = []
    meter = Meter(tiny("bert"), Options(progress=lambda *args: told.append(args)), 8)
    meter.planned(4)
    meter(0, 10)
    meter(5, 10)
    meter.planned(4)
    meter(0, 10)
    meter(15, 10)
    assert [args[1:] for args in told] == [(0, 20), (5, 20), (5, 20), (20, 21)]
    assert {args[0] for args in told} == {"tiny-bert"}


def test_loading_is_told_from_its_beginning_to_its_end():
    told = []
    loaded("bundled", Options(progress=lambda *args: told.append(args)))
    assert (told[0], told[-1]) == (("loading bundled", 0, 0), ("loading bundled", 1, 0))
