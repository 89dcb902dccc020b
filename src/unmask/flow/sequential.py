"""Measure in looks, and stop when the answer is clear.

The pairs of a data set come in several looks: in those that it declares (its first templates, then
its reserve), or in random fifths of its clusters. After each look the answer so far is read, with
group-sequential bounds (`stats/sequential.py`), and only bias types that are still inconclusive are
measured further.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.answer import OVERALL, answers
from unmask.answer.fitness import assessed
from unmask.answer.scales import SCALES, scale_of
from unmask.answer.verdict import judged_estimate
from unmask.data import bias_types
from unmask.errors import ModelError, NotApplicable, UnmaskError
from unmask.flow.estimates import Estimates, accuracy_of, estimates_of, low_accuracy, tied
from unmask.flow.items_table import data_facts
from unmask.flow.loading import loaded
from unmask.flow.progress import Failed
from unmask.flow.run_model import fitting_specs
from unmask.flow.sentence_scores import joined_frames
from unmask.measures import Likelihood
from unmask.models.names import from_plugin
from unmask.models.protocol import Model
from unmask.options import DECIDED, Options, Spec, named
from unmask.stats.sequential import FIVE, at_look, levels
from unmask.types import NOT_ASKED, Contrast, Coverage, Dataset, Estimate, Result

Measure = Callable[[Mapping[int, Spec], Options, Failed], dict[int, Result]]
BOUNDED = ("margin", "adjusted")  # extras whose intervals hold at all looks together
UNREAD = "no item in this batch could be scored"


def stops_early(spec: Spec) -> bool:
    """Whether a spec can be measured in looks: pairs, but not those of a baseline."""
    return (
        isinstance(spec.measure, Likelihood)
        and SCALES[spec.measure.compared].paired
        and not spec.measure.baseline
        and isinstance(spec.data, Dataset)
    )


def measure_until(
    specs: Mapping[int, Spec], options: Options, failed: Failed, measure: Measure
) -> dict[int, Result]:
    """Results by the index of their spec; `measure` measures a part of the data."""
    results: dict[int, Result] = {}
    for key in dict.fromkeys(_model(s) for s in specs.values()):
        of_model = {i: s for i, s in specs.items() if _model(s) == key}
        spec_model = next(iter(of_model.values())).model
        by_name = isinstance(spec_model, str | Path)
        try:
            model = loaded(str(spec_model), options) if by_name else spec_model
        except (ModelError, NotApplicable) as error:
            for spec in of_model.values():
                failed(spec, error)
            continue
        try:
            results |= _of_model(model, of_model, options, failed, measure)
        finally:
            if by_name and not from_plugin(str(spec_model)):
                model.close()
    return results


def _model(spec: Spec) -> str | int:
    return str(spec.model) if isinstance(spec.model, str | Path) else id(spec.model)


def _of_model(
    model: Model, specs: Mapping[int, Spec], options: Options, failed: Failed, measure: Measure
) -> dict[int, Result]:
    ready = fitting_specs({i: replace(s, model=model) for i, s in specs.items()}, failed)
    early = {i: s for i, s in ready.items() if stops_early(s)}
    inner = replace(options, until=None)
    results = measure({i: s for i, s in ready.items() if i not in early}, inner, failed)
    return results | _SequentialTest(early, options, list(results.values())).run(failed, measure)


class _SequentialTest:
    """The pairs of one model, look after look, until every bias type is decided."""

    def __init__(
        self, specs: Mapping[int, Spec], options: Options, earlier: Sequence[Result]
    ) -> None:
        self.specs, self.options, self.others = specs, options, earlier
        self.parts: dict[int, list[Result]] = {i: [] for i in specs}
        self.unread: dict[int, int] = dict.fromkeys(specs, 0)
        self.errors: dict[int, UnmaskError] = {}
        self.last: dict[tuple[str, str], int] = {}  # the last look of a category of a data set
        # By bias type: the smallest p of any look so far, and the estimates of those decided.
        self.best: dict[str, float] = {}
        self.frozen: dict[int, dict[str, dict[str, Estimate]]] = {i: {} for i in specs}
        self.looks = {i: looks_of(s.data, options.seed) for i, s in specs.items()}

    def run(self, failed: Failed, measure: Measure) -> dict[int, Result]:
        """The results by index; a spec of which nothing could be scored is reported."""
        decided: set[str] = set()
        joined: dict[int, Result] = {}
        for look in range(max((len(parts) for parts, _ in self.looks.values()), default=0)):
            self._measure(look, decided, measure)
            joined = {i: self._joined(i) for i, parts in self.parts.items() if parts}
            new = self._decided(joined) - decided
            self._freeze(joined, new)
            decided |= new
        for index in set(self.specs) - set(joined):
            failed(self.specs[index], self.errors[index])
        return joined

    def _measure(self, look: int, decided: set[str], measure: Measure) -> None:
        """Measure the items of a look that are not of decided bias types."""
        ready = {}
        for index, spec in self.specs.items():
            parts = self.looks[index][0]
            items = tuple(
                item
                for item in (parts[look] if look < len(parts) else ())
                if _type(item, spec.data) not in decided
            )
            if items:
                ready[index] = replace(spec, data=replace(spec.data, items=items))
                for item in items:
                    self.last[spec.data.name, item.category] = look
                self.last[spec.data.name, ""] = look
        by_name = {(named(s.measure), s.data.name): i for i, s in ready.items()}

        def lost(spec: Spec, error: UnmaskError) -> None:
            index = by_name[named(spec.measure), spec.data.name]
            self.unread[index] += len(ready[index].data.items)
            self.errors[index] = error

        if ready:
            results = measure(ready, replace(self.options, until=None), lost)
            for index, result in results.items():
                self.parts[index].append(result)

    def _decided(self, joined: Mapping[int, Result]) -> set[str]:
        """The bias types that need no more items."""
        results = assessed([*joined.values(), *self.others])
        findings = answers(results)
        for a in findings:
            if a.p_alone is not None:
                self.best[a.bias_type] = min(a.p_alone, self.best.get(a.bias_type, 1.0))
        types = [a for a in findings if a.bias_type != OVERALL]
        if self.options.until == DECIDED:
            return {a.bias_type for a in types if a.verdict != "inconclusive"}
        points = float(self.options.until or 0)
        narrow = all(_narrow(r, points) for r in results if scale_of(r).paired)
        return {a.bias_type for a in types} if narrow else set()

    def _freeze(self, joined: Mapping[int, Result], decided: set[str]) -> None:
        """Keep the estimates of bias types that are decided: no later look changes them."""
        for index, result in joined.items():
            data = self.specs[index].data
            for category, estimate in result.by_category.items():
                if bias_types.of_category(category, data.name) in decided:
                    ending = f":{category}"
                    extras = {k: v for k, v in result.extras.items() if k.endswith(ending)}
                    self.frozen[index][category] = {"": estimate, **extras}

    def _joined(self, index: int) -> Result:
        """One result of all looks so far, with intervals that hold at every look."""
        parts, spec, options = self.parts[index], self.specs[index], self.options
        last, measure = parts[-1], spec.measure
        items = pd.concat([r.items for r in parts], ignore_index=True)
        fractions = self.looks[index][1]
        compared = estimates_of(items, last.compared, last.settings, options.resampling)
        looks = {k: self.last[spec.data.name, k] for k in ("", *compared.by_category)}
        at_looks = self._at_looks(last, items, compared, looks, fractions)
        frozen = self.frozen[index]
        accuracy = accuracy_of(items, options.resampling) if measure.accuracy else None
        coverage = self._coverage(index, items, compared.ties)
        return replace(
            last,
            overall=at_looks.overall,
            by_category={
                k: frozen[k][""] if k in frozen else v for k, v in at_looks.by_category.items()
            },
            extras={
                **at_looks.extras,
                **{k: v for estimates in frozen.values() for k, v in estimates.items() if k},
            },
            accuracy=accuracy,
            coverage=coverage,
            settings={
                **_summed(parts),
                "until": options.until,
                "looks": {"fractions": list(fractions), "last": looks, "p": dict(self.best)},
            },
            provenance={**last.provenance, "data": data_facts(spec.data)},
            items=items,
            notes=(
                *spec.model.abilities.remarks,
                *spec.data.about.get("notes", ()),
                *tied(compared.ties, measure.ties),
                *low_accuracy(accuracy, measure),
                *_note(coverage, spec.data),
            ),
            artifacts={k: joined_frames([r.artifacts[k] for r in parts]) for k in last.artifacts},
        )

    def _at_looks(
        self,
        last: Result,
        items: pd.DataFrame,
        compared: Estimates,
        looks: Mapping[str, int],
        fractions: tuple[float, ...],
    ) -> Estimates:
        """Estimates whose intervals hold at all looks together: recomputed at their levels."""
        resampling = self.options.resampling
        by_look: dict[int, list[Estimates]] = {}
        for look in set(looks.values()):
            by_look[look] = [
                estimates_of(items, last.compared, last.settings, replace(resampling, level=level))
                for level in levels(resampling.level, look, fractions)
            ]

        def seen(part: str, name: str, category: str) -> Estimate:
            estimate, outer, inner = (
                getattr(c, part) if part == "overall" else getattr(c, part)[name]
                for c in (compared, *by_look[looks[category]])
            )
            if part == "extras" and name.partition(":")[0] not in BOUNDED:
                return estimate
            return at_look(estimate, outer, inner, looks[category], fractions)

        return compared._replace(
            overall=seen("overall", "", ""),
            by_category={k: seen("by_category", k, k) for k in compared.by_category},
            extras={k: seen("extras", k, k.partition(":")[2]) for k in compared.extras},
        )

    def _coverage(self, index: int, items: pd.DataFrame, ties: int) -> Coverage:
        """Count the items that were scored, could not be scored, and were not queried."""
        data, unread = self.specs[index].data, self.unread[index]
        measured = items.drop_duplicates("item")
        reasons = {str(k): int(v) for k, v in measured.reason.value_counts().items()}
        reasons |= {UNREAD: unread} if unread else {}
        unmeasured = len(data.items) - len(measured) - unread
        reason = "the verdict was clear" if self.options.until == DECIDED else "precise enough"
        reasons |= {f"{NOT_ASKED}: {reason}": unmeasured} if unmeasured else {}
        return Coverage(len(data.items), int(measured.reason.isna().sum()), ties, reasons)


def looks_of(data: Dataset, seed: int) -> tuple[list[tuple[Contrast, ...]], tuple[float, ...]]:
    """The items of each look, and the share of the information that there is after each."""
    declared = data.about.get("looks")
    if declared:
        numbers = [int(item.meta.get("look", 1)) for item in data.items]
        count = max(numbers)
        parts = [
            tuple(i for i, n in zip(data.items, numbers, strict=True) if n == look)
            for look in range(1, count + 1)
        ]
        return parts, tuple(declared) if count > 1 else (1.0,)
    rank = order(data, seed)
    look = {name: min(int(5 * place / len(rank)), 4) for name, place in rank.items()}
    parts = [tuple(i for i in data.items if look[i.cluster] == k) for k in range(5)]
    return parts, FIVE


def _type(item: Contrast, data: Dataset) -> str:
    return bias_types.of_category(item.category, data.name)


def _narrow(result: Result, points: float) -> bool:
    estimate = judged_estimate(result)
    return (estimate.high - estimate.low) / 2 <= points  # NaN never is


def order(data: Dataset, seed: int) -> dict[str, int]:
    """The place of each cluster in a random order.

    Clusters of one target group take turns with those of the others, so that every look has all.
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


def _note(coverage: Coverage, data: Dataset) -> tuple[str, ...]:
    spared = coverage.items - coverage.asked
    if not spared:
        return ()
    return (
        f"{spared} of {coverage.items} items of {data.name} were not measured: the stopping "
        "rule was met without them. Intervals are valid for all interim analyses together.",
    )
