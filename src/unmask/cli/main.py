"""The entry point, and the commands `list` and `cite`."""

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from unmask.cli import (
    cached,
    corpus,
    exporting,
    helping,
    interrupts,
    lab,
    looking,
    measuring,
    reporting,
    studies,
)
from unmask.cli.arguments import made_console
from unmask.cli.lazy import later
from unmask.errors import UnmaskError, UnmaskWarning

cite_ = later("unmask.reports.cite")
listing = later("unmask.cli.listing")
package = later("unmask")
files = later("unmask.reports.files")
results = later("unmask.reports.results")

app = typer.Typer(
    name="unmask",
    cls=helping.Commands,
    help="Measure social bias in language models, and say how far each number can be trusted.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(corpus.contexts_app, name="contexts")
app.add_typer(cached.app, name="cache")
app.add_typer(corpus.data_app, name="data")
app.command()(measuring.run)
app.command()(measuring.score)
studies.add_to(app)
app.command()(reporting.report)
app.command()(lab.validate)
app.command()(looking.items)
app.command()(looking.neighbours)
app.command()(looking.leaderboard)
app.command()(exporting.export)
app.command()(exporting.log)
console = made_console()
STOPPED = 130  # the exit status of a command that was interrupted


def main() -> None:
    """Entry point: a user's mistake is one sentence on stderr and exit status 2."""
    warnings.filterwarnings("ignore", module="transformers")
    warnings.showwarning = _said
    before = interrupts.on_termination()
    try:
        status = app(standalone_mode=False)
    except UnmaskError as error:
        _complain(str(error), STOPPED if isinstance(error, interrupts.Stopped) else 2)
    except OSError as error:
        _complain(f"{error.filename or 'a file'}: {error.strerror or error}; mend that and go on.")
    except (KeyboardInterrupt, typer.Abort):
        status = STOPPED
    except Exception as error:
        if not hasattr(error, "format_message"):  # not a wrong use of the command line
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # rich has drawn it already, or we do
            typer.echo(error.format_message())
            sys.exit(2)
        where = getattr(getattr(error, "ctx", None), "command_path", "unmask")
        _complain(f"{error.format_message().rstrip('.')}; see {where} --help.")
    finally:
        interrupts.as_before(before)
    if status == STOPPED:
        _complain("stopped.", STOPPED)
    sys.exit(status if isinstance(status, int) else 0)


def _said(message: object, category: type[Warning], *_: object, **__: object) -> None:
    """Our own warnings are one sentence each; those of libraries are not the user's."""
    if category is UnmaskWarning:
        Console(stderr=True).print(escape(f"unmask: {message}"), style="yellow", soft_wrap=True)


def _complain(said: str, status: int = 2) -> None:
    """One sentence on stderr, on one line, and the exit status."""
    line = files.visible(" ".join(said.split()))
    Console(stderr=True).print(f"[bold red]unmask:[/] {escape(line)}", soft_wrap=True)
    sys.exit(status)


def _version(asked: bool) -> None:
    if asked:
        print(f"unmask {package.__version__}")
        raise typer.Exit


@app.callback()
def about(
    shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Measure social bias in language models, and say how far each number can be trusted."""


@app.command(name="list")
def list_(
    what: Annotated[str, typer.Argument(help="measures, data or models")],
    name: Annotated[str | None, typer.Argument(help="One of them: its whole card.")] = None,
) -> None:
    """What there is, one line each; with a name, its card."""
    listing.VIEWS[what](console, name)


@app.command()
def cite(folder: Annotated[Path, typer.Argument(help="A folder that 'unmask run' wrote.")]) -> None:
    """BibTeX of what was run."""
    text = cite_.cited(results.load(folder))
    console.print(text, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
