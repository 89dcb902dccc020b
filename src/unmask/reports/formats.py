"""Results in the forms of other tools: a model card's section, LaTeX, the hub's YAML."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from huggingface_hub import EvalResult, ModelCardData

from unmask.reports import answer_words, sentences
from unmask.reports.answer import answers
from unmask.reports.columns import RUN, UNITS, table
from unmask.reports.files import quoted
from unmask.reports.html.page import numbers
from unmask.reports.templating import rendered
from unmask.support.version import __version__
from unmask.types import Estimate, Result

TASKS = {"masked": "fill-mask", "causal": "text-generation", "permutation": "fill-mask"}


def as_markdown(results: Sequence[Result]) -> str:
    """A section for a model card: the answer in sentences, by concern, and the overall scores."""
    every = answers(results)
    models = list(dict.fromkeys(r.model for r in results))
    frame, scores = answer_words.frame(results, every), table(results)
    tables = []
    for model in models:
        mine = scores[scores.model == model]
        parts = [
            numbers(part, RUN) for _, part in mine.groupby(mine.compared.map(_head), sort=False)
        ]
        if len(frame) and (frame.model == model).any():
            concerns = answer_words.CONCERNS[:-1]  # what would settle it is for those who measure
            parts = [numbers(frame[frame.model == model], concerns), *parts]
        tables.append((model if len(models) > 1 else "", parts))
    return rendered(
        "section.md.jinja", answers=frame.attrs["sentences"], tables=tables, may=sentences.IN_SHORT
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
            "ideal": _own_ideal(result),
            "low": _rounded(unit.shown(estimate.low)),
            "high": _rounded(unit.shown(estimate.high)),
            "level": estimate.level,
            "n": estimate.n,
        },
        dataset_revision=(result.provenance.get("data") or {}).get("sha256"),
    )


def _own_ideal(result: Result) -> float | None:
    """The value without bias, as tables have it: odds as odds."""
    unit, ideal = UNITS[result.compared], result.overall.ideal
    return ideal if ideal is None or math.isnan(unit.ideal) else unit.ideal


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
    names = {"preference": "pct_stereotype", "odds": "log_odds_ratio", "index": "index"}
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


def as_csv(results: Sequence[Result]) -> str:
    """One row for each estimate, for R, Stata or a spreadsheet: names that all of them take.

    Scores as tables have them (odds as odds); `compared` says of what sort they are.
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


def _estimate_row(result: Result, category: str, what: str, estimate: Estimate) -> dict[str, Any]:
    shown = UNITS[result.compared].shown if what == "score" else float
    verdict = result.verdicts.get(category) if what == "score" else None
    return {
        "model": result.model,
        "measure": result.measure,
        "data": result.data,
        "category": category,
        "estimate": what,
        "compared": result.compared,
        "value": shown(estimate.value),
        "low": shown(estimate.low),
        "high": shown(estimate.high),
        "level": estimate.level,
        "ideal": _own_ideal(result) if what == "score" else estimate.ideal,
        "se": estimate.se,
        "df": estimate.more.get("df"),
        "p": estimate.p,
        "p_run": estimate.more.get("p_run"),
        "n": estimate.n,
        "clusters": estimate.more.get("clusters"),
        "method": estimate.method,
        "verdict": verdict.word if verdict else "",
    }


def as_items_csv(results: Sequence[Result]) -> str:
    """One row for each sentence, or word of a test, with its score: what the estimates rest on."""
    frame = pd.concat([r.items for r in results], ignore_index=True)
    return str(frame.map(quoted).to_csv(index=False))


COLOURS = {"found": "#b3450b", "cannot tell": "#5f6b7a", "not by more": "#1b6e4b"}
LETTER = 6.6  # mean width of a letter of a badge, in pixels


def as_badge(results: Sequence[Result]) -> str:
    """A badge (SVG) with the answer in three words, for a README: found, not by more, or open."""
    every = answers(results)
    found = list(dict.fromkeys(a.concern for a in every if a.is_found))
    if found:
        state, text = "found", ", ".join(found[:2]) + (" and more" if len(found) > 2 else "")
        text = f"found: {text}"
    elif every and all(a.verdict == "not by more" for a in every):
        state, text = "not by more", "none by more than matters"
    else:
        state, text = "cannot tell", "cannot tell yet"
    label = "social bias"
    widths = [round(LETTER * len(t) + 12) for t in (label, text)]
    return rendered(
        "badge.html.jinja.svg", label=label, text=text, widths=widths, colour=COLOURS[state]
    )


FORMATS: Mapping[str, Callable[[Sequence[Result]], str]] = {
    "md": as_markdown,
    "tex": as_latex,
    "hub": as_hub,
    "csv": as_csv,
    "csv-items": as_items_csv,
    "badge": as_badge,
    "lm-eval": as_lm_eval,
}
