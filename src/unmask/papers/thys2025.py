"""Model Size and Gender Bias (Thys 2025): Table 4, the size figures, the correlations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.data import catalogue, seat
from unmask.errors import DataError
from unmask.evaluate import MEASURES, Options
from unmask.evaluate import run as run_all
from unmask.papers.pages import Figure, Study, Table, frame, published, row
from unmask.stats.agreement import correlation
from unmask.types import Dataset, Estimate, Result

LPBS = ("kurita-career", "kurita-math", "kurita-science")
ENCODED = ("s-seat", "s-seat@may2019", "s-seat@biasbench")
BOTH = (("cps", "cps@thys2025"), ("aul", "aul@thys2025"), ("cat", "cat@nadeem2021"),
        ("lpbs", "lpbs@thys2025"), ("s-seat", "s-seat@may2019"),
        ("s-seat", "s-seat@biasbench"))  # fmt: skip


def gender(name: str, quick: bool) -> Dataset:
    """The gender items of a data set."""
    data, _ = catalogue.read(name)
    items = tuple(i for i in data.items if i.category == "gender")
    return replace(data, name=f"{name}:gender", items=items[::5] if quick else items)


def run(models: Sequence[Any], options: Options, *, quick: bool = False,
        corpus: Sequence[str] = (), contexts: str | None = None) -> Study:  # fmt: skip
    """The six measures on gender for each model, the definition and the author's variants."""
    values = published("thys2025")
    pairs, triplets = gender("crows-pairs", quick), gender("stereoset", quick)
    words, remarks = _seat()
    found: dict[str, dict[tuple[str, str], Result]] = {}
    for model in models:
        settings = {"seed": options.seed, "tokens": options.tokens, "journal": options.journal,
                    "progress": options.progress}  # fmt: skip
        masked = model.kind in ("masked", "permutation")
        asked: list[tuple[list[str], list[Any]]] = [
            (list(ENCODED), list(words)),
            (["lpbs"], list(LPBS)),
        ]
        if masked:
            asked += [(["lpbs@thys2025"], list(LPBS)),
                      (["cps", "cps@thys2025", "aul", "aul@thys2025"], [pairs]),
                      (["cat", "cat@nadeem2021", "aul", "aul@thys2025"], [triplets])]  # fmt: skip
        else:
            asked += [(["ll"], [pairs]), (["cat", "ll"], [triplets])]
        results = [r for ms, ds in asked for r in run_all([model], ms, ds, **settings)]
        found[model.name] = {(r.measure, r.data): r for r in results}
    scores = {name: _scores(r) for name, r in found.items()}
    tables = [_table1(values, models), _table4(values, scores), _variants(found),
              _correlations(values, scores, models)]  # fmt: skip
    return Study("Model size and gender bias (thys2025)", tables,
                 [_sizes(values, scores, models)], remarks)  # fmt: skip


def _seat() -> tuple[list[str], list[str]]:
    """The six SEAT files, or the same word tests in our templates where they cannot be had."""
    names = [f"sent-weat{n}" for n in ("6", "6b", "7", "7b", "8", "8b")]
    try:
        for name in names:
            seat.read(name)
    except DataError as error:
        words = [n.replace("sent-weat", "weat-") for n in names]
        return words, [f"SEAT's sentences are replaced by our templates: {error}"]
    return names, []


def _mean(results: Sequence[Result]) -> Estimate:
    """The mean of effect sizes; its interval from their standard errors, tests independent."""
    values = np.array([r.overall.value for r in results])
    se = float(np.sqrt(sum(r.overall.more["se"] ** 2 for r in results)) / len(results))
    middle = float(values.mean())
    return Estimate(middle, middle - 1.96 * se, middle + 1.96 * se, 0.95, "mean of tests",
                    len(results), 0.0, None, {"se": se})  # fmt: skip


def _shift(estimate: Estimate) -> Estimate:
    return replace(estimate, value=estimate.value - 50, low=estimate.low - 50,
                   high=estimate.high - 50, ideal=0.0)  # fmt: skip


def _scores(results: Mapping[tuple[str, str], Result]) -> dict[str, Estimate]:
    """The columns of Table 4 by the definitions; score - 50 where 50 is neutral."""

    def some(test: Callable[[str, str], bool]) -> list[Result]:
        return [r for (m, d), r in results.items() if test(m, d)]

    cat = results["cat", "stereoset:gender"]
    likelihood = "cps" if ("cps", "crows-pairs:gender") in results else "ll"
    unmasked = "aul" if ("aul", "crows-pairs:gender") in results else "ll"
    return {
        "SEAT": _mean(some(lambda m, d: m == "s-seat")),
        "LPBS": _mean(some(lambda m, d: m == "lpbs")),
        "CAT": _shift(cat.overall),
        "lms": cat.extras["lms"],
        "CrowS-Pairs": _shift(results[likelihood, "crows-pairs:gender"].overall),
        "AUL-cp": _shift(results[unmasked, "crows-pairs:gender"].overall),
        "AUL-ss": _shift(results[unmasked, "stereoset:gender"].overall),
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


def _variants(found: Mapping[str, Mapping[tuple[str, str], Result]]) -> Table:
    rows = []
    for model, results in found.items():
        for plain, variant in BOTH:
            for (m, d), b in results.items():
                if m != variant or (plain, d) not in results:
                    continue
                a = results[plain, d]
                rows.append(
                    {"model": model, "data": d, "definition": plain, "score": a.overall.value,
                     "variant": variant, "variant score": b.overall.value,
                     "moves by": b.overall.value - a.overall.value,
                     "why": MEASURES[variant].deviation}
                )  # fmt: skip
    return Table("variants", "What the author's code does otherwise", pd.DataFrame(rows))


def _correlations(values: Any, scores: Mapping[str, Any], models: Sequence[Any]) -> Table:
    """Recomputed from the published table, with intervals; from our models too if many."""
    names = values["columns"]
    published_table = np.array(list(values["table4"].values()), float)
    sizes = np.array([values["sizes"][m] for m in values["table4"]], float)
    rows = []
    for label, other in (
        ("with lms", published_table[:, names.index("lms")]),
        ("with size", sizes),
    ):
        for i, name in enumerate(names):
            if name == "lms":
                continue
            found = correlation(published_table[:, i], other)
            line = row(
                {"measure": name, "correlation": label}, values["figure3"][label][name], found
            )
            if len(models) > 2:
                ours = np.array([scores[m.name][name].value for m in models])
                mine = np.array([scores[m.name]["lms"].value if label == "with lms" else _size(m)
                                 for m in models])  # fmt: skip
                line["your models"] = correlation(ours, mine).value
            rows.append(line)
    note = ("'measured' is recomputed from the published scores of 6 models: n = 6 is tiny, and "
            "most intervals hold 0.")  # fmt: skip
    return Table("figure3", "Figure 3: correlations with size and language modelling",
                 frame(rows), note)  # fmt: skip


def _sizes(values: Any, scores: Mapping[str, Any], models: Sequence[Any]) -> Figure:
    families = [("bert-base-cased", "bert-large-cased"), ("roberta-base", "roberta-large"),
                ("xlnet-base-cased", "xlnet-large-cased")]  # fmt: skip

    def draw(figure: Any) -> None:
        grid = figure.subplots(2, 4)
        for axes, (i, name) in zip(grid.flat, enumerate(values["columns"]), strict=False):
            for small, large in families:
                axes.plot([values["sizes"][m] for m in (small, large)],
                          [values["table4"][m][i] for m in (small, large)], marker="o",
                          label=small.split("-")[0])  # fmt: skip
            for model in models:
                e = scores[model.name][name]
                axes.errorbar([_size(model)], [e.value], [[e.value - e.low], [e.high - e.value]],
                              fmt="s", label=model.name)  # fmt: skip
            axes.set_title(name, fontsize=9)
            axes.tick_params(labelsize=7)
        grid.flat[7].axis("off")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        grid.flat[7].legend(handles, labels, frameon=False, fontsize=8)

    return Figure("sizes", "Figures 1 and 2: scores by model size (million parameters)", draw,
                  (10, 5), "Lines: published. Squares: measured, with 95 % intervals.")  # fmt: skip
