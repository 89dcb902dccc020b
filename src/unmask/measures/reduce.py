"""How a measure reads its answers and its text: reductions of readings, and letter case.

Each is a plain function, so that a row of the table names it and a user's row may bring its own.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from unmask.types import Readings

Reduce: TypeAlias = Callable[[Readings], float]


def total(r: Readings) -> float:
    """Sum of log-probabilities."""
    return float(r.logp.sum())


def mean(r: Readings) -> float:
    """Mean log-probability; NaN if nothing was asked."""
    return float(r.logp.mean()) if len(r.logp) else float("nan")


def attended(r: Readings) -> float:
    """Mean of log-probability times attention received; the weights are not renormalised."""
    return float((r.logp * r.attention).mean()) if len(r.logp) else float("nan")


def attended_total(r: Readings) -> float:
    """Sum of log-probability times attention received."""
    return float((r.logp * r.attention).sum())


def mean_probability(r: Readings) -> float:
    """Arithmetic mean of the probabilities."""
    return float(np.exp(r.logp).mean()) if len(r.logp) else float("nan")


def geometric(r: Readings) -> float:
    """2 to the mean log2 probability: the inverse of the perplexity."""
    return float(np.exp(mean(r)))


def lowered(string: str, family: str) -> str:
    """Lower case for BERT and ALBERT, as Nangia et al.'s script does."""
    return string.lower() if family in {"bert", "albert"} else string


def all_lowered(string: str, family: str) -> str:
    """Lower case whatever the model, as Kurita et al.'s token indexer does."""
    return string.lower()


def uncapitalised(string: str, family: str) -> str:
    """A small first letter, as Thys' templates have it ("he likes ...") for cased models too."""
    return string[:1].lower() + string[1:]


def without_period(string: str, family: str) -> str:
    """The sentence less its final period, as Husse and Spitz encode it."""
    return string.removesuffix(".")


def as_written(string: str, family: str) -> str:
    """The sentence as it is."""
    return string
