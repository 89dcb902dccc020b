"""The definition of an association measure; the measures are in `association_rows`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from unmask.errors import UnmaskError
from unmask.measures.card import check_card, check_choices, check_types
from unmask.options import MOST_SAMPLES, POOLS
from unmask.stats.word_statistics import Statistic
from unmask.support.registry import unknown
from unmask.types import Kind, ScaleName

Pool: TypeAlias = Literal[
    "cls", "last", "mean", "mean-all", "first", "word-mean", "word-first", "word-last", "after-word"
]


@dataclass(frozen=True, slots=True)
class Association:
    """An association measure.

    `pool`: the vector taken, by kind of model (`*` for the others). `contexts`: the default
    sentences of words. `test`: `permutation` over the words' associations, `jackknife` for a
    `statistic`, or `random-effects` over the effect sizes of `samples` draws of one context per
    word (`reuse`: draws are independent, else without replacement if a word has enough contexts).
    `encode`: `usual` with the model's special tokens; published code does otherwise.
    `subsample`: the larger of unequal target sets is cut at random, instead of being refused.
    `published_p`: p is the released code's, over sentences, or CEAT's Monte Carlo error. `ddof`: of
    the standard deviation that d is divided by.
    A row with a `statistic` computes that from the words' vectors (means over contexts) instead of
    d, with its own `ideal`. `tested`: a fair model would scatter around the ideal. `within`: the
    possible range. `normalised`: vectors have length 1. `each`: it uses one attribute set, the
    first; the others follow. `paired`: sets that are pairs by their order. `turned`: nearer is
    lower. `beside`: further statistics by name.
    A row that reproduces released code is a `variant_of` another and states its `deviation`.
    `bibtex` is an entry for a reference that unmask lacks.
    """

    family: ClassVar[str] = "association"
    name: str
    about: str
    formula: str
    pool: Mapping[str, Pool]
    test: Literal["permutation", "random-effects", "jackknife"]
    cite: tuple[str, ...]
    criticism: str
    contexts: Literal["bare", "templates"] = "templates"
    sided: Literal["one", "two"] = "two"
    samples: int = 0
    reuse: bool = True
    encode: Literal["usual", "no-specials", "tan2019", "husse2022", "guo2021"] = "usual"
    subsample: bool = False
    kinds: tuple[Kind, ...] = field(default=("masked", "causal", "permutation", "encoder", "elmo"))
    published_p: bool = False
    ddof: Literal[0, 1] = 1
    statistic: Statistic | None = None
    turned: bool = False
    ideal: float = 0.0
    tested: bool = True
    within: tuple[float, float] = (-math.inf, math.inf)
    normalised: bool = False
    each: bool = False
    paired: Literal["", "targets", "attributes"] = ""
    beside: Mapping[str, Statistic] = field(default_factory=dict)
    variant_of: str = ""
    deviation: str = ""
    bibtex: str = ""

    def __post_init__(self) -> None:
        check_card(self)
        check_types(self)
        check_choices(self, CHOICES)
        if not isinstance(self.pool, Mapping) or not isinstance(self.samples, int):
            raise UnmaskError(
                f"{self.name!r}: pool must map kinds to poolings; samples must be a whole number."
            )
        if self.samples > MOST_SAMPLES:
            raise UnmaskError(
                f"{self.name!r}: samples is {self.samples:,}; give at most {MOST_SAMPLES:,}."
            )
        for pool in self.pool.values():
            if pool not in POOLS:
                raise UnmaskError(f"{self.name!r}: {unknown('pool', str(pool), POOLS)}")
        if (self.samples > 0) != (self.test == "random-effects"):
            raise UnmaskError(
                f"{self.name!r}: set samples if test is 'random-effects', and only then."
            )
        pair = isinstance(self.within, tuple) and len(self.within) == 2
        if not pair or not all(isinstance(v, int | float) for v in self.within):
            raise UnmaskError(
                f"{self.name!r}: within must be a pair, the smallest and the largest value."
            )
        if isinstance(self.ideal, bool) or not isinstance(self.ideal, int | float):
            raise UnmaskError(f"{self.name!r}: ideal is {self.ideal!r:.40}; give a number.")
        beside = self.beside.values() if isinstance(self.beside, Mapping) else [None]
        if not all(map(callable, (*beside, self.statistic or abs))):
            raise UnmaskError(
                f"{self.name!r}: statistic and the values of beside must be functions."
            )
        if (self.statistic is not None) != (self.test == "jackknife"):
            raise UnmaskError(
                f"{self.name!r}: set statistic if test is 'jackknife', and only then."
            )

    @property
    def compared(self) -> ScaleName:
        """The scale of its result: an effect size, or an index."""
        return "association" if self.statistic is None else "index"

    @property
    def shapes(self) -> tuple[str, ...]:
        """The data that it accepts: two target and two attribute sets, or any number."""
        return ("word tests",) if self.statistic is None else ("word tests", "word sets")

    def pool_for(self, kind: Kind) -> Pool:
        """Return the pooling for a kind of model."""
        return self.pool.get(kind, self.pool.get("*", "word-mean"))


CHOICES = {
    "test": ("permutation", "random-effects", "jackknife"),
    "contexts": ("bare", "templates"),
    "sided": ("one", "two"),
    "ddof": (0, 1),
    "paired": ("", "targets", "attributes"),
    "encode": ("usual", "no-specials", "tan2019", "husse2022", "guo2021"),
}
