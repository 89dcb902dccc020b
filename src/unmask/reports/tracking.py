"""Results to experiment trackers: a run of MLflow, a table of Weights & Biases."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.errors import UnmaskError
from unmask.reports.columns import table
from unmask.support.registry import Registry
from unmask.types import Result

_FILES = ("results.json", "items.parquet", "report.html", "study.toml")
_UNUSUAL = re.compile(r"[^\w\-. /:]")  # characters that MLflow refuses in names
COLUMNS = ("model", "measure", "data", "category", "score", "low", "high", "ideal", "n", "verdict")


def facts(results: Sequence[Result]) -> dict[str, float]:
    """Numbers of each result: `MODEL/MEASURE on DATA/score`, and `/low` and `/high`."""
    metrics: dict[str, float] = {}
    for r in results:
        # MLflow treats a name as a path, and refuses one that contains . or .. as a part.
        parts_of = [p for p in f"{r.model}/{r.title}".split("/") if p not in ("", ".", "..")]
        name = _UNUSUAL.sub("_", "/".join(parts_of))
        parts = {"score": r.overall.value, "low": r.overall.low, "high": r.overall.high}
        metrics |= {f"{name}/{k}": v for k, v in parts.items()}
    return {k: v for k, v in metrics.items() if v == v}


def to_mlflow(results: Sequence[Result], folder: Path, project: str) -> str:
    """A run of MLflow with metrics, what was measured, and the folder's files."""
    mlflow = _client("mlflow")
    if not mlflow.is_tracking_uri_set() and not os.environ.get("MLFLOW_TRACKING_URI"):
        # The default location is a database, which the light client cannot open.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        mlflow.set_tracking_uri(Path("mlruns").absolute().as_uri())
    try:
        mlflow.set_experiment(project)
        with mlflow.start_run(run_name=folder.resolve().name) as run:
            mlflow.log_metrics(facts(results))
            mlflow.log_params({k: v[:500] for k, v in _names(results).items()})
            for file in _files_in(folder):
                mlflow.log_artifact(str(file))
    except mlflow.exceptions.MlflowException as error:
        raise UnmaskError(
            f"MLflow rejected the results: {str(error).split('. ')[0][:200]}."
        ) from error
    return f"MLflow run {run.info.run_id}"


def to_wandb(results: Sequence[Result], folder: Path, project: str) -> str:
    """A run of Weights & Biases with a table of all scores by category, and their summary."""
    wandb = _client("wandb")
    frame = table(results, by_category=True)
    rows = frame[[c for c in COLUMNS if c in frame]]
    try:
        with wandb.init(project=project, name=folder.resolve().name, config=_names(results)) as run:
            run.log({"scores": wandb.Table(dataframe=rows.astype(object))})
            for name, value in facts(results).items():
                run.summary[name] = value
    except wandb.errors.Error as error:
        reason = str(error).split(". ")[0][:200].rstrip(".")
        remedy = "log in with 'wandb login', or set WANDB_MODE=offline"
        raise UnmaskError(f"Weights & Biases rejected the results: {reason}; {remedy}.") from error
    return f"Weights & Biases run {run.id}"


TRACKERS: Mapping[str, Callable[[Sequence[Result], Path, str], str]] = Registry(
    "tracker", [("mlflow", to_mlflow), ("wandb", to_wandb)]
)


def _names(results: Sequence[Result]) -> dict[str, str]:
    return {
        k: ", ".join(dict.fromkeys(str(getattr(r, k)) for r in results))
        for k in ("model", "measure", "data")
    }


def _files_in(folder: Path) -> list[Path]:
    return [folder / name for name in _FILES if (folder / name).is_file()]


def _client(name: str) -> Any:
    """The tracker's own package; without it one sentence says what to install."""
    try:
        if name == "mlflow":
            import mlflow

            return mlflow
        import wandb

        return wandb
    except ImportError as error:
        raise UnmaskError(
            f"{name} is not installed; install it with: pip install 'unmask[{name}]'."
        ) from error
