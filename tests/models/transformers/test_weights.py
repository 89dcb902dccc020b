"""Tests of models/transformers/weights."""

import copy

import numpy as np
import pytest
import torch

import unmask
from conftest import tiny
from unmask.models.transformers.model import wrap
from unmask.models.transformers.weights import checked_hash


def test_a_model_that_is_spread_over_devices_has_the_same_numbers(tmp_path, monkeypatch):
    model = tiny("gpt2")
    copy.deepcopy(model.net).float().save_pretrained(tmp_path, max_shard_size="60KB")
    model.codec.tokenizer.save_pretrained(tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) > 1  # in shards
    plain = unmask.run(str(tmp_path), ["ll", "w-seat"], ["bundled-pairs", "weat-6"], limit=20)
    spread = unmask.run(
        str(tmp_path), ["ll", "w-seat"], ["bundled-pairs", "weat-6"], limit=20, device="auto"
    )
    for one, two in zip(plain, spread, strict=True):
        assert np.allclose(one.items.score, two.items.score, atol=1e-5)
    assert spread[0].provenance["model"]["devices"]
    assert spread[0].provenance["model"]["weights"] == plain[0].provenance["model"]["weights"]
    with pytest.raises(unmask.UnmaskError, match="8bit"):
        unmask.run(str(tmp_path), "ll", load="3bit")
    monkeypatch.setattr("unmask.models.transformers.files.find_spec", lambda name: None)
    with pytest.raises(unmask.ModelError, match=r"unmask\[large\]"):
        unmask.run(str(tmp_path), "ll", "bundled-pairs", load="8bit")


def test_the_hash_of_weights_is_of_names_shapes_and_values_alone(monkeypatch):
    net = copy.deepcopy(tiny("bert").net)
    monkeypatch.setattr("unmask.models.transformers.weights.HASH_PIECE", 100)
    found = checked_hash(net, "x")
    for threads in (1, 3, 16):
        monkeypatch.setattr("unmask.models.transformers.weights.THREADS", threads)
        assert checked_hash(net, "x") == found
    last = [p for p in net.parameters() if p.is_contiguous() and p.numel() > 200][-1]
    with torch.no_grad():
        last.view(-1)[-1] += 1e-3
    assert checked_hash(net, "x") != found
    with torch.no_grad():
        last.view(-1)[150] = -torch.inf
    with pytest.raises(unmask.ModelError, match="not all numbers"):
        checked_hash(net, "x")


class Odd(torch.nn.Module):
    """Weights of every sort, and a module under two names."""

    def __init__(self, kind):
        super().__init__()
        self.one = torch.nn.Linear(3, 3)
        self.two = self.one
        self.register_buffer("of", torch.zeros(4, 2).to(kind))
        self.register_buffer("none", torch.zeros(0, 3))
        self.register_buffer("single", torch.tensor(3))
        self.complex = torch.nn.Parameter(torch.zeros(5, dtype=torch.complex64))

    def forward(self, x):
        return self.two(self.one(x))


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "uint16", "bool", "bfloat16", "complex64"])
def test_weights_of_every_sort_have_a_hash(kind):
    from accelerate import cpu_offload

    net = Odd(getattr(torch, kind))
    found = checked_hash(net, "x")
    assert checked_hash(cpu_offload(copy.deepcopy(net), torch.device("cpu")), "x") == found
    around = cpu_offload(
        copy.deepcopy(net),
        torch.device("cpu"),
        preload_module_classes=["Odd"],
        offload_buffers=True,
    )
    assert checked_hash(around, "x") == found
    net.complex.data[3] = complex(0, torch.nan)
    with pytest.raises(unmask.ModelError, match="complex"):
        checked_hash(net, "x")


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
def test_weights_that_no_gpu_holds_are_found_beside_the_network(family):
    """As accelerate leaves the parts of a spread network that are kept in the CPU's memory."""
    from accelerate import cpu_offload

    whole = tiny(family)
    net = cpu_offload(copy.deepcopy(whole.net), execution_device=torch.device("cpu"))
    assert all(p.is_meta for p in net.parameters())
    model = wrap(net, whole.codec.tokenizer, whole.kind, whole.name)
    assert model.provenance["weights"] == whole.provenance["weights"]
    assert model.provenance["device"] == "cpu"
    assert model.provenance["parameters"] == whole.provenance["parameters"]
    asked = (None, ["bundled-pairs", "weat-6"])
    for one, two in zip(
        unmask.run(whole, *asked, limit=5), unmask.run(model, *asked, limit=5), strict=True
    ):
        assert np.allclose(one.items.score, two.items.score, atol=1e-12)
    spoilt = copy.deepcopy(whole.net)
    next(spoilt.parameters()).data[0] = torch.nan
    with pytest.raises(unmask.ModelError, match="not all numbers"):
        wrap(cpu_offload(spoilt, torch.device("cpu")), whole.codec.tokenizer, whole.kind, "x")
