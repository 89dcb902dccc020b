"""Results in the forms of other tools: a model card's section, LaTeX, the hub's YAML."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from unmask.reports import explain
from unmask.reports.columns import RUN, UNITS, table
from unmask.reports.rendering import rendered
from unmask.reports.webpage import numbers
from unmask.types import Result

TASKS = {"masked": "fill-mask", "causal": "text-generation", "permutation": "fill-mask"}


def as_markdown(results: Sequence[Result]) -> str:
    """A section for a model card: sentences and a table."""
    parts = [numbers(part, RUN) for part in _parts(results)]
    said = [(r.title, explain.heading(r), explain.sentences(r)) for r in results]
    return rendered("section.md.jinja", said=said, tables=parts, may=explain.MAY)


def as_latex(results: Sequence[Result]) -> str:
    """Tables that stand in a LaTeX document with booktabs."""
    made = []
    for number, frame in enumerate(_parts(results)):
        shown = numbers(frame, RUN)
        made.append(rendered("run.tex.jinja", table=shown, number=number))
    return "\n".join(made)


def _parts(results: Sequence[Result]) -> list[Any]:
    frame = table(results, by_category=True)
    return [part for _, part in frame.groupby(["model", frame.compared.map(_head)], sort=False)]


def _head(compared: Any) -> str:
    return UNITS[compared].head


def as_hub(results: Sequence[Result]) -> str:
    """The model hub's `model-index`, one list for each model: value, ideal, interval and n."""
    by_model: dict[str, list[Result]] = {}
    for result in results:
        by_model.setdefault(result.model, []).append(result)
    made = [
        ModelCardData(model_name=model, eval_results=[_evaluated(r) for r in found]).to_yaml()
        for model, found in by_model.items()
    ]
    return "\n---\n".join(made)


def _evaluated(result: Result) -> EvalResult:
    found, origin = result.overall, result.provenance.get("model") or {}
    return EvalResult(
        task_type=TASKS.get(str(origin.get("kind")), "feature-extraction"),
        dataset_type=result.data,
        dataset_name=result.data,
        metric_type=result.measure,
        metric_name=f"{result.measure} ({UNITS[result.compared].name})",
        metric_value=round(found.value, 4),
        metric_args={
            "ideal": found.ideal,
            "low": _rounded(found.low),
            "high": _rounded(found.high),
            "level": found.level,
            "n": found.n,
        },
        dataset_revision=(result.provenance.get("data") or {}).get("sha256"),
    )


def _rounded(value: float) -> float | None:
    return None if value != value else round(value, 4)


FORMATS: Mapping[str, Callable[[Sequence[Result]], str]] = {
    "md": as_markdown,
    "tex": as_latex,
    "hub": as_hub,
}
