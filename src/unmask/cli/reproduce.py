"""The command `reproduce`: a paper, published and measured side by side."""

from typing import Annotated, Any

import typer

from unmask.cli import interrupts, terminal
from unmask.cli import options as shared
from unmask.cli.study_options import study_options
from unmask.reports import files, results
from unmask.studies.papers import reproduce as papers
from unmask.studies.papers import request

console = shared.made_console()


@shared.takes("engine", "address", "workers", "tokens", "fast", "cache", "level", "seed")
def reproduce(
    paper: Annotated[str, typer.Argument(help="kaneko2022, thys2025 or husse2022")],
    model: shared.Models = None,
    output: shared.Out = None,
    force: shared.Force = False,
    quick: Annotated[bool, typer.Option(help="Use a fixed subsample of the items.")] = False,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Corpus files for word frequencies (kaneko2022).")
    ] = None,
    contexts: Annotated[
        str | None, typer.Option(help="Store of natural contexts (husse2022).")
    ] = None,
    sentences: Annotated[
        int,
        typer.Option(
            help="Maximum natural sentences per word (husse2022; the paper uses 1,000 and 10,000)."
        ),
    ] = 100,
    **chosen: Any,
) -> None:
    """Reproduce a paper's tables and figures: published and measured values side by side."""
    _ = papers.PAPERS[paper]
    with files.target(output, shared.RESULTS / paper, force=force) as folder:
        keeps = interrupts.caching_outputs(chosen["cache"], models=model or ())
        with keeps, terminal.bars(console) as progress:
            settings = study_options(chosen, progress)
            command = results.command_line()
            request_made = request.Request(
                settings, quick, corpus or (), contexts, command, sentences
            )
            study = papers.reproduce(paper, shared.split(model), folder, request_made)
        terminal.print_study(console, study, folder)
