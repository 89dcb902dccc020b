"""Unmasking the Mask (Kaneko and Bollegala 2022): Tables 1 to 5 and Figure 1."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.data import catalogue, controls
from unmask.data.packaged import published
from unmask.flow.evaluate import evaluate
from unmask.measures import LIKELIHOOD, Likelihood, plans
from unmask.models.protocol import Model
from unmask.options import Spec
from unmask.reports.figures import study_charts
from unmask.reports.figures.drawing import Figure
from unmask.reports.html.study_page import Study, Table
from unmask.stats.agreement import auc, auc_difference, rank_agreement, roc
from unmask.studies.papers import claims
from unmask.studies.papers import kaneko2022_tables as tables
from unmask.studies.papers.kaneko2022_claims import CLAIMS
from unmask.studies.papers.kaneko2022_tables import ALL_PLACES, MAJORITY, SHUFFLED, WHOLE
from unmask.studies.papers.paper_table import Found, by_tags, deviation, frame, reported
from unmask.studies.papers.request import Request
from unmask.types import UNRELATED, Contrast, Dataset

ASKED = {
    "crows-pairs": ["cps", "cps@kaneko2022", "sss", "aul", "aula", ALL_PLACES, SHUFFLED],
    "crows-pairs:direction": ["all-masked", "aul", "aula"],
    "crows-pairs:shuffled": [ALL_PLACES],
    "stereoset": ["sss", "sss@kaneko2022", WHOLE, "aul", "aula", ALL_PLACES, SHUFFLED],
    "stereoset:shuffled": [ALL_PLACES],
    "stereoset:unrelated": [ALL_PLACES],
}
# A causal model hides nothing but what comes later: one measure replaces all of them.
CAUSAL = {name: ["ll"] for name in ASKED}


def _row(name: str, like: str, plan: plans.Plan, **changes: Any) -> Likelihood:
    base = LIKELIHOOD[like]
    return replace(base, name=name, plans=dict.fromkeys(base.plans, plan), **changes)


# The release's accuracy of AUL counts the special tokens; the paper shuffles tokens, not words,
# and hides the whole candidate of StereoSet.
OWN = {
    ALL_PLACES: _row(ALL_PLACES, "aul", plans.every_place),
    SHUFFLED: _row(SHUFFLED, "aul", plans.shuffled),
    WHOLE: _row(WHOLE, "sss", plans.all_fill, needs=("fill",)),
}


def _sample(data: Dataset, quick: bool) -> Dataset:
    """Every tenth item for a quick look."""
    return replace(data, items=data.items[::10]) if quick else data


def _pairs(data: Dataset) -> Dataset:
    """Stereotype and anti-stereotype only: the tables count no token of the unrelated sentence."""

    def pair(item: Contrast) -> Contrast:
        return replace(item, texts={k: t for k, t in item.texts.items() if k != UNRELATED})

    return replace(data, shape="pairs", items=tuple(map(pair, data.items)))


def _unrelated(data: Dataset) -> Dataset:
    """The unrelated sentence alone, under both labels: only its tokens are looked at."""

    def alone(item: Contrast) -> Contrast:
        labels = [k for k in item.texts if k != UNRELATED]
        return replace(item, texts=dict.fromkeys(labels, item.texts[UNRELATED]))

    name = f"{data.name}:unrelated"
    return replace(data, name=name, shape="pairs", items=tuple(map(alone, data.items)))


def specs(models: Sequence[Model], quick: bool) -> list[Spec]:
    """Each measure of the tables on its data, for each model."""
    crows, triplets = (_sample(catalogue.sentences(n), quick) for n in ("crows-pairs", "stereoset"))
    pairs = _pairs(triplets)
    sets = {
        "crows-pairs": crows,
        "crows-pairs:direction": controls.controlled(crows, "direction"),
        "crows-pairs:shuffled": controls.controlled(crows, "shuffled"),
        "stereoset": pairs,
        "stereoset:shuffled": controls.controlled(pairs, "shuffled"),
        "stereoset:unrelated": _unrelated(triplets),
    }
    return [
        Spec(model, OWN.get(m, m), sets[d], tags={"model": model.name, "measure": m, "data": d})
        for model in models
        for d, names in (CAUSAL if model.kind == "causal" else ASKED).items()
        for m in names
    ]


def run(models: Sequence[Model], request: Request) -> Study:
    """All tables for the given loaded models; a corpus gives Table 2 its counts."""
    values, comparable = published("kaneko2022"), not request.quick
    to_measure = specs(models, request.quick) if models else []
    skipped, failed = reported("model", "measure", "data")
    evaluated = evaluate(to_measure, replace(request.options, keep=("tokens",)), failed)
    results = by_tags(evaluated, "model", "measure", "data")
    names = [m.name for m in models]
    counts = tables.counted(request.corpus)
    pairs = next((s.data for s in to_measure if s.tags["data"] == "crows-pairs"), None)
    agreement = {i.id: i.meta["agreement"] for i in pairs.items} if pairs else {}
    run = tables.KanekoRun(names, results, values, comparable, agreement, counts)
    study_tables = [
        *([claims.table(CLAIMS, run, names)] if models else []),
        *tables.table1(run),
        *tables.table1_candidates(run),
        *tables.table2(counts, values),
        *tables.table3(run),
        *tables.table4(run),
        *tables.table5(run),
    ]
    figures = []
    if pairs is not None and any(key[2] == "crows-pairs" for key in results):
        roc_table, figure = _roc(names, results, pairs)
        study_tables += [*_explain(names, results), roc_table, _graded(names, results, pairs)]
        figures.append(figure)
    remarks = _remarks(request.quick) + _causal_remark(models)
    title = "Unmasking the Mask (kaneko2022)"
    return Study(title, study_tables, figures, remarks, skipped, evaluated)


def _remarks(quick: bool) -> list[str]:
    if quick:
        return [
            "50 is ideal for bias scores.",
            "A quick run: every tenth item only, so agreement with the published values, which "
            "are for all items, is not assessed.",
        ]
    return [
        "50 is ideal for bias scores. 'inside' means that the published value lies in our interval."
    ]


def _causal_remark(models: Sequence[Model]) -> list[str]:
    named = [m.name for m in models if m.kind == "causal"]
    if not named:
        return []
    return [f"{', '.join(named)}: a causal model, for which 'll' replaces every measure."]


def _explain(models: Sequence[str], results: Found) -> list[Table]:
    """What each deviation of the released code does to the score, on this model."""
    rows = []
    pairs = (("cps", "cps@kaneko2022", "crows-pairs"), ("sss", "sss@kaneko2022", "stereoset"))
    for model in models:
        for plain, variant, data in pairs:
            if not {(model, plain, data), (model, variant, data)} <= {*results}:
                continue  # a causal model has no variants of these
            pair = results[model, plain, data], results[model, variant, data]
            rows.append(deviation(*pair, {"model": model}))
    title = "Differences between the released code and the paper"
    return [Table("variants", title, pd.DataFrame(rows))] if rows else []


def _margins(results: Found, model: str) -> pd.DataFrame:
    """The margins of a model by measure, over the items that all its measures score."""
    margins = {}
    for m in ("cps", "sss", "aul", "aula", "ll"):
        if (model, m, "crows-pairs") in results:
            margins[m] = Items(results[model, m, "crows-pairs"]).margins()
    return pd.DataFrame(margins).dropna()


def _graded(models: Sequence[str], results: Found, data: Dataset) -> Table:
    """Rank correlations with how many annotators agree, and AULA's less AUL's."""
    items = {i.id: i for i in data.items}
    rows = []
    for model in models:
        margins = _margins(results, model)
        ratings = np.array([float(items[i].meta["agreement"]) for i in margins.index])
        writers = [items[i].cluster for i in margins.index]
        agreement = partial(rank_agreement, ratings, clusters=writers)
        columns = {m: margins[m].to_numpy(float) for m in margins}
        estimates = {m: agreement(scores=v) for m, v in columns.items()}
        if {"aul", "aula"} <= {*columns}:
            estimates["aula less aul"] = agreement(scores=columns["aula"], beside=columns["aul"])
        rows += [
            {"model": model, "measure": m, "rank r": e.value, "low": e.low, "high": e.high}
            | {"p": e.p, "n": e.n}
            for m, e in estimates.items()
        ]
    note = (
        "Spearman's correlation of a measure's margin with the number of annotators, of five, who "
        "chose the item's bias type; the interval is over writers. The paper splits them into two "
        "classes (Figure 1). 0 means no relation to what people find biased."
    )
    title = "Beyond the paper: agreement with graded ratings"
    return Table("agreement", title, frame(rows), note)


def _roc(models: Sequence[str], results: Found, data: Dataset) -> tuple[Table, Figure]:
    rows, curves = [], {}
    items = {i.id: i for i in data.items}
    for model in models:
        margins = _margins(results, model)
        labels = np.array([float(items[i].meta["agreement"] >= MAJORITY) for i in margins.index])
        writers = [items[i].cluster for i in margins.index]
        for m in margins:
            values = margins[m].to_numpy(float)
            area = auc(labels, values, writers)
            line = {"model": model, "measure": m, "AUC": area.value}
            line |= {"low": area.low, "high": area.high, "n": area.n}
            if "cps" in margins and m != "cps":
                gap = auc_difference(labels, margins.cps.to_numpy(float), values, writers)
                line |= {"minus cps": gap.value, "p": gap.p}
            rows.append(line)
            curves[model, m] = (roc(labels, values), area)

    points = pd.concat(
        [
            pd.DataFrame(area[0])[["false", "true"]].assign(
                curve=f"{key[0]}, {key[1]}: {area[1].value:.3f}"
            )
            for key, area in curves.items()
        ],
        ignore_index=True,
    )
    few = int(len(labels) - labels.sum())
    note = (
        f"Label: at least {MAJORITY} of 5 annotators chose the item's bias type. With the writer "
        f"as a sixth, this is the paper's 'more than three of six'. {few} of {len(labels)} items "
        "are below it. 0.5 is chance. The paper gives its curves as a picture only."
    )
    title = "Figure 1: agreement with people (area under the curve)"
    drawn = study_charts.roc(points, "Figure 1: ROC curves against human ratings")
    return Table("figure1", title, frame(rows), note), drawn
