"""The command `list`: measures, data and models, and their cards."""

from typing import Annotated

import typer

from unmask.cli import listings
from unmask.cli.options import made_console
from unmask.errors import UnmaskError

console = made_console()


def list_(
    what: Annotated[str, typer.Argument(help="measures, data or models")],
    name: Annotated[str | None, typer.Argument(help="Show the full card of this entry.")] = None,
    by_lab: Annotated[
        bool, typer.Option("--by-lab", help="Sort measures by lab status, best first.")
    ] = False,
) -> None:
    """List measures, data or models; with a name, show its card."""
    view = listings.VIEWS[what]
    if by_lab and what != "measures":
        raise UnmaskError(f"--by-lab sorts measures, not {what}; leave it out.")
    view(console, name, **({"by_lab": True} if by_lab else {}))
