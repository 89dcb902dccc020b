"""Decide early: ask clusters in random order, and stop when the verdict is clear.

The clusters of a sentence set (words, writers, terms) come in a random order, part after part.
After each part every measure has a confidence sequence, which holds at all looks together; a
measure whose verdict is decided (or whose interval is narrow enough) asks no more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.flow.items import data_facts
from unmask.flow.progress import Failed
from unmask.flow.results import preferences
from unmask.measures import Likelihood
from unmask.options import DECIDED, Options, Spec
from unmask.stats.intervals import ratio
from unmask.stats.sequences import as_sequence, looks
from unmask.stats.verdict import verdict
from unmask.types import Coverage, Dataset, Estimate, Result, Verdict

Evaluate = Callable[[Sequence[Spec], Options, Failed], list[Result]]
NOT_ASKED = "not asked: the verdict was clear"


def stops_early(spec: Spec) -> bool:
    """Whether a spec can stop early: preferences of sentence pairs, but of a baseline not."""
    measure = spec.measure
    return (
        isinstance(measure, Likelihood)
        and measure.compared == "preference"
        and not measure.baseline
        and isinstance(spec.data, Dataset)
    )


def evaluate_until(
    specs: Mapping[int, Spec], options: Options, failed: Failed, evaluate: Evaluate
) -> dict[int, Result]:
    """Results of one model's specs that stop early, by their place.

    `evaluate` asks a part of the data.
    """
    groups: dict[int, list[int]] = {}
    for place, spec in specs.items():
        groups.setdefault(id(spec.data), []).append(place)
    out: dict[int, Result] = {}
    inner = replace(options, until=None, family="row")
    for places in groups.values():
        data = specs[places[0]].data
        out |= _group({i: specs[i] for i in places}, data, inner, options, failed, evaluate)
    return out


def _group(
    specs: Mapping[int, Spec],
    data: Dataset,
    inner: Options,
    options: Options,
    failed: Failed,
    evaluate: Evaluate,
) -> dict[int, Result]:
    """Measures of one model on one data set: look after look, each until it is decided."""
    rank = order(data, options.seed)
    clusters = len(rank)
    open_, parts, done = dict(specs), {i: [] for i in specs}, {}  # type: ignore[var-annotated]
    asked = 0
    for count in looks(clusters):
        items = tuple(i for i in data.items if asked <= rank[i.cluster] < count)
        asked = count
        some = replace(data, items=items)
        ready = {place: replace(s, data=some) for place, s in open_.items()}
        by_id = {id(s): place for place, s in ready.items()}

        def lost(spec: Spec, error: Any, by_id: dict[int, int] = by_id) -> None:
            place = by_id.get(id(spec))
            if place is None or not parts[place]:
                failed(spec, error)
            open_.pop(place, None) if place is not None else None

        measured = evaluate(list(ready.values()), inner, lost)
        for result in measured:
            place = next(p for p, s in ready.items() if _same(s, result))
            parts[place].append(result)
            whole = joined(parts[place], data, clusters, options, len(specs))
            if count == clusters or _enough(whole, options.until):
                done[place] = whole
                open_.pop(place, None)
        if not open_:
            break
    return done


def _same(spec: Spec, result: Result) -> bool:
    names = spec.in_names()
    return (names.measure, names.model) == (result.spec.measure, result.spec.model)


def order(data: Dataset, seed: int) -> dict[str, int]:
    """The place of each cluster in a random order.

    Clusters that lie in one family and side take turns with those of the others, so that no look
    has one side only.
    """
    strata: dict[str, set[str]] = {}
    for item in data.items:
        strata.setdefault(item.cluster, set()).add(f"{item.family}/{item.side}")
    nested = all(len(s) == 1 for s in strata.values())
    groups: dict[str, list[str]] = {}
    for cluster, lies_in in strata.items():
        groups.setdefault(min(lies_in) if nested else "", []).append(cluster)
    rng = np.random.default_rng([seed, len(strata)])
    keyed: list[tuple[float, str]] = []
    for names in groups.values():
        mixed = rng.permutation(len(names))
        keyed += [((k + rng.random()) / len(names), names[i]) for k, i in enumerate(mixed.tolist())]
    return {name: place for place, (_, name) in enumerate(sorted(keyed))}


def joined(
    parts: Sequence[Result], data: Dataset, clusters: int, options: Options, tests: int
) -> Result:
    """One result of all parts asked so far, with intervals that hold at every look."""
    last = parts[-1]
    items = pd.concat([r.items for r in parts], ignore_index=True)
    macro = last.settings.get("average") == "macro"
    found = preferences(
        items, ties=last.settings["ties"], macro=macro, resampling=options.resampling
    )
    overall = as_sequence(found.overall, clusters, tests)
    extras = {k: v for k, v in found.extras.items() if ":" not in k and k != "stereotype"}
    judged: Estimate = overall
    if "stereotype" in found.extras:
        judged = extras["stereotype"] = as_sequence(found.extras["stereotype"], clusters, tests)
    seen = items.drop_duplicates("item")
    scored = int(seen.reason.isna().sum())
    missing = {str(k): int(v) for k, v in seen.reason.value_counts().items()}
    unasked = len(data.items) - len(seen)
    known = {**missing, **({NOT_ASKED: unasked} if unasked else {})}
    least = options.least.points
    return replace(
        last,
        overall=overall,
        by_category={},
        extras=extras,
        accuracy=_accuracy(items, options),
        coverage=Coverage(len(data.items), scored, found.ties, known),
        settings={**_summed(parts), "until": options.until, "clusters": clusters},
        provenance={**last.provenance, "data": data_facts(data)},
        items=items,
        notes=_notes(parts, judged, clusters, unasked),
        verdicts={"": _verdict(judged, least)},
    )


def _verdict(estimate: Estimate, least: float) -> Verdict:
    return verdict(estimate, least, estimate.p)


def _summed(parts: Sequence[Result]) -> dict[str, Any]:
    settings = dict(parts[-1].settings)
    for name in ("queries", "rows"):
        settings[name] = sum(r.settings.get(name, 0) for r in parts)
    return settings


def _accuracy(items: pd.DataFrame, options: Options) -> Estimate | None:
    by = items.groupby("item", sort=False)
    tries, hits = by.tokens.sum().to_numpy(float), by.hits.sum().to_numpy(float)
    some = tries > 0
    if not some.any():
        return None
    return ratio(hits[some], tries[some], by.cluster.first().to_numpy()[some], options.resampling)


def _notes(
    parts: Sequence[Result], judged: Estimate, clusters: int, unasked: int
) -> tuple[str, ...]:
    notes = tuple(dict.fromkeys(n for r in parts for n in r.notes if "items are ties" not in n))
    seen = judged.more["clusters"]
    if not unasked:
        return (*notes, f"all {clusters} clusters were asked.")
    return (
        *notes,
        f"{seen} of {clusters} clusters were asked, in random order; {unasked} items were not. The "
        "interval holds at every look. Categories have no verdict of their own.",
    )


def _enough(result: Result, until: str | float | None) -> bool:
    """Whether a verdict is decided, or the interval narrow enough."""
    if until == DECIDED:
        return result.verdicts[""].word != "cannot tell"
    judged = result.extras.get("stereotype", result.overall)
    return (judged.high - judged.low) / 2 <= float(until or 0)
