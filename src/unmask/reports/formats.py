"""Results in the forms of other tools: a model card's section, LaTeX, the hub's YAML."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from unmask.reports import answer_words, sentences
from unmask.reports.columns import RUN, UNITS, table
from unmask.reports.html.page import numbers
from unmask.reports.templating import rendered
from unmask.support.version import __version__
from unmask.types import Result

TASKS = {"masked": "fill-mask", "causal": "text-generation", "permutation": "fill-mask"}


def as_markdown(results: Sequence[Result]) -> str:
    """A section for a model card: sentences and a table."""
    parts = [numbers(part, RUN) for part in _parts(results)]
    several = len({r.model for r in results}) > 1
    findings = [
        (
            f"{r.title}, {r.model}" if several else r.title,
            sentences.heading(r),
            sentences.sentences(r),
        )
        for r in results
    ]
    named = [part.model.iloc[0] if several else "" for part in _parts(results)]
    return rendered(
        "section.md.jinja",
        answers=answer_words.sentences(results),
        said=findings,
        tables=list(zip(named, parts, strict=True)),
        may=sentences.MAY,
    )


def as_latex(results: Sequence[Result]) -> str:
    """Tables that stand in a LaTeX document with booktabs."""
    tables = []
    several = len({r.model for r in results}) > 1
    for number, frame in enumerate(_parts(results)):
        shown, model = numbers(frame, RUN), frame.model.iloc[0] if several else ""
        tables.append(rendered("run.tex.jinja", table=shown, number=number, model=model))
    return "\n".join(tables)


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
    entries = [
        ModelCardData(model_name=model, eval_results=[_evaluated(r) for r in some]).to_yaml()
        for model, some in by_model.items()
    ]
    return "\n---\n".join(entries)


def _evaluated(result: Result) -> EvalResult:
    estimate, origin = result.overall, result.provenance.get("model") or {}
    unit = UNITS[result.compared]
    return EvalResult(
        task_type=TASKS.get(str(origin.get("kind")), "feature-extraction"),
        dataset_type=result.data,
        dataset_name=result.data,
        metric_type=result.measure,
        metric_name=f"{result.measure} ({unit.name})",
        metric_value=round(unit.shown(estimate.value), 4),
        metric_args={
            "ideal": unit.ideal if estimate.ideal is not None else None,
            "low": _rounded(unit.shown(estimate.low)),
            "high": _rounded(unit.shown(estimate.high)),
            "level": estimate.level,
            "n": estimate.n,
        },
        dataset_revision=(result.provenance.get("data") or {}).get("sha256"),
    )


def _rounded(value: float) -> float | None:
    return None if value != value else round(value, 4)


def as_lm_eval(results: Sequence[Result]) -> str:
    """The results file of lm-evaluation-harness, a task for each measure on data of a model.

    A preference is `pct_stereotype`, a share as its tasks of CrowS-Pairs have it; an effect size is
    `effect_size`. The interval stands beside them, as `_low` and `_high`.
    """
    models = list(dict.fromkeys(r.model for r in results))
    tasks = {
        f"unmask_{r.measure}_{r.data}" + (f"_{r.model}" if len(models) > 1 else ""): r
        for r in results
    }
    content = {
        "results": {name: _harnessed(name, r) for name, r in tasks.items()},
        "group_subtasks": {},
        "configs": {n: {"task": n, "dataset_path": r.data} for n, r in tasks.items()},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {_metric(r): False} for name, r in tasks.items()},
        "n-samples": {
            name: {"original": r.coverage.items, "effective": r.coverage.scored}
            for name, r in tasks.items()
        },
        "config": {"model": "unmask", "model_args": {"pretrained": ",".join(models)}},
        "model_source": "unmask",
        "model_name": ",".join(models),
        "date": datetime.now(UTC).timestamp(),
        "unmask_version": __version__,
    }
    return json.dumps(content, indent=2)


def _metric(result: Result) -> str:
    names = {"preference": "pct_stereotype", "odds": "log_odds_ratio"}
    return names.get(result.compared, "effect_size")


def _harnessed(name: str, result: Result) -> dict[str, Any]:
    estimate, metric = result.overall, _metric(result)
    unit = 100 if result.compared == "preference" else 1
    numbers_ = {
        "": estimate.value,
        "_stderr": estimate.se,
        "_low": estimate.low,
        "_high": estimate.high,
    }
    scaled = {f"{metric}{k},none": v / unit for k, v in numbers_.items() if v == v}
    return {"name": name, "alias": name, "sample_len": result.coverage.scored, **scaled}


FORMATS: Mapping[str, Callable[[Sequence[Result]], str]] = {
    "md": as_markdown,
    "tex": as_latex,
    "hub": as_hub,
    "lm-eval": as_lm_eval,
}
