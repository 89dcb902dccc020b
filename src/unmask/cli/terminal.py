"""Terminal output: progress, result tables, notes."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box, markup
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from unmask.answer import answer_sentences
from unmask.answer.answer import ABILITY, Answer
from unmask.answer.scales import SCALES
from unmask.cli.tables import as_lines, fits, fitted
from unmask.data.check.file import CheckedFile
from unmask.reports import difference_words
from unmask.reports.columns import (
    BIAS_TYPES,
    COMPARISON,
    RUN,
    Cell,
    Column,
    laid_out,
    missing,
    plain,
    table,
)
from unmask.reports.html.study_page import Study
from unmask.reports.progress_bars import bars as bars
from unmask.support.printable import escape
from unmask.support.wording import counted
from unmask.types import Result, Results


def progress_bars(console: Console, silent: bool) -> Any:
    """Return progress bars, or nothing if only results may be printed."""
    return nullcontext(lambda what, done, total: None) if silent else bars(console)


@contextmanager
def bytes_progress(console: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar that counts bytes."""
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as view:
        bar = view.add_task("", total=None)
        yield lambda done, total: view.update(bar, completed=done, total=total or None)


def result_printer(console: Console, silent: bool) -> Callable[[Result], None]:
    """Return a function that prints each result when it is ready; it does nothing if `silent`."""
    names: set[str] = set()

    def show(result: Result) -> None:
        if result.model not in names:
            names.add(result.model)
            text = f"{result.model}: scores so far. Verdicts follow at the end."
            console.print(escape(text), style="dim", highlight=False)
        unit, estimate = SCALES[result.compared], result.overall
        bounds = f"[{unit.text(estimate.low)}, {unit.text(estimate.high)}]"
        interval = "" if missing(estimate.low) else f" {bounds}"
        line = f"  {result.title}: {unit.head} {unit.text(estimate.value)}{interval}"
        console.print(escape(line), style="dim", highlight=False)

    return (lambda result: None) if silent else show


def print_results(
    console: Console,
    results: Results,
    by_category: bool,
    scale: str | None = None,
    answer: Sequence[Answer] | None = None,
) -> None:
    """The answer by bias type first; then a table for each model and unit, and the notes."""
    print_answer(console, answer_sentences.frame(results, answer))
    frame = table(results, by_category, scale)
    frame["unit"] = frame.compared.map(lambda compared: SCALES[compared].head)
    for (model, _), part in frame.groupby(["model", "unit"], sort=False):
        ideal = SCALES[part.compared.iloc[0]].neutral
        _print_table(
            console, part, RUN, model if math.isnan(ideal) else f"{model}, ideal {ideal:g}"
        )
    several = len({r.model for r in results}) > 1
    for result in results:
        _print_notes(console, result, f"{result.title}, {result.model}" if several else "")
    for note in results.notes:
        console.print(escape(note), style="yellow")


def print_answer(console: Console, answer: pd.DataFrame) -> None:
    """Print the answer in sentences and as a table; nothing if there is no bias type."""
    sentences: Mapping[str, str] = answer.attrs["sentences"]
    for model, text in sentences.items():
        console.print(f"[bold]{escape(model)}[/]: {escape(text)}", highlight=False)
        console.print()
        rows = answer[answer.model == model]
        hidden = _print_table(console, rows, BIAS_TYPES, model, below=("needed to decide",))
        _print_beside(console, rows, "needed to decide" in hidden)


def _print_beside(console: Console, answer: pd.DataFrame, needed: bool) -> None:
    """The clearest examples, why a verdict differs from its interval, and what is `needed`."""
    for row in answer.to_dict("records"):
        reasons = [row["contradiction"]] if row["contradiction"] else []
        if needed and row["needed"]:
            head = "" if row["needed"] == ABILITY else "needed to decide: "
            reasons.append(head + row["needed"])
        if reasons:
            line = f"{row['bias_type']}: {'; '.join(reasons)}"
            style = "yellow" if row["contradiction"] else "dim"
            console.print(escape(line), style=style, highlight=False)
        if row["clearest"]:
            console.print(escape(f"Clearest {row['bias_type']} examples:"), highlight=False)
        for text in row["clearest"]:
            console.print(f"  {escape(text)}", style="dim", highlight=False)
    console.print()


def _print_table(
    console: Console,
    frame: pd.DataFrame,
    columns: Iterable[Column],
    title: str,
    below: Sequence[str] = (),
) -> list[str]:
    """A table as wide as the terminal; returns the heads of the columns that had no room.

    The caller prints the columns `below` itself.
    """
    layout = laid_out(frame, columns)
    heads, rows, gone = fitted(*layout, console.width)
    if not fits(heads, rows, console.width):
        _print_lines_of(console, *layout, title)
        return []
    console.print(_drawn(heads, rows, title))
    if hidden := [head for head in gone if head not in below]:
        text = f"Hidden columns: {', '.join(hidden)}. Widen the terminal to see them."
        console.print(escape(text), style="dim")
    console.print()
    return gone


def _print_lines_of(
    console: Console, heads: Sequence[Cell], rows: Sequence[Sequence[Cell]], title: str
) -> None:
    """A table on a terminal that is too narrow for it: a paragraph for each row."""
    console.print(escape(title), style="italic", highlight=False)
    for name, cells in as_lines(heads, rows):
        console.print(f"[bold]{escape(name)}[/]: {escape(cells)}", highlight=False)
    console.print()


def _drawn(heads: Sequence[Cell], rows: Sequence[Sequence[Cell]], title: str) -> Table:
    view = Table(
        title=escape(title),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        padding=(0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for head in heads:
        side = "left" if head.left else "right"
        view.add_column(head.text, justify=side, no_wrap=True, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        view.add_row(*map(_styled, row))
    return view


def _styled(cell: Cell) -> str:
    style = "bold" if cell.strong else "bright_black" if cell.faint else ""
    text = markup.escape(cell.text)  # in lines, which `laid_out` has made safe
    return f"[{style}]{text}[/]" if style else text


def _print_notes(console: Console, result: Result, title: str) -> None:
    title = title or result.title
    for name in result.shown:
        estimate = result.extras[name]
        span = "" if math.isnan(estimate.low) else f" [{estimate.low:.2f}, {estimate.high:.2f}]"
        console.print(escape(f"{title}: {name} {estimate.value:.2f}{span}"), style="dim")
    for reason, count in result.coverage.reasons.items():
        console.print(escape(f"{title}: {count} not scored: {reason}"), style="yellow")
    for note in result.notes:
        console.print(escape(f"{title}: {note}"), style="yellow")


def print_differences(console: Console, frame: pd.DataFrame, bias_types: pd.DataFrame) -> None:
    """Print the differences in sentences, then by bias type with their main evidence."""
    for text in difference_words.summary(frame, bias_types):
        console.print(escape(text), highlight=False)
    console.print()
    leads = (
        []
        if bias_types.empty
        else bias_types[bias_types.main].groupby(["first", "second"], sort=False)
    )
    for (first, second), part in leads:
        _print_table(console, part, difference_words.BIAS_TYPES, f"{second} compared with {first}")


def print_comparison(
    console: Console, frame: pd.DataFrame, changed: pd.DataFrame, top: int
) -> None:
    """Print the paired tests (bold: significant after Holm's correction) and what changed."""
    for (first, second), part in frame.groupby(["first", "second"], sort=False):
        _print_table(console, part, COMPARISON, f"{second} minus {first}")
    for row in frame.to_dict("records"):
        if not missing(row.get("lms")):
            span = f"[{row['lms_low']:.2f}, {row['lms_high']:.2f}]"
            line = f"{row['measure']} on {row['data']}: lms {row['lms']:+.2f} {span}"
            if not row["only_first"] + row["only_second"]:  # icat is of all items of a run
                line += f", icat {row.get('icat', math.nan):+.2f}"
            console.print(escape(line), style="dim")
        if row["borderline"]:
            line = (
                f"{row['measure']} on {row['data']}: p and the interval disagree about significance"
            )
            console.print(escape(f"{line} (borderline)"), style="yellow")
        unshared = row["only_first"] + row["only_second"]
        if unshared:
            items = counted(unshared, "item that is", "items that are")
            line = f"{row['measure']} on {row['data']}: excluded {items} in only"
            console.print(escape(f"{line} one run"), style="yellow")
    keys = ["first", "second", "measure", "data"]
    for names, items in changed[changed.moved != 0].groupby(keys, sort=False):
        part = items.head(top).to_dict("records")
        if part:
            words = missing(part[0].get("stereotype"))
            noun = "words that changed most" if words else "items that changed"
            console.print(escape(f"{names[2]} on {names[3]}, {noun}:"))
        for row in part:
            kind = "" if missing(row.get("category")) else f"  {row['category']}"
            about = f"  {row['moved']:+.2f}{kind}  {_difference(row)}"
            console.print(escape(about), style="dim", soft_wrap=True, highlight=False)


def _difference(row: Mapping[str, Any]) -> str:
    """Merge an item's sentences into one, with differences as {stereotype | antistereotype}."""
    pro, anti = row.get("stereotype"), row.get("antistereotype")
    if not isinstance(pro, str) or not isinstance(anti, str):
        return str(row["item"])
    return answer_sentences.differing(pro, anti)


STATES = {"good": ("ok", "green"), "note": ("note", "yellow"), "problem": ("PROBLEM", "bold red")}


def print_findings(console: Console, checked: CheckedFile) -> None:
    """Print the findings about a user's file, a sentence each, with advice."""
    view = Table.grid(padding=(0, 2), pad_edge=False)
    view.add_column(no_wrap=True)
    view.add_column(no_wrap=True, style="bold")
    view.add_column(overflow="fold")
    for finding in checked.findings:
        word, style = STATES[finding.state]
        advice = f"\n[dim]-> {escape(finding.advice)}[/]" if finding.advice else ""
        view.add_row(f"[{style}]{word}[/]", finding.about, escape(finding.text) + advice)
    console.print(view, highlight=False)


def print_influences(console: Console, frame: pd.DataFrame) -> None:
    """Items with their influence, one per line."""
    for row in frame.to_dict("records"):
        sentence = row.get("sentence")
        label = f"{row['item']}: {sentence}" if isinstance(sentence, str) else _difference(row)
        line = f"  {row['influence']:+.2f}  {row['category']}  {label}"
        console.print(escape(line), soft_wrap=True, highlight=False)


def print_study(console: Console, study: Study, folder: Path) -> None:
    """The tables of a reproduced paper, and where its pages are."""
    for part in study.tables:
        print_frame(console, part.frame, part.title)
    for name, reason in study.skipped.items():
        console.print(escape(f"left out: {name}: {reason}"), style="yellow")
    console.print(f"\nReport: [bold]{escape(str(folder / 'report.html'))}[/]")


def print_frame(console: Console, frame: pd.DataFrame, title: str = "") -> None:
    """Print a frame as a table."""
    _print_table(console, frame, plain(frame), title)


def print_lines(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    """Names in bold, with what they are."""
    view = Table(box=None, show_header=False, pad_edge=False)
    view.add_column(no_wrap=True, style="bold")
    view.add_column()
    for name, about in rows:
        view.add_row(escape(name), escape(about))
    console.print(view)
