"""Grids: worlds, the training and scoring of their models, and resuming an interrupted run."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import safetensors.torch
import torch

from unmask.errors import UnmaskError
from unmask.lab import finetune, nets, scoring
from unmask.lab.language import corpus
from unmask.lab.nets import Training
from unmask.lab.oracle import Oracle
from unmask.lab.world import NULL, Plant, World
from unmask.measures import find
from unmask.models.protocol import Model
from unmask.models.transformers.model import moved
from unmask.options import one_of, whole_number
from unmask.reports.files import atomically, put
from unmask.types import Kind

TIERS = ("tiny", "oracle", "bundled")
KINDS: tuple[Kind, ...] = ("masked", "causal")
VERSION = 3  # of the worlds and items: results of another version are not reused
EVERY = 100  # steps between two checkpoints of a training
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Grid:
    """The worlds of a run: every theta with every rho and seed, and more worlds without a bias.

    Seeds are counted from `first`; another value gives other worlds of the same kind.
    """

    thetas: tuple[float, ...] = (-1.0, 0.0, 0.25, 0.5, 1.0, 2.0)
    rhos: tuple[float, ...] = (1.0, 4.0, 16.0)
    seeds: int = 16
    nulls: int = 60
    kinds: tuple[str, ...] = KINDS
    tier: str = "tiny"
    training: Training = field(default_factory=Training)
    measures: tuple[str, ...] = ()
    first: int = 0

    def __post_init__(self) -> None:
        for name, least in (("seeds", 1), ("nulls", 0), ("first", 0)):
            whole_number(least)(name, getattr(self, name))
        if self.first + self.seeds > NULL:
            raise UnmaskError(f"first + seeds is {self.first + self.seeds}; give at most {NULL}.")
        for name in ("thetas", "rhos", "kinds", "measures"):
            self._once(name)
        for kind in self.kinds:
            one_of(KINDS)("kind of model", kind)
        one_of(TIERS)("tier", self.tier)
        if self.tier == "bundled" and self.kinds != ("masked",):
            raise UnmaskError(
                "the bundled model is masked; give --kind masked with --tier bundled."
            )
        for measure in self.measures:
            find(measure)
        self.plants()
        if 1 not in self.rhos:
            raise UnmaskError(
                "rho 1 is not in the grid; add it, because all results are compared with it."
            )

    def _once(self, name: str) -> None:
        """Keep each value of an axis once; only `measures` may be empty."""
        values = tuple({getattr(v, "name", v): v for v in getattr(self, name)}.values())
        if not values and name != "measures":
            raise UnmaskError(f"the grid has no {name}; give at least one.")
        object.__setattr__(self, name, values)

    def plants(self) -> list[Plant]:
        """Every world of the grid."""
        cells = [
            Plant(float(theta), float(rho), seed)
            for seed in range(self.first, self.first + self.seeds)
            for theta in self.thetas
            for rho in self.rhos
        ]
        return cells + [Plant(0.0, 1.0, NULL + self.first + k) for k in range(self.nulls)]

    @property
    def digest(self) -> str:
        """A digest of all that determines a model's readings besides its world."""
        settings = [VERSION, self.tier, repr(self.training), sorted(map(repr, self.measures))]
        return hashlib.blake2b(json.dumps(settings).encode(), digest_size=6).hexdigest()


QUICK = Grid((0.0, 2.0), (1.0, 16.0), 2, 0, ("masked",), training=Training(420, 128, 60_000))
# Seeds from 0 on were seen while measures and rules were designed; these were not.
STANDARD = Grid(first=100, training=Training(2500, 256, 100_000))


def run(
    grid: Grid,
    folder: Path,
    *,
    device: str | None = None,
    workers: int | None = None,
    stack: int | None = None,
    cluster: Any = None,
    progress: Progress = lambda what, done, total: None,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Train and score the models of a grid that are missing in the folder.

    Returns the readings, the learned thetas by word, and the refused measures with the reason. A
    training resumes from its last checkpoint, and scored models are not scored again. On a
    `cluster` (Ray) models are trained and scored in parallel; its nodes must share the folder.
    """
    place = folder / "lab" / grid.digest
    place.mkdir(parents=True, exist_ok=True)
    where = usable(device)
    size = stack or (48 if where.startswith("cuda") else 8)
    size = 1 if grid.tier == "bundled" else size  # each is saved once trained
    count = workers or max(1, os.cpu_count() or 1)
    todo = {
        (k, p) for k in grid.kinds for p in grid.plants() if _load_readings(place, k, p) is None
    }
    n_models = len(grid.kinds) * len(grid.plants())
    progress("models scored", n_models - len(todo), n_models)
    done = n_models - len(todo)
    waiting: list[Future[None]] = []
    with _OnRay(cluster) if cluster else _pool(count, len(todo)) as pool:
        stacks = [
            (kind, plants)
            for kind, plants in _stacks(grid, size)
            if any((kind, plant) in todo for plant in plants)
        ]
        for kind, plants, weights in _weights(grid, stacks, place, where, pool, progress):
            for k, plant in enumerate(plants):
                if (kind, plant) in todo:
                    job = (grid, kind, plant, weights, k, place)
                    waiting.append(pool.submit(_score, *job))
        for future in as_completed(waiting):
            future.result()
            done += 1
            progress("models scored", done, n_models)
    for weights in place.glob("*.safetensors"):  # all models are scored: none is needed any more
        weights.unlink(missing_ok=True)
    return all_readings(grid, place)


def usable(device: str | None) -> str:
    """The device to train on, or the best there is; one that cannot be used is refused."""
    return str(moved(torch.zeros(1), device).device)


def _stacks(grid: Grid, size: int) -> Iterator[tuple[Any, list[Plant]]]:
    """Yield the models that are trained together, whatever has been scored already."""
    plants = grid.plants()
    for kind in grid.kinds:
        for start in range(0, len(plants), size):
            yield kind, plants[start : start + size]


def _pool(count: int, jobs: int) -> Executor:
    """Return processes with one thread each, since half of scoring is Python; none for one job."""
    if min(count, jobs) < 2:
        return _SameProcess()
    return ProcessPoolExecutor(min(count, jobs), get_context("spawn"), _one_thread)


def _weights(
    grid: Grid,
    stacks: Sequence[tuple[Any, list[Plant]]],
    place: Path,
    where: str,
    pool: Executor,
    progress: Progress,
) -> Iterator[tuple[Any, list[Plant], Path | None]]:
    """Yield the weights of each stack, trained here one after the other or in parallel elsewhere.

    Elsewhere means a cluster or, for single models, the processes of a pool: a single model does
    not keep a GPU busy.
    """
    cluster = isinstance(pool, _OnRay)
    if not cluster and (grid.tier != "bundled" or isinstance(pool, _SameProcess)):
        for kind, plants in stacks:
            yield kind, plants, _trained(grid, kind, plants, place, where, pool, progress)
        return
    submit = pool.train if isinstance(pool, _OnRay) else pool.submit
    device = None if cluster else where
    sent = {
        submit(_existing, grid, kind, plants, place, device): (kind, plants)
        for kind, plants in stacks
    }
    for number, future in enumerate(as_completed(sent), 1):
        progress("training", number, len(sent))
        yield *sent[future], future.result()


def _existing(
    grid: Grid, kind: Kind, plants: Sequence[Plant], place: Path, device: str | None
) -> Path | None:
    """Train a stack on a worker, on the given device or the worker's own."""
    nothing: Progress = lambda what, done, total: None  # noqa: E731
    return _trained(grid, kind, plants, place, usable(device), _SameProcess(), nothing)


class _OnRay(Executor):
    """Replaces a pool where a Ray cluster does the work; the task of a node that dies is
    repeated by another.
    """

    def __init__(self, ray: Any) -> None:
        self.ray, self.gpus = ray, bool(ray.cluster_resources().get("GPU"))

    def submit(self, fn: Any, /, *args: Any, **options: Any) -> "Future[Any]":
        """Run a task on any node, with one CPU."""
        future: Future[Any] = self.ray.remote(_single_threaded).remote(fn, args, options).future()
        return future

    def train(self, fn: Any, *args: Any) -> "Future[Any]":
        """Run a task on any node, with a GPU if there is one."""
        task = self.ray.remote(_single_threaded).options(num_gpus=1 if self.gpus else 0)
        future: Future[Any] = task.remote(fn, args, {}).future()
        return future


def _single_threaded(fn: Any, args: Any, options: Any) -> Any:
    torch.set_num_threads(1)
    return fn(*args, **options)


class _SameProcess(Executor):
    """Replaces a pool where this process does the work at once."""

    def submit(self, fn: Any, /, *args: Any, **options: Any) -> "Future[Any]":
        """Run a task now."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **options))
        return future


def _one_thread() -> None:
    """Set up a worker: one thread, and an exit if the main process is killed."""
    torch.set_num_threads(1)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _file(place: Path, kind: str, plant: Plant) -> Path:
    return place / f"{kind}_{plant.name.replace(' ', '_')}.parquet"


def _trained(
    grid: Grid,
    kind: Kind,
    plants: Sequence[Plant],
    place: Path,
    device: str,
    pool: Executor,
    progress: Progress,
) -> Path | None:
    """Return the file with the stacked weights of some models; an interrupted training resumes."""
    if grid.tier == "oracle":
        return None
    name = hashlib.blake2b(repr([kind, *plants]).encode(), digest_size=6).hexdigest()
    final, part = place / f"{name}.safetensors", place / f"{name}.part.safetensors"
    if _readable(final):
        return final
    if grid.tier == "bundled":
        networks = finetune.train(
            plants, grid.training, device=device, progress=lambda d, n: progress("training", d, n)
        )
    else:
        texts = [pool.submit(corpus, p, grid.training.sentences) for p in plants]
        networks = nets.train(
            plants,
            kind,
            grid.training,
            texts=[t.result() for t in texts],
            device=device,
            checkpoint=lambda step, w: _keep(part, step, w, grid.training.steps),
            begun=_begun(part),
            progress=lambda d, n: progress("training", d, n),
        )
    weights = {k: v.cpu().contiguous() for k, v in networks.items()}
    atomically(final, lambda path: safetensors.torch.save_file(weights, path))
    part.unlink(missing_ok=True)
    return final


def _keep(part: Path, step: int, weights: Mapping[str, torch.Tensor], steps: int) -> None:
    if step % EVERY == 0 and step < steps:
        tensors = {k: v.cpu().contiguous() for k, v in weights.items()}
        facts = {"step": str(step)}
        atomically(part, lambda path: safetensors.torch.save_file(tensors, path, metadata=facts))


def _begun(part: Path) -> tuple[int, dict[str, torch.Tensor]] | None:
    if not _readable(part):
        return None
    with safetensors.safe_open(part, "pt") as file:
        step = int(file.metadata()["step"])
        return step, {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118  no mapping


def _readable(path: Path) -> bool:
    """Whether a file of weights is there and whole; a damaged one is recomputed."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            return bool(list(file.keys()))
    except (OSError, safetensors.SafetensorError):
        return False


def _score(
    grid: Grid, kind: Kind, plant: Plant, weights: Path | None, number: int, place: Path
) -> None:
    """Score one model and save its readings; the file appears only when complete."""
    if _load_readings(place, kind, plant) is not None:  # another process was faster
        return
    world = World(plant)
    model: Model
    if weights is None:
        model = Oracle(world, kind)
    elif not weights.exists():
        raise UnmaskError(
            f"{str(place)!r} is being used by another process; wait for it, or name another folder "
            "with -o."
        )
    else:
        with safetensors.safe_open(weights, "pt") as file:
            tensors = {k: file.get_slice(k)[number] for k in file.keys()}  # noqa: SIM118
        maker = finetune.model_of if grid.tier == "bundled" else nets.model_of
        model = maker(tensors, kind, plant)
    readings, words, refused = scoring.scored(model, world, [find(m) for m in grid.measures])
    target = _file(place, kind, plant)
    put(target.with_suffix(".json"), json.dumps(refused))
    words.to_parquet(target.with_suffix(".words"))
    atomically(target, readings.to_parquet)


Kept = tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]


def _load_readings(place: Path, kind: str, plant: Plant) -> Kept | None:
    """Return the saved readings of a scored model, or None if they are missing or damaged."""
    file = _file(place, kind, plant)
    try:
        refused = json.loads(file.with_suffix(".json").read_text("utf-8"))
        return pd.read_parquet(file), pd.read_parquet(file.with_suffix(".words")), refused
    except (OSError, ValueError):  # pyarrow's errors are of these
        return None


def all_readings(grid: Grid, place: Path) -> Kept:
    """The readings of all models of a grid, and the measures that were refused, by kind."""
    frames, words = [], []
    refused: dict[str, str] = {}
    for kind in grid.kinds:
        for plant in grid.plants():
            kept_frames = _load_readings(place, kind, plant)
            if kept_frames is None:
                raise UnmaskError(
                    f"{str(_file(place, kind, plant))!r} is missing or damaged; run the same "
                    "command again."
                )
            frames.append(kept_frames[0])
            words.append(kept_frames[1])
            refused |= {f"{name}, {kind}": reason for name, reason in kept_frames[2].items()}
    if all(f.empty for f in frames):
        raise UnmaskError(
            f"no measure could be tested: {'; '.join(dict.fromkeys(refused.values()))}."
        )
    return (
        pd.concat(frames, ignore_index=True),
        pd.concat(words, ignore_index=True),
        refused,
    )
