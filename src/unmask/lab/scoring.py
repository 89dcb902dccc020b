"""Score one model of the lab with every measure, and relate the scores to what was planted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.answer.lab_status import MARGIN
from unmask.flow.evaluate import evaluate
from unmask.lab import planted_items, probe
from unmask.lab.oracle import Oracle
from unmask.lab.world import World
from unmask.measures import MEASURES, Association, Measure
from unmask.measures.reduce import LOWER_IS_LIKELIER
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.types import Dataset, Estimate, Result

SAMPLES = 500  # draws of CEAT: enough for a lab that has many models
SPLITS = 2000  # of permutation tests
# Design choices that are varied for each measure, in words.
CHOICES: dict[str, dict[str, Any]] = {
    "first piece": {"pool": "word-first"},
    "last piece": {"pool": "word-last"},
    "whole sentence": {"pool": "mean"},
    "natural contexts": {"contexts": "natural"},
    "no layer": {"layer": 0},
    "middle layer": {"layer": "middle"},
}
VARIED = "w-seat"
SHAPES = ("pairs", "triplets", "continuations", "templates", "word tests")  # of a world's data


@dataclass(frozen=True, slots=True)
class Sets:
    """The data of a world, made once and read by every measure."""

    world: World
    data: tuple[Any, ...]
    natural: Any

    @classmethod
    def of(cls, world: World) -> "Sets":
        """All sorts of items from one vocabulary."""
        balanced = planted_items.pairs(world)
        control = planted_items.pairs(world, ("control",), "pairs-control")
        return cls(
            world,
            (
                balanced,
                planted_items.unbalanced(balanced),
                control,
                planted_items.triplets(world),
                planted_items.continuations(world),
                planted_items.templates(world, "name"),
                planted_items.templates(world, "term"),
                planted_items.templates(world, "thing", ("control",), "templates-control"),
                planted_items.word_test(world, "name"),
                planted_items.word_test(world, "term"),
                planted_items.control_words(world),
            ),
            planted_items.natural(world),
        )


def shape(data: Any) -> str:
    """The shape that a measure asks for."""
    return data.shape if isinstance(data, Dataset) else "word tests"


def specs(model: Model, sets: Sets, measures: Sequence[Measure]) -> list[Spec]:
    """All measures on all data that they fit, and the choices that are varied."""
    plan = []
    for measure in measures:
        drawn = _drawn(measure, sets)
        # Triplets are only for measures that need them: pairs cover the others.
        fitting = [d for d in sets.data if shape(d) == measure.shapes[0]]
        plan += [Spec(model, measure, d, **drawn, tags={"choice": ""}) for d in fitting]
        if measure.name == VARIED:
            for name, choice in CHOICES.items():
                options = {**choice, **({"contexts": sets.natural} if "contexts" in choice else {})}
                if choice.get("layer") == "middle":
                    options["layer"] = max(model.abilities.layers) // 2
                plan += [
                    Spec(model, measure, d, **options, tags={"choice": name})
                    for d in sets.data
                    if shape(d) == "word tests"
                ]
    return plan


def _drawn(measure: Measure, sets: Sets) -> dict[str, Any]:
    """Use sentences of the world as CEAT's contexts, with fewer draws than usual."""
    if not isinstance(measure, Association) or not measure.samples:
        return {}
    return {"samples": SAMPLES, "contexts": sets.natural}


def scored(
    model: Model, world: World, measures: Sequence[Measure] = (), options: Options | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return all measures' readings, the learned log odds by word, and the refused measures."""
    sets = Sets.of(world)
    measure_rows = list(measures) or list(MEASURES.values())
    refused = {m.name: reason for m in measure_rows if (reason := _refusal(model, m))}
    settings = options or Options(splits=SPLITS)
    to_measure = specs(model, sets, [m for m in measure_rows if m.name not in refused])
    results = evaluate(to_measure, settings, lambda s, e: refused.__setitem__(s.title, str(e)))
    knowledge = probe.learned(model, world)
    plant = world.plant
    facts = {
        "kind": model.kind,
        "theta": float(plant.theta),
        "rho": float(plant.rho),
        "seed": plant.seed,
        "learned": probe.theta(knowledge),
    }
    doses = _doses(sets)
    rows = [{**facts, **row} for r in results for row in readings(r, doses)]
    words = knowledge.assign(**{k: v for k, v in facts.items() if k != "learned"})
    return pd.DataFrame(rows), words, refused


def _refusal(model: Model, measure: Measure) -> str:
    if model.kind not in measure.kinds:
        return f"it does not apply to a {model.kind} language model"
    if unjudged := _unjudged(measure):
        return unjudged
    if measure.shapes[0] not in SHAPES:
        return f"the lab has no {measure.shapes[0]}"
    return str(model.refuses(measure)) if isinstance(model, Oracle) else ""


def _unjudged(measure: Measure) -> str:
    """Return why a measure cannot tell a planted bias from none, or an empty string."""
    if isinstance(measure, Association):
        if measure.turned:
            return "its sign is reversed: a lower value means nearer"
        limit = "its ideal is a bound, not a value around which a fair model varies"
        return "" if measure.tested else limit
    if measure.compare == "lean":
        return "without a prior, a rarer word has lower odds even in a fair model"
    if measure.compare == "matched":
        return "it gives one number for both target groups together"
    flipped = measure.compare == "difference" and measure.reduce in LOWER_IS_LIKELIER
    return "its sign is reversed: a lower value means likelier" if flipped else ""


def _doses(sets: Sets) -> pd.DataFrame:
    """What was planted in each item, by data and item."""
    rows = []
    for data in sets.data:
        if isinstance(data, Dataset):
            rows += [{"data": data.name, "item": i.id, **_planted(i.meta)} for i in data.items]
        else:
            doses = data.stimuli.meta["doses"].items()
            rows += [
                {"data": data.name, "item": w, "unit": w, "dose": t, "turn": 1, "often": p}
                for w, (t, p) in doses
            ]
    return pd.DataFrame(rows).set_index(["data", "item"])


def _planted(meta: Any) -> dict[str, Any]:
    return {k: meta[k] for k in ("unit", "dose", "turn", "often")}


def readings(result: Result, doses: pd.DataFrame) -> list[dict[str, Any]]:
    """A measure's number with its interval and its correlation with the doses of words.

    The mean margin of a preference is read as a choice of its own.
    """
    facts = _facts(result, doses)
    rows = [{**facts, **_numbers(result.overall)}]
    if result.data.startswith("pairs") and "@" not in result.measure and "margin" in result.extras:
        rows.append({**facts, "choice": MARGIN, **_numbers(result.extras["margin"])})
    return rows


def _numbers(estimate: Estimate) -> dict[str, Any]:
    return {
        "score": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "se": estimate.se,
        "ideal": float(estimate.ideal or 0.0),
        "n": estimate.n,
    }


def _facts(result: Result, doses: pd.DataFrame) -> dict[str, Any]:
    with_sign = oriented(result, doses)
    return {
        "measure": result.measure,
        "data": result.data,
        "choice": result.spec.tags["choice"],
        "rows": int(result.settings.get("rows", result.settings.get("sentences", 0))),
        **_by_words(with_sign.groupby("unit")[["margin", "dose"]].mean()),
        "often_r": correlation(with_sign.margin, with_sign.often),
    }


def oriented(result: Result, doses: pd.DataFrame) -> pd.DataFrame:
    """Margins by item in the direction of group x, with what was planted there."""
    planted = doses.loc[result.data]
    joined = planted.join(Items(result).margins().rename("margin"), how="inner")
    joined["margin"] = joined.margin * joined.turn
    return joined


def _by_words(words: pd.DataFrame) -> dict[str, float]:
    """Correlation and slope over words; the level is the margin where nothing is planted."""
    if len(words) < 3 or words.dose.std() == 0 or not words.margin.std() > 0:
        return {"word_r": np.nan, "word_slope": np.nan, "level": float(words.margin.mean())}
    slope, level = np.polyfit(words.dose, words.margin, 1)
    r = correlation(words.dose, words.margin)
    return {"word_r": r, "word_slope": float(slope), "level": float(level)}


def correlation(a: pd.Series, b: pd.Series) -> float:
    """Pearson's correlation; NaN where one of them does not vary."""
    both = pd.concat([a, b], axis=1).dropna()
    if len(both) < 3 or not (both.std() > 1e-12).all():
        return float("nan")
    return float(np.corrcoef(both.iloc[:, 0], both.iloc[:, 1])[0, 1])
