"""Cached plans: the queries about some data, and their distinct rows.

A plan depends on the tokenizer, the sentences, the measures and our code. All of these are in its
key, so a cached plan is never out of date. It is stored as arrays.
"""

import hashlib
import json
import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.flow.plan import Planned, Questions
from unmask.measures import MEASURES
from unmask.measures.likelihood import Likelihood
from unmask.models.prefix_trees import TreeNumbers
from unmask.models.protocol import Model
from unmask.models.unique_rows import UniqueRows
from unmask.support import store
from unmask.types import Dataset

FEWEST = 200  # sentences of a plan that takes longer to make than to read
Arrays = dict[str, NDArray[Any]]
ROWS = ("tokens", "starts", "attended", "places", "slots", "slot", "gold", "order", "first")


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """The plans of a slice of the data, one for each group of measures, and the rows by stream."""

    plans: tuple[Planned, ...]
    rows: Mapping[str, UniqueRows]


def content_digest(data: Dataset) -> bytes:
    """A digest of all that plans read of a data set, in its order."""
    items = [
        (
            item.id,
            [(k, t.string, list(t.spans.items())) for k, t in item.texts.items()],
            str(item.meta.get("direction")),
            str(item.meta.get("context")),
            str(item.meta.get("question")),
        )
        for item in data.items
    ]
    # The first version of the format has no references, which differ between processes.
    return hashlib.blake2b(marshal.dumps(items, 0), digest_size=16).digest()


def key_of(model: Model, measures: Sequence[Likelihood]) -> str | None:
    """The key of a model's plans, apart from the data; None if they cannot be cached.

    A custom measure may do anything, and a tokenizer without a hash cannot be identified.
    """
    tokenizer = (model.provenance.get("tokenizer") or {}).get("hash")
    if not tokenizer or any(MEASURES.get(m.name) != m for m in measures):
        return None
    codec: Any = model.codec
    specials = (codec.unknown, sorted(codec.reserved), codec.start, codec.tokenizer.mask_token)
    chat = [codec.chat.record for m in measures if m.question is not None or m.request][:1]
    facts = (tokenizer, specials, model.kind, model.family, model.abilities.limit, chat)
    return repr((store.code_digest(), facts, [m.name for m in measures]))


def load(key: str, data: Sequence[Dataset], measures: Sequence[Likelihood]) -> SlicePlan | None:
    """The plan under a key, for the parts of the data and the measures that it was made for."""
    content = store.load(store.PLANS, store.digest(key.encode()))
    if content is None:
        return None
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    arrays = _arrays(head["arrays"], memoryview(content)[8 + size :])
    plans = [
        _planned(facts, {k: arrays[f"{n}/{k}"] for k in facts["has"]}, part, measure)
        for n, (facts, part, measure) in enumerate(zip(head["plans"], data, measures, strict=True))
    ]
    return SlicePlan(tuple(plans), {s: _rows(arrays, s) for s in head["streams"]})


def save(key: str, slice_plan: SlicePlan, tokens: bool) -> None:
    """Store a plan; with `tokens`, also the place, gold token and characters of each question."""
    if sum(len(p.values) for p in slice_plan.plans) < FEWEST:
        return
    arrays: Arrays = {}
    plans = []
    for n, plan in enumerate(slice_plan.plans):
        columns: Arrays = {"values": plan.values, "priors": plan.priors}
        if tokens or plan.measure.answers:
            questions = plan.questions
            columns |= {"at": questions.at, "gold": questions.gold, "spans": questions.spans}
        arrays |= {f"{n}/{k}": v for k, v in columns.items()}
        facts = {"reasons": plan.reasons, "unknown": plan.unknown, "content": plan.content}
        plans.append({**facts, "has": list(columns)})
    for stream, rows in slice_plan.rows.items():
        arrays |= {f"{stream}/{k}": getattr(rows, k) for k in ROWS}
        if rows.hidden is not None:
            flat = [place for places in rows.hidden for place in places]
            arrays[f"{stream}/hidden"] = np.array(flat, np.int64)
            arrays[f"{stream}/hides"] = np.array([len(p) for p in rows.hidden], np.int64)
        if rows.trees is not None:
            arrays[f"{stream}/tree"] = rows.trees.number
            arrays[f"{stream}/sizes"] = rows.trees.sizes
    arrays = {k: _small(v) for k, v in arrays.items()}
    shapes = [(k, v.dtype.str, v.shape) for k, v in arrays.items()]
    head = json.dumps({"arrays": shapes, "plans": plans, "streams": list(slice_plan.rows)}).encode()
    body = b"".join(v.tobytes() for v in arrays.values())
    content = len(head).to_bytes(8, "little") + head + body
    store.save(store.PLANS, store.digest(key.encode()), content)


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in 32 bits, where they fit."""
    fits = values.dtype == np.int64 and (not values.size or np.abs(values).max() < 2**31)
    return np.ascontiguousarray(values, np.int32 if fits else values.dtype)


def _arrays(shapes: Sequence[tuple[str, str, list[int]]], body: memoryview) -> Arrays:
    arrays: Arrays = {}
    start = 0
    for name, kind, shape in shapes:
        dtype, count = np.dtype(kind), int(np.prod(shape))
        values = np.frombuffer(body, dtype, count, start).reshape(shape)
        arrays[name] = values.astype(np.int64) if dtype == np.int32 else values
        start += count * dtype.itemsize
    return arrays


def _planned(
    facts: Mapping[str, Any], arrays: Arrays, part: Dataset, measure: Likelihood
) -> Planned:
    numbers = (arrays["values"], arrays["priors"], facts["reasons"])
    counts = (facts["unknown"], facts["content"])

    def read() -> Questions:
        return Questions(arrays["at"], arrays["gold"], arrays["spans"])

    return Planned(measure, part, [], *numbers, *counts, read)


def _rows(arrays: Arrays, stream: str) -> UniqueRows:
    columns: dict[str, Any] = {k: arrays[f"{stream}/{k}"] for k in ROWS}
    rows = UniqueRows(hidden=None, **columns)
    if f"{stream}/hidden" in arrays:
        ends = np.cumsum(arrays[f"{stream}/hides"])[:-1]
        parts = np.split(arrays[f"{stream}/hidden"], ends)
        rows = replace(rows, hidden=[tuple(p.tolist()) for p in parts])
    if f"{stream}/tree" in arrays:
        trees = TreeNumbers(arrays[f"{stream}/tree"], arrays[f"{stream}/sizes"])
        rows = replace(rows, trees=trees)
    return rows
