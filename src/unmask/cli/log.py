"""The command `log`: results to an experiment tracker."""

from typing import Annotated

import typer

from unmask.cli.options import Folder, made_console
from unmask.reports import results, tracking
from unmask.support.printable import escape

console = made_console()


def log(
    folder: Folder,
    to: Annotated[str, typer.Option(help="mlflow or wandb.")],
    project: Annotated[str, typer.Option(help="The experiment or project there.")] = "unmask",
) -> None:
    """Log results to MLflow or Weights & Biases."""
    send = tracking.TRACKERS[to]
    console.print(escape(send(list(results.load(folder)), folder, project)), soft_wrap=True)
