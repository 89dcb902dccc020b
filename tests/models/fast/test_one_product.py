"""Tests of models/fast/one_product; a CPU stands in for a GPU where that makes no difference."""

import pytest
import torch

from unmask.models.fast import one_product
from unmask.models.fast.fp32_split import SplitProducts
from unmask.models.fast.one_product import OneProduct, plain

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def made(device="cpu", dtype=torch.float32):
    torch.manual_seed(0)
    sizes = (24, 16, 8)
    layers = [torch.nn.Linear(32, n).to(device, dtype).eval() for n in sizes]
    return layers, torch.randn(5, 40, 32, device=device, dtype=dtype)


def close(found, layers, states, within):
    for one, layer in zip(found, layers, strict=True):
        exact = torch.nn.functional.linear(
            states.double(), layer.weight.double(), layer.bias.double()
        )
        assert one.shape == exact.shape
        assert torch.allclose(one.double(), exact, atol=within)


@pytest.fixture
def as_a_gpu(monkeypatch):
    monkeypatch.setattr(one_product, "able", lambda states: states.numel() > 200)


@torch.inference_mode()
def test_layers_together_are_the_layers(as_a_gpu):
    layers, states = made()
    product = OneProduct()
    close(product.of(layers, states), layers, states, 1e-6)
    assert len(product.made) == 1
    close(product.of(layers, 2 * states), layers, 2 * states, 1e-6)
    assert len(product.made) == 1


@torch.inference_mode()
def test_in_parts_too(as_a_gpu):
    layers, states = made()
    split = SplitProducts(tuple(layers))
    product = OneProduct(split)
    with split.used():
        close(product.of(layers, states), layers, states, 1e-6)
        assert len(product.made) == 1
        assert not split.weights  # none was parted by itself


@torch.inference_mode()
def test_what_is_not_alike_is_done_one_by_one(as_a_gpu):
    layers, states = made()
    split = SplitProducts(tuple(layers[:2]))
    product = OneProduct(split)
    with split.used():  # of three, one multiplies otherwise
        close(product.of(layers, states), layers, states, 1e-6)
    layers[1].forward = lambda x: 0 * torch.nn.functional.linear(x, layers[1].weight)
    found = product.of(layers, states)
    assert not found[1].any()
    assert not product.made


@torch.inference_mode()
def test_few_rows_are_done_one_by_one(as_a_gpu):
    layers, states = made()
    product = OneProduct()
    close(product.of(layers, states[:1, :3]), layers, states[:1, :3], 1e-6)
    assert not product.made


@torch.inference_mode()
def test_a_cpu_does_them_one_by_one():
    layers, states = made()
    product = OneProduct()
    close(product.of(layers, states), layers, states, 1e-6)
    assert not product.made


def test_plain_layers_have_a_bias_and_no_hooks():
    layers, _ = made()
    assert all(map(plain, layers))
    layers[0].register_forward_hook(lambda *a: None)
    layers[1].register_forward_pre_hook(lambda *a: None)
    assert not any(map(plain, layers[:2]))
    assert not plain(torch.nn.Linear(4, 4, bias=False))
    assert not plain(torch.nn.Bilinear(4, 4, 4))


@on_gpu
@torch.inference_mode()
def test_on_a_gpu():
    layers, states = made("cuda", torch.bfloat16)
    product = OneProduct()
    close(product.of(layers, states), layers, states, 3e-2)
    assert product.made
