"""The one switch: with the fast paths and without them, the same numbers."""

import copy

import numpy as np
import pytest

import unmask
from conftest import tiny
from unmask.models import output_cache
from unmask.models.fast import direct_layers
from unmask.models.fast.paths import FastPaths, fast_paths
from unmask.models.transformers.model import in_memory, load


@pytest.mark.parametrize("measure", ["pll", "cps", "sss", "aul", "aula", "lpbs"])
def test_the_plain_path_gives_the_same_numbers(measure, monkeypatch):
    data = "kurita-career" if measure == "lpbs" else "bundled-pairs"
    fast = unmask.evaluate("bundled", measure, data, limit=10, cache=False)
    monkeypatch.setattr(direct_layers, "called", None)  # it would fail if it were used
    plain = unmask.evaluate("bundled", measure, data, limit=10, cache=False, fast=False)
    assert np.allclose(fast.items.score, plain.items.score, rtol=1e-5, atol=1e-5)
    assert fast.overall.value == pytest.approx(plain.overall.value, abs=1e-4)


def test_the_switch_turns_every_path_off():
    net = copy.deepcopy(tiny("bert").net).float()
    on, off = (fast_paths(net, "float32", enabled) for enabled in (True, False))
    assert on.encoder is not None
    assert off == FastPaths(queue=off.queue)
    assert off.encoder is None
    assert not off.gathers
    assert not off.split.layers


def test_a_network_that_is_not_to_be_fast_is_left_as_it_is():
    strides = {}
    for fast in (True, False):
        model = load("bundled", device="cpu", fast=fast)
        linear = model.net.bert.encoder.layer[0].intermediate.dense
        strides[fast] = linear.weight.is_contiguous()
    assert strides == {True: False, False: True}
    again = in_memory(model.net, model.codec.tokenizer, fast=False)
    assert again.fast is False
    assert again.engine().fast.encoder is None


def test_answers_of_the_two_paths_are_kept_apart():
    fast, plain = (load("bundled", device="cpu", fast=on) for on in (True, False))
    assert output_cache.salt(fast.provenance, "own") != output_cache.salt(plain.provenance, "own")
    kept = [
        unmask.evaluate("bundled", "aul", "bundled-pairs", limit=4, cache=True, fast=on)
        for on in (True, False)
    ]
    assert kept[1].provenance["model"]["path"] == "plain"
    assert "path" not in kept[0].provenance["model"]
    assert not np.array_equal(kept[0].items.score, kept[1].items.score)  # rounded otherwise


def test_workers_are_always_fast():
    with pytest.raises(unmask.UnmaskError, match="--no-fast"):
        unmask.Options(engine="ray", fast=False)
    with pytest.raises(unmask.UnmaskError, match="True or False"):
        unmask.Options(fast="no")
