"""The next model is loaded while a GPU works on this one.

Only in float32 (or tf32): to load in another precision changes what torch makes numbers in, in all
threads. And only where there is room on the device for several.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from unmask.models.protocol import Model
from unmask.options import Options

ROOM = 4  # models of this size that have to fit into what is free
FULL = ("float32", "tf32")


@dataclass(slots=True)
class Ahead:
    """A model on its way, by its name."""

    options: Options
    names: Sequence[str]
    load: Callable[[str, Options], Model]
    pool: ThreadPoolExecutor | None
    waiting: dict[str, "Future[Model]"] = field(default_factory=dict)

    def begin(self, name: str, model: Model) -> None:
        """Begin to load the model behind `name`, which is there now, where that does no harm."""
        place = self.names.index(name) + 1
        if self.pool is not None and place < len(self.names) and _room(model):
            after = self.names[place]
            self.waiting[after] = self.pool.submit(self.load, after, self.options)

    @property
    def on_the_way(self) -> bool:
        """Whether a GPU will have another model to work on."""
        return bool(self.waiting)

    def taken(self, name: str) -> Model | None:
        """The model, waited for, if it is on its way; what went wrong with it is raised."""
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
    try:
        yield Ahead(options, names, load, pool)
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
