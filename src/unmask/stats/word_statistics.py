"""Statistics over the vectors of words: what is computed of them where it is not an effect size.

Each takes the targets' sets and the attributes' sets, a list of arrays [words, d] each, and gives a
number. Vectors are raw unless a statistic says otherwise. Needs numpy alone, so that the table of
measures, which names them, loads fast.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from unmask.errors import DataError
from unmask.stats.vectors import ROUNDING, unit
from unmask.types import Floats

Sets: TypeAlias = Sequence[Floats]
Statistic: TypeAlias = Callable[[Sets, Sets], float]  # targets, attributes


def _two_sets(sets: Sets, name: str) -> tuple[Floats, Floats]:
    if len(sets) != 2:
        raise DataError(f"this statistic needs two sets of {name}, and {len(sets)} were given.")
    return sets[0], sets[1]


def _pairs(sets: Sets, name: str) -> tuple[Floats, Floats]:
    first, second = _two_sets(sets, name)
    if len(first) != len(second):
        raise DataError(
            f"this statistic takes the {name} as pairs, and one set has {len(first)} words, the "
            f"other {len(second)}; give sets of one size, in the same order."
        )
    return first, second


def relative_norm_distance(targets: Sets, attributes: Sets) -> float:
    """RND (Garg et al. 2018): mean over a of |a - mean of T1| - |a - mean of T2|."""
    first, second = (t.mean(0) for t in _two_sets(targets, "targets"))
    away = [np.linalg.norm(attributes[0] - m, axis=1) for m in (first, second)]
    return float((away[0] - away[1]).mean())


def relative_inner_product(targets: Sets, attributes: Sets) -> float:
    """RIPA (Ethayarajh et al. 2019): mean over pairs and a of a . unit(t1 - t2)."""
    first, second = _pairs(targets, "targets")
    return float((attributes[0] @ unit(first - second).T).mean())


def mean_average_cosine(targets: Sets, attributes: Sets) -> float:
    """MAC (Manzini et al. 2019): mean cosine distance of targets and attribute sets."""
    words = unit(np.concatenate(targets))
    return float(np.mean([1 - (words @ unit(a).T).mean(1) for a in attributes]))


def coherence(targets: Sets, attributes: Sets) -> float:
    """ECT (Dev and Phillips 2019): Spearman's correlation of cosines with the two means."""
    first, second = (t.mean(0, keepdims=True) for t in _two_sets(targets, "targets"))
    words = unit(attributes[0])
    orders = [_ranks((words @ unit(m).T)[:, 0]) for m in (first, second)]
    if min(float(r.std()) for r in orders) == 0:
        return math.nan
    return float(np.corrcoef(orders[0], orders[1])[0, 1])


def _ranks(values: Floats) -> Floats:
    """Ranks from 1 on; equal values share the mean of theirs."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[index])


def negative_sentiment(targets: Sets, attributes: Sets) -> float:
    """RNSB (Sweeney and Najafian 2019): KL divergence of negative probabilities from uniform.

    A logistic regression (l2, C = 1, the intercept shrunk as liblinear does) tells the first
    attribute set, the positive, from the second; q is each target's share of the sum of their
    probabilities to be negative.
    """
    good, bad = _two_sets(attributes, "attributes")
    weights = logistic(np.concatenate([good, bad]), np.repeat([0.0, 1.0], [len(good), len(bad)]))
    p = _expit(np.column_stack([w := np.concatenate(targets), np.ones(len(w))]) @ weights)
    q = p / p.sum()
    return float(np.sum(q * np.log(q * len(q))))


def _expit(values: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0, -values)))


NEWTON_STEPS = 100


def logistic(rows: Floats, label: Floats) -> Floats:
    """Weights [d + 1] of a logistic regression with l2 and C = 1, the intercept last.

    The optimum lies in the span of the rows, so that Newton's steps are taken there [rows], each
    halved until the loss falls.
    """
    design = np.column_stack([rows, np.ones(len(rows))])
    kernel, sign = design @ design.T, 2 * label - 1
    alpha = np.zeros(len(rows))

    def loss(at: Floats) -> float:
        margin = sign * (kernel @ at)
        return float(0.5 * at @ kernel @ at + np.logaddexp(0, -margin).sum())

    for _ in range(NEWTON_STEPS):
        missed = _expit(-sign * (kernel @ alpha))
        bend = (missed * (1 - missed))[:, None] * kernel
        step = np.linalg.solve(np.eye(len(rows)) + bend, sign * missed - alpha)
        while loss(alpha + step) > loss(alpha) and np.abs(step).max() > ROUNDING:
            step = step / 2
        alpha = alpha + step
        if np.abs(step).max() <= ROUNDING:
            break
    return np.asarray(design.T @ alpha)


def _directions(attributes: Sets) -> list[Floats]:
    """SAME's directions: from each further set to the first, orthogonal to earlier ones."""
    means = [unit(a).mean(0) for a in attributes]
    directions: list[Floats] = []
    for mean in means[1:]:
        away = means[0] - mean
        for direction in directions:
            away = away - (away @ direction) / (direction @ direction) * direction
        directions.append(away)
    return directions


def _length(way: Floats) -> float:
    """The length of a direction; NaN if it is only rounding error."""
    length = float(np.linalg.norm(way))
    return length if length > ROUNDING else math.nan


def same(targets: Sets, attributes: Sets) -> float:
    """SAME (Schröder et al. 2021): mean |cos| with the direction between the attribute sets.

    With more than two sets, further directions are made orthogonal to the earlier ones and weighted
    by their length. A single set is an error.
    """
    if len(attributes) < 2:
        raise DataError("SAME needs two attribute sets or more; give a second one.")
    words = unit(np.concatenate(targets))
    total = np.zeros(len(words))
    for place, way in enumerate(_directions(attributes)):
        length = _length(way)
        total += np.abs(words @ way) / length * (length if place else 1.0)
    return float(total.mean())


def _signed(targets: Sets, attributes: Sets) -> Floats:
    (way,) = _directions(_two_sets(attributes, "attributes"))
    return unit(np.concatenate(targets)) @ way / _length(way)


def same_skew(targets: Sets, attributes: Sets) -> float:
    """The mean of SAME's signed cosines: positive is towards the first attribute set."""
    return float(_signed(targets, attributes).mean())


def same_stereotype(targets: Sets, attributes: Sets) -> float:
    """The standard deviation (ddof 0) of SAME's signed cosines."""
    return float(_signed(targets, attributes).std())


def direct_bias(targets: Sets, attributes: Sets) -> float:
    """Direct bias (Bolukbasi et al. 2016), c = 1: mean |cos| with the direction of the pairs.

    The direction is the first principal component of the pairs' words, each less the pair's mean;
    vectors have length 1, as in the release.
    """
    first, second = (unit(a) for a in _pairs(attributes, "attributes"))
    centred = np.concatenate([first, second]) - np.tile((first + second) / 2, (2, 1))
    if not np.abs(centred).max() > ROUNDING:
        return math.nan
    way = np.linalg.svd(centred, full_matrices=False)[2][0]  # the rows' mean is 0
    return float(np.abs(unit(np.concatenate(targets)) @ way).mean())


def generalised_weat(targets: Sets, attributes: Sets) -> float:
    """Swinger et al. (2019): sum over i of (mean X_i - mean X) . (mean A_i - mean A)."""
    if len(targets) < 2:
        raise DataError("generalised WEAT needs at least two sets of targets, and one was given.")
    if len(targets) != len(attributes):
        raise DataError(
            f"generalised WEAT needs as many target sets as attribute sets, and {len(targets)} "
            f"and {len(attributes)} were given."
        )
    sides = [np.stack([unit(s).mean(0) for s in sets]) for sets in (targets, attributes)]
    return float(np.sum((sides[0] - sides[0].mean(0)) * (sides[1] - sides[1].mean(0))))
