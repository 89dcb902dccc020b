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
    resampling: Resampling = DEFAULTS,
) -> float:
    """p of the median score: signs flipped by cluster in all specifications at once.

    `leads` has for each specification the lead of the stereotype [n] (win less a half) and the
    number of each item's cluster [n] out of `clusters`. Where items are crossed with frames, the
    test is made by words and by frames, and the larger p counts.
    """
    rng = np.random.default_rng(resampling.seed)
    signs = rng.choice(np.array([-1.0, 1.0]), size=(resampling.draws, clusters))
    sums = [np.bincount(c, weights=v, minlength=clusters) / len(v) for v, c in leads]
    return _beyond(np.array([s.sum() for s in sums]), np.stack([signs @ s for s in sums]))


def joint_words(
    specifications: Sequence[tuple[Floats, int, Sequence[str]]], resampling: Resampling = DEFAULTS
) -> float:
    """p of the median d: words dealt to the two sets anew in all specifications at once.

    Each is the score of every word [n + m], the number n of those in the first set, and the words:
    the same word goes the same way wherever it stands.
    """
    rng = np.random.default_rng(resampling.seed)
    names = list(dict.fromkeys(w for _, _, words in specifications for w in words))
    place = {w: i for i, w in enumerate(names)}
    keys = rng.random((resampling.draws // 10, len(names)))
    seen, drawn = [], []
    for scores, n, words in specifications:
        chosen = np.argsort(keys[:, [place[w] for w in words]], axis=1)[:, :n]
        spread, total, m = float(scores.std(ddof=1)), float(scores.sum()), len(scores) - n
        sums = np.concatenate([[scores[:n].sum()], scores[chosen].sum(1)])
        d = (sums / n - (total - sums) / m) / spread
        seen.append(d[0])
        drawn.append(d[1:])
    return _beyond(np.array(seen), np.stack(drawn))


def _beyond(seen: Floats, drawn: Floats) -> float:
    """p of the median over specifications among the medians of the draws [specifications, k]."""
    middle = abs(float(np.median(seen)))
    hits = int(np.count_nonzero(np.abs(np.median(drawn, axis=0)) >= middle - 1e-12))
    return (hits + 1) / (drawn.shape[1] + 1)
