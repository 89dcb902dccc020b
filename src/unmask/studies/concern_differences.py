"""How runs differ by concern: is a model more stereotyped about some group than another is?

For each concern the rulers are compared that count in the answers of both runs, on the items that
both have: the stereotype of a category of pairs, or the effect size of a test. All comparisons of
all concerns are one family, corrected by Holm's method.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.errors import DataError
from unmask.flow.items import designed
from unmask.options import Resampling
from unmask.reports.answer import ORDER, UNFIT, Answer, Ruler, answers
from unmask.reports.columns import UNITS
from unmask.reports.difference_words import AGAINST, CLOSER, HIGHER, LOWER, MORE, NONE, OTHER
from unmask.stats.clustering import codes
from unmask.stats.comparison import Bias, PairedAnswers, effect_difference
from unmask.stats.crossed import even_sides
from unmask.stats.intervals import DEFAULTS
from unmask.stats.multiplicity import corrected
from unmask.stats.preference import preferred
from unmask.studies.compare import runs_of
from unmask.studies.paired_items import (
    categories,
    common,
    effects_without,
    same_items,
    statistic_difference,
    statistics_of,
    wide,
)
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Floats, Result


def compare_by_concern(runs: Sequence[Any], *, resampling: Resampling = DEFAULTS) -> pd.DataFrame:
    """A row for each two runs, concern and ruler; the first of a concern (`lead`) tells of it.

    Runs are as for `compare`. `verdict` is of the concern: how the second run differs from the
    first by any ruler, after correction. `a` and `b` are over the items that both have.
    """
    named = runs_of(runs)
    by_run = {r.name: answers(list(r.results.values())) for r in named}
    rows = [
        row
        for a, b in itertools.combinations(named, 2)
        for row in compared(by_run[a.name], by_run[b.name], resampling, (a.name, b.name))
    ]
    return _judged(pd.DataFrame(rows), 1 - resampling.level) if rows else pd.DataFrame()


def _judged(frame: pd.DataFrame, error: float) -> pd.DataFrame:
    """With corrected p-values, verdicts, and the row of each concern that tells of it."""
    frame["p_holm"] = corrected(frame.p.tolist())
    sure, place = frame.p_holm <= error, frame.compared.map(ORDER.index)
    order = frame.assign(unsure=~sure, place=place, few=-frame.n)
    keys = ["first", "second", "concern"]
    first = order.sort_values(["unsure", "place", "few"], kind="stable").drop_duplicates(keys)
    frame["lead"] = frame.index.isin(first.index)
    leads = {
        tuple(row[k] for k in keys): _verdict(row, error) if row["p_holm"] <= error else NONE
        for row in frame.loc[first.index].to_dict("records")
    }
    frame["verdict"] = [leads[k] for k in frame[keys].itertuples(index=False, name=None)]
    return frame


def _verdict(row: Any, error: float) -> str:
    """How the second run differs from the first, which is known to differ.

    That it is further from fair, or closer to it, is said only where a test shows it.
    """
    bias: Bias = row["bias"]
    if bias.worse(0.0) <= error:
        return MORE if bias.second > 0 else AGAINST
    if bias.turned.worse(0.0) <= error:
        return CLOSER
    if bias.first * bias.second < 0 and row["both_sure"]:
        return OTHER
    return HIGHER if bias.difference.value > 0 else LOWER


def compared(
    first: Sequence[Answer],
    second: Sequence[Answer],
    resampling: Resampling = DEFAULTS,
    names: tuple[str, str] = ("", ""),
) -> Iterator[dict[str, Any]]:
    """The rows of two runs, from their answers: each ruler that counts in both.

    `bias` has what tests of one run against the other need.
    """
    twins = {(a.concern, key(r)): r for a in first for r in a.rulers if r.trust != UNFIT}
    for answer in second:
        for two in answer.rulers:
            one = twins.get((answer.concern, key(two)))
            if one is None or (bias := paired(one, two, resampling)) is None:
                continue
            difference, unit = bias.difference, UNITS[two.result.compared]
            yield {
                "first": names[0],
                "second": names[1],
                "concern": answer.concern,
                "measure": two.result.measure,
                "data": two.result.data,
                "category": two.category,
                "compared": two.result.compared,
                "a": (two.estimate.ideal or 0.0) + bias.first,
                "b": (two.estimate.ideal or 0.0) + bias.second,
                "difference": difference.value,
                "low": difference.low,
                "high": difference.high,
                "unit": unit.name,
                "n": difference.n,
                "p": difference.p,
                "both_sure": all(r.estimate.excludes_ideal for r in (one, two)),
                "bias": bias,
            }


def key(ruler: Ruler) -> tuple[str, ...]:
    """What tells a ruler from the others of a run."""
    return (*ruler.result.spec.comparable, ruler.category)


def paired(one: Ruler, two: Ruler, resampling: Resampling = DEFAULTS) -> Bias | None:
    """What two runs show by one ruler, paired by items or words; None where they have none alike.

    In points from 50 for pairs, in d, or in the logarithm of the odds.
    """
    a, b = one.result, two.result
    if a.compared != b.compared:
        return None
    try:
        if a.compared == "preference":
            return _pairs(a, b, two.category, resampling)
        if "statistic" in a.settings:
            first, second, _, _ = statistics_of(a, b, two.category)
            turned_round = replace(first, found=first.found.negated)
            return Bias(
                statistic_difference(first, second, resampling),
                statistic_difference(turned_round, second, resampling),
            )
        values, before, after = effects_without(a, b)
    except DataError:
        return None
    turned = ((-values[0], values[1]), [-w for w in before], after)
    bias = Bias(
        effect_difference(values, before, after, resampling), effect_difference(*turned, resampling)
    )
    return None if math.isnan(bias.no_worse(1.0)) else bias


def _pairs(a: Result, b: Result, category: str, resampling: Resampling) -> Bias | None:
    a, b = same_items(a, b)
    one, two = wide(a), wide(b)
    shared, _ = common(one, two, a.data)
    one, two = one.loc[shared], two.loc[shared]
    chosen = (categories(a).loc[shared].to_numpy() == category) | (category == "")
    if len(set(one.cluster[chosen])) < 2:
        return None
    first, second = (preferred(t[STEREOTYPE], t[ANTISTEREOTYPE], "half") for t in (one, two))
    weight = np.zeros(len(chosen))
    weight[chosen] = weight_of(a, b, one[chosen], category)
    return PairedAnswers(first, second, designed(one)).bias(weight, resampling)


def weight_of(a: Result, b: Result, table: pd.DataFrame, category: str) -> Floats:
    """The weights of a category's items: its two sides alike, where that is what is judged."""
    name = f"stereotype:{category}" if category else "stereotype"
    macro = a.settings.get("average") == "macro"
    clusters = codes(table.cluster.to_numpy(str)) if macro else None
    if all(name in r.extras for r in (a, b)):
        family, side = (codes(table[k].to_numpy(str)) for k in ("family", "side"))
        return even_sides(family, side, clusters)
    one = np.zeros(len(table), np.int64)
    return even_sides(one, one, clusters)
