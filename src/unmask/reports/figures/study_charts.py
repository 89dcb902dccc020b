"""The figures of studies: curves, sizes, distributions and specification curves as Vega-Lite."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from unmask.answer.scales import Scale
from unmask.reports.figures.drawing import (
    DASHED,
    INK,
    PALETTE,
    Figure,
    Spec,
    colours,
    rule,
    specified,
)

ZERO = {"zero": False}
MOST_SAID = 300
SHAPES = {"domain": ["published", "measured"], "range": ["circle", "square"]}


def _axis(field: str, title: str, kind: str = "quantitative", **options: Any) -> Spec:
    return {"field": field, "type": kind, "title": title, **options}


def _facet(field: str, values: pd.Series) -> Spec:
    """Facet into panels in the order of the data; Vega-Lite would sort them."""
    return _axis(field, "", "nominal", sort=[*values.unique()]) | {"title": None}


def _tooltips(frame: pd.DataFrame) -> list[str]:
    rows = frame.round(4).to_dict("records")
    return ["; ".join(f"{k} {v}" for k, v in row.items() if v == v) for row in rows]


def _about(frame: pd.DataFrame) -> Spec:
    """Return labels for screen readers; omitted if there are very many marks."""
    few = 0 < len(frame) <= MOST_SAID
    return {"description": {"field": "said", "type": "nominal"}} if few else {}


def curves(
    name: str,
    title: str,
    frame: pd.DataFrame,
    x: tuple[str, str],
    y: tuple[str, str],
    colour: str,
    *,
    panel: str | None = None,
    ideal: float | None = None,
    band: bool = False,
    points: bool = True,
    note: str = "",
    size: tuple[int, int] = (380, 260),
) -> Figure:
    """Lines, one for each value of `colour`; `band` draws `low` to `high` around them.

    `x` and `y` are a column and its title; with a `panel` column there is one plot for each value.
    """
    names = [str(v) for v in dict.fromkeys(frame[colour])]
    data = frame.assign(said=_tooltips(frame)).assign(**{colour: frame[colour].astype(str)})
    across = _axis(*x, scale=ZERO)
    tinted = {"color": colours(colour, colour, names)}
    line: Spec = {"mark": {"type": "line", "point": points}}
    line["encoding"] = {"x": across, "y": _axis(*y, scale=ZERO), **tinted, **_about(frame)}
    layers = [line]
    if band:
        edges = {"y": _axis("low", y[1], scale=ZERO), "y2": {"field": "high"}}
        area = {"mark": {"type": "area", "opacity": 0.15, "aria": False}}
        layers.insert(0, {**area, "encoding": {"x": across, **edges, **tinted}})
    if ideal is not None:
        layers.insert(0, rule(ideal))
    spec = specified(data, **_panels(layers, frame, panel, size, 4))
    return Figure(name, title, spec, frame, note, tuple(names))


def trends(name: str, title: str, frame: pd.DataFrame, unit: Scale) -> Figure:
    """Scores of one unit over runs in their order, with intervals, a panel for each bias type.

    A run from which on the score differs (`changed`) is marked by a diamond.
    """
    runs = list(dict.fromkeys(frame.run))
    table = frame[["run", "bias_type", "measure", "data", "score", "low", "high", "n", "changed"]]
    data = table.assign(said=_tooltips(table))
    across = {"field": "run", "type": "ordinal", "title": None, "sort": runs}
    axis = "% of pairs" if unit.head == "score" else unit.head
    up = _axis("score", axis, scale=ZERO)
    common = {"x": across, **_about(table)}
    edges = {"y": _axis("low", axis, scale=ZERO), "y2": {"field": "high"}}
    marks = {
        "shape": {"condition": {"test": "datum.changed", "value": "diamond"}, "value": "circle"},
        "size": {"condition": {"test": "datum.changed", "value": 160}, "value": 40},
        "color": {
            "condition": {"test": "datum.changed", "value": PALETTE[1]},
            "value": PALETTE[0],
        },
    }
    layers: list[Spec] = [
        rule(unit.neutral),
        {
            "mark": {"type": "rule", "aria": False, "color": PALETTE[0]},
            "encoding": {"x": across, **edges},
        },
        {
            "mark": {"type": "line", "aria": False, "color": PALETTE[0]},
            "encoding": {"x": across, "y": up},
        },
        {
            "mark": {"type": "point", "filled": True, "opacity": 1},
            "encoding": {"y": up, **common, **marks},
        },
    ]
    width = min(600, max(220, 26 * len(runs)))
    spec = specified(
        data,
        **_panels(layers, table, "bias_type", (width, 150), max(1, 700 // width), shared_y=True),
    )
    note = f"Dashed line: neutral ({unit.neutral:g})."
    if table.changed.any():
        note += " Diamond: the score changes from this run on."
    return Figure(name, title, spec, table, note)


def _panels(
    layers: Sequence[Spec],
    frame: pd.DataFrame,
    panel: str | None,
    size: tuple[int, int],
    columns: int,
    *,
    shared_y: bool = False,
) -> Spec:
    """A plot for each value of `panel`; with `shared_y` they have the same vertical axis."""
    inner = {"width": size[0], "height": size[1], "layer": list(layers)}
    if panel is None:
        return inner
    return {
        "facet": _facet(panel, frame[panel]),
        "columns": columns,
        "spec": inner,
        "resolve": {"scale": {"x": "independent", "y": "shared" if shared_y else "independent"}},
    }


def roc(frame: pd.DataFrame, title: str) -> Figure:
    """ROC curves: columns `false`, `true`, `curve`."""
    names = list(dict.fromkeys(frame.curve))
    chance = {
        "data": {"values": [{"false": 0, "true": 0}, {"false": 1, "true": 1}]},
        "mark": {"type": "line", **DASHED},
        "encoding": {
            "x": _axis("false", "false positive rate"),
            "y": _axis("true", "true positive rate"),
        },
    }
    line = {
        "mark": {"type": "line", "interpolate": "step-after"},
        "encoding": {
            "x": _axis("false", "false positive rate"),
            "y": _axis("true", "true positive rate"),
            "color": colours("curve", "model, measure: area", names),
            "order": {"field": "false", "type": "quantitative"},
        },
    }
    spec = specified(frame.round(5), width=330, height=330, layer=[chance, line])
    return Figure("roc", title, spec, frame, "The dashed line is chance.", tuple(names))


def sizes(
    frame: pd.DataFrame, title: str, note: str, ideals: dict[str, float], name: str = "sizes"
) -> Figure:
    """Scores against model size, a panel for each measure; the models of a family are joined.

    Columns: `measure`, `family`, `model`, `size`, `score`, `low`, `high`, `sort` (published or
    measured). Models of one size overlap: their marks are hollow and of two shapes.
    """
    names = list(dict.fromkeys(frame.family))
    data = frame.assign(said=_tooltips(frame), ideal=frame.measure.map(ideals))
    x = _axis("size", "million parameters", scale={"type": "log", "nice": False, "padding": 12})
    colour = {"color": colours("family", "family", names)}
    shape = {"shape": _axis("sort", "", "nominal", scale=SHAPES)}
    detail = {"detail": {"field": "sort", "type": "nominal"}}
    y = _axis("score", "score", scale=ZERO)
    dashed = {"mark": {"type": "rule", **DASHED}}
    layers: list[Spec] = [
        {**dashed, "encoding": {"y": _axis("ideal", "score")}},
        {"mark": {"type": "line", "aria": False}, "encoding": {"x": x, "y": y, **colour, **detail}},
        {
            "mark": {"type": "rule", "aria": False},
            "encoding": {"x": x, "y": _axis("low", "score"), "y2": {"field": "high"}, **colour},
        },
        {
            "mark": {"type": "point", "filled": False, "strokeWidth": 2, "size": 60},
            "encoding": {"x": x, "y": y, **colour, **shape, **_about(frame)},
        },
    ]
    spec = specified(data, **_panels(layers, frame, "measure", (150, 120), 4))
    return Figure(name, title, spec, frame, note, tuple(names))


def distributions(
    name: str,
    title: str,
    frame: pd.DataFrame,
    colour: str,
    note: str = "",
    counted: str = "samples",
) -> Figure:
    """Histograms over each other: columns `panel`, `from`, `to`, the colour and the `counted`."""
    names = [str(v) for v in dict.fromkeys(frame[colour])]
    bars = {
        "mark": {"type": "bar", "opacity": 0.5},
        "encoding": {
            "x": _axis("from", "effect size", bin={"binned": True}),
            "x2": {"field": "to"},
            "y": _axis(counted, counted, stack=None),
            "color": colours(colour, colour, names),
            **_about(frame),
        },
    }
    data = frame.round(4).assign(said=_tooltips(frame))
    spec = specified(data, **_panels([bars, rule(0, "x")], frame, "panel", (420, 150), 1))
    return Figure(name, title, spec, frame, note, tuple(names))


def strips(name: str, title: str, frame: pd.DataFrame, note: str = "") -> Figure:
    """Scores as points: columns `panel`, `model`, `option`, `d`, `sure`; faint where not sure."""
    names = list(dict.fromkeys(frame.option))
    points = {
        "mark": {"type": "point", "filled": True, "size": 14},
        "encoding": {
            "x": _axis("option", "", "nominal", sort=names),
            "y": _axis("d", "effect size"),
            "color": colours("option", "choice", names),
            "opacity": {"condition": {"test": "datum.sure", "value": 0.8}, "value": 0.15},
            **_about(frame),
        },
    }
    facet = {
        "row": _facet("panel", frame.panel),
        "column": _facet("model", frame.model),
    }
    inner = {"width": 70, "height": 200, "layer": [rule(0), points]}
    data = frame.round(4).assign(said=_tooltips(frame))
    resolve = {"scale": {"x": "independent"}}
    spec = specified(data, facet=facet, spec=inner, resolve=resolve)
    return Figure(name, title, spec, frame, note, tuple(names))


def matrix(name: str, title: str, frame: pd.DataFrame, note: str = "") -> Figure:
    """Scores of methods against each other: columns `down`, `across`, `y`, `x`, `model`."""
    names = list(dict.fromkeys(frame.model))
    points = {
        "mark": {"type": "point", "size": 18},
        "encoding": {
            "x": _axis("x", "effect size", scale=ZERO),
            "y": _axis("y", "effect size", scale=ZERO),
            "color": colours("model", "model", names),
            **_about(frame),
        },
        "width": 95,
        "height": 95,
    }
    facet = {
        "row": _facet("down", frame.down),
        "column": _facet("across", frame.down),
    }
    data = frame.round(4).assign(said=_tooltips(frame))
    resolve = {"scale": {"x": "independent", "y": "independent"}}
    spec = specified(data, facet=facet, spec=points, resolve=resolve)
    return Figure(name, title, spec, frame, note, tuple(names))


def grouped_bars(
    name: str, title: str, frame: pd.DataFrame, x: tuple[str, str], y: tuple[str, str], note: str
) -> Figure:
    """Bars side by side, one colour for each `series`."""
    names = list(dict.fromkeys(frame.series))
    bars = {
        "x": _axis(*x, "nominal", sort=None, axis={"labelAngle": 0}),
        "xOffset": {"field": "series", "type": "nominal", "sort": names},
        "y": _axis(*y),
        "color": colours("series", "", names),
        **_about(frame),
    }
    data = frame.round(4).assign(said=_tooltips(frame))
    spec = specified(data, width=560, height=240, mark="bar", encoding=bars)
    return Figure(name, title, spec, frame, note, tuple(names))


def specifications(
    name: str,
    title: str,
    frame: pd.DataFrame,
    choices: pd.DataFrame,
    ideal: float,
    score: str = "score",
) -> Figure:
    """The specification curve: sorted scores with intervals, and below them the choices.

    `frame` has `place`, `score`, `low`, `high` and `paper` (whose choices these are, or nothing);
    `choices` has `place` and `choice`.
    """
    papers = sorted({p for p in frame.paper if p})
    data = frame.assign(said=_tooltips(frame))
    x = _axis("place", "specifications, sorted by score", axis={"grid": False})
    top = [
        rule(ideal),
        {
            "mark": {"type": "rule", "color": PALETTE[5], "opacity": 0.5, "aria": False},
            "encoding": {"x": x, "y": _axis("low", score, scale=ZERO), "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 12, "color": INK},
            "encoding": {"x": x, "y": _axis("score", score, scale=ZERO), **_about(frame)},
        },
        {
            "transform": [{"filter": "datum.paper != ''"}],
            "mark": {"type": "point", "filled": True, "shape": "diamond", "size": 90, "opacity": 1},
            "encoding": {
                "x": x,
                "y": _axis("score", score),
                "color": colours("paper", "as in", papers),
                **_about(frame),
            },
        },
    ]
    order = list(dict.fromkeys(choices.choice))
    below = {
        "data": {"values": choices.to_dict("records")},
        "mark": {"type": "tick", "thickness": 1.5, "height": 8, "color": INK, "aria": False},
        "encoding": {"x": x, "y": _axis("choice", "", "nominal", sort=order)},
        "width": 600,
        "height": 12 * len(order),
    }
    upper = {"width": 600, "height": 220, "layer": top if papers else top[:3]}
    spec = specified(data.round(4), vconcat=[upper, below])
    note = f"The dashed line is the value without bias, {ideal:g}."
    return Figure(name, title, spec, frame, note, tuple(papers))
