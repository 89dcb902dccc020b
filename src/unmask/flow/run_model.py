"""The results of one model: loaded, asked part by part, its statistics made when there is time."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from unmask.errors import DataError, ModelError, NotApplicable, UnmaskError
from unmask.flow import run_association, run_likelihood
from unmask.flow.fit import check_fit
from unmask.flow.load_ahead import Ahead
from unmask.flow.loading import loaded
from unmask.flow.progress import Failed
from unmask.flow.steps import Step, nothing
from unmask.measures import Association
from unmask.models.names import offered
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.stats.cluster_pulls import Pulls, pulls_of
from unmask.types import Dataset, Result

CONTEXTS = 4  # sentences for a word, about


@dataclass(frozen=True, slots=True)
class Job:
    """The specs of one model, by their place; a cluster is shared `among` so many models."""

    model: str | int
    specs: Mapping[int, Spec]
    options: Options
    failed: Failed
    among: int = 1


@dataclass(slots=True)
class Gathered:
    """Results of all models by the place of their spec, with what moves them.

    `waiting` is what is left to do for a model that a GPU has all its passes of: it is done, with
    a stop behind each result, while the GPU works on the next model.
    """

    judged: bool = False  # whether what moves them is needed
    results: dict[int, Result] = field(default_factory=dict)
    pulls: dict[int, Mapping[str, Pulls]] = field(default_factory=dict)
    waiting: deque[Iterator[None]] = field(default_factory=deque)

    def take(self, place: int, result: Result) -> None:
        """Keep a result."""
        self.results[place] = result
        if self.judged and result.verdicts:
            self.pulls[place] = pulls_of(result)

    def catch_up(self, tend: Callable[[], None] = nothing) -> None:
        """Do what waits; `tend` keeps a device at work meanwhile.

        Where that fails, what waits does so still: it is another model's.
        """
        while self.waiting:
            work = self.waiting.popleft()
            for _ in work:
                try:
                    tend()
                except BaseException:
                    self.waiting.appendleft(work)
                    raise


def run(job: Job, gathered: Gathered, ahead: Ahead) -> None:
    """The results of one model; where it fails, that is reported, and costs no other model."""
    own: Model | None = None
    specs = job.specs
    try:
        if isinstance(job.model, str):
            own = ahead.taken(job.model) or loaded(job.model, job.options, job.among)
            specs = {i: replace(s, model=own) for i, s in specs.items()}
            ahead.begin(job.model, own)
    except (ModelError, NotApplicable) as error:
        for spec in specs.values():
            job.failed(spec, error)
        return
    try:
        for part in _parted(fitting_specs(specs, job.failed)):
            for _ in (work := _run_part(part, job, gathered, ahead)):
                if ahead.on_the_way:
                    gathered.waiting.append(work)
                    break
    finally:
        if own is not None and not offered(job.model):
            gathered.waiting.append(_closed(own)) if gathered.waiting else own.close()


def _closed(model: Model) -> Iterator[None]:
    """Close a model when what is before this has been done."""
    model.close()
    yield


def _run_part(
    specs: Mapping[int, Spec], job: Job, gathered: Gathered, ahead: Ahead
) -> Iterator[None]:
    """The results of specs that are asked together; what comes before a failure is kept.

    Stops once the device has all of their passes, and behind each result from there on.
    """
    settled: set[int] = set()
    begun = False  # whether the device has all

    def tell(spec: Spec, error: UnmaskError) -> None:
        job.failed(spec, error)
        settled.add(id(spec))

    def take(place: int, make: Callable[[], Result]) -> None:
        try:
            result = make()
        except (DataError, ModelError, NotApplicable) as error:
            job.failed(specs[place], error)
            return
        gathered.take(place, result)
        job.options.decided(result)

    first = specs[min(specs)]
    of_words = isinstance(first.measure, Association)
    loop = run_association.run if of_words else run_likelihood.run
    with closing(loop(first.model, specs, job.options, tell)) as steps:
        while True:
            try:
                step = next(steps, None)
            except (ModelError, NotApplicable) as error:
                for spec in (s for s in specs.values() if id(s) not in settled):
                    job.failed(spec, error)
                return
            if step is None:
                return
            if not begun:
                gathered.catch_up(partial(_tended, step))
                ahead.at_work.set()
            if not (step.busy or begun):
                begun = True
                yield
            for place, make in step.makers.items():
                settled.add(id(specs[place]))
                take(place, make)
                _tended(step)
                if begun:
                    yield


def _tended(step: Step) -> None:
    """Let the device go on; what goes wrong there is told again when its answers are asked for."""
    with suppress(ModelError, NotApplicable):
        step.tend()


def fitting_specs(specs: Mapping[int, Spec], failed: Failed) -> dict[int, Spec]:
    """The specs whose measure fits the model and the data; the others are reported to `failed`."""
    kept = {}
    for place, spec in specs.items():
        try:
            check_fit(spec.measure, spec.data, spec.model)
            kept[place] = spec
        except (DataError, NotApplicable) as error:
            failed(spec, error)
    return kept


def _parted(specs: Mapping[int, Spec]) -> list[dict[int, Spec]]:
    """Specs that are asked together, those of few sentences first, so that some results come soon.

    On a CPU likelihood measures by the shape of their data, whose sets share rows; a GPU is given
    all of them at once. Association measures by themselves.
    """
    parts: dict[object, dict[int, Spec]] = {}
    for place, spec in specs.items():
        of_words = isinstance(spec.measure, Association)
        shape = "" if run_likelihood.on_gpu(spec.model) else getattr(spec.data, "shape", "")
        parts.setdefault((of_words, "" if of_words else shape), {})[place] = spec
    return sorted(parts.values(), key=lambda part: sum(map(_sentences, part.values())))


def _sentences(spec: Spec) -> int:
    """How many sentences a spec has, about."""
    if isinstance(spec.data, Dataset):
        return sum(len(item.texts) for item in spec.data.items)
    stimuli = spec.data.stimuli
    return CONTEXTS * sum(map(len, (*stimuli.targets.values(), *stimuli.attributes.values())))
