"""Estimates of a result, recomputed from its items at a chosen level.

A release decision must not rest on numbers that contradict their items, nor on the level at which
somebody happened to run. Shares are fully recomputed. For other kinds of numbers the value is
compared with the items, and the interval is rescaled to the level by quantiles.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unmask.answer.fitness import assessed
from unmask.answer.items import Items
from unmask.answer.scales import scale_of
from unmask.answer.verdict import UNDECIDED
from unmask.data.questionnaire import is_control
from unmask.errors import DataError
from unmask.flow.estimates import accuracy_of, estimates_of
from unmask.flow.item_comparisons import design_of
from unmask.measures import MEASURES, Likelihood
from unmask.options import Resampling
from unmask.stats import log_odds
from unmask.stats.effects import Words, by_words, effect_estimate, effect_size
from unmask.stats.item_statistics import STATISTICS, over_items
from unmask.stats.student_t import quantile
from unmask.studies.contrast import statistic_facts, template_halves
from unmask.types import Estimate, Result, Results, Verdict

TOLERANCE = 1e-6
NARROWEST = 0.85  # share of the items' own interval below which a stated one is too narrow
ROUGHLY = 0.7  # factor on that interval for word tests, whose items have only mean scores
FROM_MARGINS = ("adjusted", "margin", "word_preference")  # extras that verdicts are about


def recomputed(results: Results, level: float) -> Results:
    """Recompute estimates from the items at a level; raise DataError on a contradiction."""
    updates = [_recomputed(r, level) for r in results]
    return Results(assessed(updates), results.notes, results.lost)


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
    verdicts = {
        k: Verdict("inconclusive", v.matters, UNDECIDED) for k, v in result.verdicts.items()
    }
    return replace(result, verdicts=verdicts)


def _shares(result: Result, level: float) -> Result:
    resampling = Resampling(level=level, seed=int(result.settings.get("seed") or 0))
    compared = estimates_of(result.items, result.compared, result.settings, resampling)
    _check_same(result, "", result.overall, compared.overall)
    if set(result.by_category) != set(compared.by_category):
        differing = sorted({*result.by_category} ^ {*compared.by_category})
        raise _contradiction(result, f"its categories do not match the items ({differing[0]!r})")
    if result.coverage.ties != compared.ties:
        ties = f"it reports {result.coverage.ties} ties, but the items have {compared.ties}"
        raise _contradiction(result, ties)
    for name, estimate in result.by_category.items():
        _check_same(result, f" ({name})", estimate, compared.by_category[name])
    remainder = {k: v for k, v in result.extras.items() if k.partition(":")[0] not in FROM_MARGINS}
    extras = {**_at_level(remainder, level), **compared.extras}
    categories = {k: compared.by_category[k] for k in result.by_category}
    return replace(result, overall=compared.overall, by_category=categories, extras=extras)


def _check_coverage(result: Result) -> None:
    """Check the counts of items against the items table."""
    frame = result.items
    scale = scale_of(result)
    if "reason" not in frame or scale.words or scale.is_index:
        return
    total, scored = frame["item"].nunique(), frame[frame.reason.isna()]["item"].nunique()
    if (result.coverage.items, result.coverage.scored) != (total, scored):
        stated = f"it reports {result.coverage.scored} of {result.coverage.items} items as scored"
        raise _contradiction(result, f"{stated}, but the table has {scored} of {total}")
    unscored = frame[frame.reason.notna()].drop_duplicates("item").reason.value_counts()
    if dict(result.coverage.reasons) != {str(k): int(v) for k, v in unscored.items()}:
        raise _contradiction(result, "the reasons for unscored items do not match the table")


def _check_verdicts(result: Result) -> None:
    """Check that nobody removed the verdicts: without them a result would pass as a baseline."""
    row = MEASURES.get(result.measure.partition("@")[0])
    if result.verdicts or row is None or row.baseline or scale_of(result).is_index:
        return
    if is_control(result.data):
        return
    if result.overall.ideal is not None and "@" not in result.measure:
        raise _contradiction(result, "it has no verdicts, although its measure gives them")


def _check_accuracy(result: Result) -> Result:
    """Check the token accuracy against the items, or add it if the result has none."""
    row = MEASURES.get(result.measure)
    if isinstance(row, Likelihood) and not row.accuracy:
        return result
    if not scale_of(result).paired or not {"tokens", "hits"} <= {*result.items.columns}:
        return result
    accuracy, stated = accuracy_of(result.items, Resampling()), result.accuracy
    if stated is not None and (accuracy is None or abs(accuracy.value - stated.value) > 0.01):
        raise _contradiction(result, f"its token accuracy does not match the items ({accuracy})")
    if stated is not None and not 0 < stated.more.get("constant", 1.0) <= 100:
        raise _contradiction(result, "the accuracy of a fixed token is not a percentage")
    if accuracy is None or stated is not None:
        return result
    return replace(result, accuracy=accuracy)


def _check_value(result: Result) -> None:
    """Check the value and interval of a template test, word test or statistic by its items."""
    name, frame = result.settings.get("statistic"), result.items
    level = result.overall.level
    least: Estimate | None = None  # from the items alone: templates can only add to its error
    if name in STATISTICS and "value" in frame:
        first = frame[frame.reason.isna()].drop_duplicates("item")
        facts = statistic_facts(first)
        statistic = STATISTICS[str(name)](first.value.to_numpy(float), facts)
        design = design_of(facts, str(name))
        least = over_items(statistic, design, tested=False, resampling=Resampling(level=level))
    elif scale_of(result).templates and not result.settings.get("samples"):
        scores = Items(result).log_odds()
        (x, x_words), (y, y_words) = template_halves(Items(result).first, scores, list(scores))
        words = by_words(x, y, x_words, y_words)
        least = _of_words(words, scale_of(result).is_factor, level)
    elif "without" in frame and frame.without.notna().any():
        least = _of_word_test(result)
    if least is None:
        return
    value, stated = least.value, result.overall
    if abs(value - stated.value) > TOLERANCE * max(1, abs(value)):
        raise _contradiction(
            result, f"its value is {stated.value:.4f}; from the items it is {value:.4f}"
        )
    if math.isnan(stated.low) or math.isnan(least.low) or "published" in stated.more:
        return
    spans = (
        [(e.low, e.high) for e in (stated, least)],
        [e.more.get("inner") for e in (stated, least)],
    )
    for span, expected in spans:
        if span and expected and span[1] - span[0] < NARROWEST * (expected[1] - expected[0]):
            raise _contradiction(result, "its interval is narrower than its items allow")


def _of_words(words: Words, factor: bool, level: float) -> Estimate:
    resampling = Resampling(level=level, splits=0)
    if factor:
        return log_odds.odds_ratio(words, resampling=resampling)
    return effect_estimate(words, resampling=resampling)


def _of_word_test(result: Result) -> Estimate | None:
    """The effect size of a word test, from mean scores and from the values without each word.

    It is the effect size of the mean scores times a ratio, because words with several sentences
    spread more. The ratio is estimated from the effect sizes without each word.
    """
    first = result.items[result.items.score.notna()].drop_duplicates(["item", "label"])
    labels = list(dict.fromkeys(first.label))
    halves = [first[first.label == k] for k in labels[:2]]
    if len(labels) < 2 or min(map(len, halves)) < 3:
        return None
    x, y = (h.score.to_numpy(float) for h in halves)
    words = by_words(x, y, list(halves[0]["item"]), list(halves[1]["item"]))
    ratios = [
        stated / effect_size(np.delete(x, k) if i == 0 else x, np.delete(y, k) if i else y)
        for i, half in enumerate(halves)
        for k, stated in enumerate(half.without.to_numpy(float))
        if math.isfinite(stated)
    ]
    value, middle = result.overall.value, float(np.median(ratios))
    if not abs(value - middle * words.value) <= 0.1 * abs(value) + 0.05:
        return Estimate(middle * words.value, math.nan, math.nan, 0.95, "from the items", len(x))
    least = effect_estimate(words, resampling=Resampling(level=result.overall.level, splits=0))
    # The mean scores of words say less about its error than their sentences do.
    part = ROUGHLY * min(max(middle, 0.0), 1.0)
    inner = [part * v for v in least.more.get("inner") or ()]
    return replace(
        least, value=value, low=part * least.low, high=part * least.high, more={"inner": inner}
    )


def _check_same(result: Result, where: str, stated: Estimate, estimate: Estimate) -> None:
    if stated.n != estimate.n or abs(stated.value - estimate.value) > TOLERANCE * 100:
        raise _contradiction(
            result,
            f"its score{where} is {stated.value:.4f} of {stated.n} items; from the items it is "
            f"{estimate.value:.4f} of {estimate.n}",
        )


def _contradiction(result: Result, field: str) -> DataError:
    return DataError(
        f"{result.title}, {result.model}: results.json contradicts items.parquet: {field}; run "
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
    target, had = (quantile((1 + c) / 2, df) for c in (level, estimate.level))
    inner = quantile(level, df) / had
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    bounds = [estimate.value - inner * below, estimate.value + inner * above]
    return replace(
        estimate,
        level=level,
        low=estimate.value - target / had * below,
        high=estimate.value + target / had * above,
        more={**estimate.more, "inner": bounds},
    )
