"""Model Size and Gender Bias (Thys 2025): the figures."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from unmask.models.protocol import Model
from unmask.reports.figures import study_charts
from unmask.reports.figures.drawing import Figure, heat_map
from unmask.studies.papers.paper_table import frame
from unmask.types import Estimate

Scores: TypeAlias = Mapping[str, Estimate]  # the columns of Table 4
SIZE_WORD = re.compile(
    r"(?<![a-z])(tiny|mini|small|medium|base|large|x+l(arge)?|[0-9.]+[mb])(?![a-z])", re.IGNORECASE
)


def size_of(model: Model) -> float:
    """The size of a model in millions of parameters."""
    return float(model.provenance["parameters"]) / 1e6


def sizes(values: Any, scores: Mapping[str, Scores], models: Sequence[Model]) -> list[Figure]:
    """Figures 1 and 2: each measure, and the language modelling score, from base to large."""
    rows = []
    for i, name in enumerate(values["columns"]):
        for m in values["sizes"]:
            line = {"measure": name, "family": line_of(m), "model": m}
            line |= {"size": values["sizes"][m], "score": values["table4"][m][i]}
            rows.append({**line, "low": None, "high": None, "sort": "published"})
        for model in (m for m in models if name in scores[m.name]):
            e = scores[model.name][name]
            line = {"measure": name, "family": f"{line_of(model.name)} (measured)"}
            line |= {"model": model.name, "size": size_of(model), "score": e.value}
            rows.append({**line, "low": e.low, "high": e.high, "sort": "measured"})
    ideals = {name: 100.0 if name == "lms" else 0.0 for name in values["columns"]}
    note = (
        "A line joins the sizes of one model, base to large. Circles: published. Squares: "
        "measured, with their intervals."
    )
    table = frame(rows)
    titles = {
        "sizes": "Figure 1: bias scores by model size (million parameters)",
        "sizes-lms": "Figure 2: language modelling score by model size (million parameters)",
    }
    parts = {"sizes": table[table.measure != "lms"], "sizes-lms": table[table.measure == "lms"]}
    return [study_charts.sizes(parts[k], title, note, ideals, k) for k, title in titles.items()]


def line_of(name: str) -> str:
    """What the sizes of one model have in common: its name without the word for the size.

    >>> line_of("bert-base-cased") == line_of("bert-large-cased") == "bert-cased"
    True
    """
    return re.sub(r"[-_]+", "-", SIZE_WORD.sub("", name)).strip("-_/ ") or name


def correlations(values: Any) -> Figure:
    """Figure 3 as the paper draws it."""
    order, below = values["figure3"]["order"], values["figure3"]["below"]
    square = np.eye(len(order))
    for i, line in enumerate(below):
        square[i, : len(line)] = square[: len(line), i] = line
    matrix = pd.DataFrame(square, index=order, columns=order)
    title = "Figure 3: correlations between the measures, as published"
    return heat_map("correlations", title, matrix, "Pearson's r", "Over the paper's 6 models.")
