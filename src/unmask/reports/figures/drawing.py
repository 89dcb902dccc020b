"""Figures: one Vega-Lite spec each, drawn for the screen and for print by the same library.

vl-convert draws SVG, PNG and PDF without a browser. On a page the SVG is inline: every mark
says what it is in its `aria-label`, which a screen reader reads and the page shows on hover.
"""

import colorsys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, TypeAlias

import pandas as pd

from unmask.errors import UnmaskError
from unmask.support.printable import visible

Spec: TypeAlias = dict[str, Any]
# Okabe and Ito's colours, which colour-blind readers can tell apart; the first is blue.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#b8a900")
INK = "#555555"
SAID: Spec = {"field": "said", "type": "nominal"}
ROW = 17  # pixels for a row of dots
FORMS = ("svg", "png", "pdf")
# Reserved names in the drawing library's language: as values they would be misread.
MEMBERS = {
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
    "__proto__",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
}
_CONFIG: Spec = {
    "background": "white",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "padding": {"left": 12, "top": 5, "right": 12, "bottom": 5},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": "#99999933",
        "domainColor": INK,
        "tickColor": INK,
        "labelLimit": 220,
        "titleFontWeight": "normal",
    },
    "header": {"labelColor": INK, "titleColor": INK, "labelFontWeight": "bold"},
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "orient": "bottom",
        "labelLimit": 300,
        "symbolOpacity": 1,
    },
    "title": {"color": INK, "anchor": "start"},
    "view": {"stroke": None},
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: a Vega-Lite spec under a title, with the table of the numbers that it shows."""

    name: str
    title: str
    spec: Spec
    numbers: pd.DataFrame
    note: str = ""
    legend: tuple[str, ...] = field(default=())


def made_ready() -> None:
    """Load the drawing library in advance, which takes most of a second, while other work runs."""
    with suppress(ImportError):
        import vl_convert

        Thread(target=vl_convert.vegalite_to_svg, args=(_NOTHING,)).start()


_NOTHING = {"data": {"values": []}, "mark": "point"}


def drawn(figure: Figure, form: str = "svg") -> bytes:
    """The figure as `svg`, `png` or `pdf`."""
    try:
        import vl_convert
    except ImportError as error:
        raise UnmaskError("figures need: pip install vl-convert-python.") from error
    if form not in FORMS:
        raise UnmaskError(f"a figure cannot be drawn as {form!r}; give {', '.join(FORMS)}.")
    try:
        image = getattr(vl_convert, f"vegalite_to_{form}")(
            _clean(figure.spec), **({"scale": 2} if form == "png" else {})
        )
    except ValueError as error:
        reason = str(error).splitlines()[0][:120]
        raise UnmaskError(f"the figure {figure.title!r} cannot be drawn ({reason}).") from error
    return image.encode() if isinstance(image, str) else bytes(image)


def _clean(value: Any) -> Any:
    """Replace control characters and reserved names in a spec: the library fails on them."""
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    if not isinstance(value, str):
        return value
    return visible(value) + "\u00a0" * (value in MEMBERS)


def specified(values: pd.DataFrame, **parts: Any) -> Spec:
    """A Vega-Lite spec over the rows of a frame."""
    rows = values.astype(object).where(values.notna(), None).to_dict("records")
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": rows},
        "config": _CONFIG,
        **parts,
    }


def palette(count: int) -> list[str]:
    """Distinct colours: Okabe and Ito's, then hues between them in two shades."""
    colours_rgb = [
        colorsys.hls_to_rgb((k * 0.381966) % 1, 0.36 + 0.22 * (k % 2), 0.75)
        for k in range(max(count - len(PALETTE), 0))
    ]
    extra = ["#" + "".join(f"{round(255 * v):02x}" for v in rgb) for rgb in colours_rgb]
    return [*PALETTE[:count], *extra]


def colours(field_: str, title: str, names: Sequence[str]) -> Spec:
    """A colour for each name, with its legend."""
    scale = {"domain": list(names), "range": palette(len(names))}
    legend = {} if len(names) > 1 else {"legend": None}  # one name is in the title
    return {"field": field_, "type": "nominal", "title": title, "scale": scale, **legend}


DASHED: Spec = {"color": INK, "strokeDash": [4, 3], "aria": False}


def rule(value: float, along: str = "y", **options: Any) -> Spec:
    """A dashed line at the value without bias."""
    place = {"datum": value, "type": "quantitative", **options}
    return {"mark": {"type": "rule", **DASHED}, "encoding": {along: place}}


def heat_map(name: str, title: str, matrix: pd.DataFrame, label: str, note: str = "") -> Figure:
    """A heat map of correlations with their numbers: blue is positive, orange negative."""
    long = matrix.rename_axis("first").reset_index().melt("first", var_name="second")
    long["said"] = [f"{a} and {b}: {v:.2f}" for a, b, v in long.to_numpy()]
    axis = {"type": "nominal", "title": None, "sort": list(matrix.columns)}
    grid = {"x": {"field": "second", **axis}, "y": {"field": "first", **axis}}
    scale = {"domain": [-1, 0, 1], "range": [PALETTE[1], "#f4f4f4", PALETTE[0]]}
    colour = {"field": "value", "type": "quantitative", "scale": scale, "title": label}
    squares = {"mark": "rect", "encoding": {**grid, "color": colour, "description": SAID}}
    dark = {"condition": {"test": "abs(datum.value) > 0.6", "value": "white"}, "value": "#111111"}
    numbers = {
        "mark": {"type": "text", "fontSize": 12, "aria": False},
        "encoding": {**grid, "text": {"field": "value", "format": ".2f"}, "color": dark},
    }
    side = 46 * len(matrix)
    spec = specified(long, width=max(side, 120), height=max(side, 90), layer=[squares, numbers])
    return Figure(name, title, spec, matrix.reset_index(), note)
