"""The Triton kernels of `fp32_split`: split a matrix into halves, and join their products."""

from typing import Any

import torch
import triton
import triton.language as tl

BLOCK = 4096  # columns of a row that are processed together
TILE = (8, 512)


@triton.jit
def _split(
    x, halves, back, columns, stride, width, top, weight: tl.constexpr, block: tl.constexpr
) -> None:
    row = tl.program_id(0).to(tl.int64)
    most = tl.zeros([block], tl.float32)
    for start in range(0, columns, block):
        at = start + tl.arange(0, block)
        most = tl.maximum(most, tl.abs(tl.load(x + row * stride + at, mask=at < columns, other=0)))
    # The exponent is in a number's bits; the reciprocal of the smallest would not be finite.
    exponent = tl.maximum(tl.max(most, 0).to(tl.int32, bitcast=True) >> 23, top + 1)
    up = ((254 + top - exponent) << 23).to(tl.float32, bitcast=True)
    tl.store(back + row, ((exponent - top) << 23).to(tl.float32, bitcast=True))
    for start in range(0, columns, block):
        at = start + tl.arange(0, block)
        value = tl.load(x + row * stride + at, mask=at < columns, other=0) * up
        first = value.to(tl.float16)
        remainder = (value - first.to(tl.float32)).to(tl.float16)
        place = halves + row * 3 * columns + (at // width) * 3 * width + at % width
        tl.store(place, first if weight else remainder, mask=at < columns)
        tl.store(place + width, remainder if weight else first, mask=at < columns)
        tl.store(place + 2 * width, first, mask=at < columns)


@triton.jit(do_not_specialize=["rows"])  # it differs between passes, and would recompile
def _join(
    raw, left, right, bias, rows, columns, biased: tl.constexpr,
    height: tl.constexpr, width: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * height + tl.arange(0, height)
    column = tl.program_id(1) * width + tl.arange(0, width)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    place = raw + row[:, None] * columns + column[None, :]
    value = tl.load(place, mask=inside)
    value = value * tl.load(left + row, mask=row < rows)[:, None]
    value = value * tl.load(right + column, mask=column < columns)[None, :]
    if biased:
        value = value + tl.load(bias + column, mask=column < columns)[None, :]
    tl.store(place, value, mask=inside)


def split(x: Any, chunks: int, top: int, weight: bool) -> tuple[Any, Any]:
    """As `fp32_split.split`."""
    rows, columns = x.shape
    halves = torch.empty(rows, 3 * columns, dtype=torch.float16, device=x.device)
    back = torch.empty(rows, dtype=torch.float32, device=x.device)
    block = min(triton.next_power_of_2(columns), BLOCK)
    width = columns // chunks
    with torch.cuda.device(x.device):  # type: ignore[no-untyped-call]
        _split[(rows,)](
            x, halves, back, columns, x.stride(0), width, top, weight, block, num_warps=4
        )
    return halves, back


def join(raw: Any, left: Any, right: Any, bias: Any) -> Any:
    """As `fp32_split.join`, in the memory of `raw`."""
    rows, columns = raw.shape
    height, width = TILE
    grid = (triton.cdiv(rows, height), triton.cdiv(columns, width))
    bias_pointer, biased = (right, False) if bias is None else (bias, True)
    with torch.cuda.device(raw.device):  # type: ignore[no-untyped-call]
        _join[grid](raw, left, right, bias_pointer, rows, columns, biased, height, width)
    return raw
