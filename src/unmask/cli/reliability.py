"""The command `reliability`: can the score be relied on?"""

from typing import Annotated, Any

import typer

from unmask.cli import interrupts, terminal
from unmask.cli import options as shared
from unmask.cli.study_options import named_models, study_options
from unmask.flow import loading
from unmask.reports import files
from unmask.reports.html import study_page
from unmask.studies import reliability as study
from unmask.support.printable import escape
from unmask.support.wording import counted

console = shared.made_console()


@shared.takes("tokens", "fast", "cache", "level", "seed")
def reliability(
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help="Models, or checkpoints of one model."),
    ] = None,
    model: shared.Models = None,
    measure: shared.Measures = None,
    data: Annotated[
        str, typer.Option("-d", "--data", help="A set of sentence pairs.")
    ] = "bundled-pairs",
    output: shared.Out = None,
    force: shared.Force = False,
    **chosen: Any,
) -> None:
    """Test how reliable the score is across items, measures, wordings, layers and checkpoints."""
    names, measures = named_models(model, folders), shared.split(measure, study.MEASURES)
    with files.target(output, shared.RESULTS / "reliability", force=force) as folder:
        keeps = interrupts.caching_outputs(chosen["cache"], models=names)
        with keeps, terminal.bars(console) as progress:
            settings = study_options(chosen, progress)
            loaded = [loading.loaded(m, settings) for m in names]
            written, skipped = study.reliability(loaded, settings, measures=measures, data=data)
        study_page.write(written, folder)
        files.put_csv(folder / "disagree.csv", skipped.assign(data=data))
    tables = [t for t in written.tables if t.name != "items-all"]
    terminal.print_study(console, study_page.Study(written.title, tables), folder)
    disagree = counted(len(skipped), "item disagrees", "items disagree")
    note = f"{disagree} with the rest. To exclude them for other models: --exclude"
    console.print(escape(f"{note} {folder / 'disagree.csv'}"), soft_wrap=True)
