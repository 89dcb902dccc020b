"""The command `vary`: how far do design choices move the score?"""

from typing import Annotated, Any

import typer

from unmask.cli import interrupts, terminal
from unmask.cli import options as shared
from unmask.cli.study_options import named_models, study_options
from unmask.errors import UnmaskError
from unmask.flow import loading
from unmask.reports import files
from unmask.reports.html import study_page
from unmask.studies.vary import sweep
from unmask.support.printable import escape

console = shared.made_console()


@shared.takes("engine", "address", "workers", "tokens", "fast", "cache", "level", "seed")
def vary(
    given: Annotated[str | None, typer.Argument(metavar="MODEL", help="A model.")] = None,
    model: shared.Models = None,
    concept: Annotated[
        list[str] | None,
        typer.Option(help="Concepts of husse2022: c1, c3, c6, c9, dis, occ, i1, i2."),
    ] = None,
    data: Annotated[list[str] | None, typer.Option("-d", "--data", help="Sentence sets.")] = None,
    contexts: Annotated[str | None, typer.Option(help="Store of natural contexts.")] = None,
    output: shared.Out = None,
    force: shared.Force = False,
    **chosen: Any,
) -> None:
    """Sweep the design choices, and show how much each of them moves the score."""
    name, *more = named_models(model, [given] if given else None)
    if more:
        raise UnmaskError(f"vary takes one model, and {1 + len(more)} were given; give one.")
    with files.target(output, shared.RESULTS / "vary", force=force) as folder:
        keeps = interrupts.caching_outputs(chosen["cache"], models=[name])
        with keeps, terminal.bars(console) as progress:
            settings = study_options(chosen, progress)
            concepts, sets = shared.split(concept, ("c6",)), shared.split(data, ("bundled-pairs",))
            loaded = loading.loaded(name, settings)
            study = sweep.study(loaded, settings, concepts=concepts, data=sets, store=contexts)
        study_page.write(study, folder)
    for remark in study.remarks:
        console.print(remark, highlight=False, markup=False)
    for title, frame in sweep.summary(study).items():
        console.print(f"\n[bold]{escape(title)}[/]")
        terminal.print_frame(console, frame)
    console.print(f"Report: [bold]{escape(str(folder / 'report.html'))}[/]")
