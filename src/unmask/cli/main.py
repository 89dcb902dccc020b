"""The entry point: all commands, and how their failures are shown."""

import os
import sys
import warnings
from typing import Annotated

import typer
from rich.console import Console

from unmask.cli import help, interrupts
from unmask.cli.lazy import lazy_imports
from unmask.errors import UnmaskError, UnmaskWarning
from unmask.support.printable import escape, one_line
from unmask.support.version import __version__

with lazy_imports():
    from unmask.cli.cache import app as cache
    from unmask.cli.cite import cite
    from unmask.cli.compare import compare
    from unmask.cli.contexts import app as contexts
    from unmask.cli.data import app as data
    from unmask.cli.export import export
    from unmask.cli.gate import gate
    from unmask.cli.items import items
    from unmask.cli.leaderboard import leaderboard
    from unmask.cli.list import list_
    from unmask.cli.log import log
    from unmask.cli.plan import plan
    from unmask.cli.reliability import reliability
    from unmask.cli.report import report
    from unmask.cli.reproduce import reproduce
    from unmask.cli.run import run
    from unmask.cli.scaling import scaling
    from unmask.cli.score import score
    from unmask.cli.serve import serve
    from unmask.cli.trend import trend
    from unmask.cli.validate import validate
    from unmask.cli.vary import vary

app = typer.Typer(
    name="unmask",
    cls=help.Commands,
    help="Measure social bias in language models, and report how far each number can be trusted.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group, commands in (("contexts", contexts), ("cache", cache), ("data", data)):
    app.add_typer(commands, name=group)
for command in (
    run, score, compare, gate, reproduce, vary, reliability, plan, report, validate, items,
    trend, scaling, leaderboard, serve, export, log, cite,
):  # fmt: skip
    app.command()(command)
app.command(name="list")(list_)
STOPPED = 130  # the exit status of a command that was interrupted
NO_MEMORY = (
    "not enough memory; give the process more (about 2 GB plus the model), lower --tokens, or use "
    "a smaller model."
)


def _in_utf8() -> None:
    """Restart in UTF-8 if the locale cannot decode an argument, such as a path with an umlaut.

    Under an ASCII locale such a path is decoded only partly, and no output could name it.
    """
    half_read = any("\udc80" <= c <= "\udcff" for argument in sys.argv for c in argument)
    if half_read and not sys.flags.utf8_mode:
        command = [sys.executable, "-X", "utf8", "-m", "unmask", *sys.argv[1:]]
        os.execv(sys.executable, command)


def main() -> None:
    """Entry point: a user's mistake is one sentence on stderr and exit status 2."""
    _in_utf8()
    warnings.filterwarnings("ignore", module="transformers")
    warnings.showwarning = _show_warning
    before = interrupts.on_termination()
    try:
        status = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        status = STOPPED
    except Exception as error:
        sentence = _sentence(error)
        if not sentence:
            raise
        _complain(sentence, STOPPED if isinstance(error, interrupts.Stopped) else 2)
    finally:
        interrupts.as_before(before)
    if status == STOPPED:
        _complain("stopped.", STOPPED)
    sys.exit(status if isinstance(status, int) else 0)


def _sentence(error: Exception) -> str:
    """What a user reads about an error that they can fix; empty for a defect of the program."""
    if isinstance(error, UnmaskError):
        return str(error)
    if isinstance(error, OSError):
        subject = f"{error.filename or 'a file'}: {error.strerror or error}"
        return f"{subject}; fix the problem and run the command again."
    if isinstance(error, MemoryError) or _out_of_memory(error):
        return NO_MEMORY
    if type(error).__name__ == "NoArgsIsHelpError":  # rich has drawn it already, or we do
        typer.echo(error.format_message())  # type: ignore[attr-defined]
        sys.exit(2)
    if hasattr(error, "format_message"):  # a wrong command line
        where = getattr(getattr(error, "ctx", None), "command_path", "unmask")
        text = error.format_message()
        return f"{text}{'' if text.endswith(('.', '?')) else '.'} See {where} --help."
    return ""


def _out_of_memory(error: Exception) -> bool:
    """Whether a library could not be loaded because memory is insufficient."""
    reasons = ("map segment", "allocate memory")
    return isinstance(error, ImportError) and any(reason in str(error) for reason in reasons)


def _show_warning(message: object, category: type[Warning], *_: object, **__: object) -> None:
    """Print unmask's own warnings as one sentence each, and drop those of libraries."""
    if category is UnmaskWarning:
        Console(stderr=True).print(escape(f"unmask: {message}"), style="yellow", soft_wrap=True)


def _complain(message: str, status: int = 2) -> None:
    """One sentence on stderr, on one line, and the exit status."""
    line = one_line(" ".join(message.split()))
    try:
        Console(stderr=True).print(f"[bold red]unmask:[/] {escape(line)}", soft_wrap=True)
    except MemoryError:
        print(f"unmask: {line}", file=sys.stderr)
    sys.exit(status)


def _version(value: bool) -> None:
    if value:
        print(f"unmask {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Measure social bias in language models, and report how far each number can be trusted."""


if __name__ == "__main__":
    main()
