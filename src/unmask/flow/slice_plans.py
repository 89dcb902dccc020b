"""The plans of a slice of the data: from this run, from an earlier one, or made now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from unmask.errors import DataError, NotApplicable, UnmaskError
from unmask.flow import plan_store
from unmask.flow.plan import Cache, Planned, plan
from unmask.flow.plan_store import SlicePlan
from unmask.measures.likelihood import Likelihood
from unmask.models.protocol import Model
from unmask.options import Options
from unmask.queries import LogProbs, RowLogProbs
from unmask.types import Dataset

MOST_SENTENCES = 65_536  # plans of larger data sets are not cached, to limit memory and disk


class Part(NamedTuple):
    """Measures that ask the same, `measure` for all of them, of a `part` of the `whole` data.

    `at` says where in the whole the part begins; `attention` whether one of them needs it.
    """

    measure: Likelihood
    attention: bool
    whole: Dataset
    part: Dataset
    at: int


@dataclass(frozen=True, slots=True)
class PlannedSlice:
    """The plan of each part, or what is wrong with it; the rows by stream, where they are known."""

    plans: tuple[Planned | UnmaskError, ...]
    rows: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans for a model and its engines; `tend` keeps a device at work meanwhile.

    Models of one tokenizer share plans in memory, where `options.plans` is given; runs share them
    on disk, if model outputs are cached.
    """

    model: Model
    engines: Mapping[str, LogProbs]
    options: Options
    tend: Sequence[Callable[[], None]] = ()
    digests: dict[int, bytes] = field(default_factory=dict)

    def of(self, parts: Sequence[Part]) -> PlannedSlice:
        """The plans of some parts."""
        key = self._key(parts)
        if key is not None and (slice_plan := self._known(key, parts)) is not None:
            return PlannedSlice(slice_plan.plans, slice_plan.rows)
        cache: Cache = {}
        return PlannedSlice(tuple(self._plan(p, cache) for p in parts), key=key)

    def _plan(self, part: Part, cache: Cache) -> Planned | UnmaskError:
        try:
            return plan(self.model, part.measure, part.part, cache)
        except (DataError, NotApplicable) as error:
            return error
        finally:
            for go_on in self.tend:
                go_on()

    def keep(self, batch: PlannedSlice, rows: Mapping[str, Any]) -> None:
        """Keep plans that were made now, with the rows that were found."""
        plans = [p for p in batch.plans if isinstance(p, Planned)]
        if batch.key is None or len(plans) < len(batch.plans):
            return
        slice_plan = SlicePlan(tuple(plans), rows)
        if self.options.plans is not None:
            self.options.plans[batch.key] = slice_plan
        if self.options.cache:
            plan_store.save(batch.key, slice_plan, "tokens" in self.options.keep)

    def _known(self, key: str, parts: Sequence[Part]) -> SlicePlan | None:
        slice_plan: SlicePlan | None = (self.options.plans or {}).get(key)
        if slice_plan is None and self.options.cache:
            sets, measures = [p.part for p in parts], [p.measure for p in parts]
            slice_plan = plan_store.load(key, sets, measures)
            if slice_plan is not None and self.options.plans is not None:
                self.options.plans[key] = slice_plan
        if slice_plan is None:
            return None
        pairs = zip(slice_plan.plans, parts, strict=True)
        plans = tuple(replace(p, data=part.part, measure=part.measure) for p, part in pairs)
        return SlicePlan(plans, slice_plan.rows)

    def _key(self, parts: Sequence[Part]) -> str | None:
        """The cache key of the plans; None if they are not to be cached."""
        cached = self.options.cache or self.options.plans is not None
        engines = [self.engines.get(p.measure.stream) for p in parts]
        if not cached or not all(isinstance(e, RowLogProbs) for e in engines):
            return None
        if any(_sentences(p.whole) > MOST_SENTENCES for p in parts):
            return None
        base = plan_store.key_of(self.model, [p.measure for p in parts])
        if base is None:
            return None
        where = [(self._digest(p.whole), p.at, len(p.part.items), p.attention) for p in parts]
        shows = [e.shows for e in engines if isinstance(e, RowLogProbs)]
        return repr((base, where, shows, "tokens" in self.options.keep))

    def _digest(self, data: Dataset) -> bytes:
        if id(data) not in self.digests:
            self.digests[id(data)] = plan_store.content_digest(data)
        return self.digests[id(data)]


def _sentences(data: Dataset) -> int:
    return len(data.items) * len(data.items[0].texts)
