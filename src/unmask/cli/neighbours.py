"""The command `neighbours`: published scores beside one's own."""

from typing import TYPE_CHECKING

from unmask.cli.lazy import lazy
from unmask.cli.options import CsvOut, Folders, made_console

if TYPE_CHECKING:
    from unmask.cli import terminal
    from unmask.reports import files, results
    from unmask.studies import neighbours as published
else:
    terminal = lazy("unmask.cli.terminal")
    files = lazy("unmask.reports.files")
    results = lazy("unmask.reports.results")
    published = lazy("unmask.studies.neighbours")

console = made_console()


def neighbours(folders: Folders, out: CsvOut = None) -> None:
    """Show published scores of the same measures on the same data, yours among them."""
    frame = published.neighbours(results.gather(folders))
    terminal.print_frame(console, frame.round(1))
    if out is not None:
        files.put_csv(out, frame)
