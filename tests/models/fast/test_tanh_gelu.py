"""Tests of models/fast/tanh_gelu."""

import copy

import pytest
import torch
from transformers.activations import NewGELUActivation

from conftest import tiny
from unmask.models.fast.tanh_gelu import TanhGelu, tanh_gelu


@pytest.mark.parametrize("family", ["gpt2", "albert", "bloom"])
def test_families_that_write_it_out_do_it_in_one_step(family):
    net = copy.deepcopy(tiny(family).net).float()
    found = tanh_gelu(net)
    assert found.modules
    x = torch.linspace(-8, 8, 999)
    for module in found.modules:
        plain = module(x)
        with found.used():
            assert "forward" in vars(module)
            assert torch.allclose(module(x), plain, atol=1e-6)
            assert not torch.equal(module(x), torch.nn.functional.gelu(x))
        assert "forward" not in vars(module)


def test_bloom_rounds_its_constant_so_that_float64_is_left_as_it_is():
    assert not tanh_gelu(copy.deepcopy(tiny("bloom").net).double()).modules
    net = copy.deepcopy(tiny("gpt2").net).double()
    found = tanh_gelu(net)
    x = torch.linspace(-8, 8, 999, dtype=torch.float64)
    plain = found.modules[0](x)
    with found.used():
        assert torch.allclose(found.modules[0](x), plain, atol=1e-14)


def test_others_have_none_and_what_was_changed_is_left():
    assert not tanh_gelu(tiny("bert").net).modules
    net = copy.deepcopy(tiny("gpt2").net)
    for module in net.modules():
        if isinstance(module, NewGELUActivation):
            module.forward = torch.relu
    assert not tanh_gelu(net).modules


def test_what_goes_wrong_inside_leaves_nothing_behind():
    module = NewGELUActivation()
    with pytest.raises(ValueError, match="broken"), TanhGelu((module,)).used():
        raise ValueError("broken")
    assert "forward" not in vars(module)
