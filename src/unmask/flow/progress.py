"""What a loop tells its caller: rows done, and specs that could not be scored."""

from collections.abc import Callable
from typing import Any, TypeAlias

from unmask.errors import UnmaskError
from unmask.options import Options, Spec

Failed: TypeAlias = Callable[[Spec, UnmaskError], None]


def bar(model: Any, options: Options) -> Callable[[int, int], None]:
    """Rows just done and rows in all, to the caller's `progress(model, done, total)`."""
    done = 0

    def progress(rows: int, total: int) -> None:
        nonlocal done
        done = done % total + rows
        options.progress(model.name, done, total)

    return progress


def refuse(spec: Spec, error: UnmaskError) -> None:
    """The strict way: what cannot be scored ends the run."""
    raise error
