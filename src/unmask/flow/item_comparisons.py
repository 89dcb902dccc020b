"""From the scores of an item's sentences to one value an item, and to the measure's number.

One function for each way of a row to `compare` that is neither a preference nor log-odds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from unmask.errors import DataError
from unmask.measures.likelihood import Likelihood
from unmask.measures.reduce import LOWER_IS_LIKELIER
from unmask.options import Resampling
from unmask.stats import log_odds
from unmask.stats.clustering import Design, codes
from unmask.stats.item_statistics import (
    PER_CENT,
    POSITIVE,
    STATISTICS,
    over_items,
    stereotypes,
)
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Estimate, Floats, Kind

Kept: TypeAlias = Sequence[pd.DataFrame]  # the answers themselves, where a row asks for them


@dataclass(frozen=True, slots=True)
class ItemComparison:
    """Estimates from comparing items, with the value and influence of each item.

    `statistic` names the statistic of the values. It is empty if the number is not a statistic of
    single items; `without` then has the number without each item. `judged` says whether a verdict
    can be given, `notes` what a reader must know.
    """

    overall: Estimate
    statistic: str
    values: "pd.Series[float]"
    influence: "pd.Series[float]"
    by_category: Mapping[str, Estimate] = field(default_factory=dict)
    extras: Mapping[str, Estimate] = field(default_factory=dict)
    judged: bool = True
    sets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    without: "pd.Series[float] | None" = None


def item_facts(frame: pd.DataFrame) -> pd.DataFrame:
    """Category, cluster, group pair, group and template of each scored item, by its id."""
    columns = ["category", "cluster", "group_pair", "group", "template"]
    first = frame[frame.reason.isna()].drop_duplicates("item").set_index("item")
    return first[columns].fillna("").astype(str)


def _pairs(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of scored items by label, and the facts of these items."""
    scored, facts = frame[frame.reason.isna()], item_facts(frame)
    return scored.pivot(index="item", columns="label", values="score").loc[facts.index], facts


def estimate_items(
    values: "Floats | pd.Series[float]",
    facts: pd.DataFrame,
    statistic: str = "mean",
    *,
    design: Design | None = None,
    ideal: float | None = 0.0,
    **limits: Any,
) -> tuple[Estimate, "pd.Series[float]"]:
    """A statistic of the values of some items, and the influence of each item."""
    result = STATISTICS[statistic](np.asarray(values, float), facts)
    used = design_of(facts, statistic) if design is None else design
    return over_items(result, used, ideal=ideal, **limits), pd.Series(result.influence, facts.index)


def by_category(facts: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each category with a mask of its items [n]."""
    for name in sorted(set(facts.category)):
        yield name, (facts.category == name).to_numpy()


def difference(
    frame: pd.DataFrame, measure: Likelihood, kind: Kind, resampling: Resampling, frames: Kept = ()
) -> ItemComparison:
    """d_z of the stereotype's score less the antistereotype's; t, mean and share beside it.

    The p is that of the mean over clusters; of released code it is the paired t test's, which takes
    the pairs as independent.
    """
    by_label, facts = _pairs(frame)
    values = by_label[STEREOTYPE] - by_label[ANTISTEREOTYPE]
    overall, extras, influence = _standardised(values, facts, measure, resampling)
    categories = {}
    for name, members in by_category(facts):
        if members.sum() > 1 and values[members].std() > 0:
            part, more, _ = _standardised(values[members], facts[members], measure, resampling)
            categories[name] = part
            extras |= {f"{k}:{name}": v for k, v in more.items()}
    lower = measure.reduce_for(kind) in LOWER_IS_LIKELIER
    likelier = -values if lower else values
    wins = 100.0 * (likelier > 0) + (50.0 if measure.ties == "half" else 0.0) * (likelier == 0)
    share, _ = estimate_items(wins, facts, ideal=50.0, within=PER_CENT, resampling=resampling)
    extras["share"] = share
    if lower:
        extras |= _unpaired(by_label, resampling)
    # A negative number would be read as the reverse of a stereotype.
    return ItemComparison(overall, "d_z", values, influence, categories, extras, judged=not lower)


def _standardised(
    values: "pd.Series[float]", facts: pd.DataFrame, measure: Likelihood, resampling: Resampling
) -> tuple[Estimate, dict[str, Estimate], "pd.Series[float]"]:
    numbers = values.to_numpy(float)
    middle, _ = estimate_items(numbers, facts, resampling=resampling)
    test = scipy.stats.ttest_1samp(numbers, 0.0)
    t, p = float(test.statistic), float(test.pvalue)
    overall, influence = estimate_items(numbers, facts, "d_z", resampling=resampling)
    overall = replace(overall, p=p if measure.published_p else middle.p)
    if measure.published_p:
        overall = replace(overall, more={**overall.more, "published": "p", "sided": "two"})
    paired = _bare(t, resampling, "paired t", len(numbers), 0.0, p)
    return overall, {"t": paired, "mean": middle}, influence


def _bare(
    value: float, resampling: Resampling, method: str, n: int, ideal: float | None, p: float | None
) -> Estimate:
    """A number without an interval."""
    nan = float("nan")
    return Estimate(value, nan, nan, resampling.level, method, n, ideal, p)


def _unpaired(by_label: pd.DataFrame, resampling: Resampling) -> dict[str, Estimate]:
    """Barikeri et al.'s further tests: Welch's t, with and without outliers.

    Perplexities beyond 3 standard deviations are dropped with their pairs, and so are pairs with
    an equal perplexity.
    """
    sides = [by_label[k].to_numpy(float) for k in (STEREOTYPE, ANTISTEREOTYPE)]
    gone = np.zeros(len(by_label), bool)
    for values in sides:
        outliers = np.abs(values - values.mean()) > 3 * values.std()
        gone |= np.isin(values, values[outliers])
    tests: dict[str, Estimate] = {}
    for name, rows in (("t_welch", np.ones(len(by_label), bool)), ("t_reduced", ~gone)):
        test = _welch(sides[0][rows], sides[1][rows], resampling)
        tests |= {name: test} if test is not None else {}
    return tests


def _welch(first: Floats, second: Floats, resampling: Resampling) -> Estimate | None:
    """Welch's t of two samples, without an interval; None where nothing varies."""
    if min(len(first), len(second)) < 2 or not first.var() + second.var() > 0:
        return None
    test = scipy.stats.ttest_ind(first, second, equal_var=False)
    t, p = float(test.statistic), float(test.pvalue)
    return _bare(t, resampling, "Welch's t", len(first), 0.0, p)


def mean_difference(frame: pd.DataFrame, resampling: Resampling) -> Estimate:
    """The mean size of the difference of two sentences' scores, as lm-eval's `likelihood_diff`."""
    by_label, facts = _pairs(frame)
    values = (by_label[STEREOTYPE] - by_label[ANTISTEREOTYPE]).abs()
    return estimate_items(values, facts, ideal=None, within=POSITIVE, resampling=resampling)[0]


def spread(
    frame: pd.DataFrame, measure: Likelihood, kind: Kind, resampling: Resampling, frames: Kept = ()
) -> ItemComparison:
    """The mean over items of the variance (ddof 1) over groups of score less prior.

    By category (group), it is the variance if all groups deviated as much as this one. `lean:GROUP`
    is the mean difference of the group from the average group.
    """
    scored = frame[frame.reason.isna()]
    value = scored.score - scored.prior.fillna(0.0)
    table = scored.assign(value=value).pivot(index="item", columns="label", values="value")
    facts = item_facts(frame)
    table = table.loc[facts.index]
    if table.isna().to_numpy().any():
        raise DataError(
            "the items have different groups, so their spread is undefined; use the same groups in "
            "all items."
        )
    deviations = table.sub(table.mean(axis=1), axis=0)
    groups = table.shape[1]
    values = table.var(axis=1, ddof=1)
    usual: dict[str, Any] = {"tested": False, "within": POSITIVE, "resampling": resampling}
    overall, influence = estimate_items(values, facts, **usual)
    categories, leans = {}, {}
    for name in table.columns:
        square = deviations[name] ** 2 * groups / (groups - 1)
        categories[str(name)], _ = estimate_items(square, facts, **usual)
        leans[f"lean:{name}"], _ = estimate_items(deviations[name], facts, resampling=resampling)
    return ItemComparison(overall, "mean", values, influence, categories, leans, judged=False)


def sides(
    frame: pd.DataFrame, measure: Likelihood, kind: Kind, resampling: Resampling, frames: Kept = ()
) -> ItemComparison:
    """Log-odds of one group's sentence: its mean over that group's stereotypes less the other's.

    Items are pairs whose `group` is the one that the stereotype is about. Stereotypes weigh the
    same and are fixed; sentences are a sample within them.
    """
    by_label, facts = _pairs(frame)
    names = sorted(set(facts.group))
    if len(names) != 2:
        raise DataError(f"{measure.name!r} needs items about two groups; these have {len(names)}.")
    sign = np.where(facts.group == names[0], 1.0, -1.0)
    values = sign * (by_label[STEREOTYPE] - by_label[ANTISTEREOTYPE]) / measure.unit
    overall, influence = estimate_items(values, facts, "gap", resampling=resampling)
    categories = {}
    kinds = stereotypes(facts)
    for name in sorted(set(kinds)):
        members = kinds == name
        design = Design(codes(facts.cluster[members].to_numpy(str)))
        part, rows = values[members], facts[members]
        categories[name], _ = estimate_items(
            part, rows, design=design, ideal=None, resampling=resampling
        )
    first, second = names
    sets = (first, second, f"stereotypes of {first}", f"stereotypes of {second}")
    return ItemComparison(overall, "gap", values, influence, categories, sets=sets)


def lean(
    frame: pd.DataFrame, measure: Likelihood, kind: Kind, resampling: Resampling, frames: Kept = ()
) -> ItemComparison:
    """How much likelier the one side's words are than the other's, over all attributes.

    `first_likeliest` is the share of items whose likeliest word is of the first side.
    """
    values = pd.Series(log_odds.by_item(frame))
    facts = item_facts(frame).loc[values.index]
    design = Design.of(facts.assign(group_pair="", group=""))
    overall, influence = estimate_items(values, facts, design=design, resampling=resampling)
    categories = {}
    for name, members in by_category(facts):
        part, rows, chosen = values[members], facts[members], design.chosen(members)
        categories[name], _ = estimate_items(
            part, rows, design=chosen, ideal=None, resampling=resampling
        )
    scored = frame[frame.reason.isna()]
    best = scored.loc[scored.groupby("item").score.idxmax()].set_index("item").label
    wins = 100.0 * best.loc[values.index].str.startswith("x:").to_numpy(float)
    share, _ = estimate_items(
        wins, facts, design=design, ideal=50.0, within=PER_CENT, resampling=resampling
    )
    extras = {"first_likeliest": share}
    return ItemComparison(overall, "mean", values, influence, categories, extras, judged=False)


def matched(
    frame: pd.DataFrame, measure: Likelihood, kind: Kind, resampling: Resampling, frames: Kept = ()
) -> ItemComparison:
    """Bartl et al.'s test: log quotients of set B's sentences less those of set A's, row by row.

    Rows are matched in the order of the file: template, person, attribute. Their test is paired:
    Student's where Shapiro and Wilk's test does not refuse a normal distribution, else Wilcoxon's;
    `r` is its statistic over the root of n. `first` and `second` are the same of the two sides of
    targets alone.
    """
    facts = item_facts(frame)
    scored = frame[frame.reason.isna()].assign(gain=lambda f: f.score - f.prior.fillna(0.0))
    values = scored.groupby("item").gain.mean().loc[facts.index]
    overall, influence = estimate_items(values, facts, "rise", resampling=resampling)
    extras: dict[str, Estimate] = {}
    for name, half in (("", ""), ("first", "x:"), ("second", "y:")):
        rows = scored[scored.label.str.startswith(half)]
        test = _paired_test(rows, facts, resampling)
        extras |= {(f"{k}:{name}" if name else k): v for k, v in test.items()}
        if half:
            mean = rows.groupby("item").gain.mean().loc[facts.index]
            extras[name], _ = estimate_items(mean, facts, "rise", resampling=resampling)
    p = extras["test"].p if "test" in extras else None
    overall = replace(overall, p=p, more={**overall.more, "published": "p", "sided": "two"})
    return ItemComparison(overall, "rise", values, influence, {}, extras, judged=False)


def _paired_test(
    scored: pd.DataFrame, facts: pd.DataFrame, resampling: Resampling
) -> dict[str, Estimate]:
    """The released test on matched rows, and its effect size; nothing where they do not match."""
    sides = scored["item"].map(facts.group)
    order = ["template", "label"]
    halves = [scored[sides == k].sort_values(order, kind="stable").gain for k in ("B", "A")]
    if len(halves[0]) != len(halves[1]) or len(halves[0]) < 3:
        return {}
    first, second = (h.to_numpy(float) for h in halves)
    # The release subtracts two columns whose rows have other numbers: pandas then gives all
    # values of the one, and the negative of all of the other.
    normal = float(scipy.stats.shapiro(np.concatenate([first, -second])).pvalue) >= PUBLISHED_ERROR
    test = (scipy.stats.ttest_rel if normal else scipy.stats.wilcoxon)(first, second)
    value, n = float(test.statistic), len(first)
    name = "paired t" if normal else "Wilcoxon's signed ranks"
    return {
        "test": _bare(value, resampling, name, n, None, float(test.pvalue)),
        "r": _bare(value / float(np.sqrt(n)), resampling, name, n, None, None),
    }


PUBLISHED_ERROR = 0.05  # of the test of normality


def design_of(facts: pd.DataFrame, statistic: str) -> Design:
    """The design of the items of a statistic."""
    if statistic == "gap":
        return Design(codes(facts.cluster.to_numpy(str)), codes(stereotypes(facts)))
    if statistic == "rise":
        return Design(codes(facts.cluster.to_numpy(str)), codes(facts.group.to_numpy(str)))
    if statistic in ("mu", "eta"):
        return Design(codes(facts.template.to_numpy(str)))
    return Design.of(facts)


def valued_columns(frame: pd.DataFrame, statistic: ItemComparison) -> pd.DataFrame:
    """An items table with each item's value and influence."""
    if statistic.without is not None:
        return frame.assign(without=frame["item"].map(statistic.without))
    return frame.assign(
        value=frame["item"].map(statistic.values), influence=frame["item"].map(statistic.influence)
    )
