"""Tests of flow/sentence_scores."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import tiny
from unmask.data import catalogue
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


@pytest.mark.parametrize("measure", ["aul", "aula", "sss", "pll", "lpbs", "lpbs@husse2022"])
def test_kept_tokens_say_which_characters_were_read(measure):
    """Also for a measure with a prior, whose questions stand between those of the value."""
    model = tiny("bert")
    whole = catalogue.resolve("kurita-career")[0] if "lpbs" in measure else bundled_pairs()
    data = replace(whole, items=whole.items[:: 5 if "lpbs" in measure else 23])
    result = unmask.evaluate_specs([Spec(model, measure, data)], Options(keep=("tokens",)))[0]
    texts = {(i.id, label): t.string for i in data.items for label, t in i.texts.items()}
    kept = result.artifacts["tokens"]
    own_row = measure != "lpbs@husse2022"  # it writes one mask for all pieces of a word
    assert ((kept.start >= 0) == own_row).all()
    for row in kept[kept.start >= 0].itertuples():
        written = texts[row.item, row.label][row.start : row.end].lower()
        assert written == row.token.removeprefix("##"), row


def test_a_prior_is_taken_off_a_preference_too():
    """The score is the sum of the values less that of the prior's answers, sentence by sentence."""
    pll, hidden = LIKELIHOOD["pll"], LIKELIHOOD["all-masked"]
    summed = replace(hidden, name="summed", reduce=pll.reduce)
    mine = replace(pll, name="mine", prior=hidden.plans)
    data = Dataset("some", "triplets", bundled_pairs().items[::29])
    specs = [Spec(tiny("bert"), m, data) for m in (pll, summed, mine)]
    value, prior, both = (r.items for r in unmask.evaluate_specs(specs))
    assert prior.score.abs().max() > 1
    assert np.allclose(both.score, value.score - prior.score, atol=1e-4)
    assert np.allclose(both.prior, prior.score, atol=1e-4)
