"""Tests of models/fast/relative_attention: DeBERTa's scores, by plain loops."""

import pytest
import torch

from unmask.models.fast.relative_attention import _products, skewed
from unmask.models.fast.short_attention import Heads, attended_from

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def made(rows, heads, width, size, **how):
    """Queries, keys and values, and keys and queries of distances from width - 1 down."""
    torch.manual_seed(width)
    states = [torch.randn(rows, width, heads, size, **how).transpose(1, 2) for _ in "qkv"]
    return states, [torch.randn(heads, 2 * width - 1, size, **how) for _ in "kq"]


def attention(states, distances, mask, scale):
    """The scores of each place for each other one, and what it attends to, one at a time."""
    (query, key, value), (keys, queries) = states, distances
    rows, heads, width, _ = query.shape
    out = torch.zeros_like(value)
    for r in range(rows):
        for h in range(heads):
            for i in range(width):
                seen = [k for k in range(width) if mask is None or mask[r, 0, 0, k]]
                scores = []
                for k in seen:
                    nth = width - 1 - (i - k)
                    score = query[r, h, i] @ key[r, h, k] + query[r, h, i] @ keys[h, nth]
                    scores.append(score + key[r, h, k] @ queries[h, 2 * width - 2 - nth])
                weights = (scale * torch.stack(scores)).softmax(0)
                out[r, h, i] = weights @ value[r, h, seen]
    return out


def found(states, distances, mask, scale):
    query, key, value = states
    width = query.shape[2]
    by_key = skewed(_products(query, distances[0]), width)
    by_query = skewed(_products(key, distances[1]), width).transpose(2, 3)
    return attended_from(Heads(query, key, value), (by_key, by_query), mask, scale)


@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize("padded", [False, True])
def test_scores_are_those_of_a_loop(width, padded):
    states, distances = made(3, 2, width, 4, dtype=torch.float64)
    lengths = torch.tensor([width, 1, max(width - 2, 1)])
    mask = (torch.arange(width) < lengths[:, None])[:, None, None] if padded else None
    plain = attention(states, distances, mask, 0.3)
    assert torch.allclose(found(states, distances, mask, 0.3), plain, atol=1e-12)


@on_gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("padded", [False, True])
def test_on_a_gpu_rows_share_tiles(dtype, padded):
    for width in (1, 2, 16, 17, 33, 64):
        states, distances = made(37, 4, width, 64, device="cuda", dtype=dtype)
        lengths = torch.arange(37, device="cuda") % width + 1
        mask = torch.arange(width, device="cuda") < lengths[:, None]
        mask = mask[:, None, None] if padded else None
        exact = found([s.double() for s in states], [d.double() for d in distances], mask, 0.1)
        ours = found(states, distances, mask, 0.1).double()
        assert torch.allclose(ours, exact, atol=5e-2 if dtype == torch.bfloat16 else 8e-3), width
