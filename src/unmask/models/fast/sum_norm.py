"""A sum and the norm behind it in one kernel, on a GPU in half precision.

Both are bound by memory: apart they read and write the states five times, together three times.
"""

from functools import cache
from typing import Any

import torch

from unmask.models.fast.short_attention import HALVES, TRITON

WIDEST = 8_192  # numbers of a place that one program holds


def fits(norm: Any, one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether a sum of two [..., d] and its norm can be done here."""
    return (
        TRITON
        and one.is_cuda
        and one.dtype in HALVES
        and norm.weight is not None
        and norm.bias is not None
        and two.dtype == norm.weight.dtype == one.dtype
        and norm.normalized_shape == (one.shape[-1],)
        and one.shape == two.shape
        and one.shape[-1] <= WIDEST
        and one.is_contiguous()
        and two.is_contiguous()
    )


def normed_sum(norm: torch.nn.LayerNorm, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    """norm(one + two), for a LayerNorm as torch made it."""
    if not fits(norm, one, two):
        plain: torch.Tensor = norm(one + two)
        return plain
    found: torch.Tensor = _on_gpu()(norm, one, two)
    return found


@cache
def _on_gpu() -> Any:
    """The GPU code."""
    from unmask.models.fast import sum_norm_triton

    return sum_norm_triton.normed_sum
