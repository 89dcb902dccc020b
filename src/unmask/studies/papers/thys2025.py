"""Model Size and Gender Bias (Thys 2025): Table 4, the size figures, the correlations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from unmask.data import catalogue, wordsets
from unmask.data.packaged import packaged, published
from unmask.errors import DataError
from unmask.flow.evaluate import evaluate
from unmask.models.protocol import Model
from unmask.options import Spec
from unmask.reports.figures.drawing import Figure, heat_map
from unmask.reports.html.study_page import Study, Table
from unmask.stats.agreement import correlation, correlations
from unmask.studies.papers import claims
from unmask.studies.papers import thys2025_figures as figures
from unmask.studies.papers.paper_table import (
    SOURCES,
    Found,
    PaperTable,
    by_tags,
    deviation,
    frame,
    reported,
    row,
)
from unmask.studies.papers.request import Request
from unmask.studies.papers.thys2025_claims import CLAIMS
from unmask.studies.papers.thys2025_claims import ThysRun as Claimed
from unmask.studies.papers.thys2025_figures import Scores, size_of
from unmask.types import Dataset, Estimate, Result

LPBS = ("kurita-career", "kurita-math", "kurita-science")
THYS_LPBS = ("kurita-career", "kurita-math@thys2025", "kurita-science@thys2025")
DIGITS = 3  # what the paper prints
ENCODED = ("s-seat", "s-seat@may2019", "s-seat@biasbench")
PAIRS, TRIPLETS = "crows-pairs:gender", "stereoset:gender"
# What the author ran, where that is not the definition; SEAT takes [CLS], as s-seat does.
RELEASED = {
    "cps": "cps@thys2025",
    "aul": "aul@thys2025",
    "cat": "cat@nadeem2021",
    "lpbs": "lpbs@thys2025",
}
CODE = "author's code"
BOTH = (
    ("cps", "cps@thys2025"),
    ("aul", "aul@thys2025"),
    ("cat", "cat@nadeem2021"),
    ("lpbs", "lpbs@thys2025"),
)
# Other releases of SEAT; the author's takes [CLS], as s-seat does.
ELSEWHERE = (("s-seat", "s-seat@may2019"), ("s-seat", "s-seat@biasbench"))


def gender(name: str, quick: bool) -> Dataset:
    """The gender items of a data set."""
    data = catalogue.sentences(name)
    items = tuple(i for i in data.items if i.category == "gender")
    return replace(data, name=f"{name}:gender", items=items[::5] if quick else items)


def specs(models: Sequence[Model], words: Sequence[Any], quick: bool) -> list[Spec]:
    """The six measures on gender for each model, the definition and the author's variants."""
    pairs, triplets = gender("crows-pairs", quick), gender("stereoset", quick)
    templates, own_lists = (
        [d for name in names for d in catalogue.resolve(name)] for names in (LPBS, THYS_LPBS)
    )
    masked = [
        (("lpbs@thys2025",), own_lists),
        (("cps", "cps@thys2025", "aul", "aul@thys2025"), [pairs]),
        (("cat", "cat@nadeem2021", "aul", "aul@thys2025"), [triplets]),
    ]
    causal: list[Any] = [(("ll",), [pairs]), (("cat", "ll"), [triplets])]
    plan = []
    for model in models:
        battery = masked if model.kind in ("masked", "permutation") else causal
        for measures, sets in [(ENCODED, words), (("lpbs",), templates), *battery]:
            for data in sets:
                tags = {"model": model.name, "data": data.name}
                plan += [Spec(model, m, data, tags={**tags, "measure": m}) for m in measures]
    return plan


def run(models: Sequence[Model], request: Request) -> Study:
    """Tables and figures for the given loaded models."""
    values, comparable = published("thys2025"), not request.quick
    words, remarks = _seat() if models else ([], [])
    if request.quick:
        remarks.append(
            "A quick run: every fifth sentence pair only, so agreement with the published values, "
            "which are for all items, is not assessed."
        )
    to_measure = specs(models, words, request.quick) if models else []
    skipped, failed = reported("model", "measure", "data")
    evaluated = evaluate(to_measure, request.options, failed)
    results = by_tags(evaluated, "model", "measure", "data")
    by_model = {
        m.name: {key[1:]: r for key, r in results.items() if key[0] == m.name} for m in models
    }
    scores = {name: _scores(r) for name, r in by_model.items()}
    left_to_right = {m.name for m in models if m.kind == "causal"}
    released = {n: _scores(r, RELEASED) for n, r in by_model.items() if n not in left_to_right}
    if left_to_right:
        remarks.append(
            f"{', '.join(sorted(left_to_right))}: for causal models, the columns of CrowS-Pairs "
            "and AUL show 'll', the likelihood of the sentence. They are left out of the "
            "correlations between measures."
        )
    matrices, drawn = _own_correlations(scores, [m for m in models if m.name not in left_to_right])
    causal = frozenset(left_to_right)
    claimed = Claimed(values, scores, {m.name: size_of(m) for m in models}, causal)
    tables = [
        *([claims.table(CLAIMS, claimed, [m.name for m in models])] if models else []),
        _table1(values, models),
        _table2(),
        _table3(),
        *_table4(values, scores, released, comparable, left_to_right),
        _figure3(values),
        *(_variants(by_model) if models else []),
        *matrices,
    ]
    title = "Model size and gender bias (thys2025)"
    drawings = [*figures.sizes(values, scores, models), figures.correlations(values), *drawn]
    return Study(title, tables, drawings, remarks, skipped, evaluated)


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
    df = sum(r.overall.more["df"] for r in results)
    middle, level = float(values.mean()), results[0].overall.level
    reach = float(t.ppf((1 + level) / 2, df)) * se
    details, n = {"df": df}, len(results)
    method = "t over words, tests independent"
    return Estimate(
        middle, middle - reach, middle + reach, level, method, n, 0.0, None, se, details
    )


def _shift(estimate: Estimate) -> Estimate:
    moved = {k: getattr(estimate, k) - 50 for k in ("value", "low", "high")}
    return replace(estimate, **moved, ideal=0.0)


def _scores(results: Found, variants: Mapping[str, str] = MappingProxyType({})) -> Scores:
    """The columns of Table 4 that could be scored; score - 50 where 50 is neutral.

    By the definitions, or by the `variants` of a measure that a model has.
    """

    def named(measure: str) -> str:
        variant = variants.get(measure, measure)
        return variant if any(m == variant for m, _ in results) else measure

    def tests_of(measure: str) -> list[Result]:
        return [r for (m, _), r in results.items() if m == named(measure)]

    def result_of(measure: str, data: str) -> Result | None:
        return results.get((named(measure), data) if tests_of(measure) else ("ll", data))

    cat = result_of("cat", TRIPLETS)
    shares = {
        "CAT": cat,
        "CrowS-Pairs": result_of("cps", PAIRS),
        "AUL-cp": result_of("aul", PAIRS),
        "AUL-ss": result_of("aul", TRIPLETS),
    }
    effects = {"SEAT": tests_of("s-seat"), "LPBS": tests_of("lpbs")}
    return {
        **{name: _mean(tests) for name, tests in effects.items() if tests},
        **{name: _shift(r.overall) for name, r in shares.items() if r is not None},
        **({"lms": cat.extras["lms"]} if cat is not None else {}),
    }


def _table1(values: Any, models: Sequence[Model]) -> Table:
    sizes = {m.name: size_of(m) for m in models}
    rows = [
        {"model": m, "published": values["sizes"].get(m), "measured": sizes.get(m)}
        for m in dict.fromkeys([*values["sizes"], *sizes])
    ]
    note = "In millions of parameters."
    return Table("table1", "Table 1: sizes of the models", frame(rows), note)


def _table2() -> Table:
    """The gender tests of SEAT, with their names here."""
    rows = [
        {
            "test": test.name.removeprefix("weat-"),
            "targets": " / ".join(test.targets),
            "attributes": " / ".join(test.attributes),
            "sentences here": sentences,
            "words here": test.name,
        }
        for sentences, name in zip(
            wordsets.groups()["thys2025-seat"], wordsets.groups()["thys2025-words"], strict=True
        )
        for test in (wordsets.stimuli()[name],)
    ]
    return Table("table2", "Table 2: targets and attributes of the SEAT tests", frame(rows))


def _table3() -> Table:
    """The templates of LPBS, from the test itself."""
    test = next(t for t in packaged("templates.json")["tests"] if t["name"] == LPBS[0])
    rows = [
        {"targets": f"{', '.join(t['x'])} / {', '.join(t['y'])}", "template": t["text"]}
        for t in test["templates"]
    ]
    note = (
        f"With the attributes of {', '.join(LPBS)}; the author's lists: {', '.join(THYS_LPBS[1:])}."
    )
    return Table("table3", "Table 3: target words and templates of LPBS", frame(rows), note)


def _in_place(column: str) -> bool:
    """Whether a causal model has `ll` in a column of Table 4."""
    return column.startswith(("CrowS", "AUL"))


def _table4(
    values: Any,
    scores: Mapping[str, Scores],
    released: Mapping[str, Scores],
    comparable: bool,
    left_to_right: set[str],
) -> list[Table]:
    rows = []
    for model in dict.fromkeys([*values["table4"], *scores]):
        for i, column in enumerate(values["columns"]):
            stated = values["table4"].get(model, [None] * 7)[i]
            by = "ll" if model in left_to_right and _in_place(column) else None
            keys = {"model": model, "measure": column, "by": by}
            estimate, code = (s.get(model, {}).get(column) for s in (scores, released))
            line = row(keys, stated, estimate, comparable=comparable, digits=DIGITS)
            if code is not None:
                beside = row({}, stated, code, comparable=comparable, digits=DIGITS)
                line |= {CODE: code.value, f"{CODE} agrees": beside.get("agrees")}
            rows.append(line)
    note = (
        "CAT, CrowS-Pairs and AUL less 50, so that 0 is neutral everywhere but lms. 'measured' "
        f"follows the definitions, and '{CODE}' uses {', '.join(RELEASED.values())}. For SEAT, "
        "both use the vector of [CLS] (XLNet: the last token). SEAT and LPBS are means over 6 "
        "and 3 tests (n is their number). Their intervals are too narrow: they treat the tests as "
        "independent, but the tests share words."
    )
    return PaperTable(
        "table4",
        "Table 4: bias scores",
        rows,
        note,
        DIGITS,
        index="model",
        columns=("measure",),
        sources={**SOURCES, CODE: "this run, by the author's code"},
        cell=_printed,
        star="ll: a causal model's likelihood of the sentence replaces CrowS-Pairs and AUL."
        if left_to_right
        else "",
    ).tables


def _printed(line: Mapping[str, Any], column: str) -> str:
    by = f" ({line['by']})" if line["by"] and column != "published" else ""
    return f"{line[column]:.{DIGITS}f}{by}"


def _variants(by_model: Mapping[str, Found]) -> list[Table]:
    """What the author's code does to each number of Table 4: means where it holds means."""
    note = "SEAT and LPBS are means over their tests, as in Table 4."
    lists = f" LPBS also has the author's own word lists ({', '.join(THYS_LPBS[1:])})."
    titles = {
        "variants": ("Differences between the author's code and the paper", BOTH, note + lists),
        "seat-elsewhere": ("SEAT in other releases", ELSEWHERE, note),
    }
    tables = [
        Table(name, title, pd.DataFrame(_moved_by(by_model, pairs)), about)
        for name, (title, pairs, about) in titles.items()
    ]
    return [table for table in tables if len(table.frame)]


def _moved_by(
    by_model: Mapping[str, Found], both: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    rows = []
    for model, results in by_model.items():
        for plain, variant in both:
            pairs = [
                (results[plain, d.partition("@")[0]], b)
                for (m, d), b in results.items()
                if m == variant and (plain, d.partition("@")[0]) in results
            ]
            groups = [pairs] if plain in ("lpbs", "s-seat") else [[pair] for pair in pairs]
            rows += [_moved(model, group) for group in groups if group]
    return rows


def _moved(model: str, pairs: Sequence[tuple[Result, Result]]) -> dict[str, Any]:
    many = len(pairs) > 1
    line = deviation(*pairs[0], {"model": model, "data": "mean" if many else pairs[0][1].data})
    if many:
        a, b = (float(np.mean([p[k].overall.value for p in pairs])) for k in (0, 1))
        line |= {"score": a, "variant score": b, "moves by": b - a}
    return line | {"tests": len(pairs)}


def _figure3(values: Any) -> Table:
    """The whole matrix: of the author's notebook, and recomputed from the printed Table 4."""
    names, stated = values["columns"], values["figure3"]
    printed = dict(zip(names, np.array(list(values["table4"].values()), float).T, strict=True))
    columns = {"size": np.array([values["sizes"][m] for m in values["table4"]], float), **printed}
    rows = []
    for first, below in zip(stated["order"], stated["below"], strict=True):
        for second, r in zip(stated["order"], below, strict=False):
            estimate = correlation(columns[first], columns[second])
            line = {"of": first, "with": second, "published": r}
            line |= {"from Table 4": estimate.value, "low": estimate.low, "high": estimate.high}
            rows.append(line | {"n": estimate.n})
    note = (
        "Pearson's r over the 6 models of the paper: as in the author's notebook, and computed "
        "from the printed Table 4. n = 6 is tiny: most intervals include 0."
    )
    return Table("figure3", "Figure 3: correlations between the measures", frame(rows), note)


def _own_correlations(
    scores: Mapping[str, Scores], models: Sequence[Model]
) -> tuple[list[Table], list[Figure]]:
    """The same matrix over the models of this run, where there are at least four."""
    if len(models) < 4:
        return [], []
    columns = {"size": np.array([size_of(m) for m in models])}
    columns |= {
        n: np.array([scores[m.name][n].value for m in models])
        for n in scores[models[0].name]
        if all(n in scores[m.name] for m in models)
    }
    title = "Figure 3 on the models of this run"
    drawn = heat_map("correlations-own", title, pd.DataFrame(columns).corr(), "Pearson's r")
    return [Table("figure3-own", title, correlations(columns))], [drawn]
