"""The command `leaderboard`: models side by side."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli import terminal
from unmask.cli.options import CsvOut, Folders, Force, Open, made_console
from unmask.errors import UnmaskError
from unmask.reports import files, results
from unmask.reports import leaderboard as boards
from unmask.support.printable import escape

console = made_console()


def leaderboard(
    folders: Folders,
    output: CsvOut = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write a sortable page to this file.")
    ] = None,
    force: Force = False,
    show: Open = False,
) -> None:
    """Rank models on the measures and data that they share, the least biased first."""
    if html is not None and html.is_file() and not force:
        raise UnmaskError(f"{str(html)!r} already exists; choose another file, or pass --force.")
    board = boards.leaderboard(results.gather(folders))
    terminal.print_frame(console, boards.terminal_table(board))
    for line in boards.unranked(board):
        console.print(escape(line), style="yellow", highlight=False)
    note = (
        "rank: possible ranks; indistinguishable models share one. distance: from "
        "the ideal, in units of the smallest relevant bias, corrected for noise. biased: number "
        "of biased verdicts."
    )
    console.print(note, style="dim", soft_wrap=True)
    if output is not None:
        files.put_csv(output, board)
    if html is not None:
        files.put(html, boards.board_page(board))
        console.print(f"Report: [bold]{escape(str(html))}[/]", soft_wrap=True)
        if show:
            webbrowser.open(html.resolve().as_uri())
