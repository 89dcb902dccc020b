"""Messages for interrupted commands: which work is saved."""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from unmask.errors import UnmaskError
from unmask.models.names import CHAT_MARK

OUTPUTS_KEPT = "model outputs are cached; run the same command to resume"
NOTHING_KEPT = "nothing is cached, because --no-cache was given"
MODELS_KEPT = "trained and scored models are saved; run the same command to resume"
SERVER_NOT_KEPT = "server outputs are not cached; the same command requests them again"
GPU_NOT_KEPT = "GPU outputs are not cached; the same command starts over"


def on_termination() -> Any:
    """Treat a scheduler's SIGTERM as an interruption; return the previous handler."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, _interrupted)


def as_before(handler: Any) -> None:
    """Undo `on_termination`."""
    if handler is not None:
        signal.signal(signal.SIGTERM, handler)


def _interrupted(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


class Stopped(UnmaskError):
    """A command was interrupted; the message says what is saved."""


@contextmanager
def telling(message: str) -> Iterator[None]:
    """Turn an interruption inside into one sentence that says what is saved."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise Stopped(f"stopped; {message}.") from stop


@contextmanager
def caching_outputs(
    cache: bool, device: str | None = None, models: Sequence[str] = ()
) -> Iterator[None]:
    """As `telling`, for work whose outputs are cached if `cache` is set."""
    try:
        yield
    except KeyboardInterrupt as stop:
        message = (GPU_NOT_KEPT if _on_gpu(device) else OUTPUTS_KEPT) if cache else NOTHING_KEPT
        if any(m.startswith(("http://", "https://")) and CHAT_MARK not in m for m in models):
            message = SERVER_NOT_KEPT
        raise Stopped(f"stopped; {message}.") from stop


def _on_gpu(device: str | None) -> bool:
    if device:
        return device.startswith("cuda")
    cuda = getattr(sys.modules.get("torch"), "cuda", None)  # it may be half imported
    return bool(cuda and getattr(cuda, "is_available", bool)())
