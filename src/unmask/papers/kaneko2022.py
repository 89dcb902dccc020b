"""Unmasking the Mask (Kaneko and Bollegala 2022): Tables 1 to 5 and Figure 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from unmask import sentences
from unmask.compare import wide
from unmask.corpus import frequencies, harvest
from unmask.data import catalogue, controls
from unmask.evaluate import Options, engines
from unmask.measures import LIKELIHOOD
from unmask.papers.pages import Figure, Study, Table, frame, published, row
from unmask.stats.agreement import auc, auc_difference, roc
from unmask.stats.comparison import exact_mcnemar
from unmask.types import Dataset, Readings, Result

MAJORITY = 3
ASKED = {
    "crows-pairs": ["cps", "cps@kaneko2022", "sss", "aul", "aula"],
    "crows-pairs:direction": ["all-masked", "aul", "aula"],
    "crows-pairs:shuffled": ["aul"],
    "stereoset": ["sss", "sss@kaneko2022", "aul", "aula"],
    "stereoset:shuffled": ["aul"],
    "stereoset:unrelated": ["aul"],
}
# A causal model hides nothing but what comes later: one measure stands for all of them.
CAUSAL = {name: ["ll"] for name in ASKED}


def _some(data: Dataset, quick: bool) -> Dataset:
    """Every tenth item for a quick look."""
    if not quick:
        return data
    return Dataset(data.name, data.shape, data.items[::10], data.cluster, data.about)


def run(models: Sequence[Any], options: Options, *, quick: bool = False,
        corpus: Sequence[str] = (), contexts: str | None = None) -> Study:  # fmt: skip
    """All tables for the given loaded models; `corpus` gives Table 2 its counts."""
    values = published("kaneko2022")
    base = {name: _some(catalogue.read(name)[0], quick) for name in ("crows-pairs", "stereoset")}
    sets = dict(base) | {
        f"{n}:{c}": controls.controlled(base[n], c)
        for n, c in (k.split(":") for k in ASKED if ":" in k)
    }
    results: dict[tuple[str, str, str], Result] = {}
    tokens: dict[tuple[str, str, str], tuple[sentences.Planned, Readings]] = {}
    for model in models:
        cache: sentences.Cache = {}
        asked = CAUSAL if model.kind == "causal" else ASKED
        planned = [sentences.plan(model, LIKELIHOOD[m], sets[d], cache)
                   for d, names in asked.items() for m in names]  # fmt: skip
        answers = sentences.ask(engines(model, ["own"], options), planned)
        for one, readings in zip(planned, answers, strict=True):
            key = (model.name, one.measure.name, one.data.name)
            results[key] = sentences.score(model, one, readings, options.seed)
            tokens[key] = (one, readings)
    names = [m.name for m in models]
    tables = [
        _table1(names, results, tokens, values),
        _table2(corpus, values),
        _table3(names, results, values),
        _table4(names, results, values),
        _table5(names, results, values),
        _explain(names, results),
    ]
    roc_table, figure = _roc(names, results, base["crows-pairs"])
    remarks = _remarks(quick) + _causal_remark(models)
    return Study("Unmasking the Mask (kaneko2022)", [*tables, roc_table], [figure], remarks)


def _remarks(quick: bool) -> list[str]:
    remarks = ["50 is ideal for bias scores. 'inside' means that the published value lies in our "
               "95 % interval."]  # fmt: skip
    return remarks + (["A quick run: every tenth item only."] if quick else [])


def _causal_remark(models: Sequence[Any]) -> list[str]:
    named = [m.name for m in models if m.kind == "causal"]
    if not named:
        return []
    return [f"{', '.join(named)}: a causal model, for which 'll' stands for every measure."]


def _names(models: Sequence[str], values: Mapping[str, Any]) -> dict[str, str]:
    """Rows to show: the paper's models, and any other that was measured."""
    known = {hub: label for label, hub in values["models"].items()}
    return {**values["models"], **{m: m for m in models if m not in known}}


def _columns(
    hub: str, results: Any, columns: Sequence[tuple[str, str]]
) -> list[tuple[int, str, str]]:
    """The paper's columns for a model: number, measure, data; for a causal model `ll` for all."""
    if (hub, "ll", "crows-pairs") not in results:
        return [(i, m, d) for i, (m, d) in enumerate(columns)]
    return [(-1, "ll", d) for d in dict.fromkeys(d for _, d in columns)]


def _at(stated: Sequence[Any] | None, i: int) -> Any:
    return stated[i] if stated is not None and i >= 0 else None


def _table1(models: Sequence[str], results: Any, tokens: Any, values: Any) -> Table:
    columns = [("cps", "crows-pairs"), ("aul", "crows-pairs"), ("sss", "stereoset"),
               ("aul", "stereoset")]  # fmt: skip
    rows = []
    for label, hub in _names(models, values).items():
        for i, m, d in _columns(hub, results, columns):
            stated = _at(values["table1"].get(label), i)
            found = results.get((hub, m, d))
            line = row({"model": label, "measure": m, "data": d}, stated,
                       found.accuracy if found else None)  # fmt: skip
            if found and m in ("cps", "sss"):
                line["p McNemar vs aul"] = token_mcnemar(tokens[hub, m, d], tokens[hub, "aul", d])
            rows.append(line)
    note = ("Share of tokens asked for that are the model's first choice; McNemar on the tokens "
            "that both measures ask for.")  # fmt: skip
    return Table("table1", "Table 1: token prediction accuracy", frame(rows), note)


def token_mcnemar(first: Any, second: Any) -> float:
    """Exact McNemar on the tokens that two measures both asked for in the same sentence."""
    hits = []
    for planned, readings in (first, second):
        asked = {}
        for item, labels in planned.parts.items():
            for label, (value, _) in labels.items():
                for i in range(value.start, value.stop):
                    asked[item, label, planned.queries[i].at] = bool(readings.hit[i])
        hits.append(asked)
    shared = hits[0].keys() & hits[1].keys()
    keys = sorted(shared)
    return exact_mcnemar(
        np.array([hits[0][k] for k in keys]), np.array([hits[1][k] for k in keys])
    )[0]


def _table2(corpus: Sequence[str], values: Any) -> Table:
    counted = frequencies.count(harvest.expand(corpus)) if corpus else {}
    made = frequencies.table(counted).set_index("category") if corpus else None
    rows = []
    for category, (adv, dis) in values["table2"].items():
        line = {"category": category, "published adv": adv, "published dis": dis}
        if made is not None:
            line |= {"measured adv": made.advantaged[category],
                     "measured dis": made.disadvantaged[category],
                     "words": made.words[category]}  # fmt: skip
        rows.append(line)
    note = "Mean frequency rank of each group's words; lower is more frequent."
    note += "" if corpus else " No corpus was given: name one with --corpus to count yours."
    return Table("table2", "Table 2: frequency ranks by group", frame(rows), note)


def _table3(models: Sequence[str], results: Any, values: Any) -> Table:
    rows = []
    for label, hub in _names(models, values).items():
        names = [(m, "crows-pairs") for m in ("all-masked", "aul", "aula")]
        for k, m, _ in _columns(hub, results, names):
            found = results.get((hub, m, "crows-pairs:direction"))
            stated = values["table3"].get(label, [None] * 9)[3 * k : 3 * k + 3] or [None] * 3
            for j, side in enumerate(("advantaged", "disadvantaged")):
                estimate = found.by_category[side] if found else None
                rows.append(row({"model": label, "measure": m, "group": side}, stated[j], estimate))
            gap = None
            if found:
                a, d = (found.by_category[s].value for s in ("advantaged", "disadvantaged"))
                gap = abs(a - d)
            rows.append({"model": label, "measure": m, "group": "|difference|",
                         "published": stated[2], "measured": gap})  # fmt: skip
    return Table("table3", "Table 3: advantaged and disadvantaged groups", frame(rows),
                 "All tokens masked, against none masked.")  # fmt: skip


def _table4(models: Sequence[str], results: Any, values: Any) -> Table:
    columns = [("crows-pairs", "shuffled"), ("stereoset", "shuffled"), ("stereoset", "unrelated")]
    rows = []
    for label, hub in _names(models, values).items():
        for i, (d, control) in enumerate(columns):
            m = "ll" if (hub, "ll", d) in results else "aul"
            found, plain = results.get((hub, m, f"{d}:{control}")), results.get((hub, m, d))
            stated = values["table4"].get(label, [None] * 3)[i]
            line = row({"model": label, "data": d, "control": control}, stated,
                       found.accuracy if found else None)  # fmt: skip
            if found and plain:
                line["drop"] = plain.accuracy.value - found.accuracy.value
            rows.append(line)
    note = ("Token accuracy of AUL; words are shuffled here, tokens in the paper. For 'unrelated' "
            "the nonsense sentence stands for the stereotype.")  # fmt: skip
    return Table("table4", "Table 4: shuffled and unrelated", frame(rows), note)


def _table5(models: Sequence[str], results: Any, values: Any) -> Table:
    columns = [("cps", "crows-pairs"), ("aul", "crows-pairs"), ("aula", "crows-pairs"),
               ("sss", "stereoset"), ("aul", "stereoset"), ("aula", "stereoset")]  # fmt: skip
    rows = []
    for label, hub in _names(models, values).items():
        for i, m, d in _columns(hub, results, columns):
            found = results.get((hub, m, d))
            stated = _at(values["table5"].get(label), i)
            keys = {"model": label, "measure": m, "data": d}
            rows.append(row(keys, stated, found.overall if found else None))
    return Table("table5", "Table 5: bias scores", frame(rows))


def _explain(models: Sequence[str], results: Any) -> Table:
    """What each deviation of the released code does to the score, on the model at hand."""
    rows = []
    pairs = (("cps", "cps@kaneko2022", "crows-pairs"), ("sss", "sss@kaneko2022", "stereoset"))
    for model in models:
        for plain, variant, data in pairs:
            if (model, plain, data) not in results:
                continue  # a causal model has no variants of these
            a, b = results[model, plain, data], results[model, variant, data]
            rows.append(
                {"model": model, "definition": plain, "score": a.overall.value,
                 "variant": variant, "variant score": b.overall.value,
                 "moves by": b.overall.value - a.overall.value,
                 "why": LIKELIHOOD[variant].deviation}
            )  # fmt: skip
    return Table("variants", "What the released code does otherwise", pd.DataFrame(rows))


def _roc(models: Sequence[str], results: Any, data: Dataset) -> tuple[Table, Figure]:
    rows, curves = [], {}
    biased = {i.id: float(i.meta["agreement"] >= MAJORITY) for i in data.items}
    for model in models:
        scores = {}
        measures = [m for m in ("cps", "sss", "aul", "aula", "ll")
                    if (model, m, "crows-pairs") in results]  # fmt: skip
        for m in measures:
            table = wide(results[model, m, "crows-pairs"])
            scores[m] = (table.stereotype - table.antistereotype).dropna()
        shared = sorted(set.intersection(*(set(s.index) for s in scores.values())))
        labels = np.array([biased[i] for i in shared])
        for m, values in scores.items():
            chosen = values.loc[shared].to_numpy(float)
            found = auc(labels, chosen)
            line = {"model": model, "measure": m, "AUC": found.value, "low": found.low,
                    "high": found.high, "n": found.n}  # fmt: skip
            if "cps" in scores:
                gap = auc_difference(labels, scores["cps"].loc[shared].to_numpy(float), chosen)
                line |= {"less cps": gap.value, "p": gap.p}
            rows.append(line)
            curves[model, m] = (roc(labels, chosen), found)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (model, m), (points, found) in curves.items():
            axes.plot(points["false"], points["true"], label=f"{model}, {m}: {found.value:.3f}")
        axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
        axes.set(xlabel="false positive rate", ylabel="true positive rate")
        axes.legend(frameon=False, fontsize=8)

    note = f"Label: at least {MAJORITY} of 5 annotators chose the item's bias type. 0.5 is chance."
    return (
        Table(
            "figure1", "Figure 1: agreement with people (area under the curve)", frame(rows), note
        ),
        Figure("roc", "Figure 1: ROC curves against human ratings", draw, (6, 5.5)),
    )
