"""The command `validate`: plant a known bias, and test which measures detect it."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from unmask import options
from unmask.cli import interrupts, terminal
from unmask.cli import options as shared
from unmask.errors import UnmaskError
from unmask.lab import finetune, report
from unmask.lab import grid as grids
from unmask.models.ray import connect
from unmask.reports import files
from unmask.reports.html import study_page
from unmask.support.printable import escape

console = shared.made_console()
PRINTED = ("models", "measure", "items", "verdict", "missed", "slope", "shift, 90 %", "alarms")


@shared.takes("engine", "address", "seed")
def validate(
    quick: Annotated[bool, typer.Option(help="8 small masked models: a few minutes.")] = False,
    theta: Annotated[
        list[str] | None, typer.Option(help="Planted log odds ratios, separated by commas.")
    ] = None,
    rho: Annotated[
        list[str] | None, typer.Option(help="Group frequency ratios of 1 or more, comma-separated.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Seeds (synthetic worlds) per theta and rho.")
    ] = None,
    nulls: Annotated[int | None, typer.Option(help="Additional worlds without bias.")] = None,
    first: Annotated[int | None, typer.Option(help="First seed; determines the worlds.")] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the tiny models.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Kinds of models: masked, causal.")] = None,
    tier: Annotated[
        str, typer.Option(help="tiny (trained from scratch), oracle (exact) or bundled.")
    ] = "tiny",
    measure: Annotated[
        list[str] | None, typer.Option("-x", "--measure", help="Measures; default: all.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps.")] = None,
    output: shared.Out = None,
    force: shared.Force = False,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ...")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that score models.")] = None,
    **chosen: Any,
) -> None:
    """Plant a known bias in small models, and test which measures detect it."""
    grid = _grid(
        quick,
        tier,
        {"thetas": theta, "rhos": rho},
        {"seeds": seeds, "nulls": nulls, "first": first},
        {"steps": steps, "layers": layers},
        kind,
        measure,
    )
    options.Options(engine=chosen["engine"], address=chosen["address"])
    device = grids.usable(device)
    usual = shared.RESULTS / ("validate-quick" if quick else "validate")
    with files.target(output or usual, usual, force=force) as folder:
        keeps = interrupts.telling(interrupts.MODELS_KEPT)
        on = connect.started(chosen["address"]) if chosen["engine"] == "ray" else None
        with keeps, terminal.bars(console, "") as progress:
            frames = grids.run(
                grid, folder, device=device, workers=workers, cluster=on, progress=progress
            )
        study = report.study(grid, *frames, seed=chosen["seed"])
        files.put_csv(folder / "models.csv", frames[0])
        files.put_csv(folder / "words.csv", frames[1])
        study_page.write(study, folder)
    for remark in study.remarks:
        console.print(remark, highlight=False, markup=False)
    terminal.print_frame(console, study.tables[0].frame[list(PRINTED)])
    console.print(f"Report: [bold]{escape(str(folder / 'report.html'))}[/]", soft_wrap=True)


def _grid(
    quick: bool,
    tier: str,
    planted: dict[str, list[str] | None],
    worlds: dict[str, int | None],
    training: dict[str, int | None],
    kind: list[str] | None,
    measure: list[str] | None,
) -> "grids.Grid":
    """The quick or the standard grid, with what was given in place of its own."""
    base = grids.QUICK if quick else grids.STANDARD
    settings: dict[str, Any] = {"tier": tier, "measures": tuple(shared.split(measure))}
    if tier == "bundled":
        settings |= {"training": finetune.HOW} | ({"kinds": ("masked",)} if kind is None else {})
    settings |= {k: _numbers(k[:-1], v) for k, v in planted.items() if v is not None}
    settings |= {"kinds": tuple(shared.split(kind))} if kind is not None else {}
    settings |= {k: v for k, v in worlds.items() if v is not None}
    changes = {k: v for k, v in training.items() if v is not None}
    if "layers" in changes and tier != "tiny":
        raise UnmaskError("only tiny models have layers to choose; leave --layers out.")
    settings["training"] = replace(settings.get("training", base.training), **changes)
    return replace(base, **settings)


def _numbers(name: str, values: list[str]) -> tuple[float, ...]:
    numbers = []
    for text in shared.split(values):
        try:
            numbers.append(float(text))
        except ValueError as error:
            raise UnmaskError(f"{name} is {text!r}; give numbers, such as 0,1,2.") from error
    return tuple(numbers)
