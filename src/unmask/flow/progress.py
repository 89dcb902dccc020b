"""What a loop tells its caller: rows done, and specs that could not be scored."""

from collections.abc import Callable
from typing import TypeAlias

from unmask.errors import UnmaskError
from unmask.models.protocol import Model
from unmask.options import Options, Spec

Failed: TypeAlias = Callable[[Spec, UnmaskError], None]


def bar(model: Model, options: Options) -> Callable[[int, int], None]:
    """Return a callback that reports rows to the caller's `progress(model, done, total)`."""
    done = 0

    def progress(rows: int, total: int) -> None:
        nonlocal done
        done = done % total + rows
        options.progress(model.name, done, total)

    return progress


class Meter:
    """Rows done, and the expected total, extrapolated from the sentences planned so far.

    An engine calls it with no rows to announce `total` more, and then with the rows done.
    """

    def __init__(self, model: Model, options: Options, sentences: int) -> None:
        self.name, self.tell = model.name, options.progress
        self.sentences, self.read, self.rows, self.total = sentences, 0, 0, 0

    def planned(self, sentences: int) -> None:
        """Note that more sentences have been planned."""
        self.read += sentences

    def __call__(self, rows: int, total: int) -> None:
        """Report rows that are done or, with none, how many more there will be."""
        self.rows += rows
        self.total += 0 if rows else total
        expected = round(self.total * self.sentences / max(self.read, 1))
        self.tell(self.name, self.rows, max(expected, self.rows + 1))

    def done(self) -> None:
        """All rows are done."""
        self.tell(self.name, self.rows, self.rows)


def refuse(spec: Spec, error: UnmaskError) -> None:
    """Raise the error: a spec that cannot be scored ends the run."""
    raise error
