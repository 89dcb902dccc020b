"""Shares: clusters, unequal ones, triplets, sides and frames, and the bundled design itself."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from simulation.harness import FEW, Draw, Random, Row, of, repeated
from unmask.data import catalogue
from unmask.stats import crossed, intervals, preference, word_preference
from unmask.stats.clustering import Design, codes


def share_of(wins: Any, design: Design, ideal: float, macro: bool = False) -> Any:
    """A share as `run` makes it."""
    uncertain = crossed.fitted(wins, design).share(intervals.weights(design, macro))
    return intervals.as_percentage(uncertain, len(wins), design.count, ideal=ideal)


def tossed(rng: Random, clusters: int, size: int, p: float, alike: float) -> tuple[Any, Any]:
    """Wins [n] and clusters [n]; shares differ between clusters by `alike` (intraclass)."""
    sizes = np.maximum(1, rng.poisson(size, clusters)) if size > 2 else np.full(clusters, size)
    number = np.repeat(np.arange(clusters), sizes)
    scale = (1 - alike) / alike if alike else 0
    chance = rng.beta(p * scale, (1 - p) * scale, clusters) if alike else np.full(clusters, p)
    return (rng.random(len(number)) < chance[number]).astype(float), number


def shares(times: int) -> Iterator[Row]:
    """Preference scores, micro and macro."""
    for clusters, size in ((3, 26), (6, 10), (10, 20), (16, 2), (16, 10), (40, 5), (80, 20)):
        for p in (0.5, 0.7, 0.9, 0.97):
            for alike in (0.05, 0.2):
                for macro in (False, True):

                    def draw(rng: Random, seed: int) -> Any:
                        wins, number = tossed(rng, clusters, size, p, alike)
                        e = share_of(wins, Design(number), 100 * p, macro)
                        return Draw(e.low, 100 * p, e.high, e.p, e.value)

                    name = f"{clusters} x {size} at {100 * p:g} %, alike {alike:g}"
                    what = "share, over clusters" if macro else "share, over items"
                    yield repeated(what, name, clusters >= FEW, times, draw)


def unequal(times: int) -> Iterator[Row]:
    """Clusters of very different sizes, as writers have them."""
    for clusters, sizes in ((20, "lognormal"), (40, "lognormal"), (40, "zipf")):
        for p in (0.5, 0.8):

            def draw(rng: Random, seed: int) -> Any:
                if sizes == "zipf":
                    many = np.minimum(rng.zipf(1.7, clusters), 80)
                else:
                    many = np.maximum(1, np.exp(rng.normal(1.5, 1, clusters))).astype(int)
                number = np.repeat(np.arange(clusters), many)
                chance = rng.beta(p * 9, (1 - p) * 9, clusters)
                wins = (rng.random(len(number)) < chance[number]).astype(float)
                e = share_of(wins, Design(number), 100 * p)
                return Draw(e.low, 100 * p, e.high, e.p, e.value)

            name = f"{clusters} clusters, {sizes} sizes, at {100 * p:g} %, alike 0.1"
            yield repeated("share, unequal clusters", name, True, times, draw)


def triplets(times: int) -> Iterator[Row]:
    """lms near 99 %, |ss - 50|, and token accuracy, where items are clustered."""
    for clusters, size in ((3, 26), (12, 8), (60, 10)):

        def lms(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            chance = rng.beta(0.99 * 30, 0.01 * 30, clusters)[number]
            pro, anti = np.where(rng.random((2, len(number))) < chance, 1.0, -1.0)
            scores = {"stereotype": pro, "antistereotype": anti, "unrelated": np.zeros(len(pro))}
            e = preference.summarise(scores, Design(number))["lms"]
            return Draw(e.low, 99.0, e.high, None, e.value)

        def deviation(rng: Random, seed: int) -> Any:
            wins, number = tossed(rng, clusters, size, 0.5, 0.1)
            e = preference.deviation(intervals.share(wins, number, ideal=50))
            return Draw(e.low, 0.0, e.high, e.p, e.value)

        def accuracy(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            chance = rng.beta(6, 4, clusters)[number]
            tokens = rng.integers(5, 25, len(number))
            e = intervals.ratio(rng.binomial(tokens, chance), tokens.astype(float), number)
            return Draw(e.low, 60.0, e.high, None, e.value)

        name, enough = f"{clusters} x {size}", clusters >= FEW
        yield repeated("lms at 99 %", name, enough, times, lms)
        yield repeated("|ss - 50| at 0", name, enough, times, deviation)
        yield repeated("accuracy", name, enough, times, accuracy)


def two_sided(times: int) -> Iterator[Row]:
    """Sides that follow the word: words within family and side, frames crossed with them."""
    for words, frames in ((6, 2), (8, 3)):
        for lean in (0.0, 0.35):
            for framed in (0.0, 0.5):

                def draw(rng: Random, seed: int) -> Any:
                    family, side, word, frame = (
                        v.ravel()
                        for v in np.meshgrid(
                            np.arange(8), [0, 1], np.arange(words), np.arange(frames), indexing="ij"
                        )
                    )  # fmt: skip
                    cluster = codes((family * 2 + side) * words + word)
                    moved = rng.normal(0, 0.5, cluster.max() + 1)[cluster]
                    moved += framed * rng.normal(size=(8, frames))[family, frame]
                    base = norm.ppf(np.where(side == 0, 0.5 + lean, 0.5 - lean))
                    wide = np.sqrt(1.25 + framed**2)
                    wins = (base * wide + moved + rng.normal(size=len(side)) > 0).astype(float)
                    design = Design(cluster, family * 2 + side, family * frames + frame, family)
                    e = share_of(wins, design, 50.0)
                    return Draw(e.low, 50.0, e.high, e.p, e.value)

                name = f"8 families, {words} words a side, {frames} frames, sides {100 * lean:g}"
                name += f" apart, frames differ by {framed:g}"
                yield repeated("share, sides and frames", name, True, times, draw)
    for words in (8, 20):

        def gap(rng: Random, seed: int) -> Any:
            side = np.repeat(["a", "b"], words * 2)
            number = np.repeat(np.arange(2 * words), 2)
            chance = np.where(side == "a", 0.8, 0.4)
            wins = (rng.random(len(side)) < chance).astype(float)
            known = word_preference.Sides(["f"] * len(side), list(side))
            design = Design(number, codes(side))
            two = word_preference.TwoSided(wins, known, design, crossed.fitted(wins, design))
            e = two.estimates(np.ones(len(wins), bool))["group_pair:f"]
            return Draw(e.low, 40.0, e.high, None, e.value)

        name = f"{words} words a side"
        yield repeated("difference of the sides", name, words >= FEW, times, gap)


# ---------------------------------------------------------------- the bundled design


def bundled() -> tuple[Design, Any, Any, Any, Any]:
    """The design of the bundled pairs, which side each item is on, its category and family."""
    items = catalogue.sentences("bundled-pairs").items
    names = {
        k: np.array([getattr(i, k) for i in items]) for k in ("category", "group_pair", "group")
    }
    cell = codes(np.char.add(names["group_pair"], names["group"]))
    first = {i.group_pair: i.group for i in reversed(items)}
    sign = np.array([1.0 if first[i.group_pair] == i.group else -1.0 for i in items])
    design = Design(
        codes([i.cluster for i in items]),
        cell,
        codes([i.template for i in items]),
        codes(names["group_pair"]),
    )
    return design, sign, names["category"], names["group_pair"], names["group"]


def answers(
    rng: Random, design: Design, sign: Any, lean: float, sides: float, frames: float
) -> Any:
    """Answers of a logistic model: words differ by .7, frames by `frames`, sides by the word."""
    eta = lean + sides * sign + 0.7 * rng.normal(size=design.count)[design.clusters]
    eta = eta + frames * rng.normal(size=design.crossed.max() + 1)[design.crossed]
    return (rng.random(len(sign)) < expit(eta)).astype(float)


def categories(times: int) -> Iterator[Row]:
    """Categories of the bundled pairs: two frames each, families that follow the word."""
    design, sign, category, _, _ = bundled()
    far = np.random.default_rng(0).normal(size=100_000)
    worlds = ((0, 0, 0.4), (0, 0, 0.7), (0, 2, 0.5), (0, 3.5, 0.5), (1.6, 0, 0.5), (1.6, 2, 0.5),
              (3, 0, 0.5), (3, 5, 0.5))  # fmt: skip
    for lean, sides, frames in worlds:
        z = far * math.hypot(0.7, frames)
        true = float((expit(lean + sides + z) + expit(lean - sides + z)).mean() / 2)
        for name in ("age", "religion", "gender", ""):
            chosen = np.ones(len(sign), bool) if name == "" else category == name

            def draw(rng: Random, seed: int) -> Draw:
                fit = crossed.fitted(answers(rng, design, sign, lean, sides, frames), design)
                uncertain = fit.share(chosen / chosen.sum())
                e = intervals.as_percentage(uncertain, int(chosen.sum()), 99, ideal=50.0)
                return of(e, 100 * true, lean == 0)

            about = (
                f"{name or 'all'}, true {100 * true:.0f}, sides {sides:g}, frames {frames:g} logits"
            )
            kind = "whole" if name in ("", "gender") else "two frames"
            yield repeated(f"bundled pairs, {kind}", about, True, times, draw)


def preferences_for_words(times: int) -> Iterator[Row]:
    """The root mean square of the sides' differences."""
    design, sign, _, family, side = bundled()
    sides = word_preference.Sides(family.tolist(), side.tolist())
    far = np.random.default_rng(0).normal(size=100_000) * math.hypot(0.7, 0.5)
    for strength in (0.0, 1.0, 2.5):
        gap = 100 * float((expit(strength + far) - expit(far - strength)).mean())

        def draw(rng: Random, seed: int) -> Draw:
            wins = answers(rng, design, sign, 0.0, strength, 0.5)
            two = word_preference.TwoSided(wins, sides, design, crossed.fitted(wins, design))
            e = two.estimates(np.ones(len(wins), bool))["word_preference"]
            return of(e, gap, strength == 0)

        yield repeated("word preference", f"{gap:.0f} points", True, times, draw)
