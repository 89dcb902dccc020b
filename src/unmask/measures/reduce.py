"""Reductions, which turn readings into a score, and functions for letter case.

All are plain functions: a row of the table names one, and a user's row may supply its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from unmask.queries import Readings, sums
from unmask.types import Floats

Reduce: TypeAlias = Callable[[Readings], Any]  # of one sentence; a number


def total(r: Readings) -> Any:
    """Sum of log-probabilities."""
    return r.sum(r.logp)


def mean(r: Readings) -> Any:
    """Mean log-probability; NaN if nothing was asked."""
    return r.mean(r.logp)


def attended(r: Readings) -> Any:
    """Mean of log-probability times attention received; the weights are not renormalised."""
    return r.mean(r.logp * r.attention)


def attended_total(r: Readings) -> Any:
    """Sum of log-probability times attention received."""
    return r.sum(r.logp * r.attention)


def inner_mean(r: Readings) -> Any:
    """Mean log-probability without the first and last answers, which are special tokens."""
    return _inner(r, r.logp)


def inner_attended(r: Readings) -> Any:
    """As `attended`, without the first and the last answer."""
    return _inner(r, r.logp * r.attention)


def _inner(r: Readings, values: Floats) -> Any:
    if r.counts is None:
        return values[1:-1].mean() if len(values) > 2 else np.nan
    ends = np.cumsum(r.counts)
    interior = np.ones(len(values), bool)
    interior[(ends - r.counts)[r.counts > 0]] = interior[ends[r.counts > 0] - 1] = False
    inner = np.maximum(r.counts - 2, 0)
    return sums(values[interior], inner) / np.where(inner > 0, inner, np.nan)


def mean_probability(r: Readings) -> Any:
    """Arithmetic mean of the probabilities."""
    return r.mean(np.exp(r.logp))


def geometric(r: Readings) -> Any:
    """2 to the mean log2 probability: the inverse of the perplexity."""
    return np.exp(mean(r))


def reciprocal_rank(r: Readings) -> Any:
    """Mean of 1 / rank - 1 over tokens: 0 where each is the likeliest; of the stream `rank`."""
    return r.mean(np.exp(r.logp)) - 1


def perplexity(r: Readings) -> Any:
    """e to the mean negative log-probability; 0 where nothing was asked (published code)."""
    return np.nan_to_num(np.exp(-mean(r)), nan=0.0)


def log_of_spellings(r: Readings, prompts: int) -> Floats:
    """Return the log-probability of a label in the reply to each request [prompts].

    Its spellings are summed; each request has the same number of them.
    """
    return np.logaddexp.reduce(r.logp.reshape(prompts, -1), axis=1)


@dataclass(frozen=True)
class MeanLabelLogprob:
    """The mean log-probability of a text's label over all requests about its item."""

    prompts: int

    def __call__(self, r: Readings) -> Any:
        """Compute it for one sentence."""
        return log_of_spellings(r, self.prompts).mean()


# These also accept the readings of many sentences, and return a number for each.
AT_ONCE: frozenset[Reduce] = frozenset(
    {
        total,
        mean,
        attended,
        attended_total,
        inner_mean,
        inner_attended,
        mean_probability,
        geometric,
        perplexity,
        reciprocal_rank,
    }
)
LOWER_IS_LIKELIER: frozenset[Reduce] = frozenset({perplexity})

# The unit of the difference between two scores, by reduction.
MARGINS: dict[Reduce, str] = {
    total: "nats",
    mean: "nats per token",
    attended: "nats per token, weighted by attention",
    inner_mean: "nats per token",
    inner_attended: "nats per token, weighted by attention",
    attended_total: "nats, weighted by attention",
    mean_probability: "nats, of the mean token probability",
    geometric: "nats per token",
}
# These give probabilities, the others sums or means of log-probabilities.
PROBABILITIES: frozenset[Reduce] = frozenset({mean_probability, geometric})


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


def delobelle2022(string: str, family: str) -> str:
    """DisCo's sentences as Delobelle et al.'s release writes them; no character moves."""
    return string.replace("'", "\u2019").replace(" was the ", " was The ")


def as_written(string: str, family: str) -> str:
    """The sentence as it is."""
    return string
