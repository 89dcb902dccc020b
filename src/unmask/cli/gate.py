"""The command `gate`: check results against rules."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from unmask.cli import options as shared
from unmask.reports import files
from unmask.studies.gate import check, decide, formats
from unmask.support.printable import escape

console = shared.made_console()
Rules = Annotated[
    Path | None,
    typer.Option(help="A file of rules in TOML. Default: no bias type has more than a small bias."),
]
Baseline = Annotated[
    Path | None, typer.Option(help="Fail if this model is more biased than these results.")
]
JUnit = Annotated[Path | None, typer.Option("--junit", help="Also write JUnit XML here.")]
Summary = Annotated[
    Path | None,
    typer.Option(help="Also append Markdown to this file, such as a pipeline's summary."),
]


def gate(
    folders: shared.Folders,
    rules: Rules = None,
    baseline: Baseline = None,
    junit: JUnit = None,
    summary: Summary = None,
    in_json: shared.InJson = False,
) -> None:
    """Check results against rules: exit 0 if all hold, 1 if one fails, 3 if inconclusive."""
    decided = check.gate(folders, rules, baseline)
    if junit is not None:
        files.put(junit, formats.junit(decided))
    if summary is not None:
        files.add(summary, formats.summary(decided))
    if in_json:
        print(json.dumps(formats.record(decided), indent=1))
    else:
        show(decided)
    if decided.status:
        raise typer.Exit(decided.status)


def show(decided: "check.Gate") -> None:
    """Print the decision in a sentence, then each rule with its state and reason."""
    console.print(f"[bold]{formats.SENTENCES[decided.state]}[/]", highlight=False)
    for model in dict.fromkeys(o.model for o in decided.outcomes):
        view = Table.grid(padding=(0, 2), pad_edge=False)
        view.add_column(style="bold", no_wrap=True)
        view.add_column(overflow="fold")
        for outcome in decided.outcomes:
            if outcome.model == model:
                about = f"[bold]{escape(outcome.rule.name)}[/]\n{escape(outcome.reason)}"
                about += f"\n[dim]{escape(formats.counted_items(outcome))}[/]"
                view.add_row(formats.MARKS[outcome.state], about + _counts_as(outcome))
        console.print(escape(model), highlight=False)
        console.print(view, highlight=False)
    for remark in formats.remarks(decided):
        console.print(escape(remark), style="dim", highlight=False)


def _counts_as(outcome: "decide.Outcome") -> str:
    counts = outcome.counts_as
    return "" if counts == outcome.state else f"\nThe rule counts this as {counts}."
