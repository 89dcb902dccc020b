"""A leaderboard as a page: one file, sortable, with the ranks that each model may have."""

import math
from dataclasses import dataclass

import pandas as pd

from unmask.reports.templating import rendered
from unmask.support.printable import visible

FIXED = ("model", "rank", "rank_high", "distance", "biased", "measures", "unranked")
NOTES = (
    "Ranks: those that a model may have, with 95 % for all models together; models that cannot be "
    "told apart share them.",
    "Distance: root mean square over measures of the distance from fair, in units of what matters "
    "(5 points, d = 0.2, a factor of 1.2, unless the run says otherwise), less what noise adds.",
    "Found biased: in how many of the measures.",
)


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    value: str
    bar: tuple[float, float] | None = None


def board_page(board: pd.DataFrame) -> str:
    """The page of a board that `leaderboard` made."""
    scores = [str(c) for c in board.columns if c not in FIXED]
    heads = ["model", "ranks", "distance", "found biased", *scores]
    last = max(int(board.rank_high.fillna(0).max()), 2)
    rows = []
    for record in board.to_dict("records"):
        if record["unranked"]:
            name = visible(str(record["model"]))
            values = [_Cell(_number(record[s]), str(record[s])) for s in scores]
            rest = [_Cell("not ranked", "inf"), _Cell("", "inf"), _Cell("", "inf")]
            rows.append([_Cell(name, name), *rest, *values])
            continue
        low, high = int(record["rank"]), int(record["rank_high"])
        bar = tuple(4 + 92 * (r - 1) / (last - 1) for r in (low, high))
        ranks = str(low) if low == high else f"{low} to {high}"
        name = visible(str(record["model"]))
        found = f"{record['biased']:.0f} of {record['measures']:.0f}"
        rows.append(
            [
                _Cell(name, name),
                _Cell(ranks, str(low + high / 1000), (bar[0], bar[1])),
                _Cell(f"{record['distance']:.2f}", str(record["distance"])),
                _Cell(found, str(record["biased"])),
                *(_Cell(_number(record[s]), str(record[s])) for s in scores),
            ]
        )
    return rendered(
        "board.html.jinja",
        title="Models side by side",
        subtitle=f"{len(board)} models, {len(scores)} measures that all of them have",
        sentence=sentence(board),
        heads=heads,
        rows=rows,
        notes=[
            *(
                f"{visible(str(r['model']))} is not ranked: {visible(str(r['unranked']))}."
                for r in board[board.unranked != ""].to_dict("records")
            ),
            *NOTES,
        ],
    )


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def sentence(board: pd.DataFrame) -> str:
    """Who is nearest to fair, as far as that can be told."""
    first = [visible(str(m)) for m in board.model[board["rank"] == 1]]
    if not first:
        return "No model is fit for a rank: see the reasons below."
    if len(first) == int((board.unranked == "").sum()) > 1:
        return f"None of the {len(first)} ranked models can be told from the others."
    if len(first) == 1:
        return f"{first[0]} is nearest to fair on these measures."
    named = ", ".join(first[:5]) + (f" and {len(first) - 5} more" if len(first) > 5 else "")
    return f"Nearest to fair, and not to be told apart: {named}."
