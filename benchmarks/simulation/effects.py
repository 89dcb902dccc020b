"""Effect sizes: shapes of scores, several sentences, four sets, templates, CEAT."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from simulation.harness import Draw, Random, Row, of, repeated
from unmask.flow.effect import effect
from unmask.measures import ASSOCIATION
from unmask.options import Resampling
from unmask.stats import effects, log_odds
from unmask.stats.effects import attribute_variance

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
                    return Draw(e.low, true, e.high, e.p, e.value)

                scenario = f"{n} words per set, {name}, d = {true:.1f}"
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
                    return Draw(e.low, shift / np.sqrt(1 + shift**2 / 4), e.high, e.p, e.value)

                scenario = (
                    f"{n} words per set, {sentences} sentences, alike {alike:g}, d = {shift:g}"
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
                    return Draw(
                        e.low, true, e.high, None if lean else e.p, e.value, e.p if lean else None
                    )

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
                return Draw(
                    e.low, true, e.high, None if lean else e.p, e.value, e.p if lean else None
                )

            scenario = f"{n} words a set, 10 contexts, CES = {true:.1f}"
            yield repeated("ceat", scenario, True, times, draw)


def templates(times: int) -> Iterator[Row]:
    """Templates that are a sample: each moves a whole set."""
    for count in (3, 5):
        for n in (8, 25):
            for moved in (0.25, 0.5):
                for shift in (0.0, 1.0):
                    true = shift / np.sqrt(1 + 0.49 + moved**2 + shift**2 / 4)

                    def draw(rng: Random, seed: int) -> Draw:
                        x, y = (
                            s + rng.normal(size=(n, 1)) + moved * rng.normal(size=(1, count))
                            + 0.7 * rng.normal(size=(n, count)) for s in (shift, 0.0)
                        )  # fmt: skip
                        names = [str(w) for w in range(n) for _ in range(count)]
                        words = effects.by_words(x.ravel(), y.ravel(), names, names)
                        other = effects.template_variance(x, y, paired=True)
                        how = Resampling(splits=100, seed=seed)
                        e = effects.effect_estimate(words, templates=other, resampling=how)
                        return of(e, true, shift == 0)

                    about = f"{count} templates that differ by {moved:g}, {n} words, d = {true:.1f}"
                    yield repeated("d, templates a sample", about, True, times, draw)


def odds_ratios(times: int) -> Iterator[Row]:
    """The odds ratio: words of one set spread further, skewed words, templates a sample."""
    for n in (5, 8, 25):
        for name, shape in SHAPES.items():
            for wide in (1.0, 3.0):
                true = _mean_of(shape) * (1 - wide)

                def draw(rng: Random, seed: int) -> Draw:
                    x, y = shape(rng, n), wide * shape(rng, n)
                    words = effects.by_words(x, y)
                    return of(log_odds.odds_ratio(words), true, true == 0)

                about = f"{n} words per set, {name}, the second spread {wide:g} times as far"
                yield repeated("odds ratio", about, n >= 8, times, draw)
    for count in (3, 5):
        for moved in (0.25, 0.5):

            def in_templates(rng: Random, seed: int) -> Draw:
                n = 8
                x, y = (
                    s + rng.normal(size=(n, 1)) + moved * rng.normal(size=(1, count))
                    + 0.7 * rng.normal(size=(n, count)) for s in (1.0, 0.0)
                )  # fmt: skip
                names = [str(w) for w in range(n) for _ in range(count)]
                words = effects.by_words(x.ravel(), y.ravel(), names, names)
                other = effects.template_variance(x, y, paired=True)
                return of(log_odds.odds_ratio(words, other), 1.0, False)

            about = f"{count} templates that differ by {moved:g}, 8 words, log odds ratio 1"
            yield repeated("odds ratio, templates a sample", about, True, times, in_templates)


def _mean_of(shape: Callable[[Random, Any], Any]) -> float:
    """The mean of a shape; that of the symmetric ones is 0."""
    mean = float(shape(np.random.default_rng(0), 1_000_000).mean())
    return 0.0 if abs(mean) < 0.01 else round(mean)


def hard(times: int) -> Iterator[Row]:
    """Tails that hardly have a variance, and sets of unequal size and spread."""
    for n in (8, 25):
        for shift in (0.0, 1.3):
            true = shift / np.sqrt(1 + shift**2 / 4)

            def draw(rng: Random, seed: int) -> Draw:
                x, y = rng.standard_t(2.5, (2, n)) / np.sqrt(5)
                how = Resampling(splits=2000, seed=seed)
                e = effects.effect_estimate(effects.by_words(x + shift, y), resampling=how)
                return of(e, true, shift == 0)

            yield repeated(
                "d, tails of t(2.5)", f"{n} words per set, d = {true:.1f}", True, times, draw
            )
    for n, m, wide in ((25, 8, 3.0), (8, 25, 3.0), (12, 12, 3.0)):

        def unequal(rng: Random, seed: int) -> Draw:
            x, y = rng.normal(size=n), wide * rng.normal(size=m)
            how = Resampling(splits=2000, seed=seed)
            e = effects.effect_estimate(effects.by_words(x, y), resampling=how)
            return of(e, 0.0, True)

        about = f"{n} and {m} words, the second spread {wide:g} times as far"
        yield repeated("d, unequal spread", about, True, times, unequal)
