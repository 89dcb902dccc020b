"""The command `serve`: a local page for single pairs and for browsing results."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from unmask import measures as rows
from unmask.cli import options as shared
from unmask.errors import UnmaskError
from unmask.flow import loading
from unmask.serve import pair, site
from unmask.support.printable import escape

console = shared.made_console()


def serve(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of results to list; default: those in unmask-results."),
    ] = None,
    model: Annotated[str, typer.Option("-m", "--model", help="The model to query.")] = "bundled",
    measure: shared.Measures = None,
    port: Annotated[int, typer.Option(help="Port; 0 chooses a free one.")] = 8377,
    show: shared.Open = False,
) -> None:
    """Open a local page to score single pairs with shaded tokens and to browse results."""
    measures = shared.split(measure) if measure else []
    for name in measures:
        if "pairs" not in rows.find(name).shapes:
            raise UnmaskError(f"{name} does not take a pair of sentences; give one that does: cps.")
    for folder in folders or ():
        if not (folder / "results.json").is_file():
            raise UnmaskError(f"{str(folder)!r} has no results; give folders that 'run' wrote.")
    loading.kind(model)  # a name that is none is refused now
    if not 0 <= port <= 65535:
        raise UnmaskError(f"--port is {port}; give a number from 0 to 65535.")
    listed = folders or sorted(shared.RESULTS.glob("*"), reverse=True)
    app = site.Site(pair.Scorer(model, measures), listed)
    try:
        server = site.server(app, port)
    except OSError as error:
        raise UnmaskError(
            f"port {port} cannot be used ({error.strerror}); give another one with --port."
        ) from error
    address = f"http://{site.HOST}:{server.server_address[1]}/?key={app.secret}"
    console.print(f"Local page: [bold]{escape(address)}[/] (press Ctrl-C to stop)", soft_wrap=True)
    if show:
        webbrowser.open(address)
    with server:
        server.serve_forever()
