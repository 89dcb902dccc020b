"""The likelihood loop: plan, ask, score, a slice of the sentences at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from unmask.errors import DataError, NotApplicable, UnmaskError
from unmask.flow import precision, reduce, results
from unmask.flow.items import about_sentences
from unmask.flow.plan import Cache, Planned, arranged, plan, slices
from unmask.flow.progress import Failed, Meter
from unmask.flow.reduce import Scored
from unmask.measures.likelihood import Likelihood
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.queries import Ints, LogProbs, PipelinedLogProbs, Readings, RowQueries, check_readings
from unmask.support.gc_pause import gc_paused
from unmask.types import Dataset, Result

Finish: TypeAlias = Callable[[], list[Readings]]


class Pace(NamedTuple):
    """Sentences that are planned at a time, and at first; slices that may wait for answers."""

    size: int
    first: int
    waiting: int


CPU_PACE = Pace(16_384, 16_384, 0)
# Fewer, and very few at first: while a GPU works on some, the next are made ready.
GPU_PACE = Pace(4_096, 256, 2)


@dataclass(frozen=True, slots=True)
class Group:
    """Measures that ask the same of the same data: they share one plan and its answers.

    `places` are those of their specs; `attention` says whether one of them needs it.
    """

    data: Dataset
    places: Mapping[int, Likelihood]

    @property
    def measure(self) -> Likelihood:
        """One that stands for all."""
        return next(iter(self.places.values()))

    @property
    def attention(self) -> bool:
        """Whether one of them needs attention weights."""
        return any(m.attention for m in self.places.values())


def run(
    model: Model, specs: Mapping[int, Spec], options: Options, failed: Failed
) -> Iterator[tuple[int, Result]]:
    """Results of likelihood measures, by the place of their spec.

    Measures that ask the same of the same data share one plan, and all share their rows. What
    cannot be planned or scored is reported to `failed`, and the rest goes on.
    """
    wrong: dict[int, UnmaskError] = {}
    groups = _grouped(model, specs)
    scored = answered(model, groups, options, wrong)
    if options.recheck and model.abilities.precision not in precision.FULL:
        scored = precision.checked(model, groups, scored, options, answered)
    sets = {id(g.data): g.data for g in groups}
    about = {key: about_sentences(data) for key, data in sets.items()}
    for place, spec in specs.items():
        try:
            if place in wrong:
                raise wrong[place]
            known = about[id(spec.data)]
            with gc_paused():
                result = results.result(model, spec, scored[place], options, known)
            yield place, result
        except (DataError, NotApplicable) as error:
            failed(spec, error)


def _grouped(model: Model, specs: Mapping[int, Spec]) -> list[Group]:
    groups: dict[tuple[object, ...], dict[int, Likelihood]] = {}
    data: dict[int, Dataset] = {}
    for place, spec in specs.items():
        data[id(spec.data)] = spec.data
        key = (id(spec.data), *spec.measure.asks(model.kind))
        groups.setdefault(key, {})[place] = spec.measure
    return [Group(data[key[0]], places) for key, places in groups.items()]  # type: ignore[index]


def answered(
    model: Model, groups: Sequence[Group], options: Options, wrong: dict[int, UnmaskError]
) -> dict[int, Scored]:
    """The scores of every sentence, by the place of the spec; `wrong` has what failed on the way.

    Slice after slice is planned and asked; on a GPU some are planned while others are on their
    way, long items first: rows of one length are then in one slice, and need no padding.
    """
    if not groups:
        return {}
    if not on_gpu(model):
        return _answered(model, groups, options, wrong, CPU_PACE)
    with gc_paused():  # a GPU would have to wait for it
        order = {id(g.data): _arranged(g.data, options.plans) for g in groups}
        moved = [replace(g, data=order[id(g.data)][0]) for g in groups]
        scored = _answered(model, moved, options, wrong, GPU_PACE)
    places = {p: order[id(g.data)] for g in groups for p in g.places if p in scored}
    return {p: reduce.put_back(scored[p], *places[p]) for p in places}


def _arranged(data: Dataset, known: dict[Any, Any] | None) -> tuple[Dataset, Ints]:
    """Long items first; models that share plans share this too."""
    known = {} if known is None else known
    if (key := ("arranged", id(data))) not in known:
        known[key] = (*arranged(data), data)  # which so keeps its id
    return known[key][:2]


def _answered(
    model: Model,
    groups: Sequence[Group],
    options: Options,
    wrong: dict[int, UnmaskError],
    pace: Pace,
) -> dict[int, Scored]:
    sets = list({id(g.data): g.data for g in groups}.values())
    meter = Meter(model, options, sum(len(i.texts) for d in sets for i in d.items))
    answering = engines(model, groups, options, meter, wrong)
    parts: dict[int, list[Scored]] = {place: [] for g in groups for place in g.places}
    waiting: deque[tuple[list[tuple[Group, Planned]], Finish]] = deque()
    pipelined = pace.waiting > 0
    tend = [engine.tend for engine in _pipelined(answering) if pipelined]
    for some in slices(sets, pace.size, pace.first):
        with gc_paused():
            planned = _planned(model, groups, some, wrong, options.plans, tend)
        meter.planned(sum(len(i.texts) for _, part in some for i in part.items))
        begun = begin(answering, [p for _, p in planned], [g.attention for g, _ in planned])
        waiting.append((planned, begun))
        if len(waiting) > pace.waiting:
            _reduced(model, *waiting.popleft(), parts, options, wrong)
    while waiting:
        _reduced(model, *waiting.popleft(), parts, options, wrong)
    meter.done()
    products = {
        p: engine.products if isinstance(engine, PipelinedLogProbs) else ""
        for g in groups
        for engine in (answering.get(g.measure.stream),)
        for p in g.places
    }
    return {
        place: replace(reduce.joined(scored), products=products[place])
        for place, scored in parts.items()
        if place not in wrong
    }


def _pipelined(engines: Mapping[str, LogProbs]) -> list[PipelinedLogProbs]:
    """The engines that work while Python goes on."""
    return [e for e in engines.values() if isinstance(e, PipelinedLogProbs)]


def on_gpu(model: Model) -> bool:
    """Whether the model computes while Python goes on: on a GPU of this machine."""
    return model.abilities.pipelined


def _planned(
    model: Model,
    groups: Sequence[Group],
    parts: Iterable[tuple[Dataset, Dataset]],
    wrong: dict[int, UnmaskError],
    plans: dict[Any, Any] | None,
    tend: Sequence[Callable[[], None]] = (),
) -> list[tuple[Group, Planned]]:
    """The plans of a slice; a group whose plan fails is left out from there on.

    Models of one tokenizer share `plans`, where they are given, but for those of large data sets:
    memory does not grow with them. `tend` keeps a device at work meanwhile.
    """
    cache: Cache = {}
    tokenizer = (model.provenance.get("tokenizer") or {}).get("hash")
    alike = (tokenizer, model.kind, model.family, model.abilities.limit)
    out = []
    for whole, part in parts:
        for group in groups:
            if group.data is not whole or group.places.keys() <= wrong.keys():
                continue
            here = (id(whole), part.items[0].id, len(part.items))
            key = (*alike, *here, *group.measure.asks(model.kind))
            small = len(whole.items) * len(whole.items[0].texts) <= CPU_PACE.size
            shared = plans if plans is not None and tokenizer and small else {}
            try:
                if key not in shared:
                    shared[key] = plan(model, group.measure, part, cache), whole
                out.append((group, shared[key][0]))
            except (DataError, NotApplicable) as error:
                wrong |= dict.fromkeys(group.places, error)
            for go_on in tend:
                go_on()
    return out


def _reduced(
    model: Model,
    planned: Sequence[tuple[Group, Planned]],
    finish: Finish,
    parts: Mapping[int, list[Scored]],
    options: Options,
    wrong: dict[int, UnmaskError],
) -> None:
    for (group, part), readings in zip(planned, finish(), strict=True):
        for place, measure in group.places.items():
            if place in wrong:
                continue
            try:
                scored = reduce.reduced(model, measure, part, readings, options.keep)
                parts[place].append(scored)
            except DataError as error:
                wrong[place] = error


def engines(
    model: Model,
    groups: Sequence[Group],
    options: Options,
    progress: Any,
    wrong: dict[int, UnmaskError],
) -> dict[str, LogProbs]:
    """The model's engine for each stream; with a store, a killed run goes on where it was.

    A stream that the model does not have is reported to `wrong`, and costs no other measure.
    """
    settings = {"budget": model.budget(options.tokens), "store": options.store}
    out: dict[str, LogProbs] = {}
    for stream in sorted({g.measure.stream for g in groups}):
        try:
            out[stream] = model.engine(stream, **settings, progress=progress)
        except NotApplicable as error:
            for group in groups:
                if group.measure.stream == stream:
                    wrong |= dict.fromkeys(group.places, error)
    return out


def begin(
    engines: Mapping[str, LogProbs], planned: Sequence[Planned], attention: Sequence[bool]
) -> Finish:
    """Send the questions of all measures off together, so that each distinct row is run once."""
    sent = []
    for stream in sorted({p.measure.stream for p in planned}):
        chosen = [i for i, p in enumerate(planned) if p.measure.stream == stream]
        asks = [a for i in chosen for a in planned[i].asks]
        wanted = [attention[i] for i in chosen for _ in planned[i].asks]
        sent.append((chosen, _sent(engines[stream], asks, wanted)))

    def finish() -> list[Readings]:
        out: dict[int, Readings] = {}
        for chosen, answers in sent:
            readings, start = answers(), 0
            check_readings(readings, sum(planned[i].count for i in chosen))
            for i in chosen:
                out[i] = readings[start : start + planned[i].count]
                start += planned[i].count
        return [out[i] for i in range(len(planned))]

    return finish


def _sent(
    engine: LogProbs, asks: Sequence[RowQueries], wanted: Sequence[bool]
) -> Callable[[], Readings]:
    """Questions on their way, where the engine can do other work meanwhile."""
    if isinstance(engine, PipelinedLogProbs):
        return engine.begin(asks, wanted)
    answers = engine.ask(asks, wanted)
    return lambda: answers


def ask(engines: Mapping[str, LogProbs], planned: Sequence[Planned]) -> list[Readings]:
    """Answer the questions of all measures together."""
    return begin(engines, planned, [p.measure.attention for p in planned])()
