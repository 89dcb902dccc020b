"""The command `list`: measures, data and models, and their cards."""

from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.lazy import lazy
from unmask.cli.options import made_console

if TYPE_CHECKING:
    from unmask.cli import listings
else:
    listings = lazy("unmask.cli.listings")

console = made_console()


def list_(
    what: Annotated[str, typer.Argument(help="measures, data or models")],
    name: Annotated[str | None, typer.Argument(help="Show the whole card of this one.")] = None,
) -> None:
    """List measures, data or models; with a name, show its card."""
    listings.VIEWS[what](console, name)
