"""The Triton kernel of `gated`: each program handles a piece of a row."""

from typing import Any

import torch
import triton
import triton.language as tl

BLOCK = 1024  # numbers of a row that one program handles


@triton.jit
def _gated(
    gate, value, output, width, one_row, two_row, silu: tl.constexpr, block: tl.constexpr
) -> None:
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * block + tl.arange(0, block)
    inside = at < width
    a = tl.load(gate + row * one_row + at, mask=inside, other=0.0)
    b = tl.load(value + row * two_row + at, mask=inside, other=0.0).to(tl.float32)
    x = a.to(tl.float32)
    if silu:
        act = x / (1.0 + tl.exp(-x))
    else:
        act = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(output + row * width + at, (act * b).to(a.dtype), mask=inside)


def gated(act: str, gate: Any, value: Any) -> Any:
    """As `gated.gated`."""
    output = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    width = gate.shape[-1]
    with torch.cuda.device(gate.device):  # type: ignore[no-untyped-call]
        _gated[(gate.numel() // width, triton.cdiv(width, BLOCK))](
            *(gate, value, output, width, gate.stride(-2), value.stride(-2)),
            silu=act == "silu",
            block=BLOCK,
            num_warps=4,
        )
    return output
