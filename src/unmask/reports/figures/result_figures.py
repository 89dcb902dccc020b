"""The figures of results: scores, categories, differences, agreement, words and effects."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.answer.scales import SCALES, scale_of
from unmask.reports.columns import table
from unmask.reports.figures.drawing import (
    INK,
    PALETTE,
    ROW,
    SAID,
    Figure,
    Spec,
    colours,
    heat_map,
    rule,
    specified,
)
from unmask.types import Result

# By the heading of a scale: the figure's name, its axis title, its title.
DRAWN = {
    "score": ("scores", "stereotype preferred, % of items", "Scores with their intervals"),
    "odds": ("odds", "odds ratio", "Odds ratios with their intervals"),
    "d": ("effects", "effect size d", "Effect sizes with their intervals"),
    "factor": ("factors", "times as likely with the stereotyped group's word", "Factors"),
    "d_z": ("differences", "effect size of the paired difference", "Paired differences"),
}

WIDTH = 620  # pixels of a plot, so that a figure with its labels fills the page's column

# ---------------------------------------------------------------- scores


def scores(results: Sequence[Result]) -> list[Figure]:
    """Scores with their intervals, by measure and data, against the value without bias."""
    figures = []
    frame = table(results)
    heads = frame.compared.map(lambda c: SCALES[c].head)
    # Each index has a scale of its own.
    for head, part in frame.groupby(
        heads.where(~frame.compared.map(lambda c: SCALES[c].is_index), frame.measure), sort=False
    ):
        unit = SCALES[part.compared.iloc[0]]
        name, axis, title = DRAWN.get(unit.head) or (
            f"index-{head}",
            head,
            f"{head}, with its interval",
        )
        part = part.assign(what=part.measure + " on " + part.data)
        part = part.assign(**{k: part[k].map(unit.show) for k in ("score", "low", "high")})
        ideal = float(part.ideal.iloc[0]) if math.isnan(unit.neutral) else unit.neutral
        figures.append(intervals(part, name, title, axis, ideal, unit.digits))
    return figures


def categories(results: Sequence[Result]) -> list[Figure]:
    """Scores of each category, one figure for each data set that has several."""
    figures = []
    frame = table([r for r in results if len(r.by_category) > 1], by_category=True)
    if frame.empty:
        return []
    for (data, compared), part in frame.groupby(["data", "compared"], sort=False):
        unit = SCALES[compared]
        if unit.is_index:  # of several scales, and often of very many groups
            continue
        part = part[part.category != ""].assign(what=lambda f: f.category)
        text = {k: part[k].map(unit.show) for k in ("score", "low", "high")}
        part = part.assign(**text)
        axis = DRAWN[unit.head][1]
        name, title = f"categories-{data}", f"By category: {data}"
        if part.model.nunique() == 1:
            figures.append(
                intervals(part, name, title, axis, unit.neutral, unit.digits, "measure", "measure")
            )
            continue
        for measure, rows in part.groupby("measure", sort=False):
            named = f"{name}-{measure}", f"{title}, {measure}"
            figures.append(intervals(rows, *named, axis, unit.neutral, unit.digits))
    return figures


def intervals(
    frame: pd.DataFrame,
    name: str,
    title: str,
    axis: str,
    ideal: float,
    digits: int,
    colour: str = "model",
    legend: str = "model",
    at: str = "the value without bias",
) -> Figure:
    """Draw dots with intervals; those in the same row are drawn below each other."""
    names = list(dict.fromkeys(frame[colour]))
    rows = list(dict.fromkeys(frame.what))
    columns = ["model", "what", "measure", "data", "category", "score", "low", "high", "n"]
    table = frame[list(dict.fromkeys([*columns, colour]))].round(digits + 2)
    descriptions = [_tooltip(r, digits) for r in table.to_dict("records")]
    ends = table[["score", "low", "high"]].to_numpy(float)
    low, high = np.nanmin([*ends.ravel(), ideal]), np.nanmax([*ends.ravel(), ideal])
    room = 0.04 * (high - low or 1)
    x = {
        "type": "quantitative",
        "title": axis,
        "scale": {"domain": [low - room, high + room], "zero": False},
    }
    y = {"field": "what", "type": "nominal", "title": None, "sort": rows}
    offset = {"yOffset": {"field": colour, "type": "nominal", "sort": names}}
    about = {"description": SAID}
    tinted = {"color": colours(colour, legend, names)}
    common = {"y": y, **offset, **tinted, **about}
    height = max(ROW, 10 * len(names) + 7) * len(rows)
    layers: list[Spec] = [
        rule(ideal, "x", **x),
        {
            "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, **common},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {"x": {"field": "score", **x}, **common},
        },
    ]
    spec = specified(table.assign(said=descriptions), width=WIDTH, height=height, layer=layers)
    note = f"The dashed line is {at}, {ideal:g}."
    return Figure(name, title, spec, table, note, tuple(names))


def _tooltip(row: Mapping[str, Any], digits: int) -> str:
    about = f"{row['model']}, {row['measure']} on {row['data']}"
    about += f", {row['category']}" if row["category"] else ""
    span = "" if _none(row["low"]) else f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
    return f"{about}: {row['score']:.{digits}f}{span}, n = {row['n']}"


def _none(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


# ---------------------------------------------------------------- differences


def differences(frame: pd.DataFrame) -> list[Figure]:
    """Paired differences between models, from the frame of a comparison."""
    figures = []
    for unit, part in frame.groupby(frame.compared.map(lambda c: SCALES[c].unit), sort=False):
        pairs = part.assign(
            model=part.second + " minus " + part["first"],
            what=part.measure + " on " + part.data,
            category="",
            score=part.difference,
        )
        named = list(dict.fromkeys(pairs.model))
        title = f"Paired differences, {unit}" + (f": {named[0]}" if len(named) == 1 else "")
        axis, name = f"difference, {unit}", f"differences-{unit}"
        figures.append(intervals(pairs, name, title, axis, 0.0, 2, at="no difference"))
    return figures


# ---------------------------------------------------------------- between measures


def correlations(results: Sequence[Result]) -> list[Figure]:
    """Draw Spearman correlations between measures, over the margins of the items."""
    figures = []
    shares = [r for r in results if scale_of(r).share]
    for (model, data), part in _grouped(shares).items():
        pulls = pd.DataFrame({r.measure: Items(r).margins() for r in part})
        if pulls.shape[1] < 2:
            continue
        matrix = pulls.corr(method="spearman").round(3)
        title = f"Do the measures agree on items? {model} on {data}"
        note = "Rank correlation of the items' margins (stereotype minus antistereotype)."
        name = f"agree-{model}-{data}"
        figures.append(heat_map(name, title, matrix, "Spearman's correlation", note))
    return figures


def _grouped(results: Sequence[Result]) -> dict[tuple[str, str], list[Result]]:
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.model, result.data), []).append(result)
    return groups


# ---------------------------------------------------------------- words


def words(result: Result) -> Figure | None:
    """The target words of a test laid out by their association s(w, A, B)."""
    items = result.items
    targets = items[items.label.isin(["X", "Y"]) & items.score.notna()]
    if not scale_of(result).words or targets.empty:
        return None
    table = targets[["item", "category", "score", "without"]].round(4)
    table.columns = ["word", "set", "association", "d without it"]
    table = table.sort_values("association", ascending=False).head(120)
    sets = list(dict.fromkeys(targets.category))
    descriptions = [f"{w} ({s}): {a:+.4f}" for w, s, a in table.iloc[:, :3].to_numpy()]
    names = result.settings.get("sets", ["X", "Y", "A", "B"])
    encoding = {
        "x": {
            "field": "association",
            "type": "quantitative",
            "title": f"nearer to {names[3]}  \u2190  0  \u2192  nearer to {names[2]}",
        },
        "y": {"field": "word", "type": "nominal", "title": None, "sort": list(table.word)},
        "color": colours("set", "set", sets),
        "description": SAID,
    }
    layers = [
        {"mark": {"type": "bar", "height": 9}, "encoding": encoding},
        {
            "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3], "aria": False},
            "encoding": {"x": {"datum": 0, "type": "quantitative"}},
        },
    ]
    spec = specified(
        table.assign(said=descriptions), width=WIDTH, height=13 * len(table), layer=layers
    )
    title = f"Which words drive the effect? {result.measure} on {result.data}, {result.model}"
    return Figure(f"words-{_name(result)}", title, spec, table, legend=tuple(sets))


def associations(result: Result) -> Figure | None:
    """The four mean associations behind an effect size, as a map."""
    means, sets = result.settings.get("means"), result.settings.get("sets")
    if not means or not sets:
        return None
    rows = [
        {"target": sets["XY".index(k[0])], "attribute": sets[2 + "AB".index(k[2])], "mean": v}
        for k, v in means.items()
    ]
    frame = pd.DataFrame(rows).round(4)
    descriptions = [f"{t} with {a}: {m:.3f}" for t, a, m in frame.to_numpy()]
    grid = {
        "x": {
            "field": "attribute",
            "type": "nominal",
            "title": None,
            "sort": sets[2:],
            "axis": {"labelAngle": 0},
        },
        "y": {"field": "target", "type": "nominal", "title": None, "sort": sets[:2]},
    }
    colour = {
        "field": "mean",
        "type": "quantitative",
        "title": "mean cosine",
        "scale": {"range": ["#eef4f8", PALETTE[5]]},
    }
    layers = [
        {
            "mark": "rect",
            "encoding": {
                **grid,
                "color": colour,
                "description": SAID,
            },
        },
        {
            "mark": {"type": "text", "color": "#111111", "aria": False},
            "encoding": {
                **grid,
                "text": {"field": "mean", "type": "quantitative", "format": ".3f"},
            },
        },
    ]
    spec = specified(frame.assign(said=descriptions), width=260, height=80, layer=layers)
    title = f"Mean associations: {result.measure} on {result.data}, {result.model}"
    return Figure(f"means-{_name(result)}", title, spec, frame)


def effects(result: Result) -> Figure | None:
    """The distribution of the effect sizes of CEAT's samples."""
    histogram = result.settings.get("effects")
    if not histogram:
        return None
    edges = histogram["edges"]
    frame = pd.DataFrame(
        {"from": edges[:-1], "to": edges[1:], "samples": histogram["counts"]}
    ).round(4)
    descriptions = [f"{c} samples with d from {a:.2f} to {b:.2f}" for a, b, c in frame.to_numpy()]
    encoding = {
        "x": {
            "field": "from",
            "type": "quantitative",
            "title": "effect size d of a sample",
            "bin": {"binned": True},
        },
        "x2": {"field": "to"},
        "y": {"field": "samples", "type": "quantitative", "title": "samples"},
        "description": SAID,
    }
    lines = pd.DataFrame({"d": [0.0, result.overall.value], "line": ["no bias", "combined"]})
    marks = {
        "data": {"values": lines.to_dict("records")},
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {
            "x": {"field": "d", "type": "quantitative"},
            "color": colours("line", "line", ["no bias", "combined"]),
        },
    }
    bars = {"mark": {"type": "bar", "color": "#b0b8bf"}, "encoding": encoding}
    spec = specified(frame.assign(said=descriptions), width=WIDTH, height=150, layer=[bars, marks])
    title = f"Effect sizes of the samples: {result.measure} on {result.data}, {result.model}"
    return Figure(f"effects-{_name(result)}", title, spec, frame, legend=("no bias", "combined"))


def _name(result: Result) -> str:
    return f"{result.model}-{result.measure}-{result.data}"


def all_figures(results: Sequence[Result]) -> list[Figure]:
    """All figures that some results allow, in the order in which a reader wants them."""
    words_ = [f(r) for r in results for f in (words, associations, effects)]
    figures = [*scores(results), *categories(results), *correlations(results)]
    return figures + [figure for figure in words_ if figure is not None]
