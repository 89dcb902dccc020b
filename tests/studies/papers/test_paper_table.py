"""Lines of a paper's table."""

from unmask.studies.papers import (
    paper_table,
)
from unmask.types import Estimate


def test_a_row_says_how_it_agrees():
    found = Estimate(50.0, 48, 52, 0.95, "m", 10, 50.0)
    assert paper_table.row({}, 50.0, found)["agrees"] == "exact"
    assert paper_table.row({}, 51.0, found)["agrees"] == "inside"
    assert paper_table.row({}, 55.0, found)["agrees"] == "outside"
    assert paper_table.row({}, 55.0, found)["difference"] == -5
    assert "measured" not in paper_table.row({}, 55.0, None)
    # another model's number that happens to be equal is no agreement
    assert "agrees" not in paper_table.row({}, 50.0, found, comparable=False)
