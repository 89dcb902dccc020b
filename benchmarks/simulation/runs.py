"""Runs as a whole: false alarms, planning, reliability, ranks, looks, the joint test of `vary`."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from simulation.harness import Draw, Random, Row, repeated
from simulation.shares import answers, bundled, tossed
from unmask.data import catalogue
from unmask.options import Resampling
from unmask.stats import crossed, intervals, power, sequences
from unmask.stats.clustering import Design, codes
from unmask.stats.multiplicity import corrected
from unmask.stats.preference import Preferences
from unmask.stats.ranks import ranks
from unmask.stats.specification_curve import joint_signs
from unmask.stats.word_preference import Sides
from unmask.studies.reliability import generalizability

NOTHING = float("nan")


def p_only(p: float, null: bool = True) -> Draw:
    """A repetition with a test and no interval."""
    return Draw(NOTHING, 0.0, NOTHING, p if null else None, NOTHING, None if null else p)


def whole_runs(times: int) -> Iterator[Row]:
    """Six measures and nine categories on the bundled pairs: is anything called biased?"""
    design, sign, category, family, side = bundled()
    groups = ["", *sorted(set(category))]
    sides = Sides(family.tolist(), side.tolist())
    for likes, lean in ((0.0, 0.0), (2.0, 0.0), (1.0, 1.0)):

        def draw(rng: Random, seed: int) -> Draw:
            shared = lean + likes * sign + 0.8 * rng.normal(size=design.count)[design.clusters]
            shared = shared + 0.4 * rng.normal(size=design.crossed.max() + 1)[design.crossed]
            p = []
            for _ in range(6):
                wins = (shared + rng.logistic(size=len(sign)) > 0).astype(float)
                scores = {"stereotype": wins, "antistereotype": np.full(len(wins), 0.5)}
                model = Preferences(scores, design, ties="half", sides=sides)
                for name in groups:
                    chosen = np.ones(len(wins), bool) if name == "" else category == name
                    p.append(model.judged(chosen).p or 1.0)
            return p_only(float(corrected(p).min()), lean == 0)

        about = f"6 measures, 9 categories; words liked by {likes:g}, stereotype {lean:g} logits"
        yield repeated("a run as a whole", about, True, times, draw)


def curves(times: int) -> Iterator[Row]:
    """The joint test of `vary`, with sides far apart."""
    design, sign, *_ = bundled()
    strata = np.zeros(design.count, np.int64)
    strata[design.clusters] = design.strata
    for lean in (0.0, 0.6):

        def draw(rng: Random, seed: int) -> Draw:
            leads = [
                (answers(rng, design, sign, lean, 2.0, 0.0) - 0.5, design.clusters)
                for _ in range(5)
            ]
            how = Resampling(draws=400, seed=seed)
            return p_only(joint_signs(leads, design.count, strata, how), lean == 0)

        about = f"5 specifications, sides 2 logits apart, stereotype {lean:g}"
        yield repeated("vary: joint test", about, True, times, draw)


def grid(families: int, words: int, frames: int) -> tuple[Design, Any]:
    """A design of families with two sides, words and frames; and the sides."""
    rows = np.array(list(itertools.product(range(families), (0, 1), range(words), range(frames))))
    family, side, word, frame = rows.T
    cell = family * 2 + side
    return Design(codes(cell * words + word), cell, family * frames + frame, family), 1.0 - 2 * side


def planned(times: int) -> Iterator[Row]:
    """Studies of the size that `plan` asks for, after a pilot: power 80 was promised."""
    far = np.random.default_rng(0).normal(size=50_000)
    for families, words, frames, moved, points in ((11, 8, 2, 0.4, 8), (11, 8, 2, 0.7, 10),
                                                   (4, 8, 3, 0.5, 12)):  # fmt: skip
        z = far * math.hypot(0.7, moved)
        lean = brentq(lambda b, z=z, p=points: expit(b + z).mean() - 0.5 - p / 100, -5, 5)

        def draw(rng: Random, seed: int) -> Draw:
            design, sign = grid(families, words, frames)
            fit = crossed.fitted(answers(rng, design, sign, 0, 0, moved), design)
            even = np.full(len(sign), 1 / len(sign))
            seen = fit.described(even, fit.share(even))
            kinds = {k: power.Kind(**seen[k]) for k in ("words", "templates")}
            both = power.Pilot(len(sign), seen["spread"], **kinds).needed(points)[2]
            assert both is not None
            sizes = round(both[0] / (2 * families)), round(both[1] / families)
            design, sign = grid(families, max(2, sizes[0]), max(2, sizes[1]))
            share = crossed.fitted(answers(rng, design, sign, lean, 0, moved), design).share(
                np.full(len(sign), 1 / len(sign))
            )
            return p_only(2 * share.tail(0.5), False)

        about = f"{families} families, {frames} frames, which differ by {moved:g}; {points} points"
        yield repeated("plan: power of 80 promised", about, True, times, draw)
    for writers, alike in ((15, 0.05), (15, 0.1), (40, 0.1)):

        def after(rng: Random, seed: int) -> Draw:
            wins, number = tossed(rng, writers, 20, 0.5, alike)
            fit, even = crossed.fitted(wins, Design(number)), np.full(len(wins), 1 / len(wins))
            seen = fit.described(even, fit.share(even))
            pilot = power.Pilot(len(wins), seen["spread"], power.Kind(**seen["words"]))
            needed = pilot.needed(5.0)[0]
            assert needed is not None
            wins, number = tossed(rng, needed, 20, 0.55, alike)
            share = crossed.fitted(wins, Design(number)).share(np.full(len(wins), 1 / len(wins)))
            return p_only(2 * share.tail(0.5), False)

        about = f"pilot of {writers} writers, alike {alike:g}; 5 points"
        yield repeated("plan: power of 80 promised", about, True, times, after)


def detected(times: int) -> Iterator[Row]:
    """A true difference as large as `detect` says: power 80."""
    for clusters, size, alike in ((16, 10, 0.1), (40, 5, 0.1), (80, 20, 0.05)):
        reach = []
        rng = np.random.default_rng(0)
        for _ in range(60):
            wins, number = tossed(rng, clusters, size, 0.5, alike)
            design = Design(number)
            share = crossed.fitted(wins, design).share(intervals.weights(design))
            reach.append(share.mde(0.5, 0.95))
        true = min(0.97, 0.5 + float(np.median(reach)))

        def draw(rng: Random, seed: int) -> Draw:
            wins, number = tossed(rng, clusters, size, true, alike)
            design = Design(number)
            share = crossed.fitted(wins, design).share(intervals.weights(design))
            return p_only(2 * share.tail(0.5), False)

        about = f"{clusters} x {size}, alike {alike:g}, {100 * true - 50:.1f} points"
        yield repeated("detect: power of 80 said", about, True, times, draw)


def reliable(times: int) -> Iterator[Row]:
    """Generalizability of families' stereotypes where there is none, and words are liked."""
    design, sign, category, family, side = bundled()
    items = catalogue.sentences("bundled-pairs").items
    facts = pd.DataFrame({"group_pair": family, "group": side, "category": category,
                          "cluster": [i.cluster for i in items],
                          "template": [i.template for i in items]})  # fmt: skip
    for likes in (0.0, 2.0, 4.0):

        def draw(rng: Random, seed: int) -> Draw:
            wins = answers(rng, design, sign, 0.0, likes, 0.0)
            found = generalizability(facts.assign(win=wins))
            low, high = (float(found[k] or 0.0) for k in ("low", "high"))
            return Draw(low, 0.0, high, 0.01 if low > 0 else 0.5, NOTHING)

        yield repeated(
            "reliability without a signal", f"words liked by {likes:g}", True, times, draw
        )


def ranked(times: int) -> Iterator[Row]:
    """Four models on six measures: all true ranks within their intervals."""
    for name, true in (("apart", [0.0, 1, 2, 4]), ("alike", [1.0, 1, 1, 1])):
        truth = np.repeat(np.array(true)[:, None], 6, axis=1)
        first = np.array([1 + sum(o < t for o in true) for t in true])
        last = np.array([len(true) - sum(o > t for o in true) for t in true])

        def draw(rng: Random, seed: int) -> Draw:
            seen = truth + rng.normal(size=truth.shape)
            how = Resampling(draws=500, seed=seed)
            _, low, high = ranks(seen, np.ones_like(truth), how)
            held = bool((low <= last).all() and (high >= first).all())
            return Draw(0.0, 0.0 if held else 9.0, 1.0)

        yield repeated("ranks of models", f"4 models {name}, 6 measures", True, times, draw)


def looked(times: int) -> Iterator[Row]:
    """`--until decided`: clusters in random order, an interval at every look."""
    for clusters, size, alike in ((77, 20, 0.01), (77, 20, 0.05), (160, 2, 0.1)):
        for share in (0.5, 0.62):
            asked: list[float] = []

            def draw(rng: Random, seed: int) -> Draw:
                wins, number = tossed(rng, clusters, size, share, alike)
                low, high, p = 0.0, 100.0, 1.0
                for count in sequences.looks(clusters):
                    some = number < count
                    design = Design(number[some])
                    fit = crossed.fitted(wins[some], design)
                    e = intervals.as_percentage(
                        fit.share(intervals.weights(design)), int(some.sum()), count, ideal=50.0
                    )
                    e = sequences.as_sequence(e, clusters)
                    low, high, p = max(low, e.low), min(high, e.high), min(p, float(e.p or 1))
                    if e.excludes_ideal:
                        break
                truth = 100 * share
                held = low <= truth <= high
                asked.append(100 * float(some.mean()))
                fair = share == 0.5
                return Draw(
                    0.0,
                    0.0 if held else 200.0,
                    100.0,
                    p if fair else None,
                    NOTHING,
                    None if fair else p,
                )

            about = f"{clusters} x {size}, alike {alike:g}, true {100 * share:g}"
            row = repeated("until decided, all looks", about, True, times, draw)
            yield row._replace(scenario=f"{about}; {np.mean(asked):.0f} % of the items asked")
