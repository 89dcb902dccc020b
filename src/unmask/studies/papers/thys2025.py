"""Model Size and Gender Bias (Thys 2025): Table 4, the size figures, the correlations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.data import catalogue
from unmask.data.packaged import published
from unmask.errors import DataError
from unmask.flow.evaluate import evaluate
from unmask.options import Spec
from unmask.report.page import Figure, Study, Table
from unmask.stats.agreement import correlation
from unmask.studies.papers.beside import Found, by_tags, deviation, frame, row
from unmask.studies.papers.request import Request
from unmask.types import Dataset, Estimate, Result

LPBS = ("kurita-career", "kurita-math", "kurita-science")
ENCODED = ("s-seat", "s-seat@may2019", "s-seat@biasbench")
PAIRS, TRIPLETS = "crows-pairs:gender", "stereoset:gender"
BOTH = (
    ("cps", "cps@thys2025"),
    ("aul", "aul@thys2025"),
    ("cat", "cat@nadeem2021"),
    ("lpbs", "lpbs@thys2025"),
    ("s-seat", "s-seat@may2019"),
    ("s-seat", "s-seat@biasbench"),
)


def gender(name: str, quick: bool) -> Dataset:
    """The gender items of a data set."""
    data = catalogue.sentences(name)
    items = tuple(i for i in data.items if i.category == "gender")
    return replace(data, name=f"{name}:gender", items=items[::5] if quick else items)


def specs(models: Sequence[Any], words: Sequence[Any], quick: bool) -> list[Spec]:
    """The six measures on gender for each model, the definition and the author's variants."""
    pairs, triplets = gender("crows-pairs", quick), gender("stereoset", quick)
    templates = [d for name in LPBS for d in catalogue.resolve(name)]
    masked = [
        (("lpbs@thys2025",), templates),
        (("cps", "cps@thys2025", "aul", "aul@thys2025"), [pairs]),
        (("cat", "cat@nadeem2021", "aul", "aul@thys2025"), [triplets]),
    ]
    causal: list[Any] = [(("ll",), [pairs]), (("cat", "ll"), [triplets])]
    out = []
    for model in models:
        own = masked if model.kind in ("masked", "permutation") else causal
        for measures, sets in [(ENCODED, words), (("lpbs",), templates), *own]:
            for data in sets:
                tags = {"model": model.name, "data": data.name}
                out += [Spec(model, m, data, tags={**tags, "measure": m}) for m in measures]
    return out


def run(models: Sequence[Any], request: Request) -> Study:
    """Tables and figures for the given loaded models."""
    values = published("thys2025")
    words, remarks = _seat()
    made = evaluate(specs(models, words, request.quick), request.options)
    every = by_tags(made, "model", "measure", "data")
    found = {m.name: {key[1:]: r for key, r in every.items() if key[0] == m.name} for m in models}
    scores = {name: _scores(r) for name, r in found.items()}
    tables = [
        _table1(values, models),
        _table4(values, scores),
        _variants(found),
        _correlations(values, scores, models),
    ]
    title = "Model size and gender bias (thys2025)"
    return Study(title, tables, [_sizes(values, scores, models)], remarks, results=made)


def _seat() -> tuple[list[Any], list[str]]:
    """The six SEAT files, or the same word tests in our templates where they cannot be had."""
    try:
        return catalogue.resolve("thys2025-seat"), []
    except DataError as error:
        remark = f"SEAT's sentences are replaced by our templates: {error}"
        return catalogue.resolve("thys2025-words"), [remark]


def _mean(results: Sequence[Result]) -> Estimate:
    """The mean of effect sizes; its interval from their standard errors, tests independent."""
    values = np.array([r.overall.value for r in results])
    se = float(np.sqrt(sum(r.overall.se**2 for r in results)) / len(results))
    middle, n = float(values.mean()), len(results)
    low, high = middle - 1.96 * se, middle + 1.96 * se
    return Estimate(middle, low, high, 0.95, "mean of tests", n, 0.0, None, se)


def _shift(estimate: Estimate) -> Estimate:
    moved = {k: getattr(estimate, k) - 50 for k in ("value", "low", "high")}
    return replace(estimate, **moved, ideal=0.0)


def _scores(results: Found) -> dict[str, Estimate]:
    """The columns of Table 4 by the definitions; score - 50 where 50 is neutral."""

    def some(measure: str) -> list[Result]:
        return [r for (m, _), r in results.items() if m == measure]

    cat = results["cat", TRIPLETS]
    likelihood = "cps" if ("cps", PAIRS) in results else "ll"
    unmasked = "aul" if ("aul", PAIRS) in results else "ll"
    return {
        "SEAT": _mean(some("s-seat")),
        "LPBS": _mean(some("lpbs")),
        "CAT": _shift(cat.overall),
        "lms": cat.extras["lms"],
        "CrowS-Pairs": _shift(results[likelihood, PAIRS].overall),
        "AUL-cp": _shift(results[unmasked, PAIRS].overall),
        "AUL-ss": _shift(results[unmasked, TRIPLETS].overall),
    }


def _size(model: Any) -> float:
    return float(model.provenance["parameters"]) / 1e6


def _table1(values: Any, models: Sequence[Any]) -> Table:
    rows = [{"model": m, "published (million)": float(s)} for m, s in values["sizes"].items()]
    rows += [{"model": m.name, "measured (million)": _size(m)} for m in models]
    return Table("table1", "Table 1: sizes of the models", frame(rows))


def _table4(values: Any, scores: Mapping[str, Mapping[str, Estimate]]) -> Table:
    rows = []
    for model in dict.fromkeys([*values["table4"], *scores]):
        for i, column in enumerate(values["columns"]):
            stated = values["table4"].get(model, [None] * 7)[i]
            keys = {"model": model, "measure": column}
            rows.append(row(keys, stated, scores.get(model, {}).get(column)))
    note = "CAT, CrowS-Pairs and AUL less 50, so that 0 is neutral everywhere but lms."
    return Table("table4", "Table 4: bias scores", frame(rows), note)


def _variants(found: Mapping[str, Found]) -> Table:
    rows = [
        deviation(results[plain, d], b, {"model": model, "data": d})
        for model, results in found.items()
        for plain, variant in BOTH
        for (m, d), b in results.items()
        if m == variant and (plain, d) in results
    ]
    return Table("variants", "What the author's code does otherwise", pd.DataFrame(rows))


def _correlations(values: Any, scores: Mapping[str, Any], models: Sequence[Any]) -> Table:
    """Recomputed from the published table, with intervals; from our models too if many."""
    names = values["columns"]
    printed = np.array(list(values["table4"].values()), float)
    sizes = np.array([values["sizes"][m] for m in values["table4"]], float)
    rows = []
    for label, other in (("with lms", printed[:, names.index("lms")]), ("with size", sizes)):
        for i, name in enumerate(names):
            if name == "lms":
                continue
            found = correlation(printed[:, i], other)
            keys = {"measure": name, "correlation": label}
            line = row(keys, values["figure3"][label][name], found)
            if len(models) > 2:
                ours = [scores[m.name][name].value for m in models]
                lms = [scores[m.name]["lms"].value for m in models]
                mine = lms if label == "with lms" else [_size(m) for m in models]
                line["your models"] = correlation(np.array(ours), np.array(mine)).value
            rows.append(line)
    note = (
        "'measured' is recomputed from the published scores of 6 models: n = 6 is tiny, and "
        "most intervals hold 0."
    )
    title = "Figure 3: correlations with size and language modelling"
    return Table("figure3", title, frame(rows), note)


def _sizes(values: Any, scores: Mapping[str, Any], models: Sequence[Any]) -> Figure:
    families = [
        ("bert-base-cased", "bert-large-cased"),
        ("roberta-base", "roberta-large"),
        ("xlnet-base-cased", "xlnet-large-cased"),
    ]

    def draw(figure: Any) -> None:
        grid = figure.subplots(2, 4)
        for axes, (i, name) in zip(grid.flat, enumerate(values["columns"]), strict=False):
            for pair in families:
                x = [values["sizes"][m] for m in pair]
                y = [values["table4"][m][i] for m in pair]
                axes.plot(x, y, marker="o", label=pair[0].split("-")[0])
            for model in models:
                e = scores[model.name][name]
                reach = [[e.value - e.low], [e.high - e.value]]
                axes.errorbar([_size(model)], [e.value], reach, fmt="s", label=model.name)
            axes.set_title(name, fontsize=9)
            axes.tick_params(labelsize=7)
        grid.flat[7].axis("off")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        grid.flat[7].legend(handles, labels, frameon=False, fontsize=8)

    title = "Figures 1 and 2: scores by model size (million parameters)"
    note = "Lines: published. Squares: measured, with 95 % intervals."
    return Figure("sizes", title, draw, (10, 5), note)
