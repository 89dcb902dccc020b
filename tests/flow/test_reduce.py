"""Tests of flow/reduce."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import run_likelihood
from unmask.flow.evaluate import evaluate
from unmask.measures import LIKELIHOOD
from unmask.measures.reduce import AT_ONCE
from unmask.options import Options, Spec
from unmask.queries import Readings
from unmask.types import Dataset


@pytest.mark.parametrize("reduce", sorted(AT_ONCE, key=lambda f: f.__name__))
def test_many_sentences_reduce_as_one_by_one(reduce):
    rng = np.random.default_rng(1)
    counts = np.array([3, 0, 7, 1, 0])
    size = int(counts.sum())
    every = Readings(-rng.random(size), rng.random(size) > 0.5, rng.random(size), 1, counts)
    ends = np.cumsum(counts)
    apart = [float(reduce(every[b - n : b])) for b, n in zip(ends, counts, strict=True)]
    assert np.allclose(reduce(every), apart, equal_nan=True)


def test_a_reduction_that_fails_leaves_the_others_whole(monkeypatch):
    """Also where it fails in the first of several slices, and shares a plan with another."""
    monkeypatch.setattr(run_likelihood, "CPU_PACE", run_likelihood.Pace(7, 7, 0))

    def bad(readings):
        raise ValueError("no")

    mine = replace(LIKELIHOOD["pll"], name="mine", reduce=bad)
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    failed = []
    specs = [Spec(tiny("bert"), m, data) for m in (mine, "pll", "aul")]
    found = evaluate(specs, Options(), lambda spec, error: failed.append(str(error)))
    assert [r.measure for r in found] == ["pll", "aul"]
    assert len(failed) == 1
    whole = unmask.evaluate_specs(specs[1:])
    assert np.allclose(found[0].items.score, whole[0].items.score, atol=1e-5)
