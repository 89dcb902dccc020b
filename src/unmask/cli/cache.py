"""The commands `cache`: the answers of models that are kept."""

from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from unmask.cli.lazy import lazy
from unmask.cli.options import made_console

if TYPE_CHECKING:
    from unmask.models import answer_cache as answers
    from unmask.support import paths
else:
    answers = lazy("unmask.models.answer_cache")
    paths = lazy("unmask.support.paths")

console = made_console()
app = typer.Typer(help="Answers of models that are kept for later runs.", no_args_is_help=True)
MEGABYTE = 1e6


@app.command()
def info() -> None:
    """Where the cache is, how many rows it keeps, and how large it may grow."""
    path = paths.cache_folder() / answers.FILE_NAME
    count = size = 0
    if path.exists():
        with answers.opened(path) as store:
            count, size = store.count(), store.size()
    summary = (
        f"{count} rows, {size / MEGABYTE:.1f} MB of at most {answers.limit() / MEGABYTE:.0f} MB"
    )
    console.print(escape(f"{path}: {summary} (UNMASK_CACHE_SIZE)"), soft_wrap=True)


@app.command()
def clear() -> None:
    """Forget all answers; models' answers are asked for again."""
    console.print(f"{answers.clear() / MEGABYTE:.1f} MB removed")
