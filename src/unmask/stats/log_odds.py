"""Log-odds of two sides of targets, and the effect size between two attribute sets (LPBS)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from unmask.options import Resampling
from unmask.stats.ceat import Samples, combined, sampled
from unmask.stats.clustering import Variance
from unmask.stats.effects import by_words, check_words, effect_estimate
from unmask.stats.intervals import DEFAULTS, mean_estimate
from unmask.stats.permutation import permutation
from unmask.types import Estimate, Floats


def log_odds(labels: Sequence[str], values: Floats, priors: Floats) -> float:
    """log of summed probabilities of side x less side y, each less its prior."""
    x = np.array([label.startswith("x:") for label in labels])
    priors = np.nan_to_num(priors)
    value = logsumexp(values[x]) - logsumexp(values[~x])
    return float(value - (logsumexp(priors[x]) - logsumexp(priors[~x])))


def by_item(frame: pd.DataFrame) -> dict[str, float]:
    """The log-odds of each scored item of an items table."""
    scored = frame[frame.reason.isna()]
    return {
        str(item): log_odds(
            rows.label.tolist(), rows.score.to_numpy(float), rows.prior.to_numpy(float)
        )
        for item, rows in scored.groupby("item", sort=False)
    }


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

    `halves` are the sets by name, A first. With `samples` one of each word's scores is drawn as
    often, and the effect sizes are combined by random effects; else there are no drawn effects.
    p permutes words, or all scores as if they were independent where it is `published`;
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


def _draw(a: Half, b: Half, samples: int, seed: int) -> Samples:
    rng = np.random.default_rng(seed)
    halves = []
    for scores, words in (a, b):
        by_word = pd.Series(scores).groupby(words).agg(list)
        drawn = [rng.choice(np.array(options), samples) for options in by_word]
        halves.append(np.stack(drawn, axis=1))
    return sampled(np.concatenate(halves, axis=1), halves[0].shape[1])
