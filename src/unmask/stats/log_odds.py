"""Log-odds of two target groups; their odds ratio and effect size between two attribute sets.

A sentence's log-odds compare the words of one group with those of the other, less the prior where a
measure has one (Kurita et al. 2019). Two attribute sets are compared by the odds ratio, with
Welch's interval over words, or by the effect size d.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmask.options import Resampling
from unmask.stats.ceat import Samples, combined, sampled
from unmask.stats.clustering import Variance, added
from unmask.stats.effects import Words, by_words, check_words, effect_estimate
from unmask.stats.intervals import DEFAULTS, mean_estimate, student
from unmask.stats.permutation import permutation
from unmask.stats.student_t import quantile
from unmask.types import Estimate, Floats


def by_item(frame: pd.DataFrame) -> dict[str, float]:
    """The log-odds of each scored item of an items table, less those of its prior if it has one."""
    scored = frame[frame.reason.isna()]
    items, names = pd.factorize(scored["item"])
    first = scored.label.str.startswith("x:").to_numpy()
    value = _sides(items, first, scored.score.to_numpy(float))
    if scored.prior.notna().any():
        value = value - _sides(items, first, np.nan_to_num(scored.prior.to_numpy(float)))
    return dict(zip(map(str, names), value.tolist(), strict=True))


def by_pieces(frame: pd.DataFrame) -> dict[str, float]:
    """The log-odds of each scored item, from words with equally many tokens, without a prior.

    A masked model sees how many places are hidden. If only one group has a two-token word, two
    hidden places reveal that word whatever the attribute, and it would favour its group in every
    item. So only words with the number of tokens that is most common in both groups count (the
    smaller one if tied). An item without such words uses all of its words.
    """
    scored = frame[frame.reason.isna()]
    items, names = pd.factorize(scored["item"])
    first = scored.label.str.startswith("x:").to_numpy()
    score, tokens = scored.score.to_numpy(float), scored.tokens.to_numpy(np.int64)
    usual, both = _usual(items, first, tokens)
    comparable = (tokens == usual) | (both == 0)[items]
    log_odds = _sides(items[comparable], first[comparable], score[comparable])
    return dict(zip(map(str, names), log_odds.tolist(), strict=True))


def left_out(frame: pd.DataFrame) -> tuple[str, ...]:
    """A note on words that `by_pieces` ignores, or on groups without equally long words."""
    scored = frame[frame.reason.isna()]
    items, _ = pd.factorize(scored["item"])
    first = scored.label.str.startswith("x:").to_numpy()
    tokens = scored.tokens.to_numpy(np.int64)
    usual, both = _usual(items, first, tokens)
    if not both.any():
        return (
            "no word of one group has as many tokens as a word of the other, so words of all "
            "lengths are compared, although a masked model sees how many tokens are hidden.",
        )
    more = sorted({label[2:] for label in scored.label[(tokens != usual) & (both > 0)[items]]})
    if not more:
        return ()
    listed = ", ".join(more[:5]) + (f" and {len(more) - 5} more" if len(more) > 5 else "")
    return (f"only words of {usual} tokens are compared; excluded for their length: {listed}.",)


def _usual(
    items: NDArray[np.intp], first: NDArray[np.bool_], tokens: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """The most common number of tokens in both groups, and by item how many words each has."""
    both = {n: _pairs(items, first, tokens == n) for n in np.unique(tokens).tolist()}
    usual = max(both, key=lambda n: (both[n].sum(), -n))
    return usual, both[usual]


def _pairs(
    items: NDArray[np.intp], first: NDArray[np.bool_], mask: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Count for each item the selected words of the group that has fewer of them."""
    count = int(items.max()) + 1
    sides = (np.bincount(items[mask & side], minlength=count) for side in (first, ~first))
    return np.asarray(np.minimum(*sides))


def _sides(items: NDArray[np.intp], first: NDArray[np.bool_], values: Floats) -> Floats:
    """The log of the summed probabilities of group x less that of group y, for each item."""
    count = int(items.max()) + 1 if len(items) else 0
    log_sums = []
    for side in (first, ~first):
        top = np.full(count, -np.inf)
        np.maximum.at(top, items[side], values[side])
        weights = np.exp(values[side] - top[items[side]])
        with np.errstate(divide="ignore"):  # a side may have no word there
            log_sums.append(
                top + np.log(np.bincount(items[side], weights=weights, minlength=count))
            )
    with np.errstate(invalid="ignore"):
        return np.asarray(log_sums[0] - log_sums[1])


Half = tuple[Floats, list[str]]  # log-odds, and the attribute word of each


def summarise(
    halves: Mapping[str, Half],
    *,
    samples: int = 0,
    published: bool = False,
    templates: Variance | None = None,
    resampling: Resampling = DEFAULTS,
) -> tuple[Estimate, dict[str, Estimate], Floats | None]:
    """The effect size between the two attribute sets, each set's mean, and the drawn effects.

    `halves` are the sets by name, A first. With `samples`, one score of each word is drawn that
    many times, and the effect sizes are combined by random effects; otherwise there are no drawn
    effects. p permutes words, or with `published` all scores as if they were independent.
    `templates` is the variance that other templates would add.
    """
    (a, a_words), (b, b_words) = halves.values()
    drawn = None
    if samples:
        check_words(len(set(a_words)), len(set(b_words)))
        drawn_samples = _draw((a, a_words), (b, b_words), samples, resampling.seed)
        overall, drawn = (
            combined(drawn_samples, len(set(a_words)), resampling=resampling),
            drawn_samples.effects,
        )
    else:
        test = (
            permutation(a, b, sided="two", resampling=resampling)
            if published and resampling.splits
            else None
        )
        overall = effect_estimate(
            by_words(a, b, a_words, b_words), templates=templates, test=test, resampling=resampling
        )
        if test is not None:
            overall = replace(overall, more={**overall.more, "published": "p"})
    means = {
        name: mean_estimate(scores, words, ideal=0.0, resampling=resampling)
        for name, (scores, words) in halves.items()
    }
    return overall, means, drawn


def odds_ratio(
    words: Words, templates: Variance | None = None, resampling: Resampling = DEFAULTS
) -> Estimate:
    """The logarithm of the odds ratio between the sets of `words`, which weigh alike.

    Its interval is Student's over words and, where there are enough of them, over templates: the
    two sets may spread unequally (Welch), and other templates would add a variance of their own.
    """
    x, y = words.means
    parts = [Variance(float(v.var(ddof=1)) / len(v), len(v) - 1) for v in (x, y)]
    parts += [templates] if templates is not None else []
    variance = added(parts, float(len(x) + len(y) - 2))
    over = "words" if templates is None else "words and templates"
    gap = float(x.mean() - y.mean())
    estimate = student(
        gap,
        variance,
        len(x) + len(y),
        len(x) + len(y),
        ideal=0.0,
        resampling=resampling,
        method=f"t over {over}",
    )
    reach = quantile(1 - resampling.tail, variance.df) + quantile(0.8, variance.df)
    more = {k: v for k, v in estimate.more.items() if k != "clusters"}
    more |= {"words": [len(x), len(y)], "mde": reach * math.sqrt(variance.value)}
    return replace(estimate, more=more | {"p_method": f"t over {over}", "sided": "two"})


def without(words: Words) -> tuple[Floats, Floats]:
    """The logarithm of the odds ratio with each word of the one set, and of the other, left out."""
    x, y = words.means
    gap = x.mean() - y.mean()
    return gap - (x - x.mean()) / (len(x) - 1), gap + (y - y.mean()) / (len(y) - 1)


def _draw(a: Half, b: Half, samples: int, seed: int) -> Samples:
    rng = np.random.default_rng(seed)
    halves = []
    for scores, words in (a, b):
        by_word = pd.Series(scores).groupby(words).agg(list)
        drawn = [rng.choice(np.array(options), samples) for options in by_word]
        halves.append(np.stack(drawn, axis=1))
    return sampled(np.concatenate(halves, axis=1), halves[0].shape[1])
