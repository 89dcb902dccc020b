"""A sum and the norm that follows it, in one kernel on a GPU in half precision.

Both are bound by memory: separately they read and write the states five times, together three.
"""

from functools import cache
from typing import Any

import torch

from unmask.models.fast.short_attention import HALVES, TRITON

WIDEST = 8_192  # numbers of a place that one program holds


def fits(norm: Any, x: torch.Tensor, residual: torch.Tensor) -> bool:
    """Whether the kernel can compute the norm of a sum of two tensors [..., d]."""
    return (
        TRITON
        and x.is_cuda
        and x.dtype in HALVES
        and norm.weight is not None
        and norm.bias is not None
        and residual.dtype == norm.weight.dtype == x.dtype
        and norm.normalized_shape == (x.shape[-1],)
        and x.shape == residual.shape
        and x.shape[-1] <= WIDEST
        and x.is_contiguous()
        and residual.is_contiguous()
    )


def normed_sum(norm: torch.nn.LayerNorm, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """Return norm(x + residual) for torch's LayerNorm."""
    if not fits(norm, x, residual):
        plain: torch.Tensor = norm(x + residual)
        return plain
    output: torch.Tensor = _on_gpu()(norm, x, residual)
    return output


@cache
def _on_gpu() -> Any:
    """The GPU code."""
    from unmask.models.fast import sum_norm_triton

    return sum_norm_triton.normed_sum
