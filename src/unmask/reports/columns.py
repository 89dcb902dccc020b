"""The columns of every table, declared once for terminal, page, CSV and LaTeX."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from unmask.answer import lab_status
from unmask.answer.scales import SCALES, scale_of
from unmask.errors import DataError
from unmask.options import check_scale
from unmask.stats.intervals import MIN_CLUSTERS
from unmask.support.printable import one_line
from unmask.types import FOUND, Estimate, Result, ScaleName

Row: TypeAlias = Mapping[str, Any]
SURE = 0.05
VISIBLE = 0.05  # percentage points that are visible in a table


def _always(frame: pd.DataFrame) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, its value in a row of the frame, and its format.

    `when` tells for which frames it is shown; `left` aligns words; `strong` makes a cell bold,
    `faint` grey.
    """

    head: str | Callable[[pd.DataFrame], str]
    value: Callable[[Row], Any]
    format: Callable[[Any, Row], str]
    when: Callable[[pd.DataFrame], bool] = _always
    left: bool = False
    strong: Callable[[Row], bool] = lambda row: False
    faint: Callable[[Row], bool] = lambda row: False


@dataclass(frozen=True, slots=True)
class Cell:
    """The content of a cell."""

    text: str
    left: bool
    strong: bool = False
    faint: bool = False


def laid_out(frame: pd.DataFrame, columns: Iterable[Column]) -> tuple[list[Cell], list[list[Cell]]]:
    """Return the headings and rows of the columns that apply to a frame."""
    visible = [c for c in columns if c.when(frame)]
    heads = [Cell(c.head if isinstance(c.head, str) else c.head(frame), c.left) for c in visible]
    rows = [
        [
            Cell(one_line(c.format(c.value(row), row)), c.left, c.strong(row), c.faint(row))
            for c in visible
        ]
        for row in frame.to_dict("records")
    ]
    return heads, rows


# ---------------------------------------------------------------- formats


def missing(value: Any) -> bool:
    """Whether there is nothing to show."""
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def words(value: Any, row: Row) -> str:
    """Text as it is."""
    return "" if missing(value) else str(value)


def p_value(value: Any, row: Row) -> str:
    """Four decimals, and never 0, because no test gives that."""
    if missing(value):
        return ""
    if value == 0:
        return "< 1e-300"
    return f"{value:.4f}" if value >= 1e-4 else f"{value:.0e}"


def shortened(name: str, longest: int = 40) -> str:
    """A name, cut to a maximum length."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def per_cent(value: Any, row: Row) -> str:
    """Whole per cents."""
    return "" if missing(value) else f"{value:.0f} %"


def number(value: Any, row: Row) -> str:
    """Two decimals, or three significant digits if these would be zeros; text as it is."""
    if missing(value):
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if value and abs(value) < 1e-3 else f"{value:.2f}"


def signed(value: Any, row: Row) -> str:
    """Two decimals with their sign."""
    return f"{value:+.2f}"


def _score(value: Any, row: Row) -> str:
    return SCALES[row["compared"]].text(value)


def _interval(value: Any, row: Row) -> str:
    low, high = value
    if missing(low):
        return ""
    unit = SCALES[row["compared"]] if "compared" in row else SCALES["association"]
    return f"[{unit.text(low)}, {unit.text(high)}]"


def _two_digits(value: Any, row: Row) -> str:
    low, high = value
    return "" if missing(low) else f"[{low:.2f}, {high:.2f}]"


def _mde(value: Any, row: Row) -> str:
    return "" if missing(value) else SCALES[row["compared"]].text(value)


def _count(value: Any, row: Row) -> str:
    return "" if missing(value) else f"{value:.0f}"


# ---------------------------------------------------------------- the tables


def _of(name: str) -> Callable[[Row], Any]:
    return lambda row: row.get(name)


def _level(frame: pd.DataFrame) -> str:
    level = frame.level.iloc[0] if "level" in frame else 0.95
    return f"{100 * level:g} % interval"


def _bounds(row: Row) -> tuple[float, float]:
    return row["low"], row["high"]


def _shares(frame: pd.DataFrame) -> bool:
    return all(SCALES[c].share for c in frame.compared)


def _effects(frame: pd.DataFrame) -> bool:
    return not _shares(frame)


def _indices(frame: pd.DataFrame) -> bool:
    return any(SCALES[c].is_index for c in frame.compared)


def _ideal(value: Any, row: Row) -> str:
    return "" if missing(value) else f"{value:g}"


def _any(name: str) -> Callable[[pd.DataFrame], bool]:
    return lambda frame: name in frame and bool(frame[name].notna().any())


def _differing(frame: pd.DataFrame) -> bool:
    """Whether any adjusted share differs visibly from its score."""
    return bool(((frame.adjusted - frame.score).abs() >= VISIBLE).any())


def _adjusted_share(row: Row) -> tuple[float, float, float] | None:
    """Return the adjusted share with its interval, or None if it does not differ from the score."""
    value = row["adjusted"]
    if missing(value) or abs(value - row["score"]) < VISIBLE:
        return None
    return value, row["adjusted_low"], row["adjusted_high"]


def _with_interval(value: Any, row: Row) -> str:
    return "" if value is None else f"{_score(value[0], row)} {_interval(value[1:], row)}".rstrip()


def _incomplete(frame: pd.DataFrame) -> bool:
    return bool((frame.coverage < 100).any())


def _few(row: Row) -> bool:
    return bool(row["few"])


RUN: Sequence[Column] = (
    Column("measure", lambda r: "" if r["category"] else r["measure"], words, left=True),
    Column(
        "data", lambda r: f"  {r['category']}" if r["category"] else r["data"], words, left=True
    ),
    Column(
        lambda frame: SCALES[frame.compared.iloc[0]].head,
        _of("score"),
        _score,
        strong=lambda r: r["verdict"] in FOUND,
        faint=_few,
    ),
    Column(_level, _bounds, _interval, faint=_few),
    Column("ideal", _of("ideal"), _ideal, when=_indices),
    Column("n", _of("n"), words),
    Column("p", _of("p"), p_value, when=lambda f: _effects(f) and _any("p")(f)),
    Column(
        "joint p",
        _of("p_corrected"),
        p_value,
        when=lambda f: _effects(f) and _any("p_corrected")(f),
    ),
    Column("MDE", _of("mde"), _mde, when=_any("mde")),
    Column("adjusted", _adjusted_share, _with_interval, when=_differing),
    Column("word pref.", _of("word_preference"), _count, when=_any("word_preference")),
    Column("ties", _of("ties"), _count, when=lambda f: _shares(f) and bool((f.ties > 0).any())),
    Column("scored", _of("coverage"), per_cent, when=_incomplete),
    Column("acc.", _of("accuracy"), per_cent, when=_shares),
    Column(
        "lab",
        lambda r: "" if r["category"] else r["lab"],
        words,
        left=True,
        when=lambda f: not _indices(f),
    ),
    Column("verdict", _of("verdict"), words, left=True, when=_any("verdict")),
)


def _significant(row: Row) -> bool:
    return row["verdict"] in FOUND


def _measured(row: Row) -> str:
    if math.isnan(row["low"]):
        return f"{row['value']:.1f}, without an interval"
    if row["unit"] == "% of pairs":
        span = f"[{row['low']:.0f}, {row['high']:.0f}]"
        return f"{row['value']:.0f} % of {row['n']:,} pairs {span}"
    bounds = f"[{row['low']:.2f}, {row['high']:.2f}]"
    if row["unit"] == "factor":
        return f"{row['value']:.2f} times as likely {bounds}"
    return f"{row['unit']} {row['value']:.2f} {bounds}"


def _agreement(row: Row) -> str:
    trust = "" if row["trust"] == lab_status.VALIDATED else f" ({row['trust']})"
    if not row["agreement"]:  # the main evidence is neutral
        return f"neutral{trust}"
    return f"{row['agreement']} of {row['evidence']}{trust}"


# The answer by bias type.
BIAS_TYPES: Sequence[Column] = (
    Column("bias type", lambda r: shortened(r["bias_type"]), words, left=True, strong=_significant),
    Column("verdict", _of("verdict"), words, left=True, strong=_significant),
    Column("strength", lambda r: r["strength"] if _significant(r) else "", words, left=True),
    Column("measured", _measured, words, left=True),
    Column("agreement", _agreement, words, left=True),
    Column(
        "needed to decide",
        _of("needed"),
        words,
        left=True,
        when=lambda f: bool((f.needed != "").any()),
    ),
)
COMPARISON: Sequence[Column] = (
    Column("measure", _of("measure"), words, left=True),
    Column("data", _of("data"), words, left=True),
    Column(
        "choices", _of("choices"), words, when=lambda f: bool((f.choices != "").any()), left=True
    ),
    Column("diff.", _of("difference"), signed, strong=lambda r: r["p_holm"] <= SURE),
    Column(_level, _bounds, _two_digits),
    Column("n", _of("n"), words),
    Column("p", _of("p"), p_value),
    Column("p Holm", _of("p_holm"), p_value),
    Column("p equiv.", _of("p_equivalent"), p_value, when=lambda f: "p_equivalent" in f),
)


def plain(frame: pd.DataFrame, digits: int = 2) -> list[Column]:
    """A column for each of a frame's, numbers with `digits` decimals."""

    def shown(value: Any, row: Row) -> str:
        rounded = isinstance(value, float) and not missing(value) and abs(value) >= 1e-3
        return f"{value:.{digits}f}" if rounded else number(value, row)

    return [
        Column(
            str(name),
            _of(name),
            p_value if str(name) == "p" or str(name).startswith("p ") else shown,
            left=bool(frame[name].map(type).eq(str).any()),
        )
        for name in frame.columns
    ]


# ---------------------------------------------------------------- the frame of a run


def table(
    results: Iterable[Result], by_category: bool = False, scale: str | None = None
) -> pd.DataFrame:
    """Return one row per result (and category): score, interval, ideal, n, coverage, accuracy, ...

    `scale` selects another scale if a measure has it: the `share` of items, the effect size `d`, or
    `odds` (the odds ratio of a template test, or for pairs the mean margin as a factor if scores
    are log-probabilities of whole sentences). On another scale there is no verdict.

    `p_corrected` is the p of the row's test, corrected for all tests of the model. `adjusted` is
    the share without word preference, `mde` the minimum detectable effect. A baseline has no
    verdict, nor has a measure that does not count because validated ones exist. `lab` is the lab
    status of the measure for this kind of model.
    """
    rows = []
    for result in checked_results(results):
        parts = {"": result.overall} | (dict(result.by_category) if by_category else {})
        for category, estimate in parts.items():
            compared, scaled = _scaled(result, category, scale) or (result.compared, estimate)
            row = _row(result, category, scaled) | {"compared": compared}
            if compared != result.compared:
                margin = lab_status.of_result(result, lab_status.MARGIN).word
                shares = SCALES[result.compared].share
                row |= {**_NOT_ON_ANOTHER_SCALE, "lab": margin if shares else row["lab"]}
            rows.append(row)
    return pd.DataFrame(rows)


def checked_results(results: Any) -> list[Result]:
    """Return results as a list; refuse anything else."""
    items = [results] if isinstance(results, Result) else results
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise DataError(f"{results!r:.40} is not a list of results; give what 'run' returned.")
    listed = list(items)
    for r in listed:
        if not isinstance(r, Result):
            raise DataError(f"{r!r:.40} is not a result; give what 'run' or 'load' returned.")
    return listed


# The verdict and its columns apply to the measure's own scale only.
_NOT_ON_ANOTHER_SCALE: Row = {
    **dict.fromkeys(("adjusted", "adjusted_low", "adjusted_high", "p_corrected"), np.nan),
    "verdict": None,
}


def _scaled(result: Result, category: str, scale: str | None) -> tuple[ScaleName, Estimate] | None:
    """Return the scale and estimate of a result on a requested scale, or None if it has none."""
    check_scale(scale)
    summed = result.settings.get("margin") == "nats"  # a mean of tokens is no factor of a sentence
    name = {
        ("preference", "odds"): "margin" if summed else None,
        ("log-odds", "odds"): "odds",
        ("odds", "d"): "effect_size",
    }.get((result.compared, scale or ""))
    estimate = result.extras.get(f"{name}:{category}" if category else str(name))
    if name is None or estimate is None:
        return None
    return ("log-odds" if scale == "d" else "odds"), estimate


def _row(result: Result, category: str, estimate: Estimate) -> dict[str, Any]:
    overall, details = category == "", estimate.more
    extras = {k: f"{k}:{category}" if category else k for k in ("adjusted", "margin")}
    adjusted = result.extras.get(extras["adjusted"]) if scale_of(result).share else None
    margin = result.extras.get(extras["margin"])
    score = result.by_category[category] if category else result.overall
    mde = margin.more.get("mde") if margin is not None else details.get("mde")
    rate = result.extras.get(f"word_preference:{category}" if category else "word_preference")
    verdict = result.verdicts.get(category)
    return {
        "model": result.model,
        "data": result.data,
        "measure": result.measure,
        "category": category,
        "score": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "level": estimate.level,
        "ideal": estimate.ideal,
        "n": estimate.n,
        "coverage": result.coverage.share if overall else np.nan,
        "ties": result.coverage.ties if overall else np.nan,
        "unfit": "; ".join(result.fitness.reasons),
        "accuracy": result.accuracy.value if result.accuracy and overall else np.nan,
        "se": estimate.se,
        "p": np.nan if estimate.p is None else estimate.p,
        "p_corrected": score.more.get("p_corrected", np.nan),
        "adjusted": np.nan if adjusted is None else adjusted.value,
        "adjusted_low": np.nan if adjusted is None else adjusted.low,
        "adjusted_high": np.nan if adjusted is None else adjusted.high,
        "mde": mde,
        "word_preference": np.nan if rate is None else rate.value,
        "clusters": details.get("clusters", np.nan),
        "few": details.get("clusters", MIN_CLUSTERS) < MIN_CLUSTERS,
        "verdict": str(verdict) if verdict is not None and verdict.counts else None,
        "method": estimate.method,
        "lab": lab_status.of_result(result).word,
    }
