"""The next model is loaded while a GPU works on this one.

Only in float32 (or tf32): to load in another precision changes what torch makes numbers in, in all
threads. And only where there is room on the device for several.
"""

import sys
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
TURN = 1e-4  # seconds after which Python lets the other thread go on, which launches
MOST_PATIENCE = 1.0  # seconds until a model is loaded though this one seems not to be at work


@dataclass(slots=True)
class Ahead:
    """A model on its way, by its name."""

    options: Options
    names: Sequence[str]
    load: Callable[[str, Options], Model]
    pool: ThreadPoolExecutor | None
    waiting: dict[str, "Future[Model]"] = field(default_factory=dict)
    at_work: Event = field(default_factory=Event)
    stream: Any = None

    def begin(self, name: str, model: Model) -> None:
        """Begin to load the model behind `name`, which is there now, where that does no harm."""
        place = self.names.index(name) + 1
        if self.pool is not None and place < len(self.names) and _room(model):
            after = self.names[place]
            self.at_work.clear()
            self.waiting[after] = self.pool.submit(self._load, after)

    def _load(self, name: str) -> Model:
        """Load a model once the device has work: both need Python, and it should not wait."""
        self.at_work.wait(MOST_PATIENCE)
        with self._beside():
            return self.load(name, self.options)

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """Weights travel to a GPU beside its work, and not in line with it.

        On one stream for all: memory is given out again on the stream that it was taken on.
        """
        import torch

        if not torch.cuda.is_available():
            yield
            return
        self.stream = self.stream or torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            yield
        self.stream.synchronize()

    @property
    def on_the_way(self) -> bool:
        """Whether a GPU will have another model to work on."""
        return bool(self.waiting)

    def taken(self, name: str) -> Model | None:
        """The model, waited for, if it is on its way; what went wrong with it is raised."""
        self.at_work.set()
        return self.waiting.pop(name).result() if name in self.waiting else None


def _room(model: Model) -> bool:
    """Whether a GPU works on the model, with room for more of its size."""
    if not model.abilities.pipelined:
        return False
    import torch

    weights = 4 * int(model.provenance.get("parameters") or 0)
    return bool(weights and ROOM * weights < torch.cuda.mem_get_info()[0])


@contextmanager
def loading_ahead(
    options: Options, names: Sequence[str], load: Callable[[str, Options], Any]
) -> Iterator[Ahead]:
    """What loads models ahead, in the order of their names; a cluster loads its own."""
    wanted = options.engine == "local" and options.dtype in FULL and len(names) > 1
    pool = ThreadPoolExecutor(1) if wanted and options.load is None else None
    ahead = Ahead(options, names, load, pool)
    before = sys.getswitchinterval()
    try:
        if pool is not None:
            sys.setswitchinterval(min(before, TURN))
        yield ahead
    finally:
        ahead.at_work.set()
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        sys.setswitchinterval(before)
