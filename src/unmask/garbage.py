"""Work that makes many records at once, without Python looking for garbage in between."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection: records hold no circles, and looking for some takes a third longer.

    What was made meanwhile then counts as old, so that it is not looked through right after.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            if not gc.get_freeze_count():  # else somebody keeps theirs frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
