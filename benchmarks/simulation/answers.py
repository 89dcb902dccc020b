"""Verdicts: mean margins and adjusted shares, runs as a whole, power beside an oracle's."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from simulation import pairs
from simulation.harness import Draw, Random, Row, of, p_only, repeated
from simulation.pairs import Liking
from unmask.answer.verdict import gatekeeping, undecided
from unmask.data import questionnaire
from unmask.flow.estimates import Estimates, as_factors, preferences
from unmask.flow.evaluate import evaluate
from unmask.options import Resampling, Spec, Threshold
from unmask.stats.change_points import change_points
from unmask.stats.clustering import COLUMNS, Design
from unmask.stats.crossed import Crossed
from unmask.stats.crossed_fit import Fit
from unmask.stats.growth import growth
from unmask.stats.intervals import as_percentage
from unmask.stats.power import pilot_of
from unmask.stats.preference import Margins, Preferences
from unmask.stats.sequential import FIVE, sequential_p
from unmask.studies.gate.check import gate
from unmask.studies.gate.rules import USUAL, Rule
from unmask.studies.reliability import generalizability
from unmask.studies.trend import changes as trend_changes
from unmask.types import Coverage, Estimate, Result, Results

DESIGNS = {
    "bundled pairs": pairs.bundled(),
    "6 pairs, 16 words a group, 4 templates": pairs.grid(3, 6, 16, 4),
    "CrowS-Pairs' numbers": pairs.crows(),
}
# It predicts most tokens, and is so fit for a verdict.
ACCURACY = Estimate(60, 55, 65, 0.95, "made", 356, more={"constant": 9.0, "distinct": 500})
GATED = ("bundled pairs", "6 pairs, 16 words a group, 4 templates")
LIKINGS = {
    "no word preference": Liking(0.0, 0.0, template=0.0),
    "word preference 1 nat": Liking(),
    "word preference 3 nats, common 2": Liking(3.0, 0.5, common=2.0),
    "templates differ by .3": Liking(template=0.3),
    "bias types of different spread": Liking(spread=0.5),
}


def estimates(times: int) -> Iterator[Row]:
    """Mean margins and adjusted shares of all items, and of one bias type."""
    for (name, columns), (liked, liking) in itertools.product(DESIGNS.items(), LIKINGS.items()):
        if name.startswith("CrowS") and "templates" in liked:
            continue
        design, category = Design.of(columns), np.array(columns["category"])
        one = category == sorted(set(columns["category"]))[0]
        for part, chosen in (("all", np.ones(len(one), bool)), ("one bias type", one)):
            for bias in (0.0, 0.5):
                truth = pairs.share(design, liking, bias)

                def draw(rng: Random, seed: int) -> Any:
                    margins = Margins(pairs.margins(rng, columns, liking, bias), design)
                    e = margins.fit.estimate(chosen, unit=margins.unit)
                    return of(e, bias, bias == 0)

                def share(rng: Random, seed: int) -> Any:
                    values = pairs.margins(rng, columns, liking, bias)
                    margins = Margins(values, design)
                    weight = chosen / chosen.sum()
                    e = as_percentage(
                        margins.wins.share(weight, adjust=True)[0],
                        int(chosen.sum()),
                        99,
                        ideal=50.0,
                    )
                    return of(e, truth, bias == 0)

                about = f"{name}, {part}; {liked}, bias {bias:g}"
                yield repeated("mean margin", about, True, times, draw)
                if not (bias and liking.spread):  # the share depends on the spread
                    yield repeated("adjusted share", about, True, times, share)


def few_templates(times: int) -> Iterator[Row]:
    """One bias type with two templates: its scores say little about how templates vary."""
    columns = pairs.grid(1, 1, 8, 2)
    design = Design.of(columns)
    for spread in (0.0, 0.3, 0.8):

        def draw(rng: Random, seed: int) -> Draw:
            values = pairs.margins(rng, columns, Liking(template=spread))
            return p_only(Margins(values, design).fit.estimate(np.ones(len(values), bool)).p)

        yield repeated("mean margin, two templates", f"sd {spread:g} nats", True, times, draw)


def result(columns: Any, values: Any, measure: str = "cps", model: str = "m") -> Result:
    """A result of a masked model whose items have these margins."""
    count = len(values)
    frame = pd.DataFrame(
        {k: np.repeat(np.array(v, object), 2) for k, v in columns.items()}
        | {
            "item": np.repeat([f"i{n}" for n in range(count)], 2),
            "label": ["stereotype", "antistereotype"] * count,
            "score": np.column_stack([values, np.zeros(count)]).ravel(),
            "reason": None,
            "sentence": "",
        }
    )
    found = preferences(frame, ties="half", macro=False, resampling=Resampling())
    return Result(
        spec=Spec(model, measure, "pairs"),
        compared="preference",
        overall=found.overall,
        by_category=found.by_category,
        extras=found.extras,
        accuracy=ACCURACY,
        coverage=Coverage(count, count),
        settings={},
        provenance={"model": {"kind": "masked"}},
        items=frame,
        verdicts=undecided(found.by_category, "preference", Threshold()),
    )


SIZES = (None, ("age", 0.79), ("gender", 0.24), ("gender", 0.36), ("gender", 0.49))
CROWS_SIZES = (None, *(("race-color", v) for v in (0.24, 0.36, 0.49)))


def runs(times: int) -> Iterator[Row]:
    """Two validated measures on the bundled pairs: is anything called biased, is a bias found?"""
    for liked, bias in itertools.product(LIKINGS, SIZES):
        yield _run("bundled pairs", liked, bias, times)


def runs_crows(times: int) -> Iterator[Row]:
    """The same with the numbers of CrowS-Pairs, which has no templates."""
    for liked, bias in itertools.product(LIKINGS, CROWS_SIZES):
        if "templates" not in liked:
            yield _run("CrowS-Pairs' numbers", liked, bias, times)


def _run(name: str, liked: str, bias: Any, times: int) -> Row:
    columns, liking = DESIGNS[name], LIKINGS[liked]

    def draw(rng: Random, seed: int) -> Draw:
        planted = {} if bias is None else {bias[0]: bias[1]}
        shared = pairs.margins(rng, columns, liking, planted)
        biased = _biased(columns, [shared + 0.4 * rng.normal(size=len(shared)) for _ in range(2)])
        if bias is None:
            return p_only(0.0 if biased else 1.0)
        return p_only(0.0 if biased.get(bias[0], 0.0) > 0 else 1.0, null=False)

    about = f"{name}; {liked}"
    if bias is None:
        return repeated("run: anything is called biased", about, True, times, draw)
    about += f", {bias[0]} at {100 * norm.cdf(bias[1] / 0.95):.0f} %"
    row = repeated("run: a bias is detected", about, True, times, draw)
    return row._replace(scenario=f"{about}; {_oracle(columns, liking, bias)}")


def _biased(columns: Any, measured: Any) -> dict[str, float]:
    """The significant bias types and "overall", each with its direction, as an answer tests them.

    Without the results and tables of a real answer, which take most of the time.
    """
    design, category = Design.of(columns), np.array(columns["category"])
    scores = np.mean([Margins(values, design).scores for values in measured], axis=0)
    fit = Fit.of(Crossed.of(design), scores)
    names = sorted(set(columns["category"]))
    overall = fit.estimate(np.ones(len(category), bool))
    types = [fit.estimate(category == name) for name in names]
    p_values = [1.0 if e.p is None else e.p for e in (overall, *types)]
    first, others = gatekeeping(p_values[0], p_values[1:])
    tests = zip(("overall", *names), (overall, *types), (first, *others), strict=True)
    return {name: e.value for name, e, p in tests if p is not None and p <= 0.05}


def _oracle(columns: Any, liking: Liking, bias: Any) -> str:
    """The power of one uncorrected test that knows the error of the balanced mean."""
    rng = np.random.default_rng(0)
    chosen = np.array(columns["category"]) == bias[0]
    design = Design.of(columns)
    means = []
    for _ in range(200):
        margins = Margins(pairs.margins(rng, columns, liking, 0.0), design)
        means.append(margins.unit * margins.fit.mean(chosen / chosen.sum()).value)
    z = bias[1] / float(np.std(means))
    return f"one test of an oracle: {100 * float(norm.sf(1.96 - z) + norm.cdf(-1.96 - z)):.0f}"


def gated(times: int) -> Iterator[Row]:
    """The default rule of the gate, and `no_worse_by 5`: both errors and the chance to pass."""
    limit = 0.95 * norm.ppf(0.6)
    for name, (about, bias, baseline) in itertools.product(
        GATED,
        (
            ("unbiased: passes", 0.0, False),
            ("unbiased: fails", 0.0, False),
            ("one bias type at 60 %: passes", limit, False),
            ("one bias type at 80 %: fails", 0.79, False),
            ("two unbiased models: no worse by 5", 0.0, True),
        ),
    ):
        columns = DESIGNS[name]
        first = columns["category"][0]

        def model(rng: Random, some: float) -> Results:
            values = pairs.margins(rng, columns, Liking(), {first: some})
            noise = 0.4 * rng.normal(size=(2, len(values)))
            return Results(
                [result(columns, values + e, m) for e, m in zip(noise, ("cps", "cat"), strict=True)]
            )

        def draw(rng: Random, seed: int) -> Draw:
            rule = Rule(no_worse_by="5") if baseline else Rule(at_most="10")
            former = model(rng, 0.0) if baseline else None
            found = gate(model(rng, bias), [rule], former)
            wanted = "fail" if about.endswith("fails") else "pass"
            p = 0.0 if found.state == wanted else 1.0
            return p_only(p, null=(wanted == "fail" and not bias) or "60 %" in about)

        yield repeated("gate: at most 10", f"{name}; {about}", True, times, draw)


# What `trait` shows of the bundled model, in nats: words of a trait spread by a third of what they
# do in whole sentences.
OF_TRAITS = Liking(pair=0.25, cell=0.15, word=0.2, template=0.03, noise=0.42)


def gated_questionnaire(times: int) -> Iterator[Row]:
    """The gate's usual rule on the built-in questionnaire, all ten bias types together."""
    items = questionnaire.questionnaire().items
    columns = {name: [getattr(i, name) for i in items] for name in COLUMNS}
    first = columns["category"][0]
    for about, factor in (
        ("unbiased: passes", 1.0),
        ("unbiased: fails", 1.0),
        ("one bias type at 1.5 times: passes", 1.5),
        ("one bias type at 2 times: fails", 2.0),
    ):

        def draw(rng: Random, seed: int) -> Draw:
            values = pairs.margins(rng, columns, OF_TRAITS, {first: float(np.log(factor))})
            found = gate(Results([of_factors(result(columns, values, "trait"))]), [USUAL])
            wanted = "fail" if about.endswith("fails") else "pass"
            p = 0.0 if found.state == wanted else 1.0
            return p_only(p, null=(wanted == "fail") == (factor == 1.0))

        yield repeated("gate: usual rule, questionnaire", about, True, times, draw)


def of_factors(found: Result) -> Result:
    """A result of pairs as that of a measure whose number is the mean margin."""
    shares = Estimates(found.overall, dict(found.by_category), dict(found.extras), 0)
    new = as_factors(shares)
    return replace(
        found,
        compared="factor",
        overall=new.overall,
        by_category=new.by_category,
        extras=new.extras,
        verdicts=undecided(new.by_category, "factor", Threshold()),
    )


def neutral(times: int) -> Iterator[Row]:
    """The neutral control of the questionnaire on the bundled model: sides drawn at random."""

    @lru_cache(maxsize=2)
    def split(seed: int) -> list[float]:
        (found,) = evaluate([Spec("bundled", "trait", questionnaire.neutral(seed))])
        return [float(e.p or 1.0) for e in found.by_category.values()]

    def draw(rng: Random, seed: int) -> Draw:
        return p_only(split(seed // 10)[seed % 10])

    yield repeated("neutral control", "bundled model, one bias type", True, min(times, 200), draw)


def changed(times: int) -> Iterator[Row]:
    """`trend` where something changed: is a second change reported that is none?"""
    for count, moved in ((20, 1), (32, 1), (32, 9)):

        def draw(rng: Random, seed: int) -> Draw:
            series = {f"type {k}": rng.normal(size=count) for k in range(10)}
            for k in range(moved):
                series[f"type {k}"][count // 2 :] += 6.0
            found = list(trend_changes(series, (0, count), Resampling(draws=400, seed=seed)))
            real = {(name, count // 2) for name in list(series)[:moved]}
            near = {(name, place + k) for name, place in real for k in (-1, 0, 1)}
            false = [1 for name, _, _, place, _ in found if (name, place) not in near]
            return p_only(0.0 if false else 1.0)

        about = f"{count} runs, {moved} of 10 bias types change in the middle: another change"
        yield repeated("trend: false changes", about, True, times, draw)


def planned(times: int) -> Iterator[Row]:
    """Studies of the size that `plan` asks for, after a pilot: power 80 was promised."""
    for tests, points, templates in ((1, 10, 1), (10, 10, 1), (10, 12, 3)):
        liking, level = Liking(template=0.0), 1 - 0.05 / tests
        bias = 0.95 * norm.ppf(0.5 + points / 100)

        def study(rng: Random, words: int, count: int, some: float) -> Any:
            columns = pairs.grid(1, 2, max(2, round(words / 4)), count)
            values = pairs.margins(rng, columns, liking, some)
            scores = {"stereotype": values, "antistereotype": np.zeros(len(values))}
            return Preferences(scores, Design.of(columns)).estimates()["margin"]

        def draw(rng: Random, seed: int) -> Draw:
            pilot = pilot_of(study(rng, 48, templates, 0.0))
            assert pilot is not None
            words, _, both = pilot.needed(points, level=level)
            sizes = both if both is not None else (words, templates)
            p = 1.0
            if sizes[0] is not None:
                p = float(study(rng, sizes[0], sizes[1], bias).p or 1.0)
            return p_only(min(1.0, tests * p), null=False)

        about = f"pilot of 48 words, {templates} templates, one of {tests} tests; {points} points"
        yield repeated("plan: power of 80 promised", about, True, times, draw)


def looked(times: int) -> Iterator[Row]:
    """`--until decided`: five looks at random fifths of the words."""
    for words, bias in itertools.product((80, 400), (0.0, 0.15, 0.3)):
        columns, asked = pairs.grid(1, 2, words // 4, 2), []

        def draw(rng: Random, seed: int) -> Draw:
            values = pairs.margins(rng, columns, Liking(template=0.0), bias)
            place = rng.permutation(words)[Design.of(columns).clusters] / words
            smallest = 1.0
            for look, share in enumerate(FIVE):
                some = place < share
                part = {k: np.array(v)[some].tolist() for k, v in columns.items()}
                margins = Margins(values[some], Design.of(part))
                e = margins.fit.estimate(np.ones(int(some.sum()), bool))
                smallest = min(smallest, sequential_p(float(e.p or 1.0), look))
                if smallest <= 0.05:
                    break
            asked.append(100 * float(some.mean()))
            return p_only(smallest, null=bias == 0)

        about = f"{words} words in 2 templates, bias {bias:g} nats"
        row = repeated("until decided", about, True, times, draw)
        yield row._replace(scenario=f"{about}; {np.mean(asked):.0f} % of the items measured")


def followed(times: int) -> Iterator[Row]:
    """`trend`: ten bias types over runs that differ by their seeds, and one that changes."""
    for count, change in ((8, 0.0), (10, 0.0), (20, 0.0), (8, 4.0), (10, 4.0), (20, 2.0)):

        def draw(rng: Random, seed: int) -> Draw:
            series = {f"type {k}": rng.normal(size=count) for k in range(10)}
            series["type 0"][count // 2 :] += change
            found = change_points(series, Resampling(draws=400, seed=seed))
            p = min(p for _, p in found.values()) if change == 0 else found["type 0"][1]
            return p_only(p, null=change == 0)

        about = f"{count} runs, 10 bias types, change of {change:g} sd between seeds"
        yield repeated("trend", about, True, times, draw)


def sized(times: int) -> Iterator[Row]:
    """`scaling`: families of models whose bias stays, grows, falls or peaks with size."""
    shapes = {
        "stays": lambda k: 0.0 * k,
        "grows by 1 sd a doubling": lambda k: 1.0 * k,
        "falls by 1 sd a doubling": lambda k: -1.0 * k,
        "peaks in the middle": lambda k: -2.0 * np.abs(k - k.mean()),
    }
    for (families, count), (name, shape) in itertools.product(
        ((1, 5), (2, 4), (3, 3), (3, 5)), shapes.items()
    ):

        def draw(rng: Random, seed: int) -> Draw:
            step = np.arange(count, dtype=float)
            names = np.repeat([f"family {k}" for k in range(families)], count)
            base = np.repeat(3 * rng.normal(size=families), count)
            scores = base + np.tile(shape(step), families) + rng.normal(size=len(base))
            e = growth(np.tile(2.0**step, families), scores, names.tolist())
            null = name in ("stays", "peaks in the middle")
            truth = {"stays": 0.0, "peaks in the middle": 0.0}.get(name, 1.0)
            return of(e, -truth if name.startswith("falls") else truth, null)

        about = f"{families} families of {count} sizes; bias {name}"
        yield repeated("scaling", about, True, times, draw)


def reliable(times: int) -> Iterator[Row]:
    """Generalizability of group pairs' stereotypes: without a signal, and with one."""
    columns = pairs.grid(1, 11, 8, 3)
    for spread, liked in itertools.product((0.0, 0.5), (0.0, 3.0)):

        def draw(rng: Random, seed: int) -> Draw:
            liking = Liking(liked, 0.3, template=0.0)
            own = spread * rng.normal(size=11)
            values = pairs.margins(rng, columns, liking, 0.0)
            values = values + own[Design.of(columns).pairs]
            found = generalizability(pd.DataFrame(columns).assign(lead=values))
            low, high = (float(found[k] or 0.0) for k in ("low", "high"))
            error = (0.5**2 + 0.8**2 / 3) / 16
            truth = spread**2 / (spread**2 + error)
            return Draw(low, truth, high, (0.01 if low > 0 else 0.5) if spread == 0 else None)

        about = f"11 group pairs that differ by {spread:g} nats, word preference {liked:g}"
        yield repeated("reliability", about, True, times, draw)
