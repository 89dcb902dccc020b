"""Unmasking the Mask (Kaneko and Bollegala 2022): Tables 1 to 5 and Figure 1."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.corpus import harvest
from unmask.corpus.count import count
from unmask.data import catalogue, controls
from unmask.data.packaged import published
from unmask.flow.evaluate import evaluate
from unmask.measures import LIKELIHOOD, plans
from unmask.models.protocol import Model
from unmask.options import Spec
from unmask.reports.figures import study_charts
from unmask.reports.figures.drawing import Figure
from unmask.reports.html.study_page import Study, Table
from unmask.stats.agreement import auc, auc_difference, roc
from unmask.stats.comparison import exact_mcnemar
from unmask.studies import frequency
from unmask.studies.compare import wide
from unmask.studies.papers.paper_table import Found, PaperTable, by_tags, deviation, frame, row
from unmask.studies.papers.request import Request
from unmask.types import STEREOTYPE, UNRELATED, Contrast, Dataset, Result

MAJORITY = 3
# The release's accuracy of AUL counts the special tokens; the paper shuffles tokens, not words.
_AUL = LIKELIHOOD["aul"]
ALL_PLACES = replace(
    _AUL, name="aul, all places", plans=dict.fromkeys(_AUL.plans, plans.every_place)
)
SHUFFLED = replace(
    _AUL, name="aul, tokens shuffled", plans=dict.fromkeys(_AUL.plans, plans.shuffled)
)
OWN = {r.name: r for r in (ALL_PLACES, SHUFFLED)}
ASKED = {
    "crows-pairs": ["cps", "cps@kaneko2022", "sss", "aul", "aula", *OWN],
    "crows-pairs:direction": ["all-masked", "aul", "aula"],
    "crows-pairs:shuffled": ["aul"],
    "stereoset": ["sss", "sss@kaneko2022", "aul", "aula", *OWN],
    "stereoset:shuffled": ["aul"],
    "stereoset:unrelated": ["aul"],
}
# A causal model hides nothing but what comes later: one measure stands for all of them.
CAUSAL = {name: ["ll"] for name in ASKED}
TABLE1 = {"crows-pairs": ["cps", "aul"], "stereoset": ["sss", "aul"]}
TABLE5 = {"crows-pairs": ["cps", "aul", "aula"], "stereoset": ["sss", "aul", "aula"]}
AS_RELEASED = {"cps": "cps@kaneko2022", "sss": "sss@kaneko2022", "aul": ALL_PLACES.name}


def _some(data: Dataset, quick: bool) -> Dataset:
    """Every tenth item for a quick look."""
    return replace(data, items=data.items[::10]) if quick else data


def _pairs(data: Dataset) -> Dataset:
    """Stereotype and anti-stereotype only: the tables count no token of the unrelated sentence."""

    def kept(item: Contrast) -> Contrast:
        return replace(item, texts={k: t for k, t in item.texts.items() if k != UNRELATED})

    return replace(data, shape="pairs", items=tuple(map(kept, data.items)))


def _unrelated(data: Dataset) -> Dataset:
    """The unrelated sentence alone, under both labels: only its tokens are looked at."""

    def alone(item: Contrast) -> Contrast:
        labels = [k for k in item.texts if k != UNRELATED]
        return replace(item, texts=dict.fromkeys(labels, item.texts[UNRELATED]))

    name = f"{data.name}:unrelated"
    return replace(data, name=name, shape="pairs", items=tuple(map(alone, data.items)))


def specs(models: Sequence[Model], quick: bool) -> list[Spec]:
    """Each measure of the tables on its data, for each model."""
    crows, triplets = (_some(catalogue.sentences(n), quick) for n in ("crows-pairs", "stereoset"))
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
    asked = specs(models, request.quick) if models else []
    evaluated = evaluate(asked, replace(request.options, keep=("tokens",)))
    results = by_tags(evaluated, "model", "measure", "data")
    names = [m.name for m in models]
    tables = [
        _table1(names, results, values, comparable),
        _table2(request.corpus, values),
        *_table3(names, results, values, comparable),
        *_table4(names, results, values, comparable),
        _table5(names, results, values, comparable),
        *_as_printed(names, results, values),
    ]
    figures = []
    if models:
        pairs = next(s.data for s in asked if s.tags["data"] == "crows-pairs")
        roc_table, figure = _roc(names, results, pairs)
        tables += [_explain(names, results), roc_table]
        figures.append(figure)
    remarks = _remarks(request.quick) + _causal_remark(models)
    return Study("Unmasking the Mask (kaneko2022)", tables, figures, remarks, results=evaluated)


def _remarks(quick: bool) -> list[str]:
    if quick:
        return [
            "50 is ideal for bias scores.",
            "A quick run: every tenth item only, so nothing is said about agreement with the "
            "published values, which are of all items.",
        ]
    return [
        "50 is ideal for bias scores. 'inside' means that the published value lies in our interval."
    ]


def _causal_remark(models: Sequence[Model]) -> list[str]:
    named = [m.name for m in models if m.kind == "causal"]
    if not named:
        return []
    return [f"{', '.join(named)}: a causal model, for which 'll' stands for every measure."]


def _names(models: Sequence[str], values: Mapping[str, Any]) -> dict[str, str]:
    """Rows to show: the paper's models, and any other that was measured."""
    known = {hub: label for label, hub in values["models"].items()}
    return {**values["models"], **{m: m for m in models if m not in known}}


def _columns(
    hub: str, results: Found, columns: Sequence[tuple[str, str]]
) -> list[tuple[int, str, str]]:
    """The paper's columns for a model: number, measure, data; for a causal model `ll` for all."""
    if (hub, "ll", "crows-pairs") not in results:
        return [(i, m, d) for i, (m, d) in enumerate(columns)]
    return [(-1, "ll", d) for d in dict.fromkeys(d for _, d in columns)]


def _at(stated: Sequence[Any] | None, i: int) -> Any:
    return stated[i] if stated is not None and i >= 0 else None


def _table1(models: Sequence[str], results: Found, values: Any, comparable: bool) -> Table:
    columns = [(m, d) for d, some in TABLE1.items() for m in some]
    rows = []
    for label, hub in _names(models, values).items():
        for i, m, d in _columns(hub, results, columns):
            stated = _at(values["table1"].get(label), i)
            mark = values["marks"]["table1"][i] if stated is not None else ""
            result = results.get((hub, m, d))
            released = results.get((hub, AS_RELEASED.get(m, m), d))
            keys = {"model": label, "measure": m, "data": d, "printed mark": mark}
            line = row(keys, stated, released.accuracy if released else None, same=comparable)
            if result and result.accuracy:
                line["by the definition"] = result.accuracy.value
            if result and m in ("cps", "sss"):
                line["p McNemar vs aul"] = token_mcnemar(result, results[hub, "aul", d])
            rows.append(line)
    note = (
        "Share of tokens asked for that are the model's first choice, in per cent. 'measured' "
        "counts as the release does: for AUL the special tokens too, for SSS every hidden token at "
        "every hidden place; 'by the definition' only the tokens that the measure is about. "
        "StereoSet's unrelated sentences do not count. McNemar on the tokens that both measures "
        "ask for; the paper's mark is its own test at p < 0.01."
    )
    return PaperTable("table1", "Table 1: token prediction accuracy", rows, note).tables[0]


def token_mcnemar(first: Result, second: Result) -> float:
    """Exact McNemar on the tokens that two measures both asked for in the same sentence."""
    where = ["item", "label", "place"]
    hits = [r.kept["tokens"].drop_duplicates(where, keep="last") for r in (first, second)]
    both = hits[0].merge(hits[1], on=where)
    return exact_mcnemar(both.hit_x.to_numpy(), both.hit_y.to_numpy())[0]


def _shuffled_mcnemar(plain: Result, moved: Result) -> float:
    """Exact McNemar between a token in its own place and the same token in another."""
    hits = [r.kept["tokens"].hit.to_numpy() for r in (plain, moved)]
    return exact_mcnemar(hits[0], hits[1])[0]


def _table2(corpus: Sequence[str], values: Any) -> Table:
    counted_ranks = None
    if corpus:
        counted = count(harvest.expand(corpus), frequency.group_words())
        counted_ranks = frequency.ranks(counted).set_index("category")
    rows = []
    for category, (adv, dis) in values["table2"].items():
        line = {"category": category, "published adv": adv, "published dis": dis}
        if counted_ranks is not None:
            line |= {
                "measured adv": counted_ranks.advantaged[category],
                "measured dis": counted_ranks.disadvantaged[category],
                "words": counted_ranks.words[category],
            }
        rows.append(line)
    note = "Mean frequency rank of each group's words; lower is more frequent."
    note += "" if corpus else " No corpus was given: name one with --corpus to count yours."
    return Table("table2", "Table 2: frequency ranks by group", frame(rows), note)


def _table3(models: Sequence[str], results: Found, values: Any, comparable: bool) -> list[Table]:
    rows = []
    for label, hub in _names(models, values).items():
        names = [(m, "crows-pairs") for m in ("all-masked", "aul", "aula")]
        for k, m, _ in _columns(hub, results, names):
            result = results.get((hub, m, "crows-pairs:direction"))
            stated = values["table3"].get(label, [None] * 9)[3 * k : 3 * k + 3] or [None] * 3
            for j, side in enumerate(("advantaged", "disadvantaged")):
                estimate = result.by_category[side] if result else None
                keys = {"model": label, "measure": m, "group": side}
                rows.append(row(keys, stated[j], estimate, same=comparable))
            gap = None
            if result:
                a, d = (result.by_category[s].value for s in ("advantaged", "disadvantaged"))
                gap = abs(a - d)
            keys = {"model": label, "measure": m, "group": "|difference|"}
            rows.append(keys | {"published": stated[2], "measured": gap})
    note = "All tokens masked, against none masked."
    title, columns = "Table 3: advantaged and disadvantaged groups", ("measure", "group")
    return PaperTable("table3", title, rows, note, index="model", columns=columns).tables


def _table4(models: Sequence[str], results: Found, values: Any, comparable: bool) -> list[Table]:
    columns = [("crows-pairs", "shuffled"), ("stereoset", "shuffled"), ("stereoset", "unrelated")]
    rows = []
    for label, hub in _names(models, values).items():
        causal = (hub, "ll", "crows-pairs") in results
        for i, (d, control) in enumerate(columns):
            stated = values["table4"].get(label, [None] * 3)[i]
            mark = values["marks"]["table4"][i] if stated is not None else ""
            plain = results.get((hub, "ll" if causal else "aul", d))
            words = results.get((hub, "ll" if causal else "aul", f"{d}:{control}"))
            tokens = control == "shuffled" and not causal
            result = results.get((hub, SHUFFLED.name, d)) if tokens else words
            keys = {"model": label, "data": d, "control": control, "printed mark": mark}
            line = row(keys, stated, result.accuracy if result else None, same=comparable)
            if result and plain and plain.accuracy and result.accuracy:
                line["drop"] = plain.accuracy.value - result.accuracy.value
            if tokens and result and plain and words and words.accuracy:
                line["p McNemar"] = _shuffled_mcnemar(plain, result)
                line["words shuffled"] = words.accuracy.value
            rows.append(line)
    note = (
        "Token accuracy of AUL by its definition. Tokens are shuffled, as in the paper, and words "
        "beside it; 'unrelated' counts the unrelated sentence alone. McNemar pairs each token with "
        "itself in another place."
    )
    title, shown = "Table 4: shuffled and unrelated", ("data", "control")
    return PaperTable("table4", title, rows, note, index="model", columns=shown).tables


def _table5(models: Sequence[str], results: Found, values: Any, comparable: bool) -> Table:
    columns = [(m, d) for d, some in TABLE5.items() for m in some]
    rows = []
    for label, hub in _names(models, values).items():
        for i, m, d in _columns(hub, results, columns):
            result = results.get((hub, m, d))
            stated = _at(values["table5"].get(label), i)
            keys = {"model": label, "measure": m, "data": d}
            rows.append(row(keys, stated, result.overall if result else None, same=comparable))
    return PaperTable("table5", "Table 5: bias scores", rows).tables[0]


def _as_printed(models: Sequence[str], results: Found, values: Any) -> list[Table]:
    """Tables 1 and 5 in the shape of the paper, its rows first and ours below."""
    heads = {"cps": "CPS", "sss": "SSS", "aul": "AUL", "aula": "AULA"}
    short = {"crows-pairs": "CP", "stereoset": "SS"}
    out = []
    for number, columns, caption in (
        (1, TABLE1, "Token prediction accuracy of CPS, SSS and AUL on CP and SS"),
        (5, TABLE5, "Bias scores by CPS, SSS, AUL and AULA on CP and SS"),
    ):
        flat = [(m, d) for d, some in columns.items() for m in some]
        named = [heads[m] if m in ("cps", "sss") else f"{heads[m]} ({short[d]})" for m, d in flat]
        rows = [
            {"MLM": label, "of": "the paper", **dict(zip(named, stated, strict=True))}
            for label, stated in values[f"table{number}"].items()
        ]
        for hub in models:
            mine = {}
            for head, (m, d) in zip(named, flat, strict=True):
                result = results.get((hub, AS_RELEASED.get(m, m) if number == 1 else m, d))
                estimate = result and (result.accuracy if number == 1 else result.overall)
                mine[head] = estimate.value if estimate else None
            rows.append({"MLM": hub, "of": "this run", **mine})
        title = f"Table {number} as the paper prints it"
        out.append(Table(f"table{number}-printed", title, frame(rows), caption + "."))
    return out


def _explain(models: Sequence[str], results: Found) -> Table:
    """What each deviation of the released code does to the score, on the model at hand."""
    rows = []
    pairs = (("cps", "cps@kaneko2022", "crows-pairs"), ("sss", "sss@kaneko2022", "stereoset"))
    for model in models:
        for plain, variant, data in pairs:
            if (model, plain, data) not in results:
                continue  # a causal model has no variants of these
            pair = results[model, plain, data], results[model, variant, data]
            rows.append(deviation(*pair, {"model": model}))
    return Table("variants", "What the released code does otherwise", pd.DataFrame(rows))


def _roc(models: Sequence[str], results: Found, data: Dataset) -> tuple[Table, Figure]:
    rows, curves = [], {}
    cluster = {i.id: i.cluster for i in data.items}
    biased = {i.id: float(i.meta["agreement"] >= MAJORITY) for i in data.items}
    for model in models:
        scores = {}
        for m in ("cps", "sss", "aul", "aula", "ll"):
            if (model, m, "crows-pairs") not in results:
                continue
            table = wide(results[model, m, "crows-pairs"])
            scores[m] = (table[STEREOTYPE] - table.antistereotype).dropna()
        shared = sorted(set.intersection(*(set(s.index) for s in scores.values())))
        labels = np.array([biased[i] for i in shared])
        writers = [cluster[i] for i in shared]
        for m, values in scores.items():
            chosen = values.loc[shared].to_numpy(float)
            area = auc(labels, chosen, writers)
            line = {"model": model, "measure": m, "AUC": area.value}
            line |= {"low": area.low, "high": area.high, "n": area.n}
            if "cps" in scores:
                base = scores["cps"].loc[shared].to_numpy(float)
                gap = auc_difference(labels, base, chosen, writers)
                line |= {"less cps": gap.value, "p": gap.p}
            rows.append(line)
            curves[model, m] = (roc(labels, chosen), area)

    points = pd.concat(
        [
            pd.DataFrame(area[0])[["false", "true"]].assign(
                curve=f"{key[0]}, {key[1]}: {area[1].value:.3f}"
            )
            for key, area in curves.items()
        ],
        ignore_index=True,
    )
    note = f"Label: at least {MAJORITY} of 5 annotators chose the item's bias type. 0.5 is chance."
    title = "Figure 1: agreement with people (area under the curve)"
    drawn = study_charts.roc(points, "Figure 1: ROC curves against human ratings")
    return Table("figure1", title, frame(rows), note), drawn
