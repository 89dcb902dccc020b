"""Workers of a Ray cluster that hold a model, and the distribution of jobs among them.

If a worker dies, its jobs go to the others, or to a new worker.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from unmask.errors import ModelError, UnmaskError
from unmask.models.transformers.model import load
from unmask.models.transformers.vectors import pooled

JOBS_AHEAD = 2  # jobs queued per worker, so that it need not wait for the driver
CPUS_A_WORKER = 2  # CPUs of a worker without a GPU, if a node has that many
MAX_REPLACEMENTS = 3  # last remaining workers that may be lost without a result in between
START_TIMEOUT = 3600.0  # seconds that a worker may take to be placed and to load its model


class Worker:
    """A worker: the model in each requested precision, and its engines."""

    def __init__(self, name: str, device: str | None, threads: int) -> None:
        torch.set_num_threads(threads)
        self.name, self.device = name, device
        self.models: dict[str, Any] = {}
        self.engines: dict[tuple[str, str], Any] = {}

    def _model(self, dtype: str) -> Any:
        if dtype not in self.models:
            self.models[dtype] = load(self.name, dtype=dtype, device=self.device)
        return self.models[dtype]

    def facts(self, dtype: str) -> dict[str, Any]:
        """Return the facts about the model that the driver needs."""
        model = self._model(dtype)
        facts = {"provenance": dict(model.provenance), "limit": model.limit}
        trees = bool(model.abilities.streams) and model.engine().fast.prefixes
        return facts | {"remarks": model.abilities.remarks, "prefixes": trees}

    def budget(self, dtype: str, tokens: int | str) -> Any:
        """Return the limits of one forward pass on this worker."""
        return self._model(dtype).budget(tokens)

    def _engine(self, dtype: str, stream: str) -> Any:
        if (dtype, stream) not in self.engines:
            self.engines[dtype, stream] = self._model(dtype).engine(stream)
        return self.engines[dtype, stream]

    def answer(self, dtype: str, stream: str, unique: Any, weighted: bool) -> Any:
        """Return the outputs for one batch of a stream."""
        return self._engine(dtype, stream).outputs(unique, weighted)

    def ask(self, dtype: str, stream: str, asks: Any, attention: Any) -> Any:
        """Return the readings of an engine without batches: the next-sentence head."""
        return self._engine(dtype, stream).ask(asks, attention)

    def pooled(self, dtype: str, rows: Any, positions: Any) -> Any:
        """Return the vectors of one batch."""
        model = self._model(dtype)
        return pooled(model.net, model.codec, rows, positions)


class Workers:
    """The workers of one model: one per GPU, or one per share of the CPUs."""

    def __init__(
        self,
        name: str,
        place: str,
        dtype: str,
        device: str | None,
        ray: Any,
        count: int | None,
        n_sharing: int = 1,
    ) -> None:
        self.ray, self.name = ray, name
        self.given = (name, device)
        self.replaced = 0  # last remaining workers that were lost since the last result
        gpus = int(ray.cluster_resources().get("GPU", 0)) if device != "cpu" else 0
        cpus = [int(n["Resources"].get("CPU", 0)) for n in ray.nodes() if n["Alive"]]
        share = max(1, min([CPUS_A_WORKER, *(c for c in cpus if c)]))
        share = max(1, min(share, sum(cpus) // count)) if count else share
        self.needs: dict[str, Any] = {"num_gpus": 1} if gpus else {"num_cpus": share}
        self.threads = share
        if memory := _size(place, dtype, rechecked=not gpus):
            self.needs["memory"] = memory
            self._fits(memory)
        most = gpus or max(1, sum(c // share for c in cpus))
        usual = max(1, most // n_sharing)
        self.alive = [self._new() for _ in range(min(count or usual, most))]

    def _fits(self, memory: int) -> None:
        """Refuse a model that is too large for every node: its workers would wait forever."""
        rooms = [int(n["Resources"].get("memory", 0)) for n in self.ray.nodes() if n["Alive"]]
        if memory > max(rooms, default=0):
            raise ModelError(
                f"{self.name!r} needs about {memory / 1e9:.1f} GB, and the largest node of the "
                f"cluster has {max(rooms, default=0) / 1e9:.1f}; add a larger node."
            )

    def _new(self) -> Any:
        maker = self.ray.remote(Worker).options(max_restarts=0, **self.needs)
        return maker.remote(*self.given, self.threads)

    def facts(self, dtype: str) -> dict[str, Any]:
        """Return the facts from the first worker that is placed; the others join later."""
        futures = {w.facts.remote(dtype): w for w in self.alive}
        died = ""
        while futures:
            done, _ = self.ray.wait(list(futures), timeout=START_TIMEOUT)
            if not done:
                raise ModelError(
                    f"no worker for {self.name!r} started within {START_TIMEOUT:g} s; check the "
                    "free resources of the cluster."
                )
            worker = futures.pop(done[0])
            try:
                facts: dict[str, Any] = self.ray.get(done[0])
            except self.ray.exceptions.RayTaskError as error:
                raise _unmask_error(error) from None
            except self.ray.exceptions.RayActorError as error:
                self.alive.remove(worker)
                died = _cause(error)
                continue
            return facts
        raise ModelError(f"the workers of {self.name!r} died: {died}.")

    def first(self, method: str, *arguments: Any) -> Any:
        """Run one job, and return its result."""
        return next(iter(self.map(method, [arguments])))

    def map(self, method: str, jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Return the results of all jobs in order, each as soon as possible."""
        answers: dict[int, Any] = {}
        place = 0
        for number, value in self.scattered(method, jobs):
            answers[number] = value
            while place in answers:
                yield answers.pop(place)
                place += 1

    def scattered(self, method: str, jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Return pairs of job number and result, in order of completion."""
        waiting = deque(range(len(jobs)))
        under_way: dict[Any, tuple[int, Any]] = {}
        while waiting or under_way:
            self._send(method, jobs, waiting, under_way)
            done, _ = self.ray.wait(list(under_way), timeout=1.0)
            for ref in done:
                number, worker = under_way.pop(ref)
                try:
                    answer = self.ray.get(ref)
                except self.ray.exceptions.RayTaskError as error:
                    raise _unmask_error(error) from None
                except self.ray.exceptions.RayActorError as error:
                    waiting.appendleft(number)
                    self._lost(worker, jobs[number][0], error)
                    continue
                self.replaced = 0
                yield number, answer

    def _send(
        self,
        method: str,
        jobs: Sequence[tuple[Any, ...]],
        waiting: "deque[int]",
        under_way: dict[Any, tuple[int, Any]],
    ) -> None:
        loads = dict.fromkeys(self.alive, 0)
        for _, worker in under_way.values():
            if worker in loads:
                loads[worker] += 1
        while waiting and min(loads.values()) < JOBS_AHEAD:
            worker = min(loads, key=loads.__getitem__)
            number = waiting.popleft()
            under_way[getattr(worker, method).remote(*jobs[number])] = (number, worker)
            loads[worker] += 1

    def _lost(self, worker: Any, dtype: str, error: Any) -> None:
        """Remove a lost worker; if it was the last, start another and wait until it has loaded."""
        if worker in self.alive:
            self.alive.remove(worker)
        if self.alive:
            return
        if self.replaced == MAX_REPLACEMENTS:
            raise ModelError(
                f"the workers of {self.name!r} die one after another: {_cause(error)}."
            )
        self.replaced += 1
        self.alive = [self._new()]
        self.facts(dtype)

    def close(self) -> None:
        """Stop the workers."""
        for worker in self.alive:
            self.ray.kill(worker)
        self.alive = []


def _unmask_error(error: Any) -> Exception:
    """Return unmask's own error from a worker; any other becomes one sentence."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, UnmaskError):
        return type(cause)(str(cause))
    return ModelError(f"a worker failed: {type(cause or error).__name__}: {_cause(error)}.")


def _cause(error: BaseException) -> str:
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    return lines[-1][:200] if lines else type(error).__name__


def _size(place: str, dtype: str, rechecked: bool) -> int:
    """Return the bytes that a model from a local folder or file needs in memory; 0 if unknown.

    A model in reduced precision may be `rechecked` in float32, which needs memory for both.
    """
    path = Path(place)
    if path.is_file():
        return 4 * path.stat().st_size  # a quantised file is unpacked
    weights = 0
    for file in path.glob("*.safetensors") if path.is_dir() else ():
        with suppress(SafetensorError, OSError), safe_open(file, "pt") as shard:  # its worker tells
            weights += sum(math.prod(shard.get_slice(k).get_shape()) for k in shard.keys())  # noqa: SIM118  no mapping
    kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    beside = 4 if rechecked and kind.itemsize < 4 else 0
    return int(1.2 * weights * (kind.itemsize + beside))
