"""What a row of a likelihood measure says; the rows are in `likelihood_rows`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from unmask.errors import UnmaskError
from unmask.measures.card import check_card, check_choices, check_types
from unmask.measures.plans import Plan
from unmask.measures.reduce import Reduce, as_written
from unmask.options import MOST_SAMPLES
from unmask.support.registry import choice
from unmask.types import SHAPES, Compared, Floats, Kind


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A likelihood measure.

    `plans` by kind of model; `prior` likewise, subtracted as a logarithm; `reduce` by kind.
    `shapes` are the shapes of data that it takes.
    `compare`: `preference` counts the items whose stereotypical sentence scores higher;
    `odds` compares two sides of targets and gives the odds ratio between two attribute sets, in its
    logarithm; `log-odds` the effect size of the same; with `samples`, that of each of `samples`
    draws of one template a word, combined by random effects;
    `difference` the effect size of the paired differences of two sentences' scores; `sides` the
    odds ratio between stereotypes of two groups, of the sentence that names the one, in its
    logarithm (in `unit`s of it); `lean` the odds of one side of targets over all attributes;
    `matched` the difference of the two attribute sets' log quotients, matched by their order;
    `spread` the variance over groups; `fills` how far the likeliest
    words for a blank differ between groups; `groups` the share of pairs of groups whose sentences
    are not alike; `questions` how far two subjects are preferred in an underspecified question;
    `cosines` and `products` how often a sentence of the one list is likelier than one of the
    other, those that are near each other by their vectors (of this `pool`) counting more.
    `average`: `micro` over items or `macro` over clusters (target terms).
    `empty`: an item with nothing to ask is `unscored`, with the reason `nothing`
    (`nothing_causal` of a causal model), or `kept` with
    what the reduction makes of nothing (published code). `rounds`: the kinds of model whose scores
    are rounded to `decimals`. `fills`: the sentence is its context with the fill word put in.
    `segments`: 1, or 2 for a context and its continuation, encoded as two segments.
    `stream`: `own`; `written`: hidden places are written as mask tokens and read off a plain
    forward pass, which only differs for permutation models; `untyped`: that without token types;
    `next`: the next-sentence head; `rank`, `gap`, `top`: other readings, as `Readings` has them.
    `answers`: the comparison needs the answers themselves, not only scores.
    `accuracy`: whether the answers are tokens, so that the share predicted right means something.
    `crossed`: every hidden token is asked for at every hidden place; only each one at its own place
    counts for the accuracy. `aligned`: two sentences are aligned with the `stereotype` first, or
    in the order of the `file`, where an item about an advantaged group has it second.
    `shows` names the extras that belong beside the score. A `baseline` is not expected to predict
    the tokens it asks for, and gets no verdict. `published_p`: p is the released code's, which
    takes all scores as independent. A row that reproduces released code is a `variant_of` another
    and states its `deviation`. `bibtex` is an entry of its own for a reference that unmask lacks.
    """

    family: ClassVar[str] = "likelihood"

    name: str
    about: str
    formula: str
    plans: Mapping[Kind, Plan]
    reduce: Reduce
    cite: tuple[str, ...]
    criticism: str
    shapes: tuple[str, ...] = ("pairs", "triplets")
    prior: Mapping[Kind, Plan] = field(default_factory=dict)
    reduce_causal: Reduce | None = None
    compare: Literal[
        "preference",
        "factor",
        "odds",
        "log-odds",
        "difference",
        "sides",
        "lean",
        "matched",
        "spread",
        "fills",
        "fill-pairs",
        "groups",
        "questions",
        "cosines",
        "products",
    ] = "preference"
    pool: str = ""
    unit: float = 1.0
    samples: int = 0
    average: Literal["micro", "macro"] = "micro"
    needs: tuple[str, ...] = ()
    attention: bool = False
    decimals: int | None = None
    rounds: tuple[Kind, ...] = ("masked", "causal", "permutation")
    ties: Literal["strict", "half", "drop"] = "half"
    empty: Literal["unscored", "kept"] = "unscored"
    nothing: str = "nothing to ask in one of its sentences"
    nothing_causal: str = ""
    fills: bool = False
    segments: Literal[1, 2] = 1
    stream: Literal["own", "written", "untyped", "next", "rank", "gap", "top"] = "own"
    answers: bool = False
    text: Callable[[str, str], str] = as_written
    accuracy: bool = True
    crossed: bool = False
    aligned: Literal["stereotype", "file"] = "stereotype"
    shows: tuple[str, ...] = ()
    baseline: bool = False
    published_p: bool = False
    variant_of: str = ""
    deviation: str = ""
    bibtex: str = ""

    def __post_init__(self) -> None:
        check_card(self)
        check_types(self)
        check_choices(self, CHOICES)
        self._check_functions()
        self._check_numbers()
        self._check_shapes()

    def _check_functions(self) -> None:
        if not isinstance(self.plans, Mapping) or not self.plans:
            raise UnmaskError(f"{self.name!r} has no plans; give one for a kind of model.")
        if not isinstance(self.prior, Mapping):
            raise UnmaskError(f"{self.name!r}: prior is {self.prior!r:.40}; {KINDS_ARE}.")
        for kind, plan in {**self.plans, **self.prior}.items():
            if kind not in get_args(Kind) or not callable(plan):
                raise UnmaskError(
                    f"{self.name!r}: the plan for {kind!r} is not a plan; {KINDS_ARE}."
                )
        for name in ("reduce", "text"):
            if not callable(getattr(self, name)):
                raise UnmaskError(f"{self.name!r}: its {name} is not a function.")

    def _check_numbers(self) -> None:
        for name in ("decimals", "samples"):
            value = getattr(self, name)
            none = value is None and name == "decimals"
            if not none and (type(value) is not int or value < 0):
                raise UnmaskError(f"{self.name!r}: {name} is {value!r:.20}; give a whole number.")
        if self.samples > MOST_SAMPLES:
            raise UnmaskError(f"{self.name!r}: at most {MOST_SAMPLES:,} samples are drawn.")

    def _check_shapes(self) -> None:
        if not isinstance(self.shapes, tuple) or not self.shapes or {*self.shapes} - {*SHAPES}:
            raise UnmaskError(
                f"{self.name!r}: shapes are {self.shapes!r:.40}; give a tuple of {choice(SHAPES)}."
            )
        if {*self.shapes} - {*COMPARES[self.compare].shapes}:
            raise UnmaskError(
                f"{self.name!r}: {self.compare!r} is compared on "
                f"{choice(COMPARES[self.compare].shapes)}, not on {', '.join(self.shapes)}; set "
                "shapes to what its data have (odds and log-odds: ('templates',))."
            )

    @property
    def ideal(self) -> float:
        """The value of a model without the bias."""
        return COMPARES[self.compare].ideal

    @property
    def scores_odd(self) -> bool:
        """Whether a pair with unknown words, or a special token as text, is scored.

        Released code does not look for them, so that its variants have them in the denominator.
        """
        return bool(self.variant_of) and self.compare == "preference"

    @property
    def compared(self) -> Compared:
        """How its sentence scores become a number."""
        return COMPARES[self.compare].compared

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of model it applies to."""
        return tuple(self.plans)

    def asks(self, kind: Kind) -> tuple[object, ...]:
        """What decides its queries: measures that agree in this ask the same and share answers."""
        return (
            self.plans[kind],
            self.prior.get(kind),
            self.text,
            self.stream,
            self.empty,
            self.needs,
            self.fills,
            self.segments,
            self.aligned,
            self.scores_odd,
        )

    def reduce_for(self, kind: Kind) -> Reduce:
        """How the answers to a sentence's questions become its score."""
        causal = kind == "causal" and self.reduce_causal is not None
        return self.reduce_causal if causal and self.reduce_causal else self.reduce

    def nothing_for(self, kind: Kind) -> str:
        """Why an item has nothing to ask."""
        return self.nothing_causal if kind == "causal" and self.nothing_causal else self.nothing

    def decimals_for(self, kind: Kind) -> int | None:
        """The decimals that scores of a kind of model are rounded to, if they are."""
        return self.decimals if kind in self.rounds else None

    def rounded(self, scores: Floats, kind: Kind = "masked") -> Floats:
        """Scores as the comparison sees them."""
        decimals = self.decimals_for(kind)
        return scores if decimals is None else np.round(scores, decimals)


class Compares(NamedTuple):
    """What a way to compare gives, the shapes of data that it takes, and what a fair model has."""

    compared: Compared
    shapes: tuple[str, ...]
    ideal: float = 0.0


COMPARES: Mapping[str, Compares] = {
    "preference": Compares("preference", ("pairs", "triplets", "continuations"), 50.0),
    "factor": Compares("factor", ("pairs", "triplets"), 0.0),
    "odds": Compares("odds", ("templates",)),
    "log-odds": Compares("log-odds", ("templates",)),
    "difference": Compares("difference", ("pairs", "triplets")),
    "sides": Compares("odds", ("pairs", "triplets")),
    "lean": Compares("odds", ("templates",)),
    "matched": Compares("index", ("templates",)),
    "spread": Compares("index", ("groups",)),
    "fills": Compares("index", ("fills",)),
    "fill-pairs": Compares("index", ("fills",)),
    "groups": Compares("index", ("frames",)),
    "questions": Compares("index", ("questions",)),
    "cosines": Compares("index", ("lists",), 50.0),
    "products": Compares("index", ("lists",), 50.0),
}
CHOICES = {
    "compare": tuple(COMPARES),
    "average": ("micro", "macro"),
    "ties": ("strict", "half", "drop"),
    "empty": ("unscored", "kept"),
    "stream": ("own", "written", "untyped", "next", "rank", "gap", "top"),
    "segments": (1, 2),
    "aligned": ("stereotype", "file"),
}
KINDS_ARE = f"kinds are {', '.join(get_args(Kind))}"
