"""Work that makes many records at once, without Python looking for garbage in between."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock


@dataclass(slots=True)
class _Pauses:
    """How many there are, and whether there was a collection before the first."""

    count: int = 0
    before: bool = False


_PAUSES, _LOCK = _Pauses(), Lock()


@contextmanager
def gc_paused() -> Iterator[None]:
    """No garbage collection: records hold no circles, and looking for some takes a third longer.

    Pauses may begin and end in any order, and in several threads; the last one ends it.
    """
    with _LOCK:
        if not _PAUSES.count:
            _PAUSES.before = gc.isenabled()
            gc.disable()
        _PAUSES.count += 1
    try:
        yield
    finally:
        with _LOCK:
            _PAUSES.count -= 1
            if not _PAUSES.count and _PAUSES.before:
                gc.enable()
