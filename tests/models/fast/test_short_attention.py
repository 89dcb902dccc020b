"""Tests of models/fast/short_attention; what only a GPU can do is skipped without one."""

from itertools import product

import pytest
import torch
from torch.nn import functional

from conftest import tiny
from unmask.models.fast.short_attention import ShortAttention, attended, fits, short_attention

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def made(rows=3, heads=2, width=5, size=16, kept=None, device="cpu", dtype=torch.float32):
    torch.manual_seed(width)
    shapes = [(rows, width, n, size) for n in (heads, kept or heads, kept or heads)]
    return [torch.randn(s, device=device, dtype=dtype).transpose(1, 2) for s in shapes]


def test_what_does_not_fit_goes_the_usual_way():
    query, key, value = made()
    assert not fits(query, key, None)  # not on a GPU
    mask = torch.rand(3, 1, 5, 5) > 0.3
    usual = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=0.3)
    assert torch.equal(attended(query, key, value, attn_mask=mask, scale=0.3), usual)


def test_it_is_in_place_only_while_it_is_used():
    before = functional.scaled_dot_product_attention
    with ShortAttention(True).used():
        assert functional.scaled_dot_product_attention is attended
    assert functional.scaled_dot_product_attention is before
    with pytest.raises(ValueError, match="broken"), ShortAttention(True).used():
        raise ValueError("broken")
    assert functional.scaled_dot_product_attention is before
    with ShortAttention(False).used():
        assert functional.scaled_dot_product_attention is before


def test_a_cpu_has_none():
    assert not short_attention(tiny("bert").net).able


@on_gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sort", ["plain", "causal", "padding", "tree", "shared heads"])
def test_on_a_gpu_it_is_torchs(dtype, sort):
    for size, width in product((16, 32, 64, 128), (1, 2, 7, 16, 17, 31, 32, 33, 63, 64)):
        same_as_torch(dtype, size, width, sort)


def same_as_torch(dtype, size, width, sort):
    kept = 2 if sort == "shared heads" else None
    query, key, value = made(37, 4, width, size, kept, "cuda", dtype)
    lengths = torch.arange(37, device="cuda") % width + 1
    mask = None
    if sort == "padding":
        mask = (torch.arange(width, device="cuda") < lengths[:, None])[:, None, None]
    if sort == "tree":
        mask = torch.rand(37, 1, width, width, device="cuda") > 0.5
        mask |= torch.eye(width, dtype=torch.bool, device="cuda")
    assert fits(query, key, mask)
    how = {"attn_mask": mask, "is_causal": sort == "causal", "enable_gqa": kept is not None}
    found = attended(query, key, value, **how)
    exact = functional.scaled_dot_product_attention(
        query.double(), key.double(), value.double(), **how
    )
    assert found.shape == exact.shape
    assert torch.allclose(found.double(), exact, atol=3e-2 if dtype == torch.bfloat16 else 4e-3)


@on_gpu
def test_longer_rows_and_float32_do_not_fit():
    long, key, _ = made(2, 2, 65, 16, None, "cuda", torch.bfloat16)
    assert not fits(long, key, None)
    full, key, _ = made(2, 2, 5, 16, None, "cuda", torch.float32)
    assert not fits(full, key, None)
    odd, key, _ = made(2, 2, 5, 20, None, "cuda", torch.bfloat16)
    assert not fits(odd, key, None)
