"""Results in the forms of other tools: a model card's section, LaTeX, the hub's YAML."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from huggingface_hub import EvalResult, ModelCardData

from unmask.answer import answer_sentences
from unmask.answer.answer import answers
from unmask.answer.scales import SCALES
from unmask.reports import result_sentences
from unmask.reports.columns import BIAS_TYPES, RUN, table
from unmask.reports.files import quoted
from unmask.reports.html.page import numbers
from unmask.reports.templating import rendered
from unmask.support.printable import one_line
from unmask.support.version import __version__
from unmask.types import Estimate, Result

TASKS = {"masked": "fill-mask", "causal": "text-generation", "permutation": "fill-mask"}


def as_markdown(results: Sequence[Result]) -> str:
    """A section for a model card: the answer in sentences, by bias type, and the overall scores."""
    all_answers = answers(results)
    models = list(dict.fromkeys(r.model for r in results))
    frame, scores = answer_sentences.frame(results, all_answers), table(results)
    tables = []
    for model in models:
        rows = scores[scores.model == model]
        parts = [
            numbers(part, RUN) for _, part in rows.groupby(rows.compared.map(_head), sort=False)
        ]
        if len(frame) and (frame.model == model).any():
            parts = [numbers(frame[frame.model == model], BIAS_TYPES[:-1]), *parts]
        tables.append((model if len(models) > 1 else "", parts))
    return rendered(
        "section.md.jinja",
        answers=frame.attrs["sentences"],
        tables=tables,
        may=result_sentences.IN_SHORT,
    )


SLIM = ("measure", "data", "n", "verdict")  # and the score with its interval


def as_latex(results: Sequence[Result]) -> str:
    """A table for each kind of number, for a LaTeX document with booktabs."""
    tables = []
    columns = [c for c in RUN if callable(c.head) or c.head in SLIM]
    for number, frame in enumerate(_parts(results)):
        scale, levels = SCALES[frame.compared.iloc[0]], frame.level.dropna().unique()
        about = {
            "model": frame.model.iloc[0],
            "reads": scale.reads or "scores, each with its own ideal value",
            "level": f"{100 * levels[0]:g}",
        }
        tables.append(
            rendered("run.tex.jinja", table=numbers(frame, columns), number=number, **about)
        )
    return "\n".join(tables)


def _parts(results: Sequence[Result]) -> list[Any]:
    frame = table(results, by_category=True)
    return [part for _, part in frame.groupby(["model", frame.compared.map(_head)], sort=False)]


def _head(compared: Any) -> str:
    return SCALES[compared].head


def as_hub(results: Sequence[Result]) -> str:
    """The model hub's `model-index`, one list for each model: value, ideal, interval and n."""
    by_model: dict[str, list[Result]] = {}
    for result in results:
        by_model.setdefault(result.model, []).append(result)
    entries = [
        ModelCardData(
            model_name=one_line(model), eval_results=[_evaluated(r) for r in model_results]
        ).to_yaml()
        for model, model_results in by_model.items()
    ]
    return "\n---\n".join(entries)


def _evaluated(result: Result) -> EvalResult:
    estimate, origin = result.overall, result.provenance.get("model") or {}
    unit = SCALES[result.compared]
    return EvalResult(
        task_type=TASKS.get(str(origin.get("kind")), "feature-extraction"),
        dataset_type=one_line(result.data),
        dataset_name=one_line(result.data),
        metric_type=one_line(result.measure),
        metric_name=one_line(f"{result.measure} ({unit.unit})"),
        metric_value=round(unit.show(estimate.value), 4),
        metric_args={
            "ideal": _own_ideal(result),
            "low": _rounded(unit.show(estimate.low)),
            "high": _rounded(unit.show(estimate.high)),
            "level": estimate.level,
            "n": estimate.n,
        },
        dataset_revision=(result.provenance.get("data") or {}).get("sha256"),
    )


def _own_ideal(result: Result) -> float | None:
    """Return the value without bias as tables show it: odds as odds."""
    unit, ideal = SCALES[result.compared], result.overall.ideal
    return ideal if ideal is None or math.isnan(unit.neutral) else unit.neutral


def _rounded(value: float) -> float | None:
    return None if value != value else round(value, 4)


def as_lm_eval(results: Sequence[Result]) -> str:
    """The results file of lm-evaluation-harness, a task for each measure on data of a model.

    A preference is `pct_stereotype`, a share as its tasks of CrowS-Pairs have it; an effect size is
    `effect_size`. The interval follows them, as `_low` and `_high`.
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
        "higher_is_better": {name: {SCALES[r.compared].metric: False} for name, r in tasks.items()},
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


def _harnessed(name: str, result: Result) -> dict[str, Any]:
    estimate, scale = result.overall, SCALES[result.compared]
    metric, unit = scale.metric, 100 if scale.share else 1
    numbers_ = {
        "": estimate.value,
        "_stderr": estimate.se,
        "_low": estimate.low,
        "_high": estimate.high,
    }
    scaled = {f"{metric}{k},none": v / unit for k, v in numbers_.items() if v == v}
    return {"name": name, "alias": name, "sample_len": result.coverage.scored, **scaled}


def as_csv(results: Sequence[Result]) -> str:
    """One row for each estimate, for R, Stata or a spreadsheet; column names suit all of them.

    Scores are as in tables (odds as odds); `compared` is their scale.
    """
    rows = []
    for r in results:
        named = [("", r.overall), *r.by_category.items()]
        rows += [_estimate_row(r, category, "score", e) for category, e in named]
        rows += [
            _estimate_row(r, name.partition(":")[2], name.partition(":")[0], e)
            for name, e in r.extras.items()
        ]
    return str(pd.DataFrame(rows).map(quoted).to_csv(index=False))


def _estimate_row(result: Result, category: str, name: str, estimate: Estimate) -> dict[str, Any]:
    show = SCALES[result.compared].show if name == "score" else float
    verdict = result.verdicts.get(category) if name == "score" else None
    return {
        "model": result.model,
        "measure": result.measure,
        "data": result.data,
        "category": category,
        "estimate": name,
        "compared": result.compared,
        "value": show(estimate.value),
        "low": show(estimate.low),
        "high": show(estimate.high),
        "level": estimate.level,
        "ideal": _own_ideal(result) if name == "score" else estimate.ideal,
        "se": estimate.se,
        "df": estimate.more.get("df"),
        "p": estimate.p,
        "p_corrected": estimate.more.get("p_corrected"),
        "n": estimate.n,
        "ties": result.coverage.ties if name == "score" and not category else None,
        "clusters": estimate.more.get("clusters"),
        "method": estimate.method,
        "verdict": verdict.word if verdict else "",
    }


def as_items_csv(results: Sequence[Result]) -> str:
    """One row for each sentence, or word of a test, with its score: what the estimates rest on."""
    frame = pd.concat([r.items for r in results], ignore_index=True)
    return str(frame.map(quoted).to_csv(index=False))


FORMATS: Mapping[str, Callable[[Sequence[Result]], str]] = {
    "md": as_markdown,
    "tex": as_latex,
    "hub": as_hub,
    "csv": as_csv,
    "csv-items": as_items_csv,
    "lm-eval": as_lm_eval,
}
