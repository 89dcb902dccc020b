"""Run one model: load it, query it part by part, and compute statistics in a worker thread."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from unmask.errors import DataError, ModelError, NotApplicable, UnmaskError
from unmask.flow import run_association, run_likelihood
from unmask.flow.fit import check_fit
from unmask.flow.loading import loaded
from unmask.flow.prefetch import ModelPrefetch
from unmask.flow.progress import Failed
from unmask.measures import Association
from unmask.models.names import from_plugin
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.types import Dataset, Result

CONTEXTS = 4  # sentences for a word, about


@dataclass(frozen=True, slots=True)
class Job:
    """The specs of one model, by their index; a cluster is shared by `n_sharing` models."""

    model: str | int
    specs: Mapping[int, Spec]
    options: Options
    failed: Failed
    n_sharing: int = 1


@dataclass(slots=True)
class RunState:
    """Results of all models by the index of their spec, and the thread that makes them.

    While a GPU works, statistics are made in the thread, in the order in which they are submitted.
    After an error nothing more is done.
    """

    results: dict[int, Result] = field(default_factory=dict)
    pool: ThreadPoolExecutor | None = None
    pending: list["Future[None]"] = field(default_factory=list)
    error: BaseException | None = None

    def submit(self, work: Callable[[], None], at_once: bool) -> None:
        """Do some work now, or in the thread; the error of earlier work is raised here."""
        if self.error is not None:
            raise self.error
        self.pending = [future for future in self.pending if not future.done()]
        if at_once and not self.pending:
            work()
            return
        self.pool = self.pool or ThreadPoolExecutor(1)
        self.pending.append(self.pool.submit(self._guarded, work))

    def _guarded(self, work: Callable[[], None]) -> None:
        if self.error is None:
            try:
                work()
            except BaseException as error:
                self.error = error

    def wait(self) -> None:
        """Wait for the thread; its error is raised when all is done."""
        if self.pool is not None:
            self.pool.shutdown()
        if self.error is not None:
            raise self.error


@contextmanager
def run_state() -> Iterator[RunState]:
    """The state of a run; whatever ends it, what was answered is reported."""
    state = RunState()
    try:
        yield state
    finally:
        state.wait()


def run(job: Job, state: RunState, prefetch: ModelPrefetch) -> None:
    """Measure one model; a failure is reported, and costs no other model."""
    model: Model | None = None
    specs = job.specs
    try:
        if isinstance(job.model, str):
            model = prefetch.take(job.model) or loaded(job.model, job.options, job.n_sharing)
            specs = {i: replace(s, model=model) for i, s in specs.items()}
            prefetch.begin(job.model, model)
    except (ModelError, NotApplicable) as error:
        report = partial(_report, job, list(specs.values()), error)
        state.submit(report, at_once=True)
        return
    try:
        for part in _parts(fitting_specs(specs, job.failed)):
            _run_part(part, job, state, prefetch)
    finally:
        if model is not None and not from_plugin(job.model):
            state.submit(model.close, at_once=True)


def _report(job: Job, specs: list[Spec], error: UnmaskError) -> None:
    for spec in specs:
        job.failed(spec, error)


@dataclass
class _Part:
    """Specs that are queried together; what comes before a failure is kept."""

    specs: Mapping[int, Spec]
    job: Job
    state: RunState
    settled: set[int] = field(default_factory=set)
    broken: bool = False

    def failed(self, spec: Spec, error: UnmaskError) -> None:
        """Report that one spec cannot be measured."""
        self.settled.add(id(spec))
        self.job.failed(spec, error)

    def stop(self, error: UnmaskError) -> None:
        """Report a failure for all specs that have no result yet."""
        if not self.broken:
            self.broken = True
            _report(self.job, [s for s in self.specs.values() if id(s) not in self.settled], error)

    def finish(self, ready: run_likelihood.Ready) -> None:
        """Make the results of outputs that have come back."""
        if self.broken:
            return
        try:
            makers = ready()
        except (ModelError, NotApplicable) as error:
            self.stop(error)
            return
        for index, make in makers.items():
            self.settled.add(id(self.specs[index]))
            _take(index, make, self.specs[index], self.job, self.state)


def _run_part(
    specs: Mapping[int, Spec], job: Job, state: RunState, prefetch: ModelPrefetch
) -> None:
    """Measure specs that are queried together."""
    part, first = _Part(specs, job, state), specs[min(specs)]
    at_once = not run_likelihood.on_gpu(first.model)
    loop = run_association.run if isinstance(first.measure, Association) else run_likelihood.run
    try:
        for ready in loop(first.model, specs, job.options, part.failed):
            prefetch.gpu_busy.set()
            state.submit(partial(part.finish, ready), at_once)
            if part.broken:
                return
    except (ModelError, NotApplicable) as error:
        state.submit(partial(part.stop, error), at_once)


def _take(index: int, make: Callable[[], Result], spec: Spec, job: Job, state: RunState) -> None:
    try:
        result = make()
    except (DataError, ModelError, NotApplicable) as error:
        job.failed(spec, error)
        return
    state.results[index] = result
    job.options.decided(result)


def fitting_specs(specs: Mapping[int, Spec], failed: Failed) -> dict[int, Spec]:
    """The specs whose measure fits the model and the data; the others are reported to `failed`."""
    fitting = {}
    for index, spec in specs.items():
        try:
            check_fit(spec.measure, spec.data, spec.model)
            fitting[index] = spec
        except (DataError, NotApplicable) as error:
            failed(spec, error)
    return fitting


def _parts(specs: Mapping[int, Spec]) -> list[dict[int, Spec]]:
    """Group specs that are queried together, the smallest groups first, for early results.

    On a CPU, likelihood measures are grouped by the shape of their data, because such sets share
    rows; a GPU is given all of them at once. Association measures form their own group.
    """
    parts: dict[object, dict[int, Spec]] = {}
    for index, spec in specs.items():
        of_words = isinstance(spec.measure, Association)
        shape = "" if run_likelihood.on_gpu(spec.model) else getattr(spec.data, "shape", "")
        parts.setdefault((of_words, "" if of_words else shape), {})[index] = spec
    return sorted(parts.values(), key=lambda part: sum(map(_sentences, part.values())))


def _sentences(spec: Spec) -> int:
    """How many sentences a spec has, about."""
    if isinstance(spec.data, Dataset):
        return sum(len(item.texts) for item in spec.data.items)
    stimuli = spec.data.stimuli
    return CONTEXTS * sum(map(len, (*stimuli.targets.values(), *stimuli.attributes.values())))
