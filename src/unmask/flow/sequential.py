"""Decide early: ask clusters in random order, and stop when the verdict is clear.

The clusters of a sentence set (words, writers, terms) come in a random order, part after part.
After each part every measure has a confidence sequence, which holds at all looks together; a
measure whose verdict is decided (or whose interval is narrow enough) asks no more.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.fitness import assessed
from unmask.answer.scales import SCALES
from unmask.answer.verdict import correct, verdict
from unmask.errors import ModelError, NotApplicable, UnmaskError
from unmask.flow.items import data_facts
from unmask.flow.loading import loaded
from unmask.flow.progress import Failed
from unmask.flow.reduce import joined_frames
from unmask.flow.results import accuracy_of, low_accuracy, preferences, tied
from unmask.flow.run_model import fitting_specs
from unmask.measures import Likelihood
from unmask.models.names import offered
from unmask.options import DECIDED, Options, Spec, named
from unmask.stats.preference import deviation
from unmask.stats.sequences import as_sequence, looks
from unmask.types import NOT_ASKED, Contrast, Coverage, Dataset, Estimate, Result

Measure = Callable[[Mapping[int, Spec], Options, Failed], dict[int, Result]]


def stops_early(spec: Spec) -> bool:
    """Whether a spec can stop early: preferences of sentence pairs, but not of a baseline."""
    return (
        isinstance(spec.measure, Likelihood)
        and SCALES[spec.measure.compared].paired
        and not spec.measure.baseline
        and isinstance(spec.data, Dataset)
    )


def measure_until(
    specs: Mapping[int, Spec], options: Options, failed: Failed, measure: Measure
) -> dict[int, Result]:
    """Results by the index of their spec; a measure stops when its verdict is decided.

    `measure` asks a part of the data. The error rate of a model is divided among the specs that
    stop early, and one share for all that are asked whole.
    """
    early = {i: s for i, s in specs.items() if stops_early(s)}
    whole = {i: s for i, s in specs.items() if i not in early}
    results: dict[int, Result] = {}
    for model in dict.fromkeys(_model(s) for s in early.values()):
        chosen = {i: s for i, s in early.items() if _model(s) == model}
        results |= _of_model(chosen, options, failed, measure, 1 if whole else 0)
    if whole:
        counts = Counter(r.model for r in results.values())
        others = measure(whole, options, failed)
        shares = 1 + max(counts.values(), default=0) if options.family == "run" else 1
        judged = correct(assessed(list(others.values())), options.least, options.family, shares)
        results |= dict(zip(others, judged, strict=True))
    return results


def _model(spec: Spec) -> str | int:
    return str(spec.model) if isinstance(spec.model, str | Path) else id(spec.model)


def _of_model(
    specs: Mapping[int, Spec], options: Options, failed: Failed, measure: Measure, others: int
) -> dict[int, Result]:
    """The results of one model, which is loaded once for all of its looks."""
    model = next(iter(specs.values())).model
    given = isinstance(model, str | Path)
    try:
        own = loaded(str(model), options) if given else model
    except (ModelError, NotApplicable) as error:
        for spec in specs.values():
            failed(spec, error)
        return {}
    results: dict[int, Result] = {}
    try:
        ready = fitting_specs({i: replace(s, model=own) for i, s in specs.items()}, failed)
        groups: dict[Any, list[int]] = {}
        for index, spec in ready.items():
            data = spec.data
            groups.setdefault((data.name, len(data.items), data.items[0].id), []).append(index)
        for indices in groups.values():
            looks_ = _Looks({i: ready[i] for i in indices}, options, len(ready) + others)
            results |= looks_.run(failed, measure)
    finally:
        if given and not offered(str(model)):
            own.close()
    return results


class _Looks:
    """Measures of one model on one data set: look after look, each until it is decided."""

    def __init__(self, specs: Mapping[int, Spec], options: Options, tests: int) -> None:
        self.specs, self.options, self.tests = specs, options, tests
        self.data: Dataset = next(iter(specs.values())).data
        self.rank = order(self.data, options.seed)
        self.parts: dict[int, list[Result]] = {i: [] for i in specs}
        self.unread: dict[int, int] = dict.fromkeys(specs, 0)  # asked, and not to be scored
        self.errors: dict[int, UnmaskError] = {}

    def run(self, failed: Failed, measure: Measure) -> dict[int, Result]:
        """The results, by place; a spec of which nothing could be scored is reported."""
        inner = replace(self.options, until=None, family="row")
        waiting, done, asked = dict(self.specs), {}, 0
        for count in looks(len(self.rank)):
            items = tuple(i for i in self.data.items if asked <= self.rank[i.cluster] < count)
            asked = count
            self._ask(waiting, items, inner, measure)
            for place in list(waiting):
                if self.parts[place]:
                    whole = self.joined(place)
                    if count == len(self.rank) or _enough(whole, self.options.until):
                        done[place] = whole
                        del waiting[place]
            if not waiting:
                break
        for place in waiting:
            failed(self.specs[place], self.errors[place])
        return done

    def _ask(
        self,
        waiting: Mapping[int, Spec],
        items: tuple[Contrast, ...],
        inner: Options,
        measure: Measure,
    ) -> None:
        """One look: what cannot be scored in it is counted, and the rest goes on."""
        by_name = {named(s.measure): place for place, s in waiting.items()}

        def lost(spec: Spec, error: UnmaskError) -> None:
            place = by_name[named(spec.measure)]
            self.unread[place] += len(items)
            self.errors[place] = error

        some = replace(self.data, items=items)
        ready = {i: replace(s, data=some) for i, s in waiting.items()}
        for index, result in measure(ready, inner, lost).items():
            self.parts[index].append(result)

    def joined(self, place: int) -> Result:
        """One result of all parts asked so far, with intervals that hold at every look."""
        parts, options, measure = self.parts[place], self.options, self.specs[place].measure
        last, clusters = parts[-1], len(self.rank)
        items = pd.concat([r.items for r in parts], ignore_index=True)
        decimals = last.settings.get("decimals")
        seen = items if decimals is None else items.assign(score=items.score.round(decimals))
        compared = preferences(
            seen, ties=measure.ties, macro=measure.average == "macro", resampling=options.resampling
        )
        overall = as_sequence(compared.overall, clusters, self.tests)
        # The mean margin has no interval that would hold at every look.
        extras = {k: v for k, v in compared.extras.items() if ":" not in k and k != "margin"}
        for name, value in extras.items():
            if name == "stereotype":
                extras[name] = as_sequence(value, clusters, self.tests)
            elif name == "deviation":
                extras[name] = deviation(overall)
        judged = extras.get("stereotype", overall)
        accuracy = accuracy_of(items, options.resampling) if measure.accuracy else None
        coverage = self._coverage(items, compared.ties, self.unread[place])
        unasked = coverage.reasons.get(_unasked(options.until), 0)
        return replace(
            last,
            overall=overall,
            by_category={},
            extras=extras,
            accuracy=accuracy,
            coverage=coverage,
            settings={**_summed(parts), "until": options.until, "clusters": clusters},
            provenance={**last.provenance, "data": data_facts(self.data)},
            items=items,
            notes=(
                *self.specs[place].model.abilities.remarks,
                *self.data.about.get("notes", ()),
                *tied(compared.ties, measure.ties),
                *low_accuracy(accuracy, measure),
                _note(judged, clusters, unasked),
            ),
            verdicts={"": verdict(judged, options.least.points, judged.p)},
            kept={k: joined_frames([r.kept[k] for r in parts]) for k in last.kept},
        )

    def _coverage(self, items: pd.DataFrame, ties: int, unread: int) -> Coverage:
        """What was scored, what could not be, and what was not asked."""
        seen = items.drop_duplicates("item")
        reasons = {str(k): int(v) for k, v in seen.reason.value_counts().items()}
        reasons |= {UNREAD: unread} if unread else {}
        rest = len(self.data.items) - len(seen) - unread
        reasons |= {_unasked(self.options.until): rest} if rest else {}
        return Coverage(len(self.data.items), int(seen.reason.isna().sum()), ties, reasons)


UNREAD = "no item of this part could be scored"


def _unasked(until: str | float | None) -> str:
    why = "the verdict was clear" if until == DECIDED else "the interval was narrow enough"
    return f"{NOT_ASKED}: {why}"


def order(data: Dataset, seed: int) -> dict[str, int]:
    """The place of each cluster in a random order.

    Clusters that lie in one family and side take turns with those of the others, so that no look
    has one side only.
    """
    strata: dict[str, set[str]] = {}
    for item in data.items:
        strata.setdefault(item.cluster, set()).add(f"{item.group_pair}/{item.group}")
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


def _summed(parts: Sequence[Result]) -> dict[str, Any]:
    settings = dict(parts[-1].settings)
    for name in ("queries", "rows"):
        settings[name] = sum(r.settings.get(name, 0) for r in parts)
    return settings


def _note(judged: Estimate, clusters: int, unasked: int) -> str:
    if not unasked:
        return f"all {clusters} clusters were asked."
    return (
        f"{judged.more['clusters']} of {clusters} clusters were asked, in random order; {unasked} "
        "items were not. The intervals of score and stereotype hold at every look, others at this "
        "one. Categories have no verdict of their own."
    )


def _enough(result: Result, until: str | float | None) -> bool:
    """Whether a verdict is decided, or the interval narrow enough."""
    if until == DECIDED:
        return result.verdicts[""].word != "inconclusive"
    judged = result.extras.get("stereotype", result.overall)
    return (judged.high - judged.low) / 2 <= float(until or 0)  # NaN is never enough
