"""The commands `cache`: what is cached for later runs."""

import typer

from unmask.cli.options import made_console
from unmask.support import store
from unmask.support.printable import escape

console = made_console()
app = typer.Typer(
    help="Show or clear the cache: model outputs, vectors, model metadata, data sets and plans.",
    no_args_is_help=True,
)
MEGABYTE = 1e6


@app.command()
def info() -> None:
    """Show the cache's location, contents, size and size limit."""
    path = store.default_path()
    limit = f"at most {store.limit() / MEGABYTE:.0f} MB (UNMASK_CACHE_SIZE)"
    if not path.exists():
        console.print(escape(f"{path}: empty, {limit}"), soft_wrap=True)
        return
    with store.opened() as cache:
        line = f"{path}: {cache.size() / MEGABYTE:.1f} MB of {limit}"
        console.print(escape(line), soft_wrap=True)
        for name, description in store.NAMESPACES.items():
            count, size = cache.usage(name)
            console.print(f"  {count:,} {description}, {size / MEGABYTE:.1f} MB")


@app.command()
def clear() -> None:
    """Delete everything that is cached; later runs recompute it."""
    console.print(f"{store.clear() / MEGABYTE:.1f} MB removed")
