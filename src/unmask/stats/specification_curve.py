"""Is there anything in a whole curve of specifications? One joint test over all of them.

Specifications share their items, so their p-values are not independent. The null is made once for
all: the signs of a cluster, or the sets that words belong to, change in every specification at the
same time (Simonsohn et al. 2020).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unmask.options import Resampling
from unmask.stats.intervals import DEFAULTS
from unmask.types import Floats


def joint_signs(
    leads: Sequence[tuple[Floats, NDArray[np.int64]]],
    clusters: int,
    strata: NDArray[np.int64] | None = None,
    resampling: Resampling = DEFAULTS,
) -> float:
    """p of the median score: signs flipped by cluster in all specifications at once.

    `leads` has, for each specification, the lead of the stereotype [n] (win less a half) and the
    number of each item's cluster [n] out of `clusters`. `strata` [clusters] are the group pairs and
    groups of the clusters. A word preference moves a whole stratum and is no noise, so only the
    clusters' deviations from their stratum are flipped (a wild bootstrap). If items are crossed
    with templates, the caller tests by words and by templates and takes the larger p.
    """
    rng = np.random.default_rng(resampling.seed)
    signs = rng.choice(np.array([-1.0, 1.0]), size=(resampling.draws, clusters))
    observed, drawn = [], []
    for effects, number in leads:
        sums = np.bincount(number, weights=effects, minlength=clusters) / len(effects)
        observed.append(float(sums.sum()))
        sizes = np.bincount(number, minlength=clusters) / len(effects)
        drawn.append(signs @ (sums if strata is None else _deviations(sums, sizes, strata)))
    return _median_p(np.array(observed), np.stack(drawn))


def _deviations(sums: Floats, sizes: Floats, strata: NDArray[np.int64]) -> Floats:
    """Deviations of the clusters' sums from their stratum's mean, scaled by sqrt(k / (k - 1))."""
    mean = np.bincount(strata, weights=sums) / np.maximum(np.bincount(strata, weights=sizes), 1e-12)
    count = np.bincount(strata, weights=sizes > 0)[strata]
    scale = np.where(count > 1, np.sqrt(count / np.maximum(count - 1, 1)), 0.0)
    # a cluster that is alone in its stratum has no deviation and is unchanged
    return np.where(count > 1, scale * (sums - sizes * mean[strata]), sums)


def joint_words(
    specifications: Sequence[tuple[Floats, int, Sequence[str]]], resampling: Resampling = DEFAULTS
) -> float:
    """p of the median d: words are reassigned to the two sets in all specifications at once.

    A specification is the score of each word [n + m], the size n of the first set, and the words. A
    word is assigned in the same way wherever it occurs.
    """
    rng = np.random.default_rng(resampling.seed)
    names = list(dict.fromkeys(w for _, _, words in specifications for w in words))
    place = {w: i for i, w in enumerate(names)}
    keys = rng.random((resampling.draws // 10, len(names)))
    observed, drawn = [], []
    for scores, n, words in specifications:
        subset = np.argsort(keys[:, [place[w] for w in words]], axis=1)[:, :n]
        spread, total, m = float(scores.std(ddof=1)), float(scores.sum()), len(scores) - n
        sums = np.concatenate([[scores[:n].sum()], scores[subset].sum(1)])
        d = (sums / n - (total - sums) / m) / spread
        observed.append(d[0])
        drawn.append(d[1:])
    return _median_p(np.array(observed), np.stack(drawn))


def _median_p(observed: Floats, drawn: Floats) -> float:
    """p of the median over specifications among the medians of the draws [specifications, k]."""
    middle = abs(float(np.median(observed)))
    hits = int(np.count_nonzero(np.abs(np.median(drawn, axis=0)) >= middle - 1e-12))
    return (hits + 1) / (drawn.shape[1] + 1)
