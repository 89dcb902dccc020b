"""The command `scaling`: does bias grow with size?"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask import options
from unmask.cli import terminal
from unmask.cli.options import CsvOut, Folders, InJson, made_console, takes
from unmask.reports import files
from unmask.studies import scaling as study
from unmask.support.printable import escape

console = made_console()


@takes("level", "seed")
def scaling(
    folders: Folders,
    families: Annotated[
        Path | None,
        typer.Option(help="TOML file that groups models into families; default: by architecture."),
    ] = None,
    output: CsvOut = None,
    in_json: InJson = False,
    **chosen: Any,
) -> None:
    """Test whether bias grows with model size: the slope within families, over several runs."""
    named = None if families is None else study.read_families(families)
    result = study.scaling(folders, named, options.Resampling(**chosen))
    if in_json:
        rows = {"models": result.models, "slopes": result.slopes}
        print(json.dumps({k: json.loads(v.to_json(orient="records")) for k, v in rows.items()}))
        return
    for sentence in result.sentences:
        console.print(escape(sentence), highlight=False)
    console.print()
    table = result.models.assign(parameters=result.models.parameters / 1e6)
    table = table.rename(columns={"parameters": "million parameters"}).dropna(axis=1, how="all")
    terminal.print_frame(console, table)
    console.print(
        "Slopes are within families; p is exact, over all permutations of sizes. Scores use the "
        "items that all models share.",
        style="dim",
    )
    if output is not None:
        files.put_csv(output, result.models)
