"""A small artificial world in which groups and attributes are associated by a known odds ratio.

For each topic, group g (x or y) and attribute word w have the joint probability
    p(g, w) = p(w) s(g),   s(x) = 1 / (1 + exp(-(c + t_w))),   s(y) = 1 - s(x)

so the log odds of the groups at w, minus those at another word v, are t_w - t_v. t is half of
`theta` for words of side A and minus half of it for words of side B, times a factor of the word.
`c` is chosen so that p(x) follows the frequency ratio rho: the margins of groups and words do not
depend on theta.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from unmask.errors import UnmaskError
from unmask.lab import words
from unmask.types import Floats

TOPICS = ("occupation", "trait", "family")  # those that carry the planted bias
SHARES = {
    "occupation": 0.22,
    "trait": 0.22,
    "family": 0.22,
    "kind": 0.16,
    "place": 0.08,
    "control": 0.10,
}
FORMS = {"name": 0.5, "term": 0.4, "pronoun": 0.1}  # ways to refer to people, with shares
FACTORS = (0.25, 0.75, 1.25, 1.75)  # of theta, by attribute word: their mean is 1
FREQUENT = (4.0, 2.0, 2.0, 1.0)  # relative frequencies of the attribute words of a side
SPOKEN = (4.0, 2.0, 2.0, 2.0, 1.0, 1.0)  # those of the names and terms of a group
KIND = 8.0  # log odds ratio of a group's generic nouns, which unites its members
CONTROL = 2.0  # the log odds ratio of flowers and pleasant words, the same in every world
PER_SIDE = len(FACTORS)
LARGEST_THETA, LARGEST_RHO = 6, 1000
NULL = 1000  # the first seed of the worlds without a bias
PARTS = {"train": 0.6, "items": 0.25, "probe": 0.15}  # of the frames


@dataclass(frozen=True, slots=True)
class Plant:
    """What is planted: `theta`, the groups' frequency ratio `rho`, and the seed of the world."""

    theta: float
    rho: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.theta, int | float) or not math.isfinite(self.theta):
            raise UnmaskError(f"theta is {self.theta!r}; give a finite log odds ratio, such as 1.")
        if abs(self.theta) > LARGEST_THETA:
            raise UnmaskError(
                f"theta is {self.theta!r}; beyond {LARGEST_THETA} one group would all but lose its "
                f"words: give one between -{LARGEST_THETA} and {LARGEST_THETA}."
            )
        if not isinstance(self.rho, int | float) or not 1 <= self.rho <= LARGEST_RHO:
            raise UnmaskError(
                f"rho is {self.rho!r}; give the ratio of the groups' frequencies, from 1 to "
                f"{LARGEST_RHO}."
            )
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise UnmaskError(f"a seed is {self.seed!r}; give a whole number of at least 0.")

    @property
    def name(self) -> str:
        """What is planted, in words; no two plants share it."""
        theta, rho = (str(float(v)).removesuffix(".0") for v in (self.theta, self.rho))
        return f"theta={theta} rho={rho} seed={self.seed}"

    @property
    def share(self) -> float:
        """The probability that the group spoken of is x."""
        return self.rho / (1 + self.rho)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: words of both groups by form, attribute words, and their joint probabilities.

    `t[k]` is the planted log odds of attribute k, `side[k]` its set (A or B, empty for none),
    `joint[g, k]` the probability of group g with attribute k. `members[g][form]` are the words of
    a group with their probabilities given the group and the form.
    """

    name: str
    forms: Mapping[str, float]
    members: tuple[Mapping[str, Mapping[str, float]], ...]
    attributes: tuple[str, ...]
    side: tuple[str, ...]
    t: Floats
    joint: Floats

    def information(self) -> float:
        """Mutual information of group and attribute, in nats."""
        expected = self.joint.sum(1, keepdims=True) * self.joint.sum(0, keepdims=True)
        return float((self.joint * np.log(self.joint / expected)).sum())

    def odds(self) -> Floats:
        """The log odds of the groups at each attribute."""
        return np.asarray(np.log(self.joint[0] / self.joint[1]))


def joint(t: Floats, p: Floats, share: float) -> Floats:
    """p(g, w) [2, words] with p(w) = `p` and p(x) = `share`, and log odds that differ as `t`."""
    root = brentq(lambda c: float(p @ expit(c + t)) - share, -60.0, 60.0, xtol=1e-13)
    x = expit(root + t)
    return np.stack([p * x, p * expit(-(root + t))])


@dataclass(frozen=True)
class World:
    """All that a seed draws and a plant fixes: topics, vocabulary and frames."""

    plant: Plant
    topics: Mapping[str, Topic] = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([77, self.plant.seed])
        object.__setattr__(self, "topics", _topics(self.plant, rng))

    @cached_property
    def frames(self) -> Mapping[str, tuple["Frame", ...]]:
        """Frames by part: to train on, to make items of, and to probe with. None is in two."""
        rng = np.random.default_rng([78, self.plant.seed])
        parts: dict[str, list[Frame]] = {part: [] for part in PARTS}
        edges = list(itertools.product(words.OPENERS, words.CLOSERS))
        cuts = np.cumsum([round(share * len(edges)) for share in PARTS.values()])[:-1]
        for topic, cores in words.CORES.items():
            for core in cores:
                order = rng.permutation(len(edges))
                for part, index in zip(PARTS, np.split(order, cuts), strict=True):
                    parts[part] += [Frame(topic, core, *edges[k]) for k in index]
        return {part: tuple(frames) for part, frames in parts.items()}


@dataclass(frozen=True, slots=True)
class Frame:
    """A sentence with slots: an opener, a core, a closer."""

    topic: str
    core: str
    opener: str
    closer: str

    def filled(self, group: str, attribute: str) -> str:
        """The sentence in words; `group` is a noun phrase."""
        core = self.core.format(g=group, a=attribute)
        return " ".join(part for part in (self.opener, core, self.closer, ".") if part)


def phrase(form: str, word: str) -> str:
    """A person's noun phrase."""
    return f"the {word}" if form == "term" else word


def _topics(plant: Plant, rng: Any) -> dict[str, Topic]:
    share = plant.share
    people = tuple(
        {
            "name": _drawn(words.NAMES[g], rng),
            "term": _drawn(words.TERMS[g], rng),
            "pronoun": {words.PRONOUNS[g][0]: 1.0},
        }
        for g in range(2)
    )
    topics = {}
    pools = zip(TOPICS, (words.OCCUPATIONS, words.TRAITS, words.TOPICS), strict=True)
    for name, pool in pools:
        nouns = [str(w) for w in rng.permutation(pool)[: 2 * PER_SIDE]]
        p = np.concatenate([rng.permutation(FREQUENT) for _ in range(2)])
        t = np.concatenate([s * plant.theta / 2 * rng.permutation(FACTORS) for s in (1, -1)])
        p = p / p.sum()
        sides = ("A",) * PER_SIDE + ("B",) * PER_SIDE
        topics[name] = Topic(name, FORMS, people, tuple(nouns), sides, t, joint(t, p, share))
    called = (*words.KINDS[0], *words.KINDS[1])
    half = len(words.KINDS[0])
    p = np.repeat([share, 1 - share], half) / half
    t = np.repeat([KIND / 2, -KIND / 2], half)
    topics["kind"] = Topic("kind", FORMS, people, called, ("",) * len(p), t, joint(t, p, share))
    p = np.full(len(words.PLACES), 1 / len(words.PLACES))
    t = np.zeros(len(p))
    none = ("",) * len(p)
    topics["place"] = Topic(
        "place", FORMS, people, tuple(words.PLACES), none, t, joint(t, p, share)
    )
    things = tuple(
        {"thing": dict.fromkeys(ws, 1 / len(ws))} for ws in (words.FLOWERS, words.INSECTS)
    )
    nice = (*words.PLEASANT, *words.UNPLEASANT)
    t = np.repeat([CONTROL / 2, -CONTROL / 2], len(words.PLEASANT))
    p = np.full(len(nice), 1 / len(nice))
    sides = ("A",) * len(words.PLEASANT) + ("B",) * len(words.UNPLEASANT)
    topics["control"] = Topic("control", {"thing": 1.0}, things, nice, sides, t, joint(t, p, 0.5))
    return topics


def _drawn(pool: tuple[str, ...], rng: Any) -> dict[str, float]:
    """Words of a pool with their probabilities: some are more frequent than others."""
    words = [str(w) for w in rng.permutation(pool)[: len(SPOKEN)]]
    p = rng.permutation(SPOKEN)
    return dict(zip(words, (p / p.sum()).tolist(), strict=True))
