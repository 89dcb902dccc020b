"""Tests of models/fast/fused_ops and rotary; what a GPU alone can do is skipped without."""

import copy
import sys

import pytest
import torch
from torch.nn import functional
from transformers.activations import NewGELUActivation
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from conftest import tiny
from unmask.models.fast import fused_ops as module_here
from unmask.models.fast import rotary
from unmask.models.fast.fused_ops import FusedOps, fused_ops

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("family", ["gpt2", "albert", "bloom"])
def test_families_that_write_gelu_out_do_it_in_one_step(family):
    net = copy.deepcopy(tiny(family).net).float()
    found = fused_ops(net)
    assert found.forwards
    x = torch.linspace(-8, 8, 999)
    for module, _ in found.forwards:
        plain = module(x)
        with found.used():
            assert "forward" in vars(module)
            assert torch.allclose(module(x), plain, atol=1e-6)
            assert not torch.equal(module(x), functional.gelu(x))
        assert "forward" not in vars(module)


@pytest.mark.parametrize("family", ["gpt2", "bloom"])
def test_in_float64_it_is_the_same_too(family):
    """BLOOM rounds its constant: there it is left as it is."""
    found = fused_ops(copy.deepcopy(tiny(family).net).double())
    module, _ = found.forwards[0]
    x = torch.linspace(-8, 8, 999, dtype=torch.float64)
    plain = module(x)
    with found.used():
        assert torch.allclose(module(x), plain, atol=1e-14)


def test_others_have_none_and_what_was_changed_is_left():
    assert not fused_ops(tiny("bert").net).forwards
    net = copy.deepcopy(tiny("gpt2").net)
    for module in net.modules():
        if isinstance(module, NewGELUActivation):
            module.forward = torch.relu
    assert not fused_ops(net).forwards


def test_what_goes_wrong_inside_leaves_nothing_behind():
    module, home = NewGELUActivation(), sys.modules[apply_rotary_pos_emb.__module__]
    steps = FusedOps(((module, torch.relu),), (home,))
    with steps.used():
        assert home.apply_rotary_pos_emb is not apply_rotary_pos_emb
    with pytest.raises(ValueError, match="broken"), steps.used():
        raise ValueError("broken")
    assert "forward" not in vars(module)
    assert home.apply_rotary_pos_emb is apply_rotary_pos_emb


# ---------------------------------------------------------------- what a GPU has more of


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """What a network has there, done by torch on the CPU."""
    monkeypatch.setattr(module_here, "device_of", lambda net: torch.device("cuda"))


@pytest.mark.parametrize(
    ("family", "steps"),
    [("llama", {"LlamaRMSNorm": 5}), ("modernbert", {})],
)
def test_norms_and_turns_are_the_networks_own(family, steps, as_on_a_gpu, monkeypatch):
    net = tiny(family).net
    found, seen = fused_ops(net), []
    names = [type(module).__name__ for module, _ in found.forwards]
    assert {name: names.count(name) for name in names} == steps
    own = rotary.fits
    monkeypatch.setattr(rotary, "fits", lambda *a: seen.append(1) or own(*a))
    ids = torch.randint(5, 60, (3, 9))
    with torch.inference_mode():
        plain = net(input_ids=ids).logits
        with found.used():
            assert torch.allclose(net(input_ids=ids).logits, plain, atol=1e-6)
    assert len(seen) == 2, "one for each layer"
    assert plain.std() > 0.01


def test_a_cpu_has_the_usual_ones():
    for family in ("llama", "modernbert"):
        assert fused_ops(tiny(family).net) == FusedOps()


def test_elsewhere_they_are_torchs():
    q, k, cos, sin = heads("cpu", torch.float32)
    usual = apply_rotary_pos_emb(q, k, cos, sin)
    assert all(map(torch.equal, rotary.rotate(apply_rotary_pos_emb, q, k, cos, sin), usual))


def heads(device, dtype, rows=5, many=6, kept=2, width=7, size=24, each=False):
    torch.manual_seed(0)
    how = {"device": device, "dtype": dtype}
    three = torch.randn(rows, width, 3, many, size, **how)
    key = torch.randn(rows, width, kept, size, **how).transpose(1, 2)
    cos, sin = torch.randn(2, rows if each else 1, width, size, **how)
    return three.unbind(2)[1].transpose(1, 2), key, cos, sin


LIMITS = {torch.float32: 2e-6, torch.float16: 1e-2, torch.bfloat16: 8e-2}


@on_gpu
@pytest.mark.parametrize("dtype", list(LIMITS))
@pytest.mark.parametrize("each", [False, True])
def test_on_a_gpu_turns_are_transformers(dtype, each):
    for many, kept, width, size in ((6, 2, 7, 24), (16, 16, 64, 64), (32, 8, 1, 128)):
        q, k, cos, sin = heads("cuda", dtype, 5, many, kept, width, size, each)
        assert rotary.fits(q, k, cos, sin)
        exact = apply_rotary_pos_emb(*(x.double() for x in (q, k, cos, sin)))
        found = rotary.rotate(None, q, k, cos, sin)
        for one, two in zip(found, exact, strict=True):
            assert torch.allclose(one.double(), two, atol=LIMITS[dtype])
    assert not rotary.fits(q, k, cos[..., :4], sin[..., :4])
