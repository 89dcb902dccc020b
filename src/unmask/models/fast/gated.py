"""A gated product, act(gate) * value, in one kernel on a GPU."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.nn import functional

from unmask.models.fast.short_attention import HALVES, TRITON

DTYPES = (*HALVES, torch.float32)
ACTIVATIONS: dict[str, Callable[..., torch.Tensor]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
}


def fits(gate: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether two tensors [..., n] on a GPU can be read as rows with a constant stride."""
    return (
        TRITON
        and gate.is_cuda
        and gate.dtype in DTYPES
        and value.dtype == gate.dtype
        and gate.shape == value.shape
        and gate.numel() > 0
        and all(map(_in_rows, (gate, value)))
    )


def _in_rows(x: torch.Tensor) -> bool:
    """Whether all rows of [..., n] are equally far apart."""
    if x.dim() < 2 or x.stride(-1) != 1:
        return False
    pairs = zip(x.stride()[:-2], x.stride()[1:-1], x.shape[1:-1], strict=True)
    return all(outer == inner * count for outer, inner, count in pairs)


def gated(act: str, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return act(gate) * value [..., n]; `act` is a key of ACTIVATIONS."""
    if not fits(gate, value):
        return ACTIVATIONS[act](gate) * value
    product: torch.Tensor = _on_gpu()(act, gate, value)
    return product


@cache
def _on_gpu() -> Any:
    """Return the Triton version of the function."""
    from unmask.models.fast import gated_triton

    return gated_triton.gated
