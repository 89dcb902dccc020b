"""The command `compare`: two or more runs on the same items."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask import options
from unmask.answer import scales
from unmask.cli import options as shared
from unmask.cli import pages, terminal
from unmask.errors import UnmaskError
from unmask.reports import difference_words, files, results
from unmask.studies import compare as comparison
from unmask.support.printable import escape

console = shared.made_console()
FAIL_ON = ("different", "worse")


@shared.takes("level", "seed")
def compare(
    folders: shared.Folders,
    margin: Annotated[
        str | None,
        typer.Option(
            help="Test equivalence within this margin: percentage points, d or both (3,0.2d)."
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="How many changed items to show.")] = 5,
    output: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for the HTML report and CSV files.")
    ] = None,
    force: shared.Force = False,
    in_json: shared.InJson = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if any difference is shown ('different'), or if a later run is "
            "further from fair for any bias type ('worse'). For rules with margins, use 'gate'."
        ),
    ] = None,
    **resampling_options: Any,
) -> None:
    """Compare two or more runs on the same items: paired differences, tests, changed items."""
    if top < 0:
        raise UnmaskError(f"--top is {top}; give a whole number of at least 0.")
    resampling = options.Resampling(**resampling_options)
    loaded = results.gather(folders)
    if fail_on is not None and fail_on not in FAIL_ON:
        raise UnmaskError(f"--fail-on is {fail_on!r}; give one of: {', '.join(FAIL_ON)}.")
    frame, changed = comparison.compare(loaded, margin=margin, resampling=resampling)
    bias_types = pages.by_bias_type(loaded, resampling)
    if len(loaded.models) > pages.MODELS_BY_BIAS_TYPE and not in_json:
        console.print(
            f"Only overall scores are compared: comparison by bias type takes at most "
            f"{pages.MODELS_BY_BIAS_TYPE} models, and {len(loaded.models)} were given.",
            style="yellow",
        )
    if in_json:
        print(json.dumps(_record(frame, bias_types), indent=1))
    else:
        terminal.print_differences(console, frame, bias_types)
        terminal.print_comparison(console, frame, changed, top)
    if output is not None:
        with files.target(output, output, force=force):
            files.put_csv(output / "comparison.csv", frame)
            files.put_csv(output / "changed.csv", changed)
            path = pages.write(pages.of_comparison(loaded, frame, bias_types), output)
        if not in_json:
            console.print(f"Report: [bold]{escape(str(path))}[/]", soft_wrap=True)
    if fail_on is not None and _fails(fail_on, frame, bias_types):
        raise typer.Exit(1)


def _record(frame: "files.Frame", bias_types: "files.Frame") -> dict[str, Any]:
    """A comparison as plain values."""
    sentences = difference_words.summary(frame, bias_types)
    return {
        "sentences": sentences,
        "bias_types": results.records(_as_read(bias_types)),
        "differences": results.records(_as_read(frame)),
    }


def _as_read(frame: "files.Frame") -> "files.Frame":
    """Odds as odds, and their difference as a factor; the rest as it is."""
    columns = frame.drop(columns=["bias", "both_sure"], errors="ignore").copy()
    if "compared" in columns:
        odds = columns.compared.map(lambda c: scales.SCALES[c].is_factor).astype(bool)
        for name in ("a", "b", "difference", "low", "high"):
            columns.loc[odds, name] = columns.loc[odds, name].map(math.exp)
    return columns


def _fails(fail_on: str, frame: "files.Frame", bias_types: "files.Frame") -> bool:
    """Whether there is what was asked to fail on, after Holm's correction."""
    level = 1 - frame.level.iloc[0]
    if fail_on == "worse" and bias_types.empty:
        raise UnmaskError(
            "--fail-on worse needs at least one bias type that all runs share, and at most "
            f"{pages.MODELS_BY_BIAS_TYPE} runs; use the same data for all of them."
        )
    if fail_on == "worse":
        return bool(bias_types.verdict.isin(difference_words.WORSE).any())
    by_bias_type = not bias_types.empty and bool((bias_types.p_holm <= level).any())
    return by_bias_type or bool((frame.p_holm <= level).any())
