"""The likelihood loop: plan, ask, score."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unmask.errors import DataError, NotApplicable, UnmaskError
from unmask.flow.items import designed, provenance, sentence_rows
from unmask.flow.planning import Cache, Planned, SentenceModel, plan
from unmask.flow.progress import Failed, bar
from unmask.measures.likelihood import Likelihood
from unmask.options import Options, Resampling, Spec
from unmask.stats import log_odds
from unmask.stats.families import together
from unmask.stats.intervals import ratio
from unmask.stats.preference import Ties, summarise
from unmask.stats.sides import Sides
from unmask.stats.verdict import contradiction, judged
from unmask.types import (
    UNRELATED,
    Contrast,
    Coverage,
    Dataset,
    Estimate,
    Floats,
    LogProbs,
    Readings,
    Result,
)

LOW_ACCURACY = 10.0
MANY_UNKNOWN = 5.0  # per cent of the tokens
VISIBLE = 0.05  # points that a table shows


class Compared(NamedTuple):
    """What comes of comparing sentence scores: estimates, ties, and the drawn effects if any."""

    overall: Estimate
    by_category: dict[str, Estimate]
    extras: dict[str, Estimate]
    ties: int
    drawn: Floats | None = None


def run(
    model: Any, specs: Mapping[int, Spec], options: Options, failed: Failed
) -> Iterator[tuple[int, Result]]:
    """Results of likelihood measures, by the place of their spec.

    Measures that ask the same of the same data share one plan, and all share their rows. What
    cannot be planned or scored is told to `failed`, and the rest goes on.
    """
    cache: Cache = {}
    plans: dict[tuple[object, ...], Planned] = {}
    asked: dict[int, tuple[object, ...]] = {}
    for place, spec in specs.items():
        try:
            key = (id(spec.data), *spec.measure.asks(model.kind))
            if key not in plans:
                plans[key] = plan(model, spec.measure, spec.data, cache)
            asked[place] = key
        except (DataError, NotApplicable) as error:
            failed(spec, error)
    if not plans:
        return
    answering = engines(model, (p.measure.stream for p in plans.values()), options)
    answers = dict(zip(plans, ask(answering, list(plans.values())), strict=True))
    for place, key in asked.items():
        spec = specs[place]
        planned = replace(plans[key], measure=spec.measure)
        try:
            yield place, score(model, spec, planned, answers[key], options)
        except DataError as error:
            failed(spec, error)


def engines(model: Any, streams: Iterable[str], options: Options) -> dict[str, LogProbs]:
    """The model's engine for each stream; with a store, a killed run goes on where it was."""
    how = {"budget": model.budget(options.tokens), "store": options.store}
    return {
        stream: model.engine(stream, **how, progress=bar(model, options))
        for stream in sorted(set(streams))
    }


def ask(engines: Mapping[str, LogProbs], planned: Sequence[Planned]) -> list[Readings]:
    """Answer the queries of all measures together, so that each distinct row is run once."""
    out: dict[int, Readings] = {}
    for stream in sorted({p.measure.stream for p in planned}):
        chosen = [i for i, p in enumerate(planned) if p.measure.stream == stream]
        asks = [a for i in chosen for a in planned[i].asks]
        wanted = [planned[i].measure.attention for i in chosen for _ in planned[i].asks]
        readings = engines[stream].ask(asks, wanted)
        start = 0
        for i in chosen:
            out[i] = readings[start : start + planned[i].count]
            start += planned[i].count
    return [out[i] for i in range(len(planned))]


def score(
    model: SentenceModel, spec: Spec, planned: Planned, readings: Readings, options: Options
) -> Result:
    """Sentence scores, then the estimates and all that explains them."""
    measure, data, how = planned.measure, planned.data, options.resampling
    if not planned.parts:
        reasons = ", ".join(sorted(set(planned.reasons.values())))
        raise DataError(f"no item of {data.name!r} could be scored by {measure.name!r}: {reasons}.")
    frame = sentence_frame(model, planned, readings)
    if not frame.reason.isna().any():
        raise DataError(f"no item of {data.name!r} has a finite score by {measure.name!r}.")
    accuracy = None if measure.stream == "next" else _accuracy(frame, how)
    compared = _log_odds if measure.compare == "log-odds" else _preferences
    rounded = frame.assign(score=measure.rounded(frame.score.to_numpy(float), model.kind))
    found = compared(rounded, data, measure, how)
    unscored = frame[frame.reason.notna()].drop_duplicates("item")
    reasons_by_count = unscored.reason.value_counts()
    return Result(
        spec=spec.in_names(),
        compared=measure.compared,
        overall=found.overall,
        by_category=found.by_category,
        extras=found.extras,
        accuracy=accuracy,
        coverage=Coverage(
            items=len(data.items),
            scored=len(data.items) - len(unscored),
            ties=found.ties,
            reasons={str(k): int(v) for k, v in reasons_by_count.items()},
        ),
        settings=_settings(planned, readings, how) | {"decimals": measure.decimals_for(model.kind)},
        provenance=provenance(model, measure, data),
        items=frame,
        notes=_unknown(planned)
        + contradiction(found.overall)
        + _tied(found.ties, measure)
        + (() if measure.baseline else _warn(accuracy, measure)),
        shown=_shown(measure, found),
        verdicts={}
        if measure.baseline
        else judged(found.overall, found.by_category, measure.compared, options.least),
        kept=_kept(planned, readings, found.drawn, options),
    )


def _shown(measure: Likelihood, found: Compared) -> tuple[str, ...]:
    """The extras that belong beside the score; `balanced` only where it is another number."""
    even = found.extras.get("balanced")
    differs = even is not None and abs(even.value - found.overall.value) >= VISIBLE
    names = (*measure.shows, "balanced") if differs else measure.shows
    return tuple(name for name in names if name in found.extras)


def _kept(
    planned: Planned, readings: Readings, drawn: Floats | None, options: Options
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    if "tokens" in options.keep:
        kept["tokens"] = tokens(planned, readings)
    if "samples" in options.keep and drawn is not None:
        kept["samples"] = drawn
    return kept


def _settings(planned: Planned, readings: Readings, how: Resampling) -> dict[str, Any]:
    measure = planned.measure
    settings: dict[str, Any] = {
        "seed": how.seed,
        "ties": measure.ties,
        "average": measure.average,
        "cluster": planned.data.cluster,
        "stream": measure.stream,
        "queries": planned.count,
        "rows": readings.rows,
    }
    settings |= {"samples": measure.samples} if measure.samples else {}
    return settings | ({"deviation": measure.deviation} if measure.deviation else {})


def _unknown(planned: Planned) -> tuple[str, ...]:
    if planned.unknown < MANY_UNKNOWN:
        return ()
    return (
        f"the tokenizer does not know {planned.unknown:.0f} % of the tokens of these sentences.",
    )


def _tied(ties: int, measure: Likelihood) -> tuple[str, ...]:
    said = {"strict": "as not stereotypical", "half": "a half", "drop": "not at all"}
    return (f"{ties} items are ties, which count {said[measure.ties]}.",) if ties else ()


def _warn(accuracy: Estimate | None, measure: Likelihood) -> tuple[str, ...]:
    preference = measure.compare == "preference"
    if accuracy is None or accuracy.value >= LOW_ACCURACY or not preference:
        return ()
    return (
        f"the model predicts only {accuracy.value:.1f} % of the tokens asked for: where it does "
        "not know the words, preferring one sentence over the other means little.",
    )


def sentence_frame(model: SentenceModel, planned: Planned, readings: Readings) -> pd.DataFrame:
    """One row for each sentence: its score, prior, tokens asked for and tokens hit."""

    def values(item: Contrast, label: str) -> dict[str, Any]:
        flags = "; ".join(item.meta.get("flags", ()))
        row = {"score": np.nan, "prior": np.nan, "tokens": 0, "hits": 0, "flags": flags}
        asked = planned.parts.get(item.id)
        if asked is None:
            return row | {"reason": planned.reasons[item.id]}
        value, prior = asked[label]
        here = readings[value]
        row |= {"score": _scored(planned.measure, here, model)}
        row |= {"tokens": len(here.logp), "hits": int(here.hit.sum())}
        if planned.measure.prior:
            row["prior"] = float(readings[prior].logp.sum())
        return row | {"reason": None}

    frame = sentence_rows(model.name, planned.measure.name, planned.data, values)
    if planned.measure.empty == "kept":  # published code counts a NaN as lost
        return frame
    broken = frame.loc[frame.reason.isna() & ~np.isfinite(frame.score), "item"]
    frame.loc[frame["item"].isin(broken), "reason"] = "a score is not finite"
    return frame


def _scored(measure: Likelihood, here: Readings, model: SentenceModel) -> float:
    """A sentence's score; whatever a user's reduction does wrong is one sentence."""
    try:
        return float(measure.score(here, model.kind))
    except UnmaskError:
        raise
    except Exception as error:
        raise DataError(
            f"the reduction of {measure.name!r} fails ({type(error).__name__}: {error}); mend it."
        ) from error


def tokens(planned: Planned, readings: Readings) -> pd.DataFrame:
    """The answer to every query of the value: item, label, place, gold token, and what was read."""
    rows = []
    for item, labels in planned.parts.items():
        for label, (value, _) in labels.items():
            rows += [(item, label, i) for i in range(value.start, value.stop)]
    frame = pd.DataFrame(rows, columns=["item", "label", "query"])
    chosen = frame.pop("query").to_numpy()
    every = planned.queries
    asked = [every[i] for i in chosen]
    return frame.assign(
        place=[q.at for q in asked],
        gold=[q.gold for q in asked],
        logp=readings.logp[chosen],
        hit=readings.hit[chosen],
        attention=readings.attention[chosen],
    )


def _accuracy(frame: pd.DataFrame, how: Resampling) -> Estimate | None:
    """Token prediction accuracy in per cent, over clusters."""
    kinds = {"hits": "sum", "tokens": "sum", "cluster": "first"}
    by_item = frame.groupby("item", sort=False).agg(kinds)
    by_item = by_item[by_item.tokens > 0]
    if not len(by_item):
        return None
    hits, tries = by_item.hits.to_numpy(float), by_item.tokens.to_numpy(float)
    return ratio(hits, tries, by_item.cluster.tolist(), how)


def _preferences(
    frame: pd.DataFrame, data: Dataset, measure: Likelihood, how: Resampling
) -> Compared:
    return preferences(frame, ties=measure.ties, macro=measure.average == "macro", how=how)


def preferences(frame: pd.DataFrame, *, ties: Ties, macro: bool, how: Resampling) -> Compared:
    """Share of items whose stereotypical sentence scores higher, over all and by category.

    For triplets lms and icat come with it, by category as `lms:CATEGORY`.
    """
    scored = frame[frame.reason.isna()]
    wide = scored.pivot(index="item", columns="label", values="score")
    whole = scored.label.value_counts()
    if whole.get(UNRELATED, 0) < len(wide):  # lms is of complete items only
        wide = wide.drop(columns=UNRELATED, errors="ignore")
    facts = scored.drop_duplicates("item").set_index("item").loc[wide.index]

    def estimates(chosen: pd.Series) -> dict[str, Estimate]:
        scores = {str(k): wide.loc[chosen, k].to_numpy(float) for k in wide.columns}
        some = facts[chosen]
        sides = Sides(some.family.tolist(), some.side.tolist())
        return summarise(scores, designed(some), ties=ties, macro=macro, sides=sides, how=how)

    extras = estimates(pd.Series(True, index=wide.index))
    overall = extras.pop("score")
    categories = {}
    for name in sorted(facts.category.unique()):
        found = estimates(facts.category == name)
        categories[name] = found.pop("score")
        extras |= {f"{key}:{name}": value for key, value in found.items() if ":" not in key}
    count = int((wide["stereotype"] == wide["antistereotype"]).sum())
    return Compared(overall, together(categories), extras, count)


def _log_odds(frame: pd.DataFrame, data: Dataset, measure: Likelihood, how: Resampling) -> Compared:
    """Effect size between the two attribute sets of the log-odds of the two target sides."""
    values = log_odds.by_item(frame)
    halves: dict[str, log_odds.Half] = {}
    for side in ("A", "B"):
        items = [i for i in data.items if i.side == side]
        kept = [i for i in items if i.id in values]
        scores = np.array([values[i.id] for i in kept])
        halves[items[-1].category] = (scores, [i.cluster for i in kept])
    overall, means, drawn = log_odds.summarise(
        halves, samples=measure.samples, published="@" in measure.name, how=how
    )
    extras = {f"log_odds:{name}": found for name, found in means.items()}
    return Compared(overall, {}, extras, 0, drawn)
