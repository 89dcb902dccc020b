"""The command `score`: analyse sentence scores computed elsewhere."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unmask import options, types
from unmask.cli import options as shared
from unmask.cli.run import NOW, finish
from unmask.flow import external_scores
from unmask.reports import files

console = shared.made_console()


@shared.takes("cluster", "matters", "level", "seed")
def score(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON, CSV, JSON lines or parquet with id and score; or a harness log."
        ),
    ],
    data: Annotated[str, typer.Option("-d", "--data", help="The data set that was scored.")],
    model: Annotated[
        str | None, typer.Option("-m", "--model", help="Name of the model; default: the file name.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "-x",
            "--measure",
            help="The measure that produced the scores, such as cps, or lmb@barikeri2021 for "
            "perplexities; default: unknown, the share of items whose stereotype scores higher.",
        ),
    ] = None,
    output: shared.Out = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    in_json: shared.InJson = False,
    by_category: shared.ByCategory = False,
    show: shared.Open = False,
    **chosen: Any,
) -> None:
    """Analyse sentence scores computed elsewhere, with the same statistics and files as `run`."""
    resampling = options.Resampling(seed=chosen["seed"], level=chosen["level"])
    least = options.matters(chosen["matters"])
    with files.target(output, shared.RESULTS, force=force, timed=NOW) as folder:
        result = external_scores.score_file(
            file,
            data,
            name=model,
            measure=measure,
            cluster=chosen["cluster"],
            resampling=resampling,
            least=least,
        )
        finish(types.Results([result]), folder, "", quiet, in_json, by_category, show)
