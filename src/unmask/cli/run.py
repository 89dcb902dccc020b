"""The command `run`: measure."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask import api, measures, options, types
from unmask.answer import answer
from unmask.cli import gate as shown_gate
from unmask.cli import interrupts, pages, terminal
from unmask.cli import options as shared
from unmask.errors import UnmaskError
from unmask.reports import files, results
from unmask.reports.figures import drawing
from unmask.studies import study_file
from unmask.studies.gate import check, formats, rules
from unmask.support.printable import escape
from unmask.support.wording import counted

console = shared.made_console()
NOW = "%Y-%m-%d-%H%M%S"  # how a folder of results is named


@shared.takes(*shared.ON_COMMAND_LINE)
def run(
    context: typer.Context,
    model: shared.Models = None,
    measure: shared.Measures = None,
    data: shared.Data = None,
    config: Annotated[
        Path | None, typer.Option("-c", "--config", help="A study in TOML; flags take precedence.")
    ] = None,
    save_config: Annotated[
        Path | None, typer.Option(help="Write this study to a file and run nothing.")
    ] = None,
    output: shared.Out = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    in_json: shared.InJson = False,
    by_category: shared.ByCategory = False,
    scale: shared.Scale = None,
    no_tokens: Annotated[
        bool, typer.Option("--no-tokens", help="Do not save token scores.")
    ] = False,
    show: shared.Open = False,
    gate: Annotated[
        Path | None,
        typer.Option(help="Rules in TOML that the results must meet; see 'unmask gate'."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="With --gate: fail if more biased than these results.")
    ] = None,
    **chosen: Any,
) -> None:
    """Measure bias in models; by default in the bundled model, with the standard suite."""
    shared.starting(console, quiet or in_json)
    study = _study(context, config)
    options.check_scale(scale)
    if baseline is not None and gate is None:
        raise UnmaskError("--baseline needs --gate; to compare two runs, use 'unmask compare'.")
    chosen_rules = None if gate is None else rules.read(gate)
    if chosen_rules is not None:  # what is wrong with them is said before anything is run
        former = check.baseline_of(chosen_rules, baseline)
    if save_config is not None:
        _save(study, save_config, force)
        return
    names = (study.models, study.measures or None, study.data or None)
    with files.target(output, shared.RESULTS, force=force, timed=NOW) as folder:
        settings = study.options
        keeps = interrupts.caching_outputs(settings["cache"], settings.get("device"), study.models)
        with keeps, terminal.progress_bars(console, quiet or in_json) as progress:
            drawing.made_ready()
            callback = terminal.result_printer(console, quiet or in_json)
            measured = api.run(*names, **settings, progress=progress, decided=callback)
        answers = answer.answers(measured)
        gate_decision = None
        if chosen_rules is not None:
            gate_decision = check.gate(measured, chosen_rules, former)
        finish(
            measured,
            folder,
            study.toml(),
            quiet,
            in_json,
            by_category,
            show,
            scale,
            answers,
            gate_decision,
        )
        if gate_decision is not None and gate_decision.status:
            raise typer.Exit(gate_decision.status)


def _study(context: typer.Context, config: Path | None) -> "study_file.StudyFile":
    """What to run: the file's study, and what was given on the command line in place of it."""
    base = study_file.read(config) if config is not None else study_file.StudyFile()
    sources = {k: context.get_parameter_source(k) for k in context.params}
    flags = {
        k: v for k, v in context.params.items() if getattr(sources[k], "name", "") != "DEFAULT"
    }
    settings = {"seed": 0, "level": 0.95, "cache": True, "keep": ("tokens",), **base.options}
    settings |= {k: v for k, v in flags.items() if k in study_file.OPTIONS}
    if "tokens" in flags:
        settings["tokens"] = shared.token_budget(flags["tokens"])
    if flags.get("no_tokens"):
        settings["keep"] = ()
    if settings.get("exclude") is not None:
        settings["exclude"] = str(settings["exclude"])
    models = shared.split(flags.get("model"), base.models or ("bundled",))
    measures_ = shared.split(flags.get("measure"), base.measures)
    data = shared.split(flags.get("data"), base.data)
    return study_file.StudyFile(tuple(models), tuple(measures_), tuple(data), settings)


def _save(study: "study_file.StudyFile", path: Path, force: bool) -> None:
    for name in study.measures:
        measures.find(name)
    if path.exists() and not force:
        raise UnmaskError(f"{str(path)!r} already exists; choose another name, or pass --force.")
    files.put(path, study.toml())
    console.print(f"Study: [bold]{escape(str(path))}[/]", soft_wrap=True)


def finish(
    measured: "types.Results",
    folder: Path,
    study: str,
    quiet: bool,
    in_json: bool,
    by_category: bool,
    show: bool = False,
    scale: str | None = None,
    answers: "Sequence[answer.Answer] | None" = None,
    gate_decision: "check.Gate | None" = None,
) -> None:
    """Save results with the study that made them, and show them as was asked; and the gate's."""
    answers = answer.answers(measured) if answers is None else answers
    results.save(measured, folder, results.command_line(), answers)
    if study:
        files.put(folder / study_file.NAME, study)
    if gate_decision is not None:
        files.put(folder / "gate.json", json.dumps(formats.record(gate_decision), indent=1))
    page = pages.write(
        pages.with_differences(measured)._replace(answer=answers), folder, show, scale
    )
    if not quiet and not in_json:
        terminal.print_results(console, measured, by_category, scale, answers)
    if in_json:
        content = json.loads((folder / results.RESULTS).read_text("utf-8"))
        gate_record = {} if gate_decision is None else {"gate": formats.record(gate_decision)}
        print(json.dumps({"folder": str(folder), **content, **gate_record}, indent=1))
    elif quiet:
        print(folder)
    else:
        console.print(f"Results and all items: [bold]{escape(str(folder))}[/]", soft_wrap=True)
        console.print(f"Report: [bold]{escape(str(page))}[/]", soft_wrap=True)
        if gate_decision is not None:
            console.print()
            shown_gate.show(gate_decision)
    if measured.lost:
        lost = measured.lost
        print(f"unmask: {counted(len(lost), 'model')} failed: {', '.join(lost)}.", file=sys.stderr)
        raise typer.Exit(1)
