"""What is shown while work goes on: bars on a terminal, and text that cannot steer it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape as _escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from unmask.reports.files import visible


def escape(text: str) -> str:
    """Text as it is: no markup of rich in it, and nothing that steers the terminal."""
    return _escape(visible(text))


@contextmanager
def bars(console: Console, unit: str = "rows") -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each thing that tells of its progress, counting in a unit."""
    known: dict[str, TaskID] = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as view:

        def advance(what: str, done: int, total: int) -> None:
            if what not in known:
                known[what] = view.add_task(escape(what), total=total)
            view.update(known[what], completed=done, total=total)

        yield advance
