"""The Triton kernel of `rotary`: each program handles all heads of a place."""

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def _heads(
    given,
    output,
    start,
    to,
    head,
    cos_x,
    cos_y,
    sin_x,
    sin_y,
    at,
    count: tl.constexpr,
    half: tl.constexpr,
    block: tl.constexpr,
) -> None:
    h = tl.arange(0, block)[:, None]
    inside = (h < count) & (at < half)[None, :]
    from_ = given + start + h * head + at[None, :]
    x = tl.load(from_, mask=inside, other=0.0)
    y = tl.load(from_ + half, mask=inside, other=0.0)
    a, b = x.to(tl.float32), y.to(tl.float32)
    there = output + to + h * (2 * half) + at[None, :]
    tl.store(there, (a * cos_x - b * sin_x).to(x.dtype), mask=inside)
    tl.store(there + half, (b * cos_y + a * sin_y).to(x.dtype), mask=inside)


@triton.jit(do_not_specialize=["width", "c_row"])
def _rotate(
    query,
    key,
    cos,
    sin,
    out_q,
    out_k,
    width,
    q_row,
    q_head,
    q_place,
    k_row,
    k_head,
    k_place,
    c_row,
    c_place,
    heads: tl.constexpr,
    kv_heads: tl.constexpr,
    half: tl.constexpr,
    block_q: tl.constexpr,
    block_k: tl.constexpr,
    block: tl.constexpr,
) -> None:
    nth = tl.program_id(0).to(tl.int64)
    row, place = nth // width, nth % width
    at = tl.arange(0, block)
    angle = row * c_row + place * c_place + at
    cos_x = tl.load(cos + angle, mask=at < half, other=0.0).to(tl.float32)[None, :]
    cos_y = tl.load(cos + angle + half, mask=at < half, other=0.0).to(tl.float32)[None, :]
    sin_x = tl.load(sin + angle, mask=at < half, other=0.0).to(tl.float32)[None, :]
    sin_y = tl.load(sin + angle + half, mask=at < half, other=0.0).to(tl.float32)[None, :]
    start, to = row * q_row + place * q_place, nth * heads * 2 * half
    _heads(query, out_q, start, to, q_head, cos_x, cos_y, sin_x, sin_y, at, heads, half, block_q)
    start, to = row * k_row + place * k_place, nth * kv_heads * 2 * half
    _heads(key, out_k, start, to, k_head, cos_x, cos_y, sin_x, sin_y, at, kv_heads, half, block_k)


def rotate(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    """As `rotary.rotate`; in the output the heads of a place are adjacent in memory."""
    rows, heads, width, size = q.shape
    kv_heads = k.shape[1]
    options = {"dtype": q.dtype, "device": q.device}
    out_q, out_k = (torch.empty(rows, width, n, size, **options) for n in (heads, kv_heads))
    with torch.cuda.device(q.device):  # type: ignore[no-untyped-call]
        _rotate[(rows * width,)](
            *(q, k, cos, sin, out_q, out_k, width),
            *(*q.stride()[:3], *k.stride()[:3]),
            *(cos.stride(0) if len(cos) > 1 else 0, cos.stride(1)),
            *(heads, kv_heads, size // 2),
            *(triton.next_power_of_2(n) for n in (heads, kv_heads, size // 2)),
            num_warps=4,
        )
    return out_q.transpose(1, 2), out_k.transpose(1, 2)
