"""Prefetch: the next model is loaded while a GPU works on this one.

Only in float32 (or tf32): loading in another precision changes torch's default dtype in all
threads. And only where the device has room for several models.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from unmask.models.protocol import Model
from unmask.options import Options

ROOM = 6  # models of this size that have to fit into what is free
FULL = ("float32", "tf32")
MOST_PATIENCE = 1.0  # longest wait in seconds for a busy GPU before the next model loads


@dataclass(slots=True)
class ModelPrefetch:
    """Models that are being loaded, by their name."""

    options: Options
    names: Sequence[str]
    load: Callable[[str, Options], Model]
    pool: ThreadPoolExecutor | None
    waiting: dict[str, "Future[Model]"] = field(default_factory=dict)
    gpu_busy: Event = field(default_factory=Event)
    stream: Any = None

    def begin(self, name: str, model: Model) -> None:
        """Begin to load the model after `name`, where there is room for it."""
        place = self.names.index(name) + 1
        if self.pool is not None and place < len(self.names) and _room(model):
            after = self.names[place]
            self.gpu_busy.clear()
            self.waiting[after] = self.pool.submit(self._load, after)

    def _load(self, name: str) -> Model:
        """Load a model once the device has work: both need Python, and it should not wait."""
        self.gpu_busy.wait(MOST_PATIENCE)
        with self._beside():
            return self.load(name, self.options)

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """Copy weights to the GPU on a separate stream, in parallel with its work.

        All loads use the same stream, because memory is reused only on the stream it came from.
        """
        import torch

        if not torch.cuda.is_available():
            yield
            return
        self.stream = self.stream or torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            yield
        self.stream.synchronize()

    def take(self, name: str) -> Model | None:
        """The model, if it is being loaded; its error is raised."""
        self.gpu_busy.set()
        return self.waiting.pop(name).result() if name in self.waiting else None


def _room(model: Model) -> bool:
    """Whether a GPU works on the model, with room for more of its size."""
    if not model.abilities.pipelined:
        return False
    import torch

    weights = 4 * int(model.provenance.get("parameters") or 0)
    return bool(weights and ROOM * weights < torch.cuda.mem_get_info()[0])


@contextmanager
def prefetching(
    options: Options, names: Sequence[str], load: Callable[[str, Options], Any]
) -> Iterator[ModelPrefetch]:
    """Load models ahead, in the order of their names; a cluster loads its own."""
    worthwhile = options.engine == "local" and options.dtype in FULL and len(names) > 1
    pool = ThreadPoolExecutor(1) if worthwhile and options.load is None else None
    prefetch = ModelPrefetch(options, names, load, pool)
    try:
        yield prefetch
    finally:
        prefetch.gpu_busy.set()
        if pool is not None:
            pool.shutdown(cancel_futures=True)
