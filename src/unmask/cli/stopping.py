"""What a command that is interrupted says of the work it has done, so that it is true."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from unmask.errors import UnmaskError

KEPT = "what the model has answered is kept, and the same command goes on"
NOTHING = "nothing is kept, since --no-cache was given"
TRAINED = "models that were trained and scored are kept, and the same command goes on"
SERVED = "answers of a server are not kept: the same command asks it again"
AGAIN = "answers of a GPU are not kept: the same command begins again"


class Stopped(UnmaskError):
    """An interruption, with what is kept."""


@contextmanager
def telling(said: str) -> Iterator[None]:
    """An interruption inside is one sentence that says what is kept."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise Stopped(f"stopped; {said}.") from stop


@contextmanager
def answering(cache: bool, device: str | None = None, models: Sequence[str] = ()) -> Iterator[None]:
    """As `telling`, for work whose answers go to the cache, if one is used."""
    try:
        yield
    except KeyboardInterrupt as stop:
        said = (AGAIN if _on_gpu(device) else KEPT) if cache else NOTHING
        if any(m.startswith(("http://", "https://")) for m in models):
            said = SERVED
        raise Stopped(f"stopped; {said}.") from stop


def _on_gpu(device: str | None) -> bool:
    if device:
        return device.startswith("cuda")
    cuda = getattr(sys.modules.get("torch"), "cuda", None)  # it may be half imported
    return bool(cuda and getattr(cuda, "is_available", bool)())
