"""Tests of models/fast/sum_norm; what only a GPU can do is skipped without one."""

import pytest
import torch

from unmask.models.fast.sum_norm import fits, normed_sum

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def made(*shape, device="cpu", dtype=torch.float32):
    torch.manual_seed(shape[-1])
    norm = torch.nn.LayerNorm(shape[-1], eps=1e-12).to(device, dtype)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    one, two = (3 * torch.randn(shape, device=device, dtype=dtype) + 1 for _ in "ab")
    return norm, one, two


def test_on_a_cpu_it_is_torchs():
    norm, one, two = made(3, 5, 16)
    assert not fits(norm, one, two)
    assert torch.equal(normed_sum(norm, one, two), norm(one + two))


@on_gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(1, 16), (7, 3, 100), (5, 768), (9, 1024), (2, 4097)])
def test_on_a_gpu_it_is_torchs_within_rounding(dtype, shape):
    norm, one, two = made(*shape, device="cuda", dtype=dtype)
    assert fits(norm, one, two)
    found, usual = normed_sum(norm, one, two), norm(one + two)
    exact = torch.nn.functional.layer_norm(
        (one + two).double(), shape[-1:], norm.weight.double(), norm.bias.double(), norm.eps
    )
    off, usually_off = ((x.double() - exact).abs().max() for x in (found, usual))
    assert off <= 1.01 * usually_off + 1e-6


@on_gpu
def test_what_does_not_fit_goes_the_usual_way():
    norm, one, two = made(4, 32, device="cuda", dtype=torch.bfloat16)
    turned = two.t().contiguous().t()  # the same numbers, otherwise laid out
    assert not fits(norm, one, turned)
    assert torch.equal(normed_sum(norm, one, turned), norm(one + turned))
    bare = torch.nn.LayerNorm(32, bias=False).to("cuda", torch.bfloat16)
    assert not fits(bare, one, two)
