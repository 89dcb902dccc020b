"""The command `compare`: two or more runs on the same items."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from unmask.cli import options as shared
from unmask.cli import pages
from unmask.cli.lazy import lazy
from unmask.errors import UnmaskError

if TYPE_CHECKING:
    from unmask import options
    from unmask.cli import terminal
    from unmask.reports import files, results
    from unmask.studies import compare as comparison
else:
    options = lazy("unmask.options")
    terminal = lazy("unmask.cli.terminal")
    files = lazy("unmask.reports.files")
    results = lazy("unmask.reports.results")
    comparison = lazy("unmask.studies.compare")

console = shared.made_console()


def compare(
    folders: shared.Folders,
    margin: Annotated[
        str | None,
        typer.Option(help="Test equivalence within this margin: points, d, or both: 3,0.2d."),
    ] = None,
    top: Annotated[int, typer.Option(help="How many items that changed side to show.")] = 5,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for a page and CSV files.")
    ] = None,
    force: shared.Force = False,
    level: shared.Level = 0.95,
    seed: shared.Seed = 0,
) -> None:
    """Compare two or more runs on the same items: paired differences, tests, changed items."""
    if top < 0:
        raise UnmaskError(f"--top is {top}; give a whole number of at least 0.")
    resampling = options.Resampling(seed=seed, level=level)
    loaded = results.gather(folders)
    frame, changed = comparison.compare(loaded, margin=margin, resampling=resampling)
    terminal.print_comparison(console, frame, changed, top)
    if out is not None:
        with files.target(out, out, force=force):
            files.put_csv(out / "comparison.csv", frame)
            files.put_csv(out / "changed.csv", changed)
            path = pages.write(pages.of_comparison(loaded, frame), out)
        console.print(f"Page: [bold]{escape(str(path))}[/]", soft_wrap=True)
