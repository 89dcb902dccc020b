"""How often intervals hold the truth, and how often tests reject a true null: simulated.

    python benchmarks/coverage.py [REPETITIONS] [--write docs/coverage.md]

Every interval and p that a user can see, over clusters and shares, sizes of word sets, shapes of
score distributions. Seeded: the same numbers on every machine.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm, spearmanr

from sizes import SMALL
from unmask.flow.effect import effect
from unmask.measures import ASSOCIATION
from unmask.options import Resampling
from unmask.stats import agreement, comparison, effects, intervals, preference, word_preference
from unmask.stats.clustering import Design, codes
from unmask.stats.effects import attribute_variance

Random = np.random.Generator
FEW = intervals.MIN_CLUSTERS


class Row(NamedTuple):
    """One scenario: how often an interval held the truth, or a test rejected the null, per cent."""

    what: str
    scenario: str
    covers: float | None
    rejects: float | None
    enough: bool  # at least 10 clusters or 8 words a side


def repeated(
    what: str, scenario: str, enough: bool, times: int, draw: Callable[[Random, int], Any]
) -> Row:
    """`draw` gives (low, truth, high, p); p is None where the null is not true, or not tested."""
    rng = np.random.default_rng([len(what), *scenario.encode()])
    found = [draw(rng, seed) for seed in range(times)]
    covers = [low - 1e-9 <= truth <= high + 1e-9 for low, truth, high, _ in found if low == low]
    tests = [p for *_, p in found if p is not None]
    return Row(
        what,
        scenario,
        100 * float(np.mean(covers)) if covers else None,
        100 * float(np.mean(np.array(tests) <= 0.05)) if tests else None,
        enough,
    )


# ---------------------------------------------------------------- shares


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
                        e = intervals.share(wins, number, ideal=100 * p, macro=macro)
                        return e.low, 100 * p, e.high, e.p

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
                e = intervals.share(wins, number, ideal=100 * p)
                return e.low, 100 * p, e.high, e.p

            name = f"{clusters} clusters, {sizes} sizes, at {100 * p:g} %, alike 0.1"
            yield repeated("share, unequal clusters", name, True, times, draw)


def triplets(times: int) -> Iterator[Row]:
    """lms near 99 %, |ss - 50|, and token accuracy, where items are clustered."""
    for clusters, size in ((3, 26), (12, 8), (60, 10)):

        def lms(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            chance = rng.beta(0.99 * 30, 0.01 * 30, clusters)[number]
            both = (rng.random((2, len(number))) < chance).mean(0)
            e = intervals.share(both, number, ideal=100, trials=2)
            return e.low, 99.0, e.high, None

        def deviation(rng: Random, seed: int) -> Any:
            wins, number = tossed(rng, clusters, size, 0.5, 0.1)
            e = preference.deviation(intervals.share(wins, number, ideal=50))
            return e.low, 0.0, e.high, e.p

        def accuracy(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            chance = rng.beta(6, 4, clusters)[number]
            tokens = rng.integers(5, 25, len(number))
            e = intervals.ratio(rng.binomial(tokens, chance), tokens.astype(float), number)
            return e.low, 60.0, e.high, None

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
                    found = Design(cluster, family * 2 + side, family * frames + frame, family)
                    e = intervals.share(wins, found, ideal=50.0)
                    return e.low, 50.0, e.high, e.p

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
            e = word_preference.by_side(wins, known, Design(number, codes(side)))["sides:f"]
            return e.low, 40.0, e.high, None

        name = f"{words} words a side"
        yield repeated("difference of the sides", name, words >= FEW, times, gap)


# ---------------------------------------------------------------- effect sizes

SHAPES: dict[str, Callable[[Random, Any], Any]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed (gamma 4)": lambda rng, size: rng.gamma(4, 0.5, size=size),
    "very skewed (exponential)": lambda rng, size: rng.exponential(size=size),
    "heavy tails (t 4)": lambda rng, size: rng.standard_t(4, size=size),
}


def truth(shape: Callable[[Random, Any], Any], shift: float) -> float:
    """d of the population, sets of one size."""
    x, y = shape(np.random.default_rng(0), (2, 1_000_000))
    gap = x.mean() + shift - y.mean()
    return float(gap / np.sqrt((x.var() + y.var()) / 2 + gap**2 / 4))


def word_tests(times: int) -> Iterator[Row]:
    """d over words, one score a word; then several sentences a word."""
    for n in (5, 8, 25):
        for name, shape in SHAPES.items():
            for shift in (0.0, 0.8, 1.6):
                true = truth(shape, shift)

                def draw(rng: Random, seed: int) -> Any:
                    x, y = shape(rng, n) + shift, shape(rng, n)
                    how = Resampling(splits=0 if shift else 13_000, seed=seed)
                    e = effects.effect_estimate(effects.by_words(x, y), resampling=how)
                    return e.low, true, e.high, e.p

                scenario = f"{n} words a side, {name}, d = {true:.1f}"
                yield repeated("d, one sentence a word", scenario, n >= 8, times, draw)
    for n, sentences in ((8, 6), (25, 6)):
        for alike in (0.2, 0.6):
            for shift in (0.0, 1.0):

                def many(rng: Random, seed: int) -> Any:
                    word = np.repeat(np.arange(n), sentences)
                    x, y = (
                        np.sqrt(alike) * rng.normal(size=n)[word]
                        + np.sqrt(1 - alike) * rng.normal(size=len(word))
                        for _ in range(2)
                    )
                    names = [str(w) for w in word]
                    how = Resampling(splits=0 if shift else 13_000, seed=seed)
                    words = effects.by_words(x + shift, y, names, names)
                    e = effects.effect_estimate(words, resampling=how)
                    return e.low, shift / np.sqrt(1 + shift**2 / 4), e.high, e.p

                scenario = (
                    f"{n} words a side, {sentences} sentences, alike {alike:g}, d = {shift:g}"
                )
                yield repeated("d, several sentences a word", scenario, True, times, many)


def vectors(rng: Random, n: int, width: int, lean: float, axis: float) -> list[Any]:
    """X, Y, A, B as unit vectors; X and Y lean to the axis on which A and B lie apart."""
    x, y, a, b = rng.normal(size=(4, n, width))
    x[:, 0] += lean
    y[:, 0] -= lean
    a[:, 0] += axis
    b[:, 0] -= axis
    base = np.zeros(width)
    base[1] = 3
    return [effects.unit(v + base) for v in (x, y, a, b)]


def four_sets(times: int) -> Iterator[Row]:
    """`--random attributes`: other words of all four sets."""
    for n in (5, 8, 25):
        for width in (10, 50):
            for lean, axis in ((0.0, 0.5), (0.5, 0.5), (0.5, 0.2)):

                def d(x: Any, y: Any, a: Any, b: Any) -> float:
                    way = a.mean(0) - b.mean(0)
                    return effects.effect_size(x @ way, y @ way)

                rng = np.random.default_rng(1)
                true = np.mean([d(*vectors(rng, n, width, lean, axis)) for _ in range(1500)])

                def draw(rng: Random, seed: int) -> Any:
                    x, y, a, b = vectors(rng, n, width, lean, axis)
                    way = a.mean(0) - b.mean(0)
                    cells = np.concatenate([x, y]) @ np.concatenate([a, b]).T
                    other = attribute_variance(cells, (n, n, n, n))
                    words = effects.by_words(x @ way, y @ way)
                    e = effects.effect_estimate(words, attributes=other)
                    return e.low, true, e.high, None if lean else e.p

                scenario = f"{n} words a set, {width} wide, d = {true:.1f}"
                yield repeated("d, all four sets random", scenario, n >= 8, times, draw)


def ceat(times: int) -> Iterator[Row]:
    """CEAT: words in contexts; the truth is its mean over draws of words of all four sets."""
    row = ASSOCIATION["ceat"]

    def drawn(rng: Random, n: int, lean: float) -> dict[str, dict[str, Any]]:
        sets = vectors(rng, n, 20, lean, 0.5)
        return {
            k: {str(i): w + 0.15 * rng.normal(size=(10, 20)) for i, w in enumerate(v)}
            for k, v in zip("XYAB", sets, strict=True)
        }

    for n in (8, 15):
        for lean in (0.0, 0.5):
            measure, rng = replace(row, samples=200), np.random.default_rng(2)
            how = Resampling(splits=0)
            some = [effect(measure, drawn(rng, n, lean), how).overall.value for _ in range(400)]
            true = float(np.mean(some))

            def draw(rng: Random, seed: int) -> Any:
                e = effect(measure, drawn(rng, n, lean), Resampling(seed=seed)).overall
                return e.low, true, e.high, None if lean else e.p

            scenario = f"{n} words a set, 10 contexts, CES = {true:.1f}"
            yield repeated("ceat", scenario, True, times, draw)


# ---------------------------------------------------------------- comparisons and agreement


def comparisons(times: int) -> Iterator[Row]:
    """Two runs on the same items, and on the same words."""
    for clusters, size in ((10, 20), (30, 5), (80, 20), (300, 1)):
        for alike in (False, True):

            def draw(rng: Random, seed: int) -> Any:
                number = np.repeat(np.arange(clusters), size)
                a = (rng.random(len(number)) < 0.5).astype(float)
                up = rng.random(clusters)[number] if alike else np.full(len(number), 0.5)
                b = np.where(rng.random(len(number)) < 0.3, rng.random(len(number)) < up, a)
                how = Resampling(draws=1000, seed=seed)
                e = comparison.paired_difference(a, b, number, scale=100, resampling=how)
                return e.low, 0.0, e.high, e.p

            name = f"{clusters} x {size}, changes {'alike' if alike else 'apart'} within clusters"
            yield repeated("compare: score", name, clusters >= FEW, times, draw)
    for words, frames in ((30, 10), (60, 8)):

        def framed(rng: Random, seed: int) -> Any:
            word, frame = np.repeat(np.arange(words), frames), np.tile(np.arange(frames), words)
            up = norm.cdf(0.7 * rng.normal(size=frames)[frame] + 0.3 * rng.normal(size=words)[word])
            a = (rng.random(len(word)) < 0.5).astype(float)
            b = np.where(rng.random(len(word)) < 0.3, rng.random(len(word)) < up, a)
            found = Design(word, None, frame)
            e = comparison.paired_difference(a, b, found, scale=100)
            return e.low, 0.0, e.high, e.p

        name = f"{words} words x {frames} frames that differ"
        yield repeated("compare: score, frames", name, True, times, framed)
    for clusters, size in ((10, 20), (30, 20)):

        def claimed(rng: Random, seed: int) -> Any:
            a = (rng.random(clusters * size) < 0.5).astype(float)
            b = np.maximum(a, rng.random(clusters * size) < 0.2)  # 10 points, all one way
            number = np.repeat(np.arange(clusters), size)
            how = Resampling(draws=50, seed=seed)
            e = comparison.paired_difference(a, b, number, scale=100, resampling=how)
            return e.low, 10.0, e.high, comparison.equivalence(e, 10.0)

        name = f"{clusters} x {size}, true difference at the margin, all one way"
        yield repeated("compare: equivalence", name, True, times, claimed)
    for n in (8, 25):
        for shift in (0.0, 1.0):
            for alike in (0.0, 0.7):

                def words(rng: Random, seed: int) -> Any:
                    def run(shared: Any, own: Any) -> Any:
                        return np.sqrt(alike) * shared + np.sqrt(1 - alike) * own

                    shared = rng.normal(size=2 * n)
                    pair = []
                    for scale in (1.0, 4.0):
                        s = run(shared, rng.normal(size=2 * n))
                        pair.append(effects.by_words(scale * (s[:n] + shift), scale * s[n:]))
                    a, b = pair
                    e = comparison.effect_difference((a.value, b.value), a.without(), b.without())
                    return e.low, 0.0, e.high, e.p

                name = f"{n} words a side, d = {shift:g} in both, correlated {alike:g}"
                yield repeated("compare: d", name, True, times, words)


def agreements(times: int) -> Iterator[Row]:
    """ROC areas and correlations."""
    for m, n in ((10, 10), (20, 60), (100, 100)):
        for apart in (0.0, 1.2, 2.3):
            area = float(norm.cdf(apart / np.sqrt(2)))

            def draw(rng: Random, seed: int) -> Any:
                scores = np.concatenate([rng.normal(size=m) + apart, rng.normal(size=n)])
                e = agreement.auc(np.repeat([1.0, 0.0], [m, n]), scores)
                return e.low, area, e.high, None if apart else e.p

            scenario = f"{m} and {n} items, area {area:.2f}"
            yield repeated("area under ROC", scenario, min(m, n) >= FEW, times, draw)
    for clusters, size in ((20, 10), (100, 5)):

        def clustered(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            labels = (rng.random(clusters) < 0.5).astype(float)[number]
            labels[:size], labels[-size:] = 1.0, 0.0
            scores = 0.5 * rng.normal(size=clusters)[number] + rng.normal(size=len(number))
            e = agreement.auc(labels, scores, number)
            return e.low, 0.5, e.high, e.p

        yield repeated("area under ROC, clusters", f"{clusters} x {size}", True, times, clustered)
    for kind, sizes in (("pearson", (4, 6, 8, 20)), ("spearman", (5, 10, 20, 60))):
        for n in sizes:
            for rho in (0.0, 0.8):
                big = np.random.default_rng(0).normal(size=(2, 300_000))
                big[1] = rho * big[0] + np.sqrt(1 - rho**2) * big[1]
                true = rho if kind == "pearson" else float(spearmanr(*big).statistic)

                def pair(rng: Random, seed: int) -> Any:
                    x, y = rng.normal(size=(2, n))
                    y = rho * x + np.sqrt(1 - rho**2) * y
                    e = agreement.correlation(x, y, kind)
                    return e.low, true, e.high, None if rho else e.p

                yield repeated(f"correlation, {kind}", f"{n} points, {rho:g}", n >= 6, times, pair)


PARTS = (shares, unequal, triplets, two_sided, word_tests, four_sets, ceat, comparisons, agreements)
COSTLY = {ceat: 4, four_sets: 2}


def study(times: int, parts: Any = PARTS) -> pd.DataFrame:
    """All scenarios; costly ones are repeated less often."""
    return pd.DataFrame([r for part in parts for r in part(times // COSTLY.get(part, 1))])


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """The smallest, median and largest coverage and rejection of each kind."""
    rows = []
    for (what, enough), part in frame.groupby(["what", "enough"], sort=False):
        line = {"interval or test": what, "size": "enough" if enough else "few"}
        for name in ("covers", "rejects"):
            values = part[name].dropna()
            shown = f"{values.min():.1f} to {values.max():.1f}" if len(values) else ""
            middle = f"{values.median():.1f}" if len(values) else ""
            line |= {name: shown, f"median {name}": middle}
        rows.append({**line, "scenarios": len(part)})
    return pd.DataFrame(rows)


PAGE = """# How often the intervals hold

Simulated by `python benchmarks/coverage.py {times} --write docs/coverage.md`, {times} repetitions a
scenario (fewer for CEAT and four sets), seeded. *covers* is how often a 95 % interval held the
truth, *rejects* how often a test rejected a true null at .05, both in per cent: the smallest and
the largest over the scenarios, and their median. *enough* are at least 10 clusters or 8 words a
side. Scores of fewer than 10 clusters are grey and never bold, and their verdict is "cannot tell";
so is that of effect sizes with fewer than 5 words a side. With {times} repetitions 95 % comes out
between {low:.1f} and {high:.1f} by chance.

{summary}

## What to know

- Where fewer than 10 clusters hold the rarer answer, a correlation of 0.15 in clusters is assumed
  rather than estimated: there intervals are wider than they need be, and hold more often.
- Exponentially skewed scores with a large effect hold least often: a few words then carry d.
- Below 6 points (10 for ranks) a correlation has no interval; icat has none at all, and so has a
  share of one cluster.
- *compare: equivalence* shows how often two runs are called equivalent that differ by the margin.

## Every scenario

{whole}
"""


def main() -> None:
    """Print the study, and write its page if asked to."""
    given = [a for a in sys.argv[1:] if a.isdigit()]
    times = int(given[0]) if given else 4 if SMALL else 1000
    frame = study(times, (two_sided,)) if SMALL else study(times)
    short = summary(frame)
    print(short.to_string(index=False))
    if "--write" in sys.argv:
        reach = 196 * np.sqrt(0.95 * 0.05 / times)
        whole = frame.drop(columns="enough").round(1).astype(object).where(frame.notna(), "")
        text = PAGE.format(
            times=times,
            low=95 - reach,
            high=95 + reach,
            summary=_markdown(short),
            whole=_markdown(whole),
        )
        Path(sys.argv[sys.argv.index("--write") + 1]).write_text(text)


def _markdown(frame: pd.DataFrame) -> str:
    lines = [list(frame.columns), ["---"] * frame.shape[1], *frame.astype(str).to_numpy().tolist()]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


if __name__ == "__main__":
    main()
