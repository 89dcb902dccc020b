"""Attention within short rows, on a GPU in half precision.

A sentence has about sixteen tokens, but the usual kernels work on tiles of 64 by 128, most of which
stay empty. Here several rows share one tile, each attending only to itself. During a pass this
replaces torch's `scaled_dot_product_attention`. Inputs that it does not fit (long rows, float32,
odd sizes) use torch's function. Without it a whole run takes 1.05 to 1.2 times as long (H200).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch.nn import functional

LONGEST = 64  # tokens of a row that fits into a tile
SIZES = (16, 32, 64, 128)  # of a head
HALVES = (torch.float16, torch.bfloat16)
TRITON = find_spec("triton") is not None


def fits(query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None) -> bool:
    """Whether attention [rows, heads, places, size] is self-attention within short rows."""
    rows, heads, width, size = query.shape
    if not query.is_cuda or query.dtype not in HALVES or not 0 < width <= LONGEST:
        return False
    key_rows, kv_heads, key_width, _ = key.shape
    if size not in SIZES or key_width != width or key_rows != rows or heads % kv_heads:
        return False
    if mask is None:
        return True
    shapes = zip(mask.shape, (rows, 1, width, width), strict=False)
    return mask.dtype == torch.bool and mask.dim() == 4 and all(a in (1, b) for a, b in shapes)


def attended(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Replace torch's function of this name: [rows, heads, places, size]."""
    if dropout_p or query.dim() != 4 or not fits(query, key, attn_mask):
        usual: torch.Tensor = _USUAL(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
        return usual
    by = query.shape[-1] ** -0.5 if scale is None else scale
    context: torch.Tensor = _on_gpu()(query, key, value, attn_mask, is_causal, by)
    return context


class Heads(NamedTuple):
    """Queries, keys and values by head: [rows, heads, places, size]."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor


def attended_from(
    heads: Heads,
    shifts: tuple[torch.Tensor, torch.Tensor],
    mask: torch.Tensor | None,
    scale: float,
) -> torch.Tensor:
    """Return attention with scores (query key + both shifts) scale; shifts [rows, heads, from, to].

    `mask` [rows, 1, 1 or from, to] is true where a place can be attended to.
    """
    if TRITON and fits(heads.query, heads.key, mask):
        context: torch.Tensor = _on_gpu()(*heads, mask, False, scale, shifts)
        return context
    scores = torch.add(scale * shifts[0], shifts[1], alpha=scale)
    if mask is not None:
        scores = scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    usual: torch.Tensor = _USUAL(*heads, scores, scale=scale)
    return usual


@cache
def _on_gpu() -> Any:
    """Return the Triton version; Triton is installed with CUDA."""
    from unmask.models.fast import short_attention_triton

    return short_attention_triton.attended


_USUAL: Any = functional.scaled_dot_product_attention


@dataclass(frozen=True, slots=True)
class ShortAttention:
    """The switch for sharing tiles between a network's short rows."""

    able: bool = False

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, attention within short rows shares tiles."""
        if not self.able:
            yield
            return
        before = functional.scaled_dot_product_attention
        functional.scaled_dot_product_attention = attended
        try:
            yield
        finally:
            functional.scaled_dot_product_attention = before


def short_attention(net: Any) -> ShortAttention:
    """Return the switch for a network: on for a GPU in half precision with Triton."""
    weights = next(net.parameters())
    return ShortAttention(TRITON and weights.is_cuda and weights.dtype in HALVES)
