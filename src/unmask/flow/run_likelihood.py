"""The likelihood loop: plan, ask, score, a slice of the sentences at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unmask.errors import DataError, NotApplicable, UnmaskError
from unmask.flow import estimates, precision, sentence_scores
from unmask.flow.items_table import SentenceFacts, about_sentences
from unmask.flow.plan import Planned, arranged, slices
from unmask.flow.progress import Failed, Meter
from unmask.flow.sentence_scores import Scored
from unmask.flow.slice_plans import Part, Planner
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
from unmask.types import Dataset, Result

Finish: TypeAlias = Callable[[], list[Readings]]
Scores: TypeAlias = Callable[[], dict[int, Scored]]
Ready: TypeAlias = Callable[[], Mapping[int, Callable[[], Result]]]  # by the index of a spec


class Pace(NamedTuple):
    """Sentences planned at a time, and in the first slice; slices that may wait for answers.

    A data set of more than `alone` sentences has slices to itself.
    """

    size: int
    first: int
    waiting: int
    alone: int | None = None


CPU_PACE = Pace(16_384, 16_384, 0)
# Smaller slices, and a very small first one: while the GPU works on one, the next is prepared, and
# so are the statistics of earlier data sets.
GPU_PACE = Pace(8_192, 384, 2, 1_024)


@dataclass(frozen=True, slots=True)
class Group:
    """Measures that ask the same of the same data: they share one plan and its outputs.

    `places`: measures by the index of their spec. `attention` says whether one of them needs it.
    """

    data: Dataset
    places: Mapping[int, Likelihood]

    @property
    def measure(self) -> Likelihood:
        """One that represents all."""
        return next(iter(self.places.values()))

    @property
    def attention(self) -> bool:
        """Whether one of them needs attention weights."""
        return any(m.attention for m in self.places.values())


def run(
    model: Model, specs: Mapping[int, Spec], options: Options, failed: Failed
) -> Iterator[Ready]:
    """Yield functions that give the results of likelihood measures, by the index of their spec.

    Measures that ask the same of the same data share one plan, and all share their rows. A spec
    that cannot be planned or scored is reported to `failed`, and the rest continues.
    """
    errors: dict[int, UnmaskError] = {}
    groups = _grouped(model, specs)
    shared: dict[Any, Any] = {} if options.plans is None else options.plans

    def make(index: int, scored: Scored) -> Result:
        about = _about(specs[index].data, shared)
        return estimates.result(model, specs[index], scored, options, about)

    def makers(scores: Scores) -> dict[int, Callable[[], Result]]:
        scored = scores()
        ready = [i for i in specs if i in scored and i not in errors]
        return {i: partial(make, i, scored[i]) for i in ready}

    def report() -> dict[int, Callable[[], Result]]:
        for index, error in errors.items():
            failed(specs[index], error)
        return {}

    for scores in _scored(model, groups, options, errors):
        yield partial(makers, scores)
    yield report


def _scored(
    model: Model, groups: Sequence[Group], options: Options, errors_by_spec: dict[int, UnmaskError]
) -> Iterator[Scores]:
    """Scores by the index of the spec, a data set at a time.

    Those of a reduced precision are checked first, and come together.
    """
    if options.recheck and model.abilities.precision not in precision.FULL:
        scored = score_all(model, groups, options, errors_by_spec)
        checked = precision.checked(model, groups, scored, options, score_all)
        yield lambda: checked
    else:
        yield from _by_data(model, groups, options, errors_by_spec)


def _grouped(model: Model, specs: Mapping[int, Spec]) -> list[Group]:
    groups: dict[tuple[object, ...], dict[int, Likelihood]] = {}
    data: dict[int, Dataset] = {}
    for index, spec in specs.items():
        data[id(spec.data)] = spec.data
        key = (id(spec.data), *spec.measure.asks(model.kind))
        groups.setdefault(key, {})[index] = spec.measure
    return [Group(data[key[0]], places) for key, places in groups.items()]  # type: ignore[index]


def score_all(
    model: Model, groups: Sequence[Group], options: Options, errors_by_spec: dict[int, UnmaskError]
) -> dict[int, Scored]:
    """The scores of every sentence, by spec; `errors_by_spec` has what failed."""
    scored: dict[int, Scored] = {}
    for scores in _by_data(model, groups, options, errors_by_spec):
        scored |= scores()
    return {p: v for p, v in scored.items() if p not in errors_by_spec}


def _by_data(
    model: Model, groups: Sequence[Group], options: Options, errors_by_spec: dict[int, UnmaskError]
) -> Iterator[Scores]:
    """Yield scores one data set at a time; on a GPU the last ones wait until they are called for.

    Slices are planned and queried in turn. On a GPU some are planned while others run. Long items
    come first, so that rows of one length share a slice and need no padding.
    """
    if not groups:
        return
    if not on_gpu(model):
        yield from _score_data(model, groups, options, errors_by_spec, CPU_PACE)
        return
    sets = {id(g.data): g.data for g in groups}
    order = {key: _arranged(data, options.plans) for key, data in sets.items()}
    moved = [replace(g, data=order[id(g.data)][0]) for g in groups]
    arranged_by = {i: order[id(g.data)] for g in groups for i in g.places}

    def put_back(scores: Scores) -> dict[int, Scored]:
        return {i: sentence_scores.put_back(v, *arranged_by[i]) for i, v in scores().items()}

    for scores in _score_data(model, moved, options, errors_by_spec, GPU_PACE):
        yield partial(put_back, scores)


def _about(data: Dataset, cache: dict[Any, Any]) -> SentenceFacts:
    """What is known of its sentences; measures and models that share plans share this too."""
    if (key := ("about", id(data))) not in cache:
        cache[key] = (about_sentences(data), data)  # keeps the data alive, and its id unique
    about: SentenceFacts = cache[key][0]
    return about


def _arranged(data: Dataset, cache: dict[Any, Any] | None) -> tuple[Dataset, Ints]:
    """Long items first; models that share plans share this too."""
    cache = {} if cache is None else cache
    if (key := ("arranged", id(data))) not in cache:
        cache[key] = (*arranged(data), data)  # keeps the data alive, and its id unique
    return cache[key][:2]


def _score_data(
    model: Model,
    groups: Sequence[Group],
    options: Options,
    errors_by_spec: dict[int, UnmaskError],
    pace: Pace,
) -> Iterator[Scores]:
    sets = list({id(g.data): g.data for g in groups}.values())
    meter = Meter(model, options, sum(len(i.texts) for d in sets for i in d.items))
    answering = engines(model, groups, options, meter, errors_by_spec)
    parts: dict[int, list[Scored]] = {index: [] for g in groups for index in g.places}
    waiting: deque[tuple[list[tuple[Group, Planned]], set[int], Finish]] = deque()
    tends = [engine.tend for engine in _pipelined(answering) if pace.waiting > 0]
    planner = Planner(model, answering, options, tends)

    def taken() -> dict[int, Scored]:
        planned, ended, finish = waiting.popleft()
        _reduced(model, planned, finish, parts, options, errors_by_spec)
        over = [
            (g, p)
            for g in groups
            for p in g.places
            if id(g.data) in ended and p not in errors_by_spec
        ]
        return {p: _joined(parts.pop(p), answering[g.measure.stream]) for g, p in over}

    def meter_done() -> dict[int, Scored]:
        meter.done()
        return {}

    for portions in slices(sets, pace.size, pace.first, pace.alone):
        pieces = _parts(groups, portions, errors_by_spec)
        sliced = planner.of([part for _, part in pieces])
        planned = []
        for (group, _), outcome in zip(pieces, sliced.plans, strict=True):
            if isinstance(outcome, Planned):
                planned.append((group, outcome))
            else:
                errors_by_spec |= dict.fromkeys(group.places, outcome)
        meter.planned(sum(len(i.texts) for _, part, _ in portions for i in part.items))
        plans, attention = [p for _, p in planned], [g.attention for g, _ in planned]
        begun, rows = begin(answering, plans, attention, sliced.rows)
        planner.keep(sliced, rows)
        ended = {id(d) for d, part, at in portions if at + len(part.items) == len(d.items)}
        waiting.append((planned, ended, begun))
        if len(waiting) > pace.waiting:
            scored = taken()
            yield lambda scored=scored: scored  # type: ignore[misc]
    for engine in _pipelined(answering):
        engine.start_all()
    for _ in range(len(waiting)):  # they are under way on a GPU: whoever calls waits for them
        yield taken
    yield meter_done


def _joined(parts: Sequence[Scored], engine: LogProbs) -> Scored:
    products = engine.products if isinstance(engine, PipelinedLogProbs) else ""
    return replace(sentence_scores.joined(parts), products=products)


def _pipelined(engines: Mapping[str, LogProbs]) -> list[PipelinedLogProbs]:
    """The engines that work while Python goes on."""
    return [e for e in engines.values() if isinstance(e, PipelinedLogProbs)]


def on_gpu(model: Model) -> bool:
    """Whether the model computes while Python goes on: on a GPU of this machine."""
    return model.abilities.pipelined


def _parts(
    groups: Sequence[Group],
    portions: Iterable[tuple[Dataset, Dataset, int]],
    errors_by_spec: Mapping[int, UnmaskError],
) -> list[tuple[Group, Part]]:
    """What is to be planned of a slice; a group whose plan has failed is left out."""
    return [
        (group, Part(group.measure, group.attention, full, part, at))
        for full, part, at in portions
        for group in groups
        if group.data is full and not group.places.keys() <= errors_by_spec.keys()
    ]


def _reduced(
    model: Model,
    planned: Sequence[tuple[Group, Planned]],
    finish: Finish,
    parts: Mapping[int, list[Scored]],
    options: Options,
    errors_by_spec: dict[int, UnmaskError],
) -> None:
    for (group, part), readings in zip(planned, finish(), strict=True):
        for index, measure in group.places.items():
            if index in errors_by_spec:
                continue
            try:
                scored = sentence_scores.reduced(model, measure, part, readings, options.keep)
                parts[index].append(scored)
            except DataError as error:
                errors_by_spec[index] = error


def engines(
    model: Model,
    groups: Sequence[Group],
    options: Options,
    progress: Any,
    errors_by_spec: dict[int, UnmaskError],
) -> dict[str, LogProbs]:
    """The model's engine for each stream; with a store, a killed run resumes where it stopped.

    A stream that the model lacks is an error of its measures alone (`errors_by_spec`).
    """
    settings = {"budget": model.budget(options.tokens), "store": options.store}
    backends: dict[str, LogProbs] = {}
    for stream in sorted({g.measure.stream for g in groups}):
        try:
            backends[stream] = model.engine(stream, **settings, progress=progress)
        except NotApplicable as error:
            for group in groups:
                if group.measure.stream == stream:
                    errors_by_spec |= dict.fromkeys(group.places, error)
    return backends


def begin(
    engines: Mapping[str, LogProbs],
    planned: Sequence[Planned],
    attention: Sequence[bool],
    row_cache: Mapping[str, Any] | None = None,
) -> tuple[Finish, dict[str, Any]]:
    """Submit the questions of all measures together, so that each distinct row is run once.

    Return a function that waits for the answers, and the rows by stream. Rows of a stream in
    `row_cache` are not derived again.
    """
    sent, rows = [], dict(row_cache or {})
    for stream in sorted({p.measure.stream for p in planned}):
        members = [i for i, p in enumerate(planned) if p.measure.stream == stream]
        engine = engines[stream]
        if stream not in rows:
            asks = [a for i in members for a in planned[i].asks]
            weighted = [attention[i] for i in members for _ in planned[i].asks]
            if isinstance(engine, RowLogProbs):
                rows[stream] = engine.rows(asks, weighted)
        if isinstance(engine, RowLogProbs):
            sent.append((members, engine.begin_rows(rows[stream]), rows[stream].gold))
        else:
            gold = np.array([g for ask in asks for g in ask.gold], np.int64)
            sent.append((members, _sent(engine, asks, weighted), gold))

    def finish() -> list[Readings]:
        parts: dict[int, Readings] = {}
        for members, answers, gold in sent:
            readings, start = answers(), 0
            check_readings(readings, sum(planned[i].count for i in members))
            readings = replace(readings, gold=gold)
            for i in members:
                parts[i] = readings[start : start + planned[i].count]
                start += planned[i].count
        return [parts[i] for i in range(len(planned))]

    return finish, rows


def _sent(
    engine: LogProbs, asks: Sequence[RowQueries], weighted: Sequence[bool]
) -> Callable[[], Readings]:
    """Submit questions, in the background if the engine can; return a function that waits."""
    if isinstance(engine, PipelinedLogProbs):
        return engine.begin(asks, weighted)
    answers = engine.ask(asks, weighted)
    return lambda: answers


def ask(engines: Mapping[str, LogProbs], planned: Sequence[Planned]) -> list[Readings]:
    """Answer the questions of all measures together."""
    return begin(engines, planned, [p.measure.attention for p in planned])[0]()
