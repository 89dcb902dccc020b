"""What the terminal shows: progress, tables, cards."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from unmask.cite import bibtex
from unmask.data.cards import catalogue
from unmask.data.stimuli import groups, stimuli
from unmask.evaluate import MEASURES
from unmask.measures import Association
from unmask.models.known import KNOWN
from unmask.registry import Registry
from unmask.results import table
from unmask.types import Result, Stimuli

COARSE = 5.0  # points that a set of items should be able to resolve


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each model, counting the distinct rows that went through it."""
    bars: dict[str, object] = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as view:

        def advance(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = view.add_task(escape(what), total=total)
            view.update(bars[what], completed=done, total=total)  # type: ignore[arg-type]

        yield advance


@contextmanager
def bytes_progress(console: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar that counts bytes."""
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as view:
        bar = view.add_task("", total=None)
        yield lambda done, total: view.update(bar, completed=done, total=total or None)


def print_table(console: Console, results: Sequence[Result], by_category: bool) -> None:
    """The result tables, one for percentages and one for effect sizes, and their notes."""
    frame = table(results, by_category)
    for model, part in frame.groupby("model", sort=False):
        for tested in (False, True):
            rows = part[part.p.notna() == tested]
            if len(rows):
                console.print(_rendered(rows, str(model), tested))
    for result in results:
        _notes(console, result)


def _rendered(frame: pd.DataFrame, model: str, tested: bool) -> Table:
    """A score in bold has an interval that leaves out the ideal value."""
    ideal = "ideal 0" if tested else "ideal 50"
    title = f"{escape(model)}, {ideal}"
    view = Table(
        title=title, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0), pad_edge=False
    )
    last = ["p", "p Holm", "SE"] if tested else ["detect", "cover", "acc."]
    for head in ["measure", "data", "d" if tested else "score", "95 % interval", "n", *last]:
        named = head in {"measure", "data"}
        view.add_column(
            head, justify="left" if named else "right", no_wrap=not named, overflow="fold"
        )
    for row in frame.to_dict("records"):
        view.add_row(*_cells(row, tested))
    return view


def _cells(row: dict[str, Any], tested: bool) -> list[str]:
    digits = 2 if tested else 1
    score = f"{row['score']:.{digits}f}"
    cells = [
        escape("" if row["category"] else row["measure"]),
        escape(f"  {row['category']}" if row["category"] else row["data"]),
        score if row["low"] <= row["ideal"] <= row["high"] else f"[bold]{score}[/]",
        escape(f"[{row['low']:.{digits}f}, {row['high']:.{digits}f}]"),
        str(row["n"]),
    ]
    if tested:
        return [*cells, _p(row["p"]), _p(row["p_holm"]), f"{row['se']:.2f}"]
    # The smallest difference from 50 that these items could have shown; above 5, too few.
    least = row["detectable"]
    detect = "" if least is None or pd.isna(least) else f"{least:.1f}" + "!" * (least > COARSE)
    shares = ["" if pd.isna(row[k]) else f"{row[k]:.0f} %" for k in ("coverage", "accuracy")]
    return [*cells, detect, *shares]


def _p(value: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"


def _notes(console: Console, result: Result) -> None:
    where = f"{result.measure} on {result.data}"
    if result.measure == "scores" or result.measure.startswith("cat"):
        shown = {k: v for k, v in result.extras.items() if k.split(":")[0] in {"lms", "icat"}}
        for name, estimate in shown.items():
            if ":" in name and result.measure != "scores":
                continue
            span = f"[{estimate.low:.2f}, {estimate.high:.2f}]"
            console.print(escape(f"{where}: {name} {estimate.value:.2f} {span}"), style="dim")
    for reason, count in result.coverage["reasons"].items():
        console.print(escape(f"{where}: {count} not scored: {reason}"), style="yellow")
    for note in result.settings.get("notes", []):
        console.print(escape(f"{where}: {note}"), style="yellow")


def print_comparison(
    console: Console, frame: pd.DataFrame, changed: pd.DataFrame, top: int
) -> None:
    """Differences with their paired tests; a bold one survives Holm's correction at .05."""
    for (first, second), part in frame.groupby(["first", "second"], sort=False):
        console.print(_compared(part, f"{second} less {first}"))
    for row in frame.to_dict("records"):
        apart = row["only_first"] + row["only_second"]
        if apart:
            where = f"{row['measure']} on {row['data']}"
            console.print(
                f"{where}: {apart} items are in one run only and left out", style="yellow"
            )
    keys = ["first", "second", "measure", "data"]
    for names, items in changed.groupby(keys, sort=False):
        shown = ", ".join(f"{i} ({m:+.2f})" for i, m in items[["item", "moved"]].head(top).values)
        if shown:
            console.print(escape(f"{names[2]} on {names[3]}: most changed {shown}"), style="dim")


def _compared(frame: pd.DataFrame, title: str) -> Table:
    view = Table(
        title=escape(title), box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0),
        pad_edge=False,
    )  # fmt: skip
    equivalent = "p_equivalent" in frame
    heads = ["measure", "data", "diff.", "95 % interval", "n", "p", "p Holm"]
    for head in heads + (["p equiv."] if equivalent else []):
        named = head in {"measure", "data"}
        view.add_column(
            head, justify="left" if named else "right", no_wrap=not named, overflow="fold"
        )
    for row in frame.to_dict("records"):
        difference = f"{row['difference']:+.2f}"
        cells = [escape(row["measure"]), escape(row["data"])]
        cells += [
            f"[bold]{difference}[/]" if row["p_holm"] <= 0.05 else difference,
            escape(f"[{row['low']:.2f}, {row['high']:.2f}]"),
            str(row["n"]),
            _p(row["p"]),
            _p(row["p_holm"]),
        ]
        view.add_row(*cells, *([_p(row["p_equivalent"])] if equivalent else []))
    return view


def print_study(console: Console, study: Any, folder: Any) -> None:
    """The tables of a reproduced paper, and where its pages are."""
    for part in study.tables:
        console.print(f"\n[bold]{escape(part.title)}[/]")
        text = part.frame.round(2).to_string(index=False, na_rep="", max_colwidth=40)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for name, reason in study.skipped.items():
        console.print(escape(f"left out: {name}: {reason}"), style="yellow")
    console.print(f"\nPage: [bold]{escape(str(folder / 'index.html'))}[/]")


def _lines(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    view = Table(box=None, show_header=False, pad_edge=False)
    view.add_column(no_wrap=True, style="bold")
    view.add_column()
    for name, about in rows:
        view.add_row(escape(name), escape(about))
    console.print(view)


def measures(console: Console, name: str | None) -> None:
    """All measures, or the card of one."""
    if name is None:
        _lines(console, [(m.name, m.deviation or m.about) for m in MEASURES.values()])
        return
    row = MEASURES[name]
    facts = [
        ("measure", row.name),
        ("asks", row.about),
        ("formula", row.formula),
        ("ideal", f"{row.ideal:g}"),
        ("criticism", row.criticism),
    ]
    if isinstance(row, Association):
        facts += [("models", ", ".join(row.kinds)), ("data", "word tests")]
    else:
        facts += [("models", ", ".join(row.plans)), ("data", ", ".join(row.shapes))]
    facts += [("deviation", row.deviation)] if row.deviation else []
    _lines(console, facts)
    console.print("\n" + bibtex(row.cite), markup=False, highlight=False)


def data_sets(console: Console, name: str | None) -> None:
    """All data sets, or the card of one."""
    cards = catalogue()
    if name is None:
        _lines(console, [(c.name, f"{c.about} ({c.licence})") for c in cards.values()])
        console.print("\nWord tests:", style="bold")
        _lines(console, [(s.name, _sides(s)) for s in stimuli().values()])
        console.print("\nGroups of word tests:", style="bold")
        _lines(console, [(g, ", ".join(names)) for g, names in groups().items()])
        return
    if name in stimuli():
        _stimuli_card(console, stimuli()[name])
        return
    card = cards[name]
    facts = [("data set", card.name), ("what", card.about), ("licence", card.licence)]
    facts += [("source", card.url)] if card.url else []
    facts += [("known defects", card.defects)] if card.defects else []
    _lines(console, facts)
    console.print("\n" + bibtex(card.cite), markup=False, highlight=False)


def _sides(test: Stimuli) -> str:
    targets, attributes = (" / ".join(s) for s in (test.targets, test.attributes))
    return f"{targets} by {attributes} ({test.meta['source']})"


def _stimuli_card(console: Console, test: Stimuli) -> None:
    facts = [("word test", test.name)]
    facts += [(label, ", ".join(words)) for label, words in test.sets.items()]
    facts += [(k, str(test.meta[k])) for k in ("note", "defects", "published") if k in test.meta]
    _lines(console, facts)
    console.print("\n" + bibtex([str(test.meta["source"])]), markup=False, highlight=False)


def models(console: Console, name: str | None) -> None:
    """Models known by name; any other name is looked for on the hub."""
    known = Registry("model", KNOWN.items())
    _lines(console, list(known.items()) if name is None else [(name, known[name])])
    if name is None:
        console.print("Any other name is a folder, a GGUF file or a model of the hub.", style="dim")
