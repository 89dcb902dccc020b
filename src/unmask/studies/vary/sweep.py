"""How far do design choices move a score? Every combination of them is run (a multiverse)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.answer.scales import scale_of
from unmask.data import catalogue
from unmask.errors import NotApplicable, UnmaskError
from unmask.flow.evaluate import evaluate
from unmask.models.protocol import Model
from unmask.options import Options, Resampling, Spec
from unmask.reports.figures import study_charts
from unmask.reports.figures.drawing import Figure
from unmask.reports.html.study_page import Study, Table
from unmask.reports.templating import safe
from unmask.stats.choice_effects import NONE, effects_of_choices, pairs_of_choices
from unmask.stats.clustering import codes
from unmask.stats.preference import Ties, preferred
from unmask.stats.specification_curve import joint_signs, joint_words
from unmask.studies.vary.choices import as_published, by_likelihood, concept_specs
from unmask.text.contexts import source
from unmask.types import Dataset, Result


@dataclass(frozen=True, slots=True)
class Sweep:
    """Specifications with their scores, and the number of rows that went through the model.

    `same` counts specifications dropped because another one has the same numbers. `whole` keeps
    them, since a choice without effect is a finding too. `p` is that of the whole curve.
    """

    frame: pd.DataFrame
    factors: tuple[str, ...]
    rows: int
    ideal: float
    same: int = 0
    p: float | None = None
    whole: pd.DataFrame = field(default_factory=pd.DataFrame)


class _RowCounter:
    """Counts the rows that go through a model, and shows them."""

    def __init__(self, options: Options) -> None:
        self.options, self.rows, self.last = options, 0, 0

    def __call__(self, name: str, done: int, total: int) -> None:
        self.rows += done - self.last if done >= self.last else done
        self.last = 0 if done >= total else done
        self.options.progress(name, done, total)


def sweep(specs: Sequence[Spec], options: Options) -> Sweep:
    """Run specifications; those without a usable word, template or item are left out.

    A specification with the same numbers as another is the same one under two names (such as two
    poolings if all words are single tokens): it is dropped and counted. Single specifications have
    no permutation test: `p` is joint.
    """
    count = _RowCounter(options)
    settings = replace(options, splits=0, progress=count)
    failures: list[UnmaskError] = []
    results = evaluate(specs, settings, lambda spec, error: failures.append(error))
    if not results:
        raise failures[0] if failures else NotApplicable("no specification applies to this model.")
    factors = tuple(specs[0].tags)
    frame = pd.DataFrame([{**r.spec.tags, **_numbers(r)} for r in results])
    distinct = list({_identity(r): i for i, r in reversed(list(enumerate(results)))}.values())[::-1]
    selection = [results[i] for i in distinct]
    full, frame = frame, frame.loc[distinct].reset_index(drop=True)
    depth = max((int(v) for v in frame.get("layer", ()) if v != NONE), default=0)
    records = frame[list(factors)].to_dict("records")
    frame["as in"] = [as_published(row, specs[0].model, depth) for row in records]
    p = _joint(selection, options.resampling)
    ideal, duplicates = float(specs[0].measure.ideal), len(results) - len(selection)
    return Sweep(frame, factors, count.rows, ideal, duplicates, p, full)


def _identity(result: Result) -> Any:
    """A key that equal specifications share: the preference of each item, or the numbers."""
    if scale_of(result).share:
        return _wins(result, Items(result).scores().sort_index()).tobytes()
    return tuple(np.round(list(_numbers(result).values()), 10))


def _numbers(result: Result) -> dict[str, float]:
    estimate = result.overall
    return {"score": estimate.value, "low": estimate.low, "high": estimate.high}


def _joint(results: Sequence[Result], resampling: Resampling) -> float | None:
    """p of all specifications together: by words where they are effect sizes, else by clusters."""
    if scale_of(results[0]).share:
        tables = [Items(r).scores() for r in results]
        framed = all((t.template != "").all() for t in tables)
        ways = ("cluster", "template") if framed else ("cluster",)
        return max(_signs(results, tables, way, resampling) for way in ways)
    return joint_words([_words(r) for r in results], resampling)


def _signs(
    results: Sequence[Result], tables: Sequence[pd.DataFrame], way: str, resampling: Resampling
) -> float:
    """The joint test with the signs of clusters, or of templates, flipped."""
    names = {c: i for i, c in enumerate(dict.fromkeys(c for t in tables for c in t[way]))}
    leads = []
    for result, t in zip(results, tables, strict=True):
        wins = _wins(result, t)
        mask = ~np.isnan(wins)
        leads.append((wins[mask] - 0.5, t[way].map(names).to_numpy(np.int64)[mask]))
    return joint_signs(leads, len(names), _strata(tables, way, list(names)), resampling)


def _strata(tables: Sequence[pd.DataFrame], way: str, names: Sequence[str]) -> Any:
    """The group pair and group of each cluster, or the pair of each template; None if unclear."""
    frame = pd.concat([t[[way, "group_pair", "group"]] for t in tables])
    if not (frame.group != "").all():
        return None
    group = frame.group_pair + ("/" + frame.group if way == "cluster" else "")
    by_name = group.groupby(frame[way]).agg(["first", "nunique"])
    if (by_name["nunique"] > 1).any():
        return None
    return codes(by_name["first"].loc[list(names)].to_numpy(str))


def _wins(result: Result, table: pd.DataFrame) -> Any:
    ties: Ties = result.settings["ties"]
    return preferred(table["stereotype"], table["antistereotype"], ties)


def _words(result: Result) -> tuple[Any, int, list[str]]:
    """Word scores of an effect size, the size of the first set, and the words; first set first."""
    if scale_of(result).words:
        frame = result.items[result.items.label.isin(["X", "Y"])]
        frame = frame.assign(name=frame["item"], first=frame.label == "X")
    else:
        facts = result.items.drop_duplicates("item").set_index("item")
        odds = pd.Series(Items(result).log_odds(), name="score")
        rows = facts.loc[odds.index]
        first = rows.category == facts.category.iloc[0]
        frame = pd.DataFrame({"score": odds, "name": rows.cluster, "first": first})
    means = frame.groupby(["first", "name"], sort=False).score.mean().sort_index(ascending=False)
    names = [str(name) for _, name in means.index]
    return means.to_numpy(float), sum(bool(k) for k, _ in means.index), names


def _natural(value: Any) -> tuple[int, str]:
    """Layers in the order of numbers, other options by name."""
    return (int(value), "") if str(value).isdigit() else (-1, str(value))


def curve(swept: Sweep, title: str) -> Figure:
    """The specification curve: sorted scores with intervals, and the choices below.

    The papers' own choices stand out in colour.
    """
    data = swept.frame.sort_values("score").reset_index(drop=True)
    values = {f: sorted(data[f].unique(), key=_natural) for f in swept.factors}
    lines = [(f, v) for f, levels in values.items() for v in levels if v != NONE]

    table = data[["score", "low", "high"]].assign(
        place=np.arange(len(data)), paper=[text.split(", ")[0] for text in data["as in"]]
    )
    choices = pd.DataFrame(
        [
            {"place": int(place), "choice": f"{factor}: {value}"}
            for factor, value in lines
            for place in np.flatnonzero((data[factor] == value).to_numpy())
        ]
    )
    about = f"Specification curve: {title}"
    return study_charts.specifications(safe(title), about, table, choices, swept.ideal)


def study(
    model: Model,
    options: Options,
    *,
    concepts: Sequence[str],
    data: Sequence[str],
    store: str | None = None,
) -> Study:
    """All sweeps of a model: tables, decompositions and specification curves."""
    natural = None if store is None else source(store)
    plans = {f"{c} by association": concept_specs(model, c, natural) for c in concepts}
    for name in data:
        dataset = next(d for d in catalogue.resolve(name) if isinstance(d, Dataset))
        plans[f"{dataset.name} by likelihood"] = list(by_likelihood(model, dataset))
    tables, figures, remarks = [], [], []
    for title, specs in plans.items():
        swept = sweep(specs, options)
        remarks.append(_remark(title, swept))
        key, ordered = safe(title), swept.frame.sort_values("score")
        tables += [
            Table(f"moves-{key}", f"Effect of each choice on {title}", _moves(swept), MOVES),
            Table(f"pairs-{key}", f"Largest interactions: {title}", _pairs(swept), PAIRS),
            Table(f"specifications-{key}", f"All specifications: {title}", ordered),
        ]
        figures.append(curve(swept, title))
    return Study(f"Design choices: {model.name}", tables, figures, remarks)


MOVES = (
    "Percentage of the variance over specifications. Alone: between the means of the options. "
    "Total: among specifications that differ only in this choice; totals need not add up to 100, "
    "because an interaction counts for each of its choices. Moves by: the typical difference "
    "between two such specifications, in units of the score."
)
PAIRS = "Percentage of the variance from the interaction of two choices, beyond each alone."


def _moves(swept: Sweep) -> pd.DataFrame:
    return effects_of_choices(swept.whole, swept.factors)


def _pairs(swept: Sweep) -> pd.DataFrame:
    return pairs_of_choices(swept.whole, swept.factors)


def _remark(title: str, swept: Sweep) -> str:
    frame, scores = swept.frame, swept.frame.score
    sure = ((frame.low > swept.ideal) | (frame.high < swept.ideal)).mean()
    duplicates = f" ({swept.same} more gave the same numbers)" if swept.same else ""
    joint = "" if swept.p is None else f" All together: p = {swept.p:.2g}."
    return (
        f"{title}: {len(scores)} specifications{duplicates} from {swept.rows} model inputs; "
        f"scores from {scores.min():.2f} to {scores.max():.2f}, median {scores.median():.2f}; "
        f"{100 * sure:.0f} % have an interval that excludes {swept.ideal:g}.{joint}"
    )


def summary(study: Study) -> Mapping[str, pd.DataFrame]:
    """What moves the scores, by title, for the terminal."""
    prefixes = ("moves-", "pairs-")
    return {t.title: t.frame for t in study.tables if t.name.startswith(prefixes)}
