"""Tests of studies/neighbours."""

from dataclasses import replace

import pytest

import unmask
from conftest import tiny


@pytest.fixture(scope="module")
def model():
    return tiny("bert")


def test_published_neighbours_stand_beside_ones_own_number(model):
    found = unmask.evaluate(model, "aul", "bundled-pairs", limit=30)
    with pytest.raises(unmask.UnmaskError, match="aul on crows-pairs"):
        unmask.neighbours(found)
    mine = replace(found, spec=replace(found.spec, data="crows-pairs:30-of-1508"), by_category={})
    frame = unmask.neighbours([mine])
    assert frame.score.is_monotonic_increasing
    paper = dict(zip(frame.model, frame.score, strict=True))
    assert paper["bert-base-cased"] == 52.92  # kaneko2022, Table 5: AUL on CrowS-Pairs
    assert paper["roberta-large"] == 62.4
    assert paper["tiny-bert"] == found.overall.value
    control = replace(found, spec=replace(found.spec, data="crows-pairs:shuffled"))
    with pytest.raises(unmask.UnmaskError):
        unmask.neighbours(control)
