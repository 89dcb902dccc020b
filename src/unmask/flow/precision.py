"""A second look in full precision at the items that a reduced one cannot decide.

A sample of the items shows how far a reduced precision moves the margin between two sentences;
every item whose margin is not safely larger (or was lost) is run again in a finer one, up to
float32. So each preference is float32's, but for an error far beyond all that the sample showed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.flow.sentence_scores import Scored
from unmask.models.protocol import Model
from unmask.options import Options
from unmask.queries import sums
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Dataset, Floats

FULL = ("float32", "float64")
SAMPLE = 100  # items that show the error
SAFE = 1.5  # times the largest error of the sample


def checked(
    model: Model,
    groups: Sequence[Any],
    scored: Mapping[int, Scored],
    options: Options,
    answered: Callable[..., dict[int, Scored]],
) -> dict[int, Scored]:
    """Return the scores, with undecided items rerun in finer precision up to float32.

    `Scored.checked` has a summary. Only measures that count preferences are checked: others have
    no direction to get wrong.
    """
    counted = [g for g in groups if g.measure.compare == "preference"]
    counted = [g for g in counted if g.places.keys() <= scored.keys()]
    if not counted:
        return dict(scored)
    rungs = model.finer()
    if not rungs:  # there is no finer one to compare it with
        return dict(scored)
    quiet = replace(options, dtype="float32", plans=None, cache=False)
    drawn = [_drawn(g.data, options.seed) for g in counted]
    exact = answered(rungs[-1], _parts(counted, drawn), quiet, {})
    current, unsure = dict(scored), [np.ones_like(d) for d in drawn]
    first, rerun_masks = _errors(counted, drawn, current, exact), [d.copy() for d in drawn]
    for rung in rungs:
        errors = _errors(counted, drawn, current, exact)
        unsure = [u & _unsure(g, current, errors) for g, u in _zipped(counted, unsure)]
        rerun_masks = [a | u for a, u in _zipped(rerun_masks, unsure)]
        # The sample is known in float32, and shows the error of each precision before it.
        runs = [u & ~d if rung is rungs[-1] else u | d for u, d in _zipped(unsure, drawn)]
        close = [(g, r) for g, r in _zipped(counted, runs) if r.any()]
        finer = answered(rung, _parts(*zip(*close, strict=True)), quiet, {}) if close else {}
        current |= {
            p: _patched(g.data, current[p], finer[p], r) for g, r in close for p in g.places
        }
    for g, sample, runs_of in zip(counted, drawn, rerun_masks, strict=True):
        for p in g.places:
            patched = _patched(g.data, current[p], exact[p], sample)
            summary = _summary(g.data, scored[p], patched, runs_of, first[p])
            current[p] = replace(patched, checked=summary)
    return current


def _errors(
    groups: Sequence[Any],
    drawn: Sequence[NDArray[np.bool_]],
    scores: Mapping[int, Scored],
    exact: Mapping[int, Scored],
) -> dict[int, float]:
    """The largest change of a sampled margin under a precision, by place of the spec."""
    pairs = [(g, d, p) for g, d in _zipped(groups, drawn) for p in g.places]
    return {p: _error(g.data, scores[p], exact[p], d) for g, d, p in pairs}


def _zipped(groups: Sequence[Any], values: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(groups, values, strict=True))


def _drawn(data: Dataset, seed: int) -> NDArray[np.bool_]:
    """Which items are the sample; the same for every measure on the data."""
    sample = np.zeros(len(data.items), bool)
    count = min(SAMPLE, len(data.items))
    sample[np.random.default_rng(seed).choice(len(data.items), count, replace=False)] = True
    return sample


def _parts(groups: Sequence[Any], masks: Sequence[NDArray[np.bool_]]) -> list[Any]:
    """The groups on some of their items; those that are on the same ones share them."""
    parts: dict[tuple[int, bytes], Dataset] = {}
    for group, mask in zip(groups, masks, strict=True):
        parts.setdefault((id(group.data), mask.tobytes()), _part(group.data, mask))
    return [
        replace(g, data=parts[id(g.data), c.tobytes()]) for g, c in zip(groups, masks, strict=True)
    ]


def _part(data: Dataset, mask: NDArray[np.bool_]) -> Dataset:
    return replace(data, items=tuple(data.items[i] for i in np.flatnonzero(mask)))


def _sentences(data: Dataset, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.repeat(mask, [len(item.texts) for item in data.items])


def _margins(data: Dataset, score: Floats) -> Floats:
    """The differences between the scores of each item's sentences [items, pairs of labels].

    The stereotype less the antistereotype comes first; NaN where an item lacks a sentence.
    """
    columns = {STEREOTYPE: 0, ANTISTEREOTYPE: 1, UNRELATED: 2}
    at = [columns[label] for item in data.items for label in item.texts]
    item_index = np.repeat(np.arange(len(data.items)), [len(item.texts) for item in data.items])
    table = np.full((len(data.items), len(columns)), np.nan)
    table[item_index, at] = score
    first, second = np.triu_indices(len(columns), 1)
    return np.asarray(table[:, first] - table[:, second])


def _error(data: Dataset, reduced: Scored, full: Scored, drawn: NDArray[np.bool_]) -> float:
    """The largest change of a margin in the sample."""
    part = _part(data, drawn)
    before = _margins(part, reduced.score[_sentences(data, drawn)])
    moved = np.abs(before - _margins(part, full.score))
    return float(np.max(moved[np.isfinite(moved)], initial=0.0))


def _unsure(
    group: Any, scored: Mapping[int, Scored], errors: Mapping[int, float]
) -> NDArray[np.bool_]:
    """Items whose margin the error could reverse, under any of the group's measures."""
    doubts = np.zeros(len(group.data.items), bool)
    for p in group.places:
        scores = scored[p]
        margins = _margins(group.data, scores.score)
        doubts |= (np.abs(margins) <= SAFE * errors[p]).any(1)
        # A score that the reduced precision lost is not a decision either.
        counts = np.array([len(item.texts) for item in group.data.items], np.int64)
        unscored = sums((~np.isfinite(scores.score)).astype(np.int64), counts) > 0
        doubts |= unscored & [item.id not in scores.reasons for item in group.data.items]
    return doubts


def _patched(data: Dataset, scored: Scored, full: Scored, mask: NDArray[np.bool_]) -> Scored:
    """Scores, hits and kept tokens of some items from the finer run."""
    where = _sentences(data, mask)
    columns = {name: getattr(scored, name).copy() for name in ("score", "prior", "hits")}
    for name, values in columns.items():
        values[where] = getattr(full, name)
    frames = scored.token_frames
    if full.token_frames:
        rescored = {item.id for item, c in zip(data.items, mask, strict=True) if c}
        frames = tuple(frame[~frame["item"].isin(rescored)] for frame in frames) + full.token_frames
    return replace(scored, **columns, rows=scored.rows + full.rows, token_frames=frames)


def _summary(
    data: Dataset, before: Scored, after: Scored, runs: NDArray[np.bool_], error: float
) -> dict[str, Any]:
    first, second = (np.sign(_margins(data, s.score)[:, 0]) for s in (before, after))
    return {
        "sample": min(SAMPLE, len(data.items)),
        "error": error,
        "again": int(runs.sum()),
        "flipped": int(np.sum((first != second) & np.isfinite(second))),
    }
