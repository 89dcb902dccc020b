"""`python -m unmask`, and the command `unmask`."""

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress

from unmask.cli.main import main

# Threshold of garbage collection: importing torch and transformers creates a million objects that
# stay, and takes a fifth longer with Python's default of 700.
NEW_OBJECTS = 100_000


def entry() -> None:
    """Run a command and exit without unloading torch, which would take a second."""
    gc.set_threshold(NEW_OBJECTS, 20, 20)
    try:
        main()
    except SystemExit as end:
        if "torch" in sys.modules and threading.active_count() == 1:
            _leave(end.code if isinstance(end.code, int) else 0)
        raise


def _leave(status: int) -> None:
    """End the process as Python would, but for giving back its memory piece by piece."""
    with suppress(OSError, ValueError):  # where nobody reads any more, Python says so itself
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()
        os._exit(status)


if __name__ == "__main__":
    entry()
