"""The commands `cache`: what is kept for later runs."""

from typing import TYPE_CHECKING

import typer

from unmask.cli.lazy import lazy
from unmask.cli.options import made_console
from unmask.support.printable import escape

if TYPE_CHECKING:
    from unmask.models import output_cache as answers
    from unmask.support import paths
    from unmask.support import sealed_files as sealed
else:
    answers = lazy("unmask.models.output_cache")
    paths = lazy("unmask.support.paths")
    sealed = lazy("unmask.support.sealed_files")

console = made_console()
app = typer.Typer(
    help="Show or clear the cache of model outputs, model metadata and plans.",
    no_args_is_help=True,
)
MEGABYTE = 1e6


@app.command()
def info() -> None:
    """Show the cache's location, number of rows, size and size limit."""
    path = paths.cache_folder() / answers.FILE_NAME
    count = size = 0
    if path.exists():
        with answers.opened(path) as store:
            count, size = store.count(), store.size()
    summary = (
        f"{count} rows, {size / MEGABYTE:.1f} MB of at most {answers.limit() / MEGABYTE:.0f} MB"
    )
    console.print(escape(f"{path}: {summary} (UNMASK_CACHE_SIZE)"), soft_wrap=True)
    for name, description in sealed.KEPT.items():
        number, size = sealed.usage(name)
        line = f"{paths.cache_folder() / name}: {number} {description}, {size / MEGABYTE:.1f} MB"
        console.print(escape(line), soft_wrap=True)


@app.command()
def clear() -> None:
    """Delete all cached outputs, model metadata and plans; later runs recompute them."""
    size = answers.clear() + sum(sealed.removed(name) for name in sealed.KEPT)
    console.print(f"{size / MEGABYTE:.1f} MB removed")
