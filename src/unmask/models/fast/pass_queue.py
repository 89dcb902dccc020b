"""Passes under way on a device, in order, so that a GPU need not wait for Python."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Started:
    """A pass under way: `done` says whether its answer is there, `fetch` waits and takes it."""

    done: Callable[[], bool]
    fetch: Callable[[], None]


Passes: TypeAlias = Iterator[Started]  # taking the next one starts it


@dataclass(slots=True, eq=False)
class _Job:
    passes: Passes
    flying: int = 0
    ended: bool = False
    failed: BaseException | None = None


@dataclass(frozen=True, slots=True)
class PassQueue:
    """Jobs one behind the other; at most `most` of their passes are under way at a time."""

    most: int
    _jobs: deque[_Job] = field(default_factory=deque)
    _flying: deque[tuple[_Job, Started]] = field(default_factory=deque)

    def add(self, passes: Passes) -> Callable[[], None]:
        """Put passes at the end of the line; what is returned waits until all are done.

        Where one fails, that is raised to whoever is waiting, and again by what was returned.
        """
        job = _Job(passes)
        self._jobs.append(job)
        self.tend()

        def finish() -> None:
            while job.failed is None and (not job.ended or job.flying):
                self._start()
                if self._flying and (job.flying or not job.ended):
                    self._fetch()
            if job.failed is not None:
                raise job.failed

        return finish

    def tend(self) -> None:
        """Take what is done and start what there is room for, without waiting."""
        while self._flying and self._flying[0][1].done():
            self._fetch()
        self._start()

    def start_all(self) -> None:
        """Start all that is in line, as soon as there is room."""
        self.tend()
        while self._jobs:
            self._fetch()
            self._start()

    def _start(self) -> None:
        while self._jobs and len(self._flying) < self.most:
            job = self._jobs[0]
            with self._blamed(job):
                started = next(job.passes, None)
            if started is None:
                job.ended = True
                self._jobs.popleft()
            else:
                job.flying += 1
                self._flying.append((job, started))

    def _fetch(self) -> None:
        job, started = self._flying.popleft()
        job.flying -= 1
        with self._blamed(job):
            started.fetch()

    @contextmanager
    def _blamed(self, job: _Job) -> Iterator[None]:
        """What goes wrong inside is the job's: it is over."""
        try:
            yield
        except BaseException as error:
            job.failed, job.ended = error, True
            if job in self._jobs:
                self._jobs.remove(job)
            raise
