"""A gated product, act(one) two, in one kernel on a GPU."""

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


def fits(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether two [..., n] lie in rows of one stride, on a GPU."""
    return (
        TRITON
        and one.is_cuda
        and one.dtype in DTYPES
        and two.dtype == one.dtype
        and one.shape == two.shape
        and one.numel() > 0
        and all(map(_in_rows, (one, two)))
    )


def _in_rows(x: torch.Tensor) -> bool:
    """Whether all rows of [..., n] are equally far apart."""
    if x.dim() < 2 or x.stride(-1) != 1:
        return False
    pairs = zip(x.stride()[:-2], x.stride()[1:-1], x.shape[1:-1], strict=True)
    return all(outer == inner * count for outer, inner, count in pairs)


def gated(act: str, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    """The product of act(one) and two, [..., n]; `act` as in ACTIVATIONS."""
    if not fits(one, two):
        return ACTIVATIONS[act](one) * two
    found: torch.Tensor = _on_gpu()(act, one, two)
    return found


@cache
def _on_gpu() -> Any:
    """The GPU code."""
    from unmask.models.fast import gated_triton

    return gated_triton.gated
