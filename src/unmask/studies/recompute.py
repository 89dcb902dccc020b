"""Estimates of a result recomputed from its items, at a level of one's choice.

A release decision must not rest on numbers that contradict their items, nor on the level at which
somebody happened to run. Shares are recomputed whole. Of the other kinds of numbers the value is
compared with the items, and the interval is moved to the level by its quantiles.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unmask.answer.fitness import assessed
from unmask.answer.items import Items
from unmask.answer.scales import scale_of
from unmask.errors import DataError
from unmask.flow.results import accuracy_of, compared_again
from unmask.measures import MEASURES
from unmask.options import Resampling
from unmask.stats import log_odds
from unmask.stats.effects import by_words
from unmask.stats.item_statistics import STATISTICS
from unmask.stats.student_t import quantile
from unmask.studies.contrast import statistic_facts, template_halves
from unmask.types import Estimate, Result, Results

TOLERANCE = 1e-6
FROM_MARGINS = ("adjusted", "margin", "word_preference")  # extras that verdicts are about


def recomputed(results: Results, level: float) -> Results:
    """The results with estimates from their items at a level; a contradiction is a DataError."""
    out = [_recomputed(r, level) for r in results]
    return Results(assessed(out), results.notes, results.lost)


def _recomputed(result: Result, level: float) -> Result:
    try:
        return _checked(result, level)
    except DataError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise _contradiction(result, f"{type(error).__name__} {error!s:.60}") from error


def _checked(result: Result, level: float) -> Result:
    _check_coverage(result)
    _check_verdicts(result)
    result = _check_accuracy(result)
    if scale_of(result).paired:
        result = _shares(result, level)
    else:
        _check_value(result)
        result = _moved(result, level)
    return result


def _shares(result: Result, level: float) -> Result:
    resampling = Resampling(level=level, seed=int(result.settings.get("seed") or 0))
    compared = compared_again(result, result.items, resampling)
    _check_same(result, "", result.overall, compared.overall)
    if set(result.by_category) != set(compared.by_category):
        apart = sorted({*result.by_category} ^ {*compared.by_category})
        raise _contradiction(result, f"its categories are not those of the items ({apart[0]!r})")
    if result.coverage.ties != compared.ties:
        ties = f"{result.coverage.ties} ties are stated, and the items have {compared.ties}"
        raise _contradiction(result, ties)
    for name, estimate in result.by_category.items():
        _check_same(result, f" ({name})", estimate, compared.by_category[name])
    kept = {k: v for k, v in result.extras.items() if k.partition(":")[0] not in FROM_MARGINS}
    extras = {**_at_level(kept, level), **compared.extras}
    categories = {k: compared.by_category[k] for k in result.by_category}
    return replace(result, overall=compared.overall, by_category=categories, extras=extras)


def _check_coverage(result: Result) -> None:
    """The counts of items, as far as the items table has them."""
    frame = result.items
    if "reason" not in frame or result.compared in ("association", "index"):
        return
    total, scored = frame["item"].nunique(), frame[frame.reason.isna()]["item"].nunique()
    if (result.coverage.items, result.coverage.scored) != (total, scored):
        stated = f"{result.coverage.scored} of {result.coverage.items} items are said to be scored"
        raise _contradiction(result, f"{stated}; the table has {scored} of {total}")
    lost = frame[frame.reason.notna()].drop_duplicates("item").reason.value_counts()
    if dict(result.coverage.reasons) != {str(k): int(v) for k, v in lost.items()}:
        raise _contradiction(result, "the reasons of items without a score are not the table's")


def _check_verdicts(result: Result) -> None:
    """That nobody removed the verdicts: without them a result would be taken for a baseline."""
    row = MEASURES.get(result.measure.partition("@")[0])
    if result.verdicts or row is None or row.baseline or result.compared == "index":
        return
    if result.overall.ideal is not None and "@" not in result.measure:
        raise _contradiction(result, "it has no verdicts, and its measure has")


def _check_accuracy(result: Result) -> Result:
    """The token accuracy, where the items have their tokens; one without its constant is none."""
    if not scale_of(result).paired or not {"tokens", "hits"} <= {*result.items.columns}:
        return result
    found, stated = accuracy_of(result.items, Resampling()), result.accuracy
    if stated is not None and (found is None or abs(found.value - stated.value) > 0.01):
        raise _contradiction(result, f"its token accuracy is not that of the items ({found})")
    if stated is not None and not 0 < stated.more.get("constant", 1.0) <= 100:
        raise _contradiction(result, "the accuracy of a fixed token is not a percentage")
    if found is None or stated is not None:
        return result
    return replace(result, accuracy=found)


def _check_value(result: Result) -> None:
    """The value of a template test or of a statistic of items, from the items."""
    name, frame = result.settings.get("statistic"), result.items
    value = None
    if name in STATISTICS and "value" in frame:
        first = frame[frame.reason.isna()].drop_duplicates("item")
        values = first.value.to_numpy(float)
        value = STATISTICS[str(name)](values, statistic_facts(first)).value
    elif scale_of(result).templates and not result.settings.get("samples"):
        scores = Items(result).log_odds()
        (x, x_words), (y, y_words) = template_halves(Items(result).first, scores, list(scores))
        words = by_words(x, y, x_words, y_words)
        value = words.value
        if scale_of(result).is_factor:  # other templates can only add to its error
            least = log_odds.odds_ratio(words)
            value = least.value
            if result.overall.se < 0.99 * least.se:
                raise _contradiction(result, "its interval is narrower than its words allow")
    elif "without" in frame and frame.without.notna().any():
        left = frame.without.dropna().to_numpy(float)
        reach = 3 * float(np.abs(left - left.mean()).max()) + 0.1
        near = abs(result.overall.value - left.mean()) <= reach
        value = result.overall.value if near else float(left.mean())
    if value is not None and abs(value - result.overall.value) > TOLERANCE * max(1, abs(value)):
        raise _contradiction(
            result, f"its value is {result.overall.value:.4f}; from the items it is {value:.4f}"
        )


def _check_same(result: Result, where: str, stated: Estimate, found: Estimate) -> None:
    if stated.n != found.n or abs(stated.value - found.value) > TOLERANCE * 100:
        raise _contradiction(
            result,
            f"its score{where} is {stated.value:.4f} of {stated.n} items; from the items it is "
            f"{found.value:.4f} of {found.n}",
        )


def _contradiction(result: Result, what: str) -> DataError:
    return DataError(
        f"{result.title}, {result.model}: results.json contradicts items.parquet: {what}; run "
        "again, or restore the files as 'unmask run' wrote them."
    )


def _moved(result: Result, level: float) -> Result:
    return replace(
        result,
        overall=at_level(result.overall, level),
        by_category=_at_level(result.by_category, level),
        extras=_at_level(result.extras, level),
    )


def _at_level(estimates: Mapping[str, Estimate], level: float) -> dict[str, Estimate]:
    return {k: at_level(v, level) for k, v in estimates.items()}


def at_level(estimate: Estimate, level: float) -> Estimate:
    """An estimate with its interval at another level, by the quantiles of t."""
    if estimate.level == level or math.isnan(estimate.low):
        return replace(estimate, level=level)
    df = float(estimate.more.get("df") or math.inf)
    wanted, had = (quantile((1 + c) / 2, df) for c in (level, estimate.level))
    inner = quantile(level, df) / had
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    bounds = [estimate.value - inner * below, estimate.value + inner * above]
    return replace(
        estimate,
        level=level,
        low=estimate.value - wanted / had * below,
        high=estimate.value + wanted / had * above,
        more={**estimate.more, "inner": bounds},
    )
