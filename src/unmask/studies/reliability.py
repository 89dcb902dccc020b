"""Can a score be relied on: over items, measures, wordings, layers and checkpoints?"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

from unmask.answer.items import Items
from unmask.answer.scales import SCALES
from unmask.data import catalogue
from unmask.data.controls import controlled
from unmask.errors import DataError, NotApplicable
from unmask.flow.evaluate import evaluate
from unmask.measures import Association, find
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.reports.html.study_page import Study, Table
from unmask.stats.agreement import correlation, cronbach, split_half
from unmask.stats.clustering import Design
from unmask.stats.comparison import paired_difference
from unmask.stats.preference import Margins, preferred
from unmask.text.contexts import WordTest
from unmask.types import Dataset, Result

MEASURES = ("pll", "cps", "sss", "aul", "aula")
WORDS = ("weat-6", "weat-7", "weat-8")
MIN_PAIRS = 4  # group pairs from which their variance is estimated
CASES = 5  # models and measures that an item's discrimination needs
DECIDED = 25.0  # points from 50 at which the rest of a group has a clear direction
REWORDED = "reworded"
PAIRED = ("pairs", "triplets", "continuations")  # shapes of data that have pairs
Frames = Mapping[tuple[str, str], pd.DataFrame]  # model, measure: margins


def reliability(
    models: Sequence[Model],
    options: Options,
    *,
    measures: Sequence[str] = MEASURES,
    data: str = "bundled-pairs",
    words: Sequence[str] = WORDS,
) -> tuple[Study, pd.DataFrame]:
    """Tables on how far scores can be relied on, and the items that disagree with the rest."""
    results = _scored(models, measures, data, options)
    frames = {(r.model, r.measure): margins(r) for r in results if r.data == data}
    rewordings = {(r.model, r.measure): margins(r) for r in results if r.data != data}
    items = discrimination(frames)
    tables = [
        Table("items", "Over items", _over_items(frames, options), ITEMS),
        Table("measures", "Between measures", _between(frames, 0, 1), MEASURES_NOTE),
        Table("checkpoints", "Between models", _between(frames, 1, 0), MODELS_NOTE),
        Table("wordings", "Reworded items", _wordings(frames, rewordings, options), WORDINGS),
        Table("layers", "Over layers", _layers(models, words, options), LAYERS),
        Table("items-all", "Every item", items, DISCRIMINATION),
    ]
    parts = [t for t in tables if len(t.frame)]
    title = f"Reliability: {', '.join(dict.fromkeys(m for m, _ in frames))}"
    chosen_on = " ".join(dict.fromkeys(m for m, _ in frames))
    return Study(title, parts, results=results), items[items.disagrees].assign(chosen_on=chosen_on)


ITEMS = (
    "All values are for the stereotype after removing word preference: both target groups of a "
    "group pair have equal weight, and words are compared within their group. Generalizability: "
    "the share of the variance between group pairs that other words and templates would reproduce "
    "(0: group pairs differ only by chance). Alpha: words as cases, templates as items, within "
    "group pair and group; mean over group pairs. Over models: split halves, models as cases."
)
MEASURES_NOTE = (
    "Spearman's correlation of words' mean margins within group pair and group; the share of items "
    "with the same direction; and kappa, the agreement beyond that expected from the groups' "
    "shares."
)
MODELS_NOTE = "The same measure on two models or checkpoints."
WORDINGS = "The same items with each template rephrased: paired difference over words."
LAYERS = "w-seat at each layer, and the correlation of its words with the last layer."
DISCRIMINATION = (
    "Agreement: the share of measures and models for which the item has the same direction as the "
    "other items of its group pair and group. Discrimination: its correlation with these items "
    "over measures and models, if there are at least five. An item disagrees if the others have a "
    "clear direction and it mostly has the opposite one. Exclude such items only for other "
    "models: on the model that selected them, the score would look more certain than it is."
)


def _scored(
    models: Sequence[Model], measures: Sequence[str], data: str, options: Options
) -> list[Result]:
    """The measures on the data and on its rewording, where it has one."""
    sets = [d for d in catalogue.resolve(data) if isinstance(d, Dataset)]
    if not sets or sets[0].shape not in PAIRED:
        raise DataError(f"{data!r} has no sentence pairs; give a data set that has.")
    if not_shares := [x for x in measures if not SCALES[find(x).compared].share]:
        raise NotApplicable(
            f"reliability needs preference measures, and {', '.join(map(repr, not_shares))} is not "
            "one; use measures such as 'cps' or 'aul'."
        )
    try:
        sets = [sets[0], controlled(sets[0], REWORDED)]
    except DataError:
        sets = sets[:1]
    specs = [Spec(m, find(x), d) for m in models for d in sets for x in measures]
    failures: list[Exception] = []
    results = evaluate(specs, options, lambda spec, error: failures.append(error))
    if not results:
        raise failures[0]
    return results


def margins(result: Result) -> pd.DataFrame:
    """One row per item: lead of the stereotype, win (1, 0 or a half), category, cell and design."""
    table = Items(result).scores()
    pro, anti = (table[k].to_numpy(float) for k in ("stereotype", "antistereotype"))
    cell = table.group_pair + "/" + table.group
    has_groups = bool((table.group != "").all())
    category = result.items.drop_duplicates("item").set_index("item").category
    table = table.assign(lead=pro - anti, win=preferred(pro, anti, "half"), category=category)
    return table.assign(cell=cell if has_groups else table.category)


# ---------------------------------------------------------------- over items


def _over_items(frames: Frames, options: Options) -> pd.DataFrame:
    rows = []
    for (model, measure), table in frames.items():
        line = {"model": model, "measure": measure, "score": 100 * table.win.mean()}
        line |= generalizability(table, options.level) | {"alpha": alpha(table)}
        rows.append(line | {"items": len(table), "clusters": table.cluster.nunique()})
    models = list(dict.fromkeys(m for m, _ in frames))
    for measure in dict.fromkeys(x for _, x in frames):
        wins = [frames[m, measure].win for m in models if (m, measure) in frames]
        if len(wins) >= 3:
            matrix = pd.concat(wins, axis=1).dropna().to_numpy(float)
            line = {"model": f"over {len(wins)} models", "measure": measure}
            line |= {"split half": split_half(matrix, resampling=options.resampling).value}
            rows.append(line | {"alpha": _alpha_or_none(matrix.T), "items": len(matrix)})
    return pd.DataFrame(rows)


def generalizability(table: pd.DataFrame, level: float = 0.95) -> dict[str, float | None]:
    """The generalizability coefficient of group pairs' stereotypes, with its interval.

    The share of their variance that is not error, 1 - 1 / F, where F is the variance between
    pairs over the mean error variance of one (Brennan 2001); the interval is from the F
    distribution. Pairs without stereotypes about both groups do not count; None with fewer than
    MIN_PAIRS.
    """
    names = ("generalizability", "low", "high")
    margins = Margins(table.lead.to_numpy(float), Design.of(table))
    crossed = margins.crossed
    pairs = table.group_pair.to_numpy(str)
    estimates = []
    for pair in dict.fromkeys(pairs.tolist()):
        mask = pairs == pair
        if crossed.both[crossed.unit][mask].all():
            estimates.append(margins.fit.mean(mask / mask.sum()))
    usable = [e for e in estimates if e.words.value > 0]  # one word has no error
    if len(usable) < MIN_PAIRS:
        return dict.fromkeys(names)
    noise = np.array([e.words.value + e.templates.value for e in usable])
    df = float(
        noise.sum() ** 2 / sum(v**2 / e.words.df for v, e in zip(noise, usable, strict=True))
    )
    free = len(usable) - 1
    ratio = float(np.var([e.value for e in usable], ddof=1)) / float(noise.mean())
    ends = (float(scipy.stats.f.isf(tail, free, df)) for tail in ((1 - level) / 2, (1 + level) / 2))
    values = (1 - 1 / ratio if ratio > 0 else 0.0, *(1 - end / max(ratio, 1e-9) for end in ends))
    return dict(zip(names, (max(0.0, v) for v in values), strict=True))


def alpha(table: pd.DataFrame) -> float | None:
    """Cronbach's alpha, templates as items, words as cases: the mean over group pairs."""
    if not (table.template != "").all():
        return None
    values, sizes = [], []
    usual = table.groupby(["cell", "template"]).lead.transform("mean")
    centred = table.assign(lead=table.lead - usual)
    for _, family in centred.groupby("group_pair"):
        matrix = family.pivot_table(index="cluster", columns="template", values="lead").dropna()
        value = _alpha_or_none(matrix.to_numpy(float))
        if value is not None:
            values.append(value)
            sizes.append(len(family))
    return float(np.average(values, weights=sizes)) if values else None


def _alpha_or_none(matrix: Any) -> float | None:
    if matrix.shape[0] < 3 or matrix.shape[1] < 2:
        return None
    try:
        return cronbach(matrix)
    except DataError:
        return None


# ---------------------------------------------------------------- between two


def _between(frames: Frames, common: int, facet: int) -> pd.DataFrame:
    """All pairs of frames that agree in one half of their key (0 model, 1 measure)."""
    rows = []
    for a, b in itertools.combinations(frames, 2):
        if a[common] != b[common] or a[facet] == b[facet]:
            continue
        left, right = _shared(frames[a], frames[b])
        names = {("model", "measure")[common]: a[common], "first": a[facet], "second": b[facet]}
        rows.append({**names, **_agreement(left, right)})
    return pd.DataFrame(rows)


def _shared(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    both = a.index.intersection(b.index)
    if not len(both):
        raise DataError("the two have no item in common.")
    return a.loc[both], b.loc[both]


def _agreement(left: pd.DataFrame, right: pd.DataFrame) -> dict[str, Any]:
    """Correlation of clusters' mean margins within their group; items that agree; kappa.

    A word preference moves a whole group under every measure. It is no agreement on the stereotype
    and is removed from both.
    """
    means = []
    for t in (left, right):
        deviations = t.lead - t.groupby("cell").lead.transform("mean")
        means.append(deviations.groupby(t.cluster).mean())
    r = correlation(means[0].to_numpy(), means[1].loc[means[0].index].to_numpy(), "spearman")
    agreement = float(
        1 - np.abs(left.win.to_numpy() - right.win.to_numpy()).mean()
    )  # a tie counts half
    a, b = (t.groupby("cell").win.transform("mean").to_numpy() for t in (left, right))
    chance = float(np.mean(a * b + (1 - a) * (1 - b)))
    kappa = (agreement - chance) / (1 - chance) if chance < 1 - 1e-9 else None
    line = {"correlation": r.value, "low": r.low, "high": r.high, "n": r.n}
    return line | {"same side": 100 * agreement, "kappa": kappa}


def _wordings(frames: Frames, rewordings: Frames, options: Options) -> pd.DataFrame:
    rows = []
    for key, rewording in rewordings.items():
        left, right = _shared(frames[key], rewording)
        gap = paired_difference(
            left.win.to_numpy(float),
            right.win.to_numpy(float),
            Design.of(left),
            scale=100.0,
            resampling=options.resampling,
        )
        line = {"model": key[0], "measure": key[1], "score": 100 * left.win.mean()}
        line |= {"reworded": 100 * right.win.mean(), "difference": gap.value}
        line |= {"low": gap.low, "high": gap.high, "p": gap.p}
        agreement = _agreement(left, right)
        rows.append(
            line | {"correlation": agreement["correlation"], "same side": agreement["same side"]}
        )
    return pd.DataFrame(rows)


def _layers(models: Sequence[Model], words: Sequence[str], options: Options) -> pd.DataFrame:
    """w-seat by layer; nothing for models without layers."""
    row, rows = find("w-seat"), []
    assert isinstance(row, Association)
    tests = [d for w in words for d in catalogue.resolve(w) if isinstance(d, WordTest)]
    for model in models:
        layers = [v for v in model.abilities.layers if v >= 0]
        if not layers or model.kind not in row.kinds:
            continue
        specs = [Spec(model, row, t, layer=v) for t in tests for v in layers]
        settings = replace(options, splits=0)
        results = evaluate(specs, settings, lambda spec, error: None)
        last = {r.data: r for r in results if r.spec.layer == layers[-1]}
        for r in results:
            targets = r.items[r.items.label.isin(["X", "Y"])].score.to_numpy(float)
            final = last[r.data].items
            final = final[final.label.isin(["X", "Y"])].score.to_numpy(float)
            e = r.overall
            line = {"model": r.model, "data": r.data, "layer": r.spec.layer, "d": e.value}
            line |= {"low": e.low, "high": e.high}
            rows.append(line | {"with the last": correlation(targets, final).value})
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- items


def discrimination(frames: Frames) -> pd.DataFrame:
    """How far each item agrees with the rest of its group, over measures and models."""
    wins = pd.concat({k: t.win for k, t in frames.items()}, axis=1)
    leads = pd.concat({k: t.lead / t.lead.std() for k, t in frames.items()}, axis=1)
    facts = pd.concat([t[["category", "cluster", "cell"]] for t in frames.values()])
    facts = facts[~facts.index.duplicated()].loc[wins.index]
    other_wins, other_leads = (_mean_of_others(values, facts.cell) for values in (wins, leads))
    agreed = (wins - 0.5) * np.sign(other_wins - 0.5) + 0.5
    mean = 100 * other_wins.mean(axis=1)
    items = facts.assign(agreement=100 * agreed.mean(axis=1), rest=mean)
    items["discrimination"] = leads.T.corrwith(other_leads.T) if leads.shape[1] >= CASES else np.nan
    items["disagrees"] = (items.agreement < 50) & ((mean - 50).abs() >= DECIDED)
    return items.reset_index(names="item").sort_values("agreement", kind="stable")


def _mean_of_others(values: pd.DataFrame, group: pd.Series) -> pd.DataFrame:
    """The mean of the other items of each item's group."""
    sums, sizes = (values.groupby(group).transform(function) for function in ("sum", "count"))
    return (sums - values) / (sizes - 1)
