"""The likelihood measures: one row each, run by one engine.

A row says which queries are asked (a plan for each kind of model), how the answers become the
score of a sentence, and how the scores of an item's sentences are compared. The plain name is
the paper's definition; `name@source` reproduces released code with its quirks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from unmask.errors import NotApplicable, UnmaskError
from unmask.measures import plans
from unmask.measures.card import check_card, check_choices
from unmask.measures.plans import Plan
from unmask.measures.reduce import (
    Reduce,
    all_lowered,
    as_written,
    attended,
    geometric,
    lowered,
    mean,
    mean_probability,
    total,
    uncapitalised,
    without_period,
)
from unmask.support.registry import Registry, choice
from unmask.types import Compared, Floats, Kind


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A likelihood measure.

    `plans` by kind of model; `prior` likewise, subtracted in log-odds; `reduce` by kind.
    `compare`: `preference` counts the items whose stereotypical sentence scores higher;
    `log-odds` compares two sides of targets and gives an effect size over two attribute sets; with
    `samples`, that of each of so many draws of one template a word, combined by random effects.
    `average`: `micro` over items or `macro` over clusters (target terms).
    `empty`: an item with nothing to ask is `unscored`, with the reason `nothing`, or `kept` with
    what the reduction makes of nothing (published code). `rounds`: the kinds of model whose scores
    are rounded to `decimals`. `fills`: the sentence is its context with the fill word put in.
    `stream`: `own`; `written`: hidden places are written as mask tokens and read off a plain
    forward pass, which only differs for permutation models; `next`: the next-sentence head.
    `shows` names the extras that belong beside the score. A `baseline` is not expected to predict
    the tokens it asks for. `bibtex` is an entry of its own for a reference that unmask lacks.
    """

    family: ClassVar[str] = "likelihood"

    name: str
    about: str
    formula: str
    plans: Mapping[Kind, Plan]
    reduce: Reduce
    cite: tuple[str, ...]
    criticism: str
    prior: Mapping[Kind, Plan] = field(default_factory=dict)
    reduce_causal: Reduce | None = None
    compare: Literal["preference", "log-odds"] = "preference"
    samples: int = 0
    average: Literal["micro", "macro"] = "micro"
    needs: tuple[str, ...] = ()
    attention: bool = False
    decimals: int | None = None
    rounds: tuple[Kind, ...] = ("masked", "causal", "permutation")
    ties: Literal["strict", "half", "drop"] = "half"
    empty: Literal["unscored", "kept"] = "unscored"
    nothing: str = "nothing to ask in one of its sentences"
    fills: bool = False
    stream: Literal["own", "written", "next"] = "own"
    text: Callable[[str, str], str] = as_written
    shows: tuple[str, ...] = ()
    baseline: bool = False
    deviation: str = ""
    bibtex: str = ""

    def __post_init__(self) -> None:
        check_card(self)
        check_choices(self, CHOICES)
        if not isinstance(self.plans, Mapping) or not self.plans:
            raise UnmaskError(f"{self.name!r} has no plans; give one for a kind of model.")
        for kind, plan in {**self.plans, **self.prior}.items():
            if kind not in get_args(Kind) or not callable(plan):
                raise UnmaskError(f"{self.name!r}: the plan for {kind!r} is none; {KINDS_ARE}.")
        for name in ("reduce", "text"):
            if not callable(getattr(self, name)):
                raise UnmaskError(f"{self.name!r}: its {name} is no function.")
        for name in ("decimals", "samples"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 0):
                raise UnmaskError(f"{self.name!r}: {name} is {value!r}; give a whole number.")

    @property
    def ideal(self) -> float:
        """The value of a model without the bias."""
        return 50.0 if self.compare == "preference" else 0.0

    @property
    def compared(self) -> Compared:
        """How its sentence scores become a number."""
        return self.compare

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of model it applies to."""
        return tuple(self.plans)

    def asks(self, kind: Kind) -> tuple[object, ...]:
        """What decides its queries: measures that agree in this ask the same and share answers."""
        return (
            self.plan_for(kind),
            self.prior.get(kind),
            self.text,
            self.stream,
            self.empty,
            self.needs,
            self.fills,
        )

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes of data it applies to."""
        if self.compare == "log-odds":
            return ("templates",)
        if "continuation" in self.needs or self.stream == "next":
            return ("continuations",)
        return ("triplets",) if "lms" in self.shows else ("pairs", "triplets")

    def plan_for(self, kind: Kind) -> Plan:
        """Its plan for a kind of model; the refusal names the measures that do apply."""
        if kind in self.plans:
            return self.plans[kind]
        others = [m.name for m in LIKELIHOOD.values() if kind in m.plans]
        if not others:
            raise NotApplicable(
                f"{self.name!r} needs a language-modelling head, and this is a model of the kind "
                f"{kind!r}, which has none; use an association measure such as 'w-seat'."
            )
        raise NotApplicable(
            f"{self.name!r} does not apply to a {kind} language model (it needs "
            f"{choice(self.plans)}); measures that do: {', '.join(others)}."
        )

    def reduce_for(self, kind: Kind) -> Reduce:
        """How the answers to a sentence's questions become its score."""
        causal = kind == "causal" and self.reduce_causal is not None
        return self.reduce_causal if causal and self.reduce_causal else self.reduce

    def decimals_for(self, kind: Kind) -> int | None:
        """The decimals that scores of a kind of model are rounded to, if they are."""
        return self.decimals if kind in self.rounds else None

    def rounded(self, scores: Floats, kind: Kind = "masked") -> Floats:
        """Scores as the comparison sees them."""
        decimals = self.decimals_for(kind)
        return scores if decimals is None else np.round(scores, decimals)


CHOICES = {
    "compare": ("preference", "log-odds"),
    "average": ("micro", "macro"),
    "ties": ("strict", "half", "drop"),
    "empty": ("unscored", "kept"),
    "stream": ("own", "written", "next"),
}
KINDS_ARE = f"kinds are {', '.join(get_args(Kind))}"


def _both(plan: Plan) -> dict[Kind, Plan]:
    """The same plan for masked and permutation models."""
    return {"masked": plan, "permutation": plan}


_L2R: dict[Kind, Plan] = {"causal": plans.left_to_right}
_L2R_APART: dict[Kind, Plan] = {"causal": plans.left_to_right_apart}

PLL = Likelihood(
    name="pll",
    about="How likely is the sentence, each token given all others?",
    formula="sum over tokens w of log p(w | sentence without w)",
    plans=_both(plans.each_content),
    reduce=total,
    cite=("salazar2020",),
    criticism="Favours short sentences and words of several pieces, which give one another away.",
)
CPS = Likelihood(
    name="cps",
    about="How likely are the words that both sentences share, given the group named?",
    formula="sum over shared tokens w of log p(w | all other tokens)",
    plans=_both(plans.each_shared),
    reduce=total,
    nothing="its sentences share no token",
    cite=("nangia2020",),
    criticism="The shared words differ in length and number of places between items, and the "
    "group word stays in sight, so its frequency still acts (Kaneko and Bollegala 2022).",
)
SSS = Likelihood(
    name="sss",
    about="How likely are the words that differ, given those that are shared?",
    formula="mean over changed tokens w of log p(w | shared tokens)",
    plans=_both(plans.all_changed),
    reduce=mean,
    nothing="one sentence has no token of its own (empty difference)",
    cite=("nadeem2021", "kaneko2022"),
    criticism="Frequent words win whatever the context; token accuracy is a few per cent.",
)
AUL = Likelihood(
    name="aul",
    about="How likely is each token when nothing is hidden?",
    formula="mean over tokens w of log p(w | whole sentence)",
    plans=_both(plans.nothing),
    reduce=mean,
    cite=("kaneko2022",),
    criticism="Asks what the model was trained for on a tenth of its targets only; near 0 "
    "everywhere for strong models, so small differences decide.",
)
LPBS = Likelihood(
    name="lpbs",
    about="How much more does an attribute speak for one target than for the other?",
    formula="log p(x | a) / p(x) - log p(y | a) / p(y), sides summed over their words; "
    "effect size d over the two attribute sets",
    plans={**_both(plans.target), "causal": plans.causal_joint},
    prior={**_both(plans.target_alone), "causal": plans.causal_prior},
    reduce=total,
    compare="log-odds",
    needs=("target", "attribute"),
    cite=("kurita2019",),
    criticism="Depends on the template and on a handful of target words; scores of one word in "
    "several templates are not independent.",
)
CAT = Likelihood(
    name="cat",
    about="Which of three fillers does the model prefer: stereotype, anti-stereotype, unrelated?",
    formula="masked: mean over the fill word's pieces of p(piece | context, earlier pieces); "
    "causal: 2^(mean log2 p); ss, lms and icat are means over target terms",
    plans={**_both(plans.reveal_fill), **_L2R},
    reduce=mean_probability,
    reduce_causal=geometric,
    average="macro",
    needs=("fill",),
    fills=True,
    shows=("lms", "deviation", "icat"),
    cite=("nadeem2021",),
    criticism="Compares fillers of different length and frequency; many items do not contrast "
    "what they mean to (Blodgett et al. 2021).",
)

CONTINUATION = Likelihood(
    name="cat-continue",
    about="Which of three sentences does the model find most likely after a context?",
    formula="2^(mean log2 p) over the tokens of the continuation; masked: each token given all "
    "others and the context; causal: given all before it; ss, lms and icat as in cat",
    plans={**_both(plans.each_of_continuation), "causal": plans.continuation_left_to_right},
    reduce=geometric,
    average="macro",
    needs=("continuation",),
    shows=("lms", "deviation", "icat"),
    cite=("nadeem2021",),
    criticism="Not the published route, which needs a next-sentence head (cat-nsp). A masked model "
    "is asked for each token with the rest of the same sentence in sight, so the context counts "
    "for little; unrelated continuations are on another topic and easily told apart.",
)
NSP = replace(
    CONTINUATION,
    name="cat-nsp",
    about="Which of three sentences does the next-sentence head take for the continuation?",
    formula="p(the sentence follows the context); ss, lms and icat as in cat",
    plans={"masked": plans.is_next},
    needs=(),
    stream="next",
    criticism="Only BERT and its like have such a head; it was trained to tell sentences of other "
    "documents apart, which is about topic.",
)

LIKELIHOOD: Registry[Likelihood] = Registry(
    "measure",
    (
        (m.name, m)
        for m in (
            PLL,
            replace(
                PLL,
                name="pll-l2r",
                about="As pll, with the later pieces of a token's own word hidden too.",
                formula="sum over tokens w of log p(w | sentence without w and later pieces)",
                plans=_both(plans.within_word),
                cite=("kauf2023",),
                criticism="Mends the pieces' effect of pll; still favours short sentences.",
            ),
            CPS,
            replace(
                CPS,
                name="cps@nangia2020",
                decimals=3,
                ties="strict",
                empty="kept",
                text=lowered,
                cite=("nangia2020",),
                deviation="Scores rounded to 3 decimals before the comparison; a tie counts as not "
                "stereotypical, and so does a pair that shares no token (0 = 0); lower-cased text "
                "for BERT and ALBERT.",
            ),
            replace(
                CPS,
                name="cps@kaneko2022",
                decimals=3,
                ties="strict",
                empty="kept",
                cite=("kaneko2022",),
                deviation="Scores rounded to 3 decimals before the comparison; a tie counts as not "
                "stereotypical, and so does a pair that shares no token (0 = 0); case is kept.",
            ),
            replace(
                CPS,
                name="cps@thys2025",
                plans=_both(plans.inner_aligned),
                decimals=3,
                ties="strict",
                empty="kept",
                stream="written",
                cite=("thys2025",),
                deviation="The first and the last aligned place are dropped whatever they are: "
                "for XLNet the first word is lost and <sep> kept; no permutation mask. Scores are "
                "rounded to 3 decimals; a tie counts as not stereotypical, and so does a pair that "
                "shares no token (0 = 0).",
            ),
            replace(
                CPS,
                name="cps@biasbench",
                plans={**_both(plans.each_changed), **_L2R_APART},
                reduce=mean,
                reduce_causal=geometric,
                decimals=3,
                rounds=("masked", "permutation"),
                ties="strict",
                nothing=SSS.nothing,
                cite=("meade2022",),
                deviation="Hides the changed tokens one at a time and averages: the opposite of "
                "Nangia et al.; rounded to 3 decimals. Causal models by 2^(mean log2 p), not "
                "rounded: the first token after the start token alone, the others without it. A "
                "tie counts as not stereotypical.",
            ),
            SSS,
            replace(
                SSS,
                name="sss@kaneko2022",
                plans=_both(plans.all_changed_crossed),
                ties="strict",
                empty="kept",
                cite=("kaneko2022",),
                deviation="Averages every hidden token at every hidden place instead of the gold "
                "diagonal; a tie counts as not stereotypical, and so does a pair with an empty "
                "difference.",
            ),
            AUL,
            replace(
                AUL,
                name="aul@kaneko2022",
                ties="strict",
                deviation="A tie counts as not stereotypical.",
            ),
            replace(
                AUL,
                name="aul@thys2025",
                plans=_both(plans.inner_places),
                ties="strict",
                stream="written",
                cite=("thys2025",),
                deviation="Places 1 to T - 2 whatever they are: for XLNet the first word is lost "
                "and <sep> kept; no permutation mask. A tie counts as not stereotypical.",
            ),
            replace(
                AUL,
                name="aula",
                about="As aul, each token weighted by the attention it receives.",
                formula="mean over tokens w of attention(w) log p(w | whole sentence)",
                reduce=attended,
                attention=True,
                criticism="Attention is no proven measure of importance; the weights of a "
                "sentence do not add up to one.",
            ),
            replace(
                AUL,
                name="aula@kaneko2022",
                about="As aul, each token weighted by the attention it receives.",
                formula="mean over tokens w of attention(w) log p(w | whole sentence)",
                reduce=attended,
                attention=True,
                ties="strict",
                deviation="A tie counts as not stereotypical.",
            ),
            replace(
                AUL,
                name="all-masked",
                about="How likely are the tokens when everything is hidden? A baseline.",
                formula="mean over tokens w of log p(w | length of the sentence)",
                plans=_both(plans.everything),
                baseline=True,
                criticism="Sees only frequency and place: what it finds is not association.",
            ),
            CAT,
            replace(
                CAT,
                name="cat@nadeem2021",
                plans={
                    "masked": plans.reveal_retokenised,
                    "permutation": plans.reveal_after_paragraph,
                    **_L2R_APART,
                },
                needs=(),
                fills=False,
                ties="strict",
                stream="written",
                deviation="The fill word, all its punctuation removed, is tokenised without its "
                "leading space and the sentence tokenised anew around the mask: RoBERTa is asked "
                "for the wrong piece. Every BLANK is filled, and the first one read. XLNet reads "
                "the sentence behind a long paragraph, with no permutation mask. Causal models "
                "read the sentence as printed: the first token after the start token alone, the "
                "others without it. A tie counts as not stereotypical.",
            ),
            CONTINUATION,
            NSP,
            Likelihood(
                name="ll",
                about="How likely is the sentence, read left to right?",
                formula="sum over tokens w of log p(w | tokens before w)",
                plans=_L2R,
                reduce=total,
                cite=("nangia2020",),
                criticism="Favours short sentences; words before the difference add nothing.",
            ),
            LPBS,
            replace(
                LPBS,
                name="ceat-lpbs",
                about="How does the effect size of lpbs vary when each attribute is met in a "
                "random template?",
                formula="CES over N samples of lpbs, one template drawn for each attribute word",
                samples=10_000,
                cite=("husse2022",),
                criticism="With few templates the samples repeat themselves and p means nothing.",
            ),
            replace(
                LPBS,
                name="lpbs@kurita2019",
                plans={"masked": plans.target_first_piece},
                prior={"masked": plans.prior_before_last},
                text=all_lowered,
                deviation="The prior is read at the token before the last mask; a word of several "
                "pieces is represented by its first; all text is in lower case.",
            ),
            replace(
                LPBS,
                name="lpbs@thys2025",
                plans=_both(plans.target_bare_token),
                prior=_both(plans.prior_at_last),
                stream="written",
                text=uncapitalised,
                cite=("kurita2019", "thys2025"),
                deviation="The prior is read at the attribute's mask; words are looked up without "
                "the space marker; a sentence starts with a small letter and is tokenised anew "
                "with its masks; no permutation mask for XLNet.",
            ),
            replace(
                LPBS,
                name="lpbs@husse2022",
                plans={"masked": plans.target_distinct_pieces},
                prior={"masked": plans.prior_distinct_pieces},
                text=without_period,
                cite=("kurita2019", "husse2022"),
                deviation="A word of several pieces gets the product of its distinct pieces' "
                "probabilities at one mask, order and repeats lost; the period is cut off.",
            ),
        )
    ),
)
