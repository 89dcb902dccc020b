"""Progress bars on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from unmask.support.printable import escape

SENTENCES = "sentences"


class _CountColumn(ProgressColumn):
    """Done and total of a unit; nothing where they are not counted."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        """The text of one bar."""
        if task.total is None:
            return Text()
        if self.unit == SENTENCES:  # rows mean nothing to a reader, but their share does
            share = 100 * task.completed / max(task.total, 1)
            return Text(f"{share:.0f} % of the sentences", "progress.download")
        return Text(f"{task.completed:.0f}/{task.total:.0f} {self.unit}", "progress.download")


@contextmanager
def bars(console: Console, unit: str = SENTENCES) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar for each task that reports progress, counted in a unit.

    A task with a total of 0 cannot be counted: it is shown from (0, 0) to (1, 0).
    """
    if not console.is_terminal:  # nobody is watching
        yield lambda what, done, total: None
        return
    tasks: dict[str, TaskID] = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        _CountColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as view:

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = view.add_task(escape(what), total=total or None)
            if not total:
                if done:
                    view.remove_task(tasks.pop(what))
                return
            view.update(tasks[what], completed=done, total=total)

        yield advance
