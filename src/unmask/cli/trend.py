"""The command `trend`: many runs over time."""

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask import options
from unmask.cli import options as shared
from unmask.reports import files
from unmask.reports.html import study_page
from unmask.studies import trend as trends
from unmask.studies import trend_page
from unmask.support.printable import escape

console = shared.made_console()


@shared.takes("level", "seed")
def trend(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders that 'unmask run' wrote, in chronological order.")
    ],
    output: shared.Out = None,
    force: shared.Force = False,
    show: shared.Open = False,
    **chosen: Any,
) -> None:
    """Follow checkpoints or releases over time: scores, intervals and significant changes."""
    followed = trends.trend(folders, options.Resampling(**chosen))
    for text in trend_page.sentences(followed):
        console.print(escape(text), highlight=False)
    with files.target(output, Path("unmask-trend"), force=force) as folder:
        study_page.write(trend_page.study(followed), folder)
    path = folder / "report.html"
    console.print(f"Report: [bold]{escape(str(path))}[/]", soft_wrap=True)
    if show:
        webbrowser.open(path.resolve().as_uri())
