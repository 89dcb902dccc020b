"""torch's allocator, told to keep the memory that it has."""

import os

PURGE_DELAY = "MIMALLOC_PURGE_DELAY"


def keep_freed_memory() -> None:
    """Let torch's allocator (on ARM) keep freed memory for a second, unless the user says else.

    It gives memory back to the system after 10 ms, so that each pass must ask for it again: that is
    10 % of a run on two cores. The setting is read when torch is loaded, so this comes before.
    """
    os.environ.setdefault(PURGE_DELAY, "1000")  # in ms
