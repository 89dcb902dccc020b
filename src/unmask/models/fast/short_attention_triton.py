"""The Triton kernel of `short_attention`: several rows in one tile."""

from typing import Any

import torch
import triton
import triton.language as tl

TILE = 64  # places that are processed together
# Arguments that differ between passes: else each combination would be compiled separately.
VARIED = ["rows", "width", "together", "group", "m_row", "m_from", "m_to"]
VARIED += [f"{shift}_{step}" for shift in ("one", "two") for step in ("row", "head", "from", "to")]


@triton.jit(do_not_specialize=VARIED)
def _attended(
    query,
    key,
    value,
    mask,
    first,
    second,
    output,
    rows,
    width,
    together,
    scale,
    group,
    q_row,
    q_head,
    q_place,
    k_row,
    k_head,
    k_place,
    v_row,
    v_head,
    v_place,
    m_row,
    m_from,
    m_to,
    one_row,
    one_head,
    one_from,
    one_to,
    two_row,
    two_head,
    two_from,
    two_to,
    o_row,
    o_head,
    o_place,
    shifted: tl.constexpr,
    causal: tl.constexpr,
    masked: tl.constexpr,
    size: tl.constexpr,
    tile: tl.constexpr,
) -> None:
    head = tl.program_id(1)
    shared = head // group  # heads may share keys and values
    at = tl.arange(0, tile)
    nth, place = at // width, at % width
    row = (tl.program_id(0) * together + nth).to(tl.int64)
    real = (nth < together) & (row < rows)
    column = tl.arange(0, size)[None, :]
    inside = real[:, None] & (column < size)
    q_at = (row * q_row + head * q_head + place * q_place)[:, None] + column
    k_at = (row * k_row + shared * k_head + place * k_place)[:, None] + column
    v_at = (row * v_row + shared * v_head + place * v_place)[:, None] + column
    o_at = (row * o_row + head * o_head + place * o_place)[:, None] + column
    q = tl.load(query + q_at, mask=inside, other=0.0)
    k = tl.load(key + k_at, mask=inside, other=0.0)
    sees = (nth[:, None] == nth[None, :]) & real[:, None] & real[None, :]
    if causal:
        sees = sees & (place[None, :] <= place[:, None])
    if masked:
        m_at = (row * m_row + place * m_from)[:, None] + (place * m_to)[None, :]
        sees = sees & (tl.load(mask + m_at, mask=sees, other=0) != 0)
    score = tl.dot(q, tl.trans(k))
    if shifted:
        one_at = (row * one_row + head * one_head + place * one_from)[:, None]
        two_at = (row * two_row + head * two_head + place * two_from)[:, None]
        score += tl.load(first + one_at + (place * one_to)[None, :], mask=sees, other=0.0)
        score += tl.load(second + two_at + (place * two_to)[None, :], mask=sees, other=0.0)
    score = tl.where(sees, score * scale, float("-inf"))
    most = tl.max(score, 1)
    most = tl.where(most == float("-inf"), 0.0, most)  # a place that sees nothing would give NaN
    weight = tl.exp(score - most[:, None])
    total = tl.sum(weight, 1)
    v = tl.load(value + v_at, mask=inside, other=0.0)
    context = tl.dot(weight.to(v.dtype), v) / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(output + o_at, context.to(v.dtype), mask=inside)


def attended(
    query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, shifts: Any = None
) -> Any:
    """As in `short_attention`; in the output the heads of a place are adjacent in memory."""
    rows, heads, width, size = query.shape
    query, key, value = (x if x.stride(3) == 1 else x.contiguous() for x in (query, key, value))
    output = torch.empty(rows, width, heads, size, dtype=query.dtype, device=query.device)
    output = output.transpose(1, 2)
    together, given, steps = TILE // width, query, (0, 0, 0)
    if mask is not None:
        given = mask.view(torch.uint8).expand(rows, 1, width, width)
        steps = (given.stride(0), given.stride(2), given.stride(3))
    first, second = shifts or (query, query)
    strides = [x.stride()[:3] for x in (query, key, value)]
    with torch.cuda.device(query.device):  # type: ignore[no-untyped-call]
        _attended[(triton.cdiv(rows, together), heads)](
            *(query, key, value, given, first, second, output),
            *(rows, width, together, scale, heads // key.shape[1]),
            *(step for three in strides for step in three),
            *steps,
            *(*first.stride(), *second.stride()),
            *output.stride()[:3],
            *(shifts is not None, causal, mask is not None, size, TILE),
            num_warps=4,
        )
    return output
