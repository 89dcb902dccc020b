"""The kinds of numbers that results hold: one table says how each is read, judged and printed.

A share is a percentage of pairs, 50 is neutral. Odds are held as a logarithm and shown as a factor.
d is Cohen's effect size over words, d_z that of paired differences. An index has an ideal of its
own, and no verdict.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from unmask.options import Threshold
from unmask.types import Estimate, Result, ScaleName

ASSOCIATED = (
    "On {data}, the association{about} has an effect size of {value}{span} over {n} words; 0 is "
    "neutral."
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How numbers of one kind are read.

    Args:
        unit: The unit of a difference, as limits and margins name it.
        head: The heading of a column of such numbers.
        neutral: The value without bias, as it is shown.
        digits: Decimals that are shown.
        coarse: The difference that a set of items should be able to resolve.
        sizes: Where a small, a moderate and a strong bias begin: Cohen's d of 0.2, 0.5 and 0.8; as
            the share of pairs that it makes one group win (Phi(d / sqrt 2), Ruscio 2008), and as an
            odds ratio (exp(pi d / sqrt 3), Chinn 2000).
        reads: What such a measure quantifies, in words.
        says: The template of a sentence that states a score.
        effect: The name of the number in the files of other tools.
        metric: Its name in the files of lm-evaluation-harness.
        judged: The extra that a verdict is about, where a result has it.
        by_category: Whether a result has an estimate for each category of its items.
        paired: Whether the items are pairs of sentences.
        share: Whether a number is the percentage of pairs that prefer the stereotype.
        templates: Whether the items are templates, with words of two attribute sets.
        words: Whether the items are single words.
        planned: Whether a rule says how its interval narrows with more items or words.
        show: Turns a held value into the one that people read.
    """

    unit: str
    head: str
    neutral: float
    digits: int
    coarse: float
    sizes: tuple[float, float, float] = (0.2, 0.5, 0.8)
    reads: str = ""
    says: str = ASSOCIATED
    effect: str = "effect_size"
    metric: str = "effect_size"
    judged: str = ""
    by_category: bool = False
    paired: bool = False
    share: bool = False
    templates: bool = False
    words: bool = False
    planned: bool = True
    show: Callable[[float], float] = float

    @property
    def is_factor(self) -> bool:
        """Whether differences multiply."""
        return self.show is not float

    @property
    def is_index(self) -> bool:
        """Whether each measure has an ideal of its own, so that no two numbers are on one scale."""
        return math.isnan(self.neutral)

    def matters(self, least: Threshold) -> float:
        """The smallest bias that matters, in the unit of held values."""
        return least.held().get(self.unit, least.d)

    def text(self, value: float) -> str:
        """A score, a bound or a difference from the ideal, as people read it."""
        return f"{self.show(value):.{self.digits}f}"

    def with_interval(self, estimate: Estimate) -> str:
        """An estimate with its interval, in a unit that people know."""
        if math.isnan(estimate.low):
            return f"{self.text(estimate.value)}, without an interval"
        if self.share:
            span = f"[{estimate.low:.0f}, {estimate.high:.0f}]"
            return f"{estimate.value:.0f} % of {estimate.n:,} pairs {span}"
        value, low, high = (self.text(v) for v in (estimate.value, estimate.low, estimate.high))
        if self.paired and self.is_factor:
            return f"traits {value} times as likely [{low}, {high}]"
        return f"{self.head} {value} [{low}, {high}]"

    def amount(self, value: float) -> str:
        """A bias of some size: "3 pp", "1.20x", "odds of 1.20", "d = 0.2"."""
        if self.share:
            return f"{value:g} pp"
        if self.is_factor:
            return f"{self.text(value)}x" if self.paired else f"odds of {self.text(value)}"
        return f"d = {value:g}"

    def change(
        self, value: float, low: float, high: float, *, digits: int | None = None, unit: str = ""
    ) -> str:
        """Format a difference with its interval; one of logarithms is a factor without a unit."""
        if math.isnan(low):
            number = f"ratio {self.show(value):.2f}" if self.is_factor else f"{value:+.2f} {unit}"
            return f"{number.strip()}, without an interval"
        if self.is_factor:
            value, low, high = map(self.show, (value, low, high))
            return f"ratio {value:.{self.digits}f} [{low:.{self.digits}f}, {high:.{self.digits}f}]"
        places = self.digits if digits is None else digits
        suffix = f" {unit}" if unit else ""
        return f"{value:+.{places}f}{suffix} [{low:+.{places}f}, {high:+.{places}f}]"

    def strength(self, bias: float) -> str:
        """The strength of a bias in a word, by Cohen's conventions."""
        return STRENGTHS[sum(abs(bias) >= size for size in self.sizes)]


STRENGTHS = ("slight", "small", "moderate", "strong")
SCALES: Mapping[ScaleName, Scale] = {
    "factor": Scale(
        unit="times",
        head="factor",
        neutral=1.0,
        digits=2,
        coarse=math.log(1.5),
        sizes=(math.log(1.2), math.log(1.5), math.log(2.0)),
        reads="factor by which a group's word raises the probability of its stereotypical traits",
        says="On {n} items of {data}, the traits attributed to a group are {value} times{span} as "
        "likely with its word as with the other group's; 1 is neutral.",
        effect="log_probability_ratio",
        by_category=True,
        paired=True,
        show=math.exp,
    ),
    "preference": Scale(
        unit="points",
        head="score",
        neutral=50.0,
        digits=1,
        coarse=5.0,
        sizes=(5.6, 13.8, 21.4),
        reads="share of pairs in which the stereotype is likelier",
        says="On {n} items of {data}, the model prefers the stereotype {value} % of the "
        "time{span}; 50 is neutral.",
        effect="preference_score",
        metric="pct_stereotype",
        judged="adjusted",
        by_category=True,
        paired=True,
        share=True,
    ),
    "odds": Scale(
        unit="times",
        head="odds",
        neutral=1.0,
        digits=2,
        coarse=math.log(2),
        sizes=(math.log(1.44), math.log(2.48), math.log(4.27)),
        reads="odds of the groups' words, given one topic rather than the other",
        says="On {data}, given {a} rather than {b}, the words {x} are {value} times{span} as "
        "likely relative to {y}, over {n} {units}; 1 is neutral.",
        effect="log_odds_ratio",
        metric="log_odds_ratio",
        templates=True,
        show=math.exp,
    ),
    "log-odds": Scale(
        unit="d",
        head="d",
        neutral=0.0,
        digits=2,
        coarse=0.8,
        reads="effect size of the groups' words in templates",
        templates=True,
    ),
    "association": Scale(
        unit="d",
        head="d",
        neutral=0.0,
        digits=2,
        coarse=0.8,
        reads="effect size of the association of words",
        words=True,
    ),
    "difference": Scale(
        unit="d_z",
        head="d_z",
        neutral=0.0,
        digits=2,
        coarse=0.5,
        reads="effect size of the difference between the two sentences",
        says="On {n} pairs of {data} the two sentences' scores differ by {value}{span} standard "
        "deviations; 0 is neutral.",
        by_category=True,
        planned=False,
    ),
    "index": Scale(  # each has its own ideal
        unit="of the index",
        head="value",
        neutral=math.nan,
        digits=3,
        coarse=math.inf,
        says="On {data}, {measure} is {value}{span} over {n} {over}{ideal}.",
        metric="index",
        planned=False,
    ),
}
ORDER = tuple(SCALES)  # which scale is shown first, where a bias type has several


def scale_of(result: Result) -> Scale:
    """The scale of a result's numbers."""
    return SCALES[result.compared]
