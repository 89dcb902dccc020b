"""Answers to scores: one number for each sentence, from the readings of its queries."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmask.errors import DataError, UnmaskError
from unmask.flow.plan import Planned
from unmask.measures.likelihood import Likelihood
from unmask.measures.reduce import AT_ONCE
from unmask.models.protocol import Model
from unmask.queries import Codec, Ints, Readings, ranges, sums
from unmask.types import Dataset, Floats


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a measure on some items.

    Arrays over the sentences, in the order of items and labels: `score`, `prior`, `tokens` asked
    for and `hits` among them. `reasons` says by item why it could not be queried. `rows` counts the
    rows that went through the model; `unknown` of the `content` tokens are not known to it.
    `token_frames` hold the answers themselves. `checked` is the summary of a second look in full
    precision, `products` says how layers multiplied if not as usual. `gold` are the tokens that
    `hits` were counted over, in any order.
    """

    score: Floats
    prior: Floats
    tokens: Ints
    hits: Ints
    reasons: dict[str, str]
    queries: int
    rows: int
    unknown: int = 0
    content: int = 0
    token_frames: tuple[pd.DataFrame, ...] = ()
    checked: dict[str, Any] = field(default_factory=dict)
    products: str = ""
    gold: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


def reduced(
    model: Model,
    measure: Likelihood,
    planned: Planned,
    readings: Readings,
    keep: Sequence[str] = (),
) -> Scored:
    """The scores of the sentences from the answers to their questions."""
    values, priors, starts = planned.values, planned.priors, planned.starts
    available = readings
    if priors.any():
        available = readings[ranges(starts, values)]
        before = sums(readings.logp[ranges(starts + values, priors)], priors)
    scores = np.full(len(values), np.nan)
    queried = _queried(planned)
    scores[queried] = _scores(measure, replace(available, counts=values[queried]), model)
    prior = np.full(len(values), np.nan)
    if measure.prior:
        prior[queried] = before[queried] if priors.any() else 0.0
        if measure.compare == "preference":
            scores -= prior
    counted, hits, gold = _hits(measure, available, values, queried)
    return Scored(
        score=scores,
        prior=prior,
        tokens=counted,
        hits=hits,
        reasons=planned.reasons,
        queries=planned.count,
        rows=readings.rows,
        unknown=planned.unknown,
        content=planned.content,
        token_frames=(tokens(planned, readings, model.codec),)
        if "tokens" in keep or measure.answers
        else (),
        gold=gold,
    )


def _hits(
    measure: Likelihood, readings: Readings, values: Ints, queried: NDArray[np.bool_]
) -> tuple[Ints, Ints, Ints]:
    """How many tokens of each sentence were asked for, how many are the likeliest, and which.

    Where every token is asked for at every place, those at their own place count, and a sentence
    without any as one miss, as Kaneko and Bollegala's release has it.
    """
    hit = readings.hit.astype(np.int64)
    gold = np.zeros(len(hit), np.int64) if readings.gold is None else readings.gold
    if not measure.crossed:
        return values, sums(hit, values), gold
    side = np.sqrt(values).round().astype(np.int64)
    diagonal = ranges(np.zeros_like(values), values) % (np.repeat(side, values) + 1) == 0
    return np.where(queried & (values == 0), 1, side), sums(hit * diagonal, values), gold[diagonal]


def joined(parts: Sequence[Scored]) -> Scored:
    """The parts of a data set as one."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(p, name) for p in parts])
        for name in ("score", "prior", "tokens", "hits", "gold")
    }
    for name in ("queries", "rows", "unknown", "content"):
        columns[name] = sum(getattr(p, name) for p in parts)
    columns["reasons"] = {k: v for p in parts for k, v in p.reasons.items()}
    return Scored(**columns, token_frames=tuple(k for p in parts for k in p.token_frames))


def put_back(scored: Scored, data: Dataset, numbers: Ints) -> Scored:
    """Scores of rearranged items in the order of the `numbers` that they had before."""
    counts = np.array([len(item.texts) for item in data.items], np.int64)
    before = np.argsort(numbers)
    places = ranges((np.cumsum(counts) - counts)[before], counts[before])
    columns = {name: getattr(scored, name)[places] for name in ("score", "prior", "tokens", "hits")}
    if scored.token_frames:
        answers = joined_frames(scored.token_frames)
        number = dict(zip((item.id for item in data.items), numbers.tolist(), strict=True))
        order = np.argsort(answers["item"].map(number).to_numpy(np.int64), kind="stable")
        columns["token_frames"] = (answers.iloc[order],)
    return replace(scored, **columns)


def _queried(planned: Planned) -> NDArray[np.bool_]:
    """Which sentences were asked about: those of items without a reason against it."""
    items = planned.data.items
    counts = [len(item.texts) for item in items]
    return np.repeat(np.array([item.id not in planned.reasons for item in items], bool), counts)


def _scores(measure: Likelihood, readings: Readings, model: Model) -> Any:
    """Scores of all sentences; whatever a user's reduction does wrong is one sentence."""
    reduce = measure.reduce_for(model.kind)
    try:
        if reduce in AT_ONCE:
            return reduce(readings)
        assert readings.counts is not None
        ends = np.cumsum(readings.counts).tolist()
        return [float(reduce(readings[a:b])) for a, b in pairwise([0, *ends])]
    except UnmaskError:
        raise
    except Exception as error:
        raise DataError(
            f"the reduction of {measure.name!r} fails ({type(error).__name__}: {error}); fix it."
        ) from error


def joined_frames(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate frames; empty ones are skipped, because they have no column types."""
    return pd.concat([f for f in frames if len(f)] or frames, ignore_index=True)


def tokens(planned: Planned, readings: Readings, codec: Codec) -> pd.DataFrame:
    """The answer to every query of the value: item, label, place, gold token, and what was read.

    `start` and `end` are the token's characters in the sentence, -1 where the question was about
    another row than the sentence itself.
    """
    values = planned.values
    index = ranges(planned.starts, values)
    names = [(item.id, label) for item in planned.data.items for label in item.texts]
    items, labels = (np.repeat(np.array(k, object), values) for k in zip(*names, strict=True))
    questions = planned.questions
    gold, spans = questions.gold[index], questions.spans[index]
    ids, token = np.unique(gold, return_inverse=True)
    return pd.DataFrame(
        {
            "item": items,
            "label": labels,
            "place": questions.at[index],
            "token": np.array([*codec.spelt(ids.tolist()), ""], object)[token],
            "start": spans[:, 0],
            "end": spans[:, 1],
            "gold": gold,
            "logp": readings.logp[index],
            "hit": readings.hit[index],
            "attention": readings.attention[index],
        }
    )
