"""The likelihood loop: plan, ask, score, a slice of the sentences at a time."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unmask.errors import DataError, NotApplicable, UnmaskError
from unmask.flow import precision, reduce, results
from unmask.flow.items import About, about_sentences
from unmask.flow.plan import Planned, arranged, slices
from unmask.flow.planning import Part, Planner
from unmask.flow.progress import Failed, Meter
from unmask.flow.reduce import Scored
from unmask.flow.steps import Step, nothing
from unmask.measures.likelihood import Likelihood
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.queries import (
    Ints,
    LogProbs,
    PipelinedLogProbs,
    Readings,
    RowLogProbs,
    RowQueries,
    check_readings,
)
from unmask.support.gc_pause import gc_paused
from unmask.types import Dataset, Result

Finish: TypeAlias = Callable[[], list[Readings]]


class Pace(NamedTuple):
    """Sentences that are planned at a time, and at first; slices that may wait for answers.

    A data set of more than `alone` sentences has slices to itself.
    """

    size: int
    first: int
    waiting: int
    alone: int | None = None


CPU_PACE = Pace(16_384, 16_384, 0)
# Fewer, and very few at first: while a GPU works on some, the next are made ready, and statistics
# of one data set are made while it works on the next.
GPU_PACE = Pace(8_192, 384, 2, 1_024)


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
) -> Generator[Step, None, None]:
    """Results of likelihood measures, by the place of their spec.

    Measures that ask the same of the same data share one plan, and all share their rows. What
    cannot be planned or scored is reported to `failed`, and the rest goes on.
    """
    wrong: dict[int, UnmaskError] = {}
    groups = _grouped(model, specs)
    shared: dict[Any, Any] = {} if options.plans is None else options.plans

    def made(place: int, scored: Scored) -> Result:
        with gc_paused():
            about = _about(specs[place].data, shared)
            return results.result(model, specs[place], scored, options, about)

    # Closed by name: an inner loop that is only forgotten may outlive this one, and what it holds.
    with closing(_scored(model, groups, options, wrong)) as scored:
        for answers in scored:
            ready = [p for p in specs if p in answers.scored and p not in wrong]
            makers = {p: partial(made, p, answers.scored[p]) for p in ready}
            yield Step(makers, answers.tend, answers.busy)
    for place, error_of_place in wrong.items():
        failed(specs[place], error_of_place)


class Answers(NamedTuple):
    """Scores by the place of their spec; `tend` and `busy` as in a `Step`."""

    scored: dict[int, Scored]
    tend: Callable[[], None] = nothing
    busy: bool = False


def _scored(
    model: Model, groups: Sequence[Group], options: Options, wrong: dict[int, UnmaskError]
) -> Generator[Answers, None, None]:
    """Scores by the place of the spec, a data set at a time, with what keeps a device at work.

    Those of a reduced precision are checked first, and come together.
    """
    if options.recheck and model.abilities.precision not in precision.FULL:
        scored = answered(model, groups, options, wrong)
        yield Answers(precision.checked(model, groups, scored, options, answered))
    else:
        yield from _by_data(model, groups, options, wrong)


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
    """The scores of every sentence, by the place of the spec; `wrong` has what failed."""
    out: dict[int, Scored] = {}
    for answers in _by_data(model, groups, options, wrong):
        out |= answers.scored
    return {p: v for p, v in out.items() if p not in wrong}


def _by_data(
    model: Model, groups: Sequence[Group], options: Options, wrong: dict[int, UnmaskError]
) -> Iterator[Answers]:
    """Scores a data set at a time.

    Slice after slice is planned and asked; on a GPU some are planned while others are on their
    way, long items first: rows of one length are then in one slice, and need no padding.
    """
    if not groups:
        return
    if not on_gpu(model):
        yield from _answered(model, groups, options, wrong, CPU_PACE)
        return
    with gc_paused():  # a GPU would have to wait for it
        sets = {id(g.data): g.data for g in groups}
        order = {key: _arranged(data, options.plans) for key, data in sets.items()}
        moved = [replace(g, data=order[id(g.data)][0]) for g in groups]
        places = {p: order[id(g.data)] for g in groups for p in g.places}
        for answers in _answered(model, moved, options, wrong, GPU_PACE):
            back = {p: reduce.put_back(v, *places[p]) for p, v in answers.scored.items()}
            yield answers._replace(scored=back)


def _about(data: Dataset, known: dict[Any, Any]) -> About:
    """What is known of its sentences; measures and models that share plans share this too."""
    if (key := ("about", id(data))) not in known:
        known[key] = (about_sentences(data), data)  # which so keeps its id
    about: About = known[key][0]
    return about


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
) -> Iterator[Answers]:
    sets = list({id(g.data): g.data for g in groups}.values())
    meter = Meter(model, options, sum(len(i.texts) for d in sets for i in d.items))
    answering = engines(model, groups, options, meter, wrong)
    parts: dict[int, list[Scored]] = {place: [] for g in groups for place in g.places}
    waiting: deque[tuple[list[tuple[Group, Planned]], set[int], Finish]] = deque()
    tends = [engine.tend for engine in _pipelined(answering) if pace.waiting > 0]
    planner = Planner(model, answering, options, tends)

    def tend() -> None:
        for go_on in tends:
            go_on()

    def taken() -> dict[int, Scored]:
        planned, ended, finish = waiting.popleft()
        _reduced(model, planned, finish, parts, options, wrong)
        over = [(g, p) for g in groups for p in g.places if id(g.data) in ended and p not in wrong]
        return {p: _joined(parts.pop(p), answering[g.measure.stream]) for g, p in over}

    for some in slices(sets, pace.size, pace.first, pace.alone):
        asked = _parts(groups, some, wrong)
        with gc_paused():
            sliced = planner.of([part for _, part in asked])
        planned = []
        for (group, _), made in zip(asked, sliced.plans, strict=True):
            if isinstance(made, Planned):
                planned.append((group, made))
            else:
                wrong |= dict.fromkeys(group.places, made)
        meter.planned(sum(len(i.texts) for _, part, _ in some for i in part.items))
        plans, attention = [p for _, p in planned], [g.attention for g, _ in planned]
        begun, rows = begin(answering, plans, attention, sliced.rows)
        planner.keep(sliced, rows)
        ended = {id(d) for d, part, at in some if at + len(part.items) == len(d.items)}
        waiting.append((planned, ended, begun))
        if len(waiting) > pace.waiting:
            yield Answers(taken(), tend, busy=len(waiting) > 0)
        elif len(waiting) == pace.waiting:
            yield Answers({}, tend, busy=True)  # there is time for other work
    while waiting:
        if len(waiting) == 1:
            yield Answers({}, tend, busy=True)
            for engine in _pipelined(answering):
                engine.start_all()
            yield Answers({}, tend)
        yield Answers(taken(), tend, busy=len(waiting) > 0)
    meter.done()


def _joined(parts: Sequence[Scored], engine: LogProbs) -> Scored:
    products = engine.products if isinstance(engine, PipelinedLogProbs) else ""
    return replace(reduce.joined(parts), products=products)


def _pipelined(engines: Mapping[str, LogProbs]) -> list[PipelinedLogProbs]:
    """The engines that work while Python goes on."""
    return [e for e in engines.values() if isinstance(e, PipelinedLogProbs)]


def on_gpu(model: Model) -> bool:
    """Whether the model computes while Python goes on: on a GPU of this machine."""
    return model.abilities.pipelined


def _parts(
    groups: Sequence[Group],
    some: Iterable[tuple[Dataset, Dataset, int]],
    wrong: Mapping[int, UnmaskError],
) -> list[tuple[Group, Part]]:
    """What is to be planned of a slice; a group whose plan has failed is left out."""
    return [
        (group, Part(group.measure, group.attention, whole, part, at))
        for whole, part, at in some
        for group in groups
        if group.data is whole and not group.places.keys() <= wrong.keys()
    ]


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
    engines: Mapping[str, LogProbs],
    planned: Sequence[Planned],
    attention: Sequence[bool],
    known: Mapping[str, Any] | None = None,
) -> tuple[Finish, dict[str, Any]]:
    """Send the questions of all measures off together, so that each distinct row is run once.

    Gives what waits for the answers, and the rows by stream; those that are `known` are not looked
    for.
    """
    sent, rows = [], dict(known or {})
    for stream in sorted({p.measure.stream for p in planned}):
        chosen = [i for i, p in enumerate(planned) if p.measure.stream == stream]
        engine = engines[stream]
        if stream not in rows:
            asks = [a for i in chosen for a in planned[i].asks]
            wanted = [attention[i] for i in chosen for _ in planned[i].asks]
            if isinstance(engine, RowLogProbs):
                rows[stream] = engine.rows(asks, wanted)
        if isinstance(engine, RowLogProbs):
            sent.append((chosen, engine.begin_rows(rows[stream]), rows[stream].gold))
        else:
            gold = np.array([g for ask in asks for g in ask.gold], np.int64)
            sent.append((chosen, _sent(engine, asks, wanted), gold))

    def finish() -> list[Readings]:
        out: dict[int, Readings] = {}
        for chosen, answers, gold in sent:
            readings, start = answers(), 0
            check_readings(readings, sum(planned[i].count for i in chosen))
            readings = replace(readings, gold=gold)
            for i in chosen:
                out[i] = readings[start : start + planned[i].count]
                start += planned[i].count
        return [out[i] for i in range(len(planned))]

    return finish, rows


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
    return begin(engines, planned, [p.measure.attention for p in planned])[0]()
