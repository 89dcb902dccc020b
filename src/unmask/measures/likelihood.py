"""The definition of a likelihood measure; the measures are in `likelihood_rows`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from unmask.errors import UnmaskError
from unmask.measures.card import check_card, check_choices, check_types
from unmask.measures.plans import Plan
from unmask.measures.question import Question
from unmask.measures.reduce import Reduce, as_written
from unmask.options import MOST_SAMPLES
from unmask.support.registry import choice
from unmask.types import SHAPES, Floats, Kind, ScaleName, half_character

Stream: TypeAlias = Literal["own", "written", "untyped", "next", "rank", "gap", "top", "reply"]
Comparison: TypeAlias = Literal[
    "preference",
    "choice",
    "bbq",
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
]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A likelihood measure: its queries, how answers become scores, how scores are compared.

    A *plan* turns a tokenised sentence into queries, a *reduction* turns the answers into the score
    of the sentence, and `compare` names how the scores of an item's sentences become a number. A
    row that reproduces released code is a `variant_of` another.
    """

    family: ClassVar[str] = "likelihood"

    # The card: what it is, and whom to cite.
    name: str
    about: str
    formula: str

    # What is asked.
    plans: Mapping[Kind, Plan]
    """The plan for each kind of model that it applies to."""
    reduce: Reduce
    """Turns the results of a sentence's queries into its score."""

    cite: tuple[str, ...]
    criticism: str

    shapes: tuple[str, ...] = ("pairs", "triplets")
    """The shapes of data that it takes."""
    prior: Mapping[Kind, Plan] = field(default_factory=dict)
    """The plan of the prior, without the attribute; its log-probability is subtracted."""
    stream: Stream = "own"
    """`written`: hidden places are written as mask tokens and read off a plain forward pass, which
    differs for permutation models; `untyped`: the same without token types; `next`: the
    next-sentence head; `reply`: the reply of a chat model; `rank`, `gap`, `top`: other readings, as
    `Readings` has them."""
    needs: tuple[str, ...] = ()
    """The spans that sentences must mark, such as `target`."""
    text: Callable[[str, str], str] = as_written
    """How a sentence is written for a family of models, such as in lower case."""
    fills: bool = False
    """Whether a sentence is its context with the fill word put in."""
    segments: Literal[1, 2] = 1
    """2: a context and its continuation are encoded as two segments."""
    aligned: Literal["stereotype", "file"] = "stereotype"
    """Which sentence comes first in the alignment; `file`: the second one in items about an
    advantaged group."""
    crossed: bool = False
    """Whether every hidden token is queried at every hidden position; its own position counts for
    the accuracy."""
    attention: bool = False
    """Whether attention weights are needed."""
    question: Question | None = None
    """How a chat model is asked to choose among an item's texts."""
    request: str = ""
    """The request to which each sentence is the reply, inside the chat template."""

    # How answers become scores.
    reduce_causal: Reduce | None = None
    """The reduction for causal models, if it differs."""
    decimals: int | None = None
    """Decimals that scores are rounded to, for the kinds of model in `rounds`."""
    rounds: tuple[Kind, ...] = ("masked", "causal", "permutation")
    empty: Literal["unscored", "kept"] = "unscored"
    """An item without queries is not scored, with the reason `nothing`, or gets the reduction of an
    empty list (released code)."""
    nothing: str = "one of its sentences has nothing to score"
    nothing_causal: str = ""
    accuracy: bool = True
    """Whether the answers are tokens, so that the share predicted right means something."""
    answers: bool = False
    """Whether the comparison needs the answers themselves, not only scores."""

    # How scores are compared.
    compare: Comparison = "preference"
    """A key of `COMPARES`, which has a line on each."""
    ties: Literal["strict", "half", "drop"] = "half"
    """Whether a tie counts as not stereotypical, as a half, or not at all."""
    average: Literal["micro", "macro"] = "micro"
    """Over items, or over clusters (target terms)."""
    samples: int = 0
    """Draws of one template a word, whose effect sizes are combined by random effects."""
    pool: str = ""
    """The vector of a sentence, where near sentences count more."""
    unit: float = 1.0
    """The divisor of a logarithm."""
    shows: tuple[str, ...] = ()
    """The extras that are shown with the score."""
    baseline: bool = False
    """Not expected to predict the tokens that it queries; it gets no verdict."""
    published_p: bool = False
    """The p is the released code's, which takes all scores as independent."""

    # Released code.
    variant_of: str = ""
    deviation: str = ""
    """How it differs from the row that it is a variant of."""
    bibtex: str = ""
    """An entry for a reference that unmask lacks."""

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
        if self.question is not None and not isinstance(self.question, Question):
            raise UnmaskError(
                f"{self.name!r}: question is {self.question!r:.40}; give a Question of "
                "unmask.measures.question."
            )
        texts = (self.request, *(self.question.wordings if self.question else ()))
        if any(half_character(text) for text in texts):
            raise UnmaskError(
                f"{self.name!r}: its question has an invalid character (a lone surrogate); correct "
                "it."
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
            raise UnmaskError(
                f"{self.name!r}: samples is {self.samples:,}; give at most {MOST_SAMPLES:,}."
            )

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

        Released code does not check for them, so its variants include them in the denominator.
        """
        return bool(self.variant_of) and self.compare == "preference"

    @property
    def compared(self) -> ScaleName:
        """The scale of the compared scores."""
        return COMPARES[self.compare].compared

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of model it applies to."""
        return tuple(self.plans)

    def asks(self, kind: Kind) -> tuple[object, ...]:
        """Return all that determines its queries: measures that agree in this share answers."""
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
            self.question,
            self.request,
        )

    def reduce_for(self, kind: Kind) -> Reduce:
        """Return the reduction for a kind of model."""
        causal = kind == "causal" and self.reduce_causal is not None
        return self.reduce_causal if causal and self.reduce_causal else self.reduce

    def nothing_for(self, kind: Kind) -> str:
        """Return the reason for leaving out an item without queries."""
        return self.nothing_causal if kind == "causal" and self.nothing_causal else self.nothing

    def decimals_for(self, kind: Kind) -> int | None:
        """Return the number of decimals for a kind of model, or None if scores are not rounded."""
        return self.decimals if kind in self.rounds else None

    def rounded(self, scores: Floats, kind: Kind = "masked") -> Floats:
        """Return scores as they are compared: rounded, if the measure says so."""
        decimals = self.decimals_for(kind)
        return scores if decimals is None else np.round(scores, decimals)


class Compares(NamedTuple):
    """A way to compare scores: the kind of number, the data that it takes, the ideal."""

    compared: ScaleName
    shapes: tuple[str, ...]
    ideal: float = 0.0


COMPARES: Mapping[str, Compares] = {
    # The share of items whose stereotypical sentence scores higher,
    "preference": Compares("preference", ("pairs", "triplets", "continuations"), 50.0),
    # of those that a chat model chooses, with position bias and what it declines,
    "choice": Compares("preference", ("pairs", "triplets", "continuations"), 50.0),
    # and of the answers to ambiguous questions, with BBQ's scores.
    "bbq": Compares("preference", ("answers",), 50.0),
    # The mean margin as a factor.
    "factor": Compares("factor", ("pairs", "triplets"), 0.0),
    # The odds ratio of two sides of targets between two attribute sets, as a logarithm,
    "odds": Compares("odds", ("templates",)),
    # and the effect size of the same.
    "log-odds": Compares("log-odds", ("templates",)),
    # The effect size of the paired differences of two sentences' scores.
    "difference": Compares("difference", ("pairs", "triplets")),
    # The odds ratio between stereotypes of two groups, of the sentence that names the one.
    "sides": Compares("odds", ("pairs", "triplets")),
    # The odds of one side of targets over all attributes.
    "lean": Compares("odds", ("templates",)),
    # The difference of the two attribute sets' log quotients, matched by their order.
    "matched": Compares("index", ("templates",)),
    # The variance over groups.
    "spread": Compares("index", ("groups",)),
    # How far the likeliest words for a blank differ between groups, and between pairs of persons.
    "fills": Compares("index", ("fills",)),
    "fill-pairs": Compares("index", ("fills",)),
    # The share of pairs of groups whose sentences are not alike.
    "groups": Compares("index", ("frames",)),
    # How far two subjects are preferred in an underspecified question.
    "questions": Compares("index", ("questions",)),
    # How often a sentence of one list is likelier than one of the other; near ones count more.
    "cosines": Compares("index", ("lists",), 50.0),
    "products": Compares("index", ("lists",), 50.0),
}
CHOICES = {
    "compare": tuple(COMPARES),
    "average": ("micro", "macro"),
    "ties": ("strict", "half", "drop"),
    "empty": ("unscored", "kept"),
    "stream": get_args(Stream),
    "segments": (1, 2),
    "aligned": ("stereotype", "file"),
}
KINDS_ARE = f"kinds are {', '.join(get_args(Kind))}"
