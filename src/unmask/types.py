"""The frozen records that pass between the parts. Nothing here computes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from unmask.errors import DataError, NameUnknown
from unmask.options import Spec
from unmask.support import result_views
from unmask.support.registry import unknown

Span: TypeAlias = tuple[int, int]
Kind: TypeAlias = Literal["masked", "causal", "permutation", "encoder", "static", "elmo"]
Floats: TypeAlias = NDArray[np.float64]

STEREOTYPE, ANTISTEREOTYPE, UNRELATED = "stereotype", "antistereotype", "unrelated"
# Labels of an answer that takes no side, and of an option to abstain that a question adds.
UNKNOWN, ABSTAIN = "unknown", "abstain"
EMPTY: Mapping[str, Any] = MappingProxyType({})
NOT_ASKED = "not asked"  # prefix of the reason for an item that an early stop left out


def half_character(text: str) -> bool:
    """Whether a text holds a lone surrogate, which no file can."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence with named character spans, such as `target` or `fill`."""

    string: str
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.string, str):
            raise DataError(f"a sentence is {self.string!r:.40}, which is not text; give a string.")
        if not self.string.strip():
            raise DataError("a sentence is empty; remove it or fill it in.")
        if half_character(self.string):
            raise DataError(
                f"the sentence {self.string[:40]!a} has an invalid character (a lone surrogate); "
                "fix it."
            )
        for name, spans in self.spans.items():
            try:
                wrong = any(not 0 <= a < b <= len(self.string) for a, b in spans)
            except (TypeError, ValueError) as error:
                raise DataError(
                    f"the spans {name!r} are {spans!r:.40}; give a tuple of (start, end) pairs."
                ) from error
            if wrong:
                raise DataError(f"the span {name!r} lies outside {self.string!r}.")


@dataclass(frozen=True, slots=True)
class Contrast:
    """Sentences to be compared: a pair, a triplet, or a template with each target filled in.

    Labels are `stereotype`, `antistereotype` and `unrelated`; in a template test `x:WORD` and
    `y:WORD` for the targets of the two sides. `cluster` is what items have in common by
    construction (target term, writer, word) and is the unit that errors are counted by.

    Items compare the two groups of a `group_pair` ("old / young"); `group` is the one that the
    stereotype is about, so that a preference for a group's word can be told from the stereotype. In
    a template test it is A or B, the attribute set. `template` is the wording that items share.
    """

    id: str
    texts: Mapping[str, Text]
    category: str
    cluster: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    group_pair: str = ""
    group: str = ""
    template: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.texts, Mapping) or not self.texts:
            raise DataError(f"item {self.id!r} has no sentences; give texts by label.")
        for label, text in self.texts.items():
            if not isinstance(text, Text):
                raise DataError(
                    f"item {self.id!r}: the sentence {label!r} is {text!r:.40}; make it a Text."
                )
        values = (self.id, self.category, self.cluster, self.group_pair, self.group, self.template)
        names = ("id", "category", "cluster", "group_pair", "group", "template")
        for name in names if {*map(type, values)} != {str} else ():
            if not isinstance(getattr(self, name), str):
                raise DataError(
                    f"item {self.id!r}: its {name} is {getattr(self, name)!r:.40}; give a string."
                )
        if not isinstance(self.meta, Mapping):
            raise DataError(f"item {self.id!r}: its meta is {self.meta!r:.40}; give a mapping.")


@dataclass(frozen=True, slots=True)
class Stimuli:
    """Target sets and attribute sets of words, each with its label: mostly X, Y and A, B.

    What is known of a test is in columns: `source` (a key of the bibliography, or `user`),
    `concept` (C6, Dis, ... of husse2022), `named` (are the targets `names` or `terms`?), `size` of
    the sets (`full`, `reduced`, `simplified`), `edition` (a published form other than the plain
    one). `forms` gives the grammatical form of a word, `adjectives` those that may replace the
    nouns of an attribute set. `unequal` target sets are allowed where a published file has them.
    """

    name: str
    targets: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, tuple[str, ...]]
    source: str = "user"
    concept: str = ""
    named: str = ""
    size: str = "full"
    edition: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    adjectives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unequal: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for side in (self.targets, self.attributes):
            if not isinstance(side, Mapping):
                raise DataError(f"{self.name}: {side!r:.40} is not a mapping of labels to words.")
            for label, words in side.items():
                if isinstance(words, str) or not all(isinstance(w, str) and w for w in words):
                    raise DataError(
                        f"{self.name}: {label} is {words!r:.40}; give a tuple of words."
                    )
            if not side:
                raise DataError(f"{self.name} has no sets of targets, or none of attributes.")
            for label, words in side.items():
                if len(set(words)) != len(words):
                    twice = sorted({w for w in words if list(words).count(w) > 1})
                    raise DataError(f"{self.name}: {label} has {', '.join(twice)} more than once.")
        if both := self.targets.keys() & self.attributes.keys():
            raise DataError(
                f"{self.name}: {', '.join(sorted(both))} is the label of a target set and of "
                "an attribute set; give them different labels."
            )

    @property
    def sets(self) -> dict[str, tuple[str, ...]]:
        """The sets by label, targets first: X, Y, A, B."""
        return {**self.targets, **self.attributes}

    @property
    def roles(self) -> tuple[str, ...]:
        """X, Y, A and B where there are two of each; else X1, X2, ... and A1, A2, ..."""
        targets, attributes = len(self.targets), len(self.attributes)
        if (targets, attributes) == (2, 2):
            return ("X", "Y", "A", "B")
        sides = ("X", targets), ("A", attributes)
        return tuple(f"{side}{n + 1}" for side, count in sides for n in range(count))


Shape: TypeAlias = Literal[
    "pairs",
    "triplets",
    "continuations",
    "templates",
    "groups",
    "fills",
    "frames",
    "questions",
    "lists",
    "answers",
]
SHAPES: tuple[str, ...] = get_args(Shape)
OF_GROUPS = ("groups", "fills", "frames", "questions")  # any number of groups, as labels
LABELS: Mapping[str, tuple[str, ...]] = {
    "pairs": (STEREOTYPE, ANTISTEREOTYPE),
    "triplets": (STEREOTYPE, ANTISTEREOTYPE, UNRELATED),
    "continuations": (STEREOTYPE, ANTISTEREOTYPE),
    "answers": (STEREOTYPE, ANTISTEREOTYPE, UNKNOWN),
}


def _check_template(name: str, item: Contrast) -> None:
    """A filled template has targets of both sides and says which attribute set it is of."""
    sides = {label[:2] for label in item.texts}
    if sides != {"x:", "y:"} or item.group not in ("A", "B"):
        raise DataError(
            f"item {item.id!r} of {name!r} is not a filled template: its labels must start with x: "
            "and y:, with some of each, and its group must be A or B."
        )


@dataclass(frozen=True, slots=True)
class Dataset:
    """Contrasts under a name. `shape` says which measures apply.

    `pairs` and `triplets` of sentences, `continuations` of a context, filled `templates`, or
    `groups`: a sentence for each of two or more groups, whose names are the labels. Several for
    each, labelled `GROUP|WORD`: `fills` with a blank that is marked, `frames` with other words of
    the group. `questions`: two subjects in both orders, and a question with its negation. `lists`:
    two lists of sentences that are not pairs; an item is a sentence, its label `first` or `second`.
    `answers`: three answers to a question about a context, which `meta` has.
    """

    name: str
    shape: Shape
    items: tuple[Contrast, ...]
    cluster: str = "item"
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise DataError(
                f"the data set {self.name!r} has the unknown shape {self.shape!r}; allowed: "
                f"{', '.join(SHAPES)}."
            )
        if not isinstance(self.items, Sequence) or not isinstance(self.about, Mapping):
            raise DataError(f"the items of {self.name!r} must be a tuple, and its about a mapping.")
        if not self.items:
            raise DataError(
                f"the data set {self.name!r} has no items; give a file with at least one."
            )
        needed = LABELS.get(self.shape, ())
        for item in self.items:
            if not isinstance(item, Contrast):
                raise DataError(f"{self.name!r} holds {item!r:.40}, which is not a Contrast.")
            if missing := [k for k in needed if k not in item.texts]:
                raise DataError(
                    f"item {item.id!r} of {self.name!r} has no {' and no '.join(missing)}; "
                    f"{self.shape} need {', '.join(needed)}."
                )
            if self.shape == "templates":
                _check_template(self.name, item)
            if self.shape in OF_GROUPS and len(item.texts) < 2:
                raise DataError(
                    f"item {item.id!r} of {self.name!r} has one sentence; two groups are needed."
                )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, its method and its n. `ideal` is the value without bias.

    `se` is its standard error, NaN where none can be given; `more` has what belongs to the method.
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    n: int
    ideal: float | None = None
    p: float | None = None
    se: float = math.nan
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n < 1:
            raise DataError("an estimate needs at least one item; none could be scored.")
        if not math.isnan(self.low) and self.low > self.high:
            raise ValueError(f"interval [{self.low}, {self.high}] has low above high")

    @property
    def excludes_ideal(self) -> bool:
        """Whether the interval leaves out the value without bias."""
        return self.ideal is not None and (self.low > self.ideal or self.high < self.ideal)

    def within(self, margin: float) -> bool:
        """Whether two one-sided tests show it nearer to the ideal than `margin` (equivalence).

        `more["inner"]` is the interval of those tests, with both tails at the level's whole error.
        """
        low, high = self.more.get("inner") or (-math.inf, math.inf)
        return self.ideal is not None and self.ideal - margin < low and high < self.ideal + margin


VERDICTS = ("biased", "reversed", "negligible", "inconclusive")
FOUND = VERDICTS[:2]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an estimate says, against the smallest bias that `matters`, and why.

    `biased` and `reversed` (against the stereotype) are beyond chance, `negligible` is shown to be
    smaller than what matters, and all else is `inconclusive`. The verdict of a measure that does
    not count, because validated ones exist, is not shown.
    """

    word: str
    matters: float
    why: str
    counts: bool = True

    def __post_init__(self) -> None:
        if self.word not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}; not {self.word!r}")

    @property
    def shows_bias(self) -> bool:
        """Whether a bias was found, in whichever direction."""
        return self.word in FOUND

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many items (or words) there are, how many could be scored, and why the others not.

    `lost` names the words that had to go, with the reason; `unused` counts scores of a file that
    belong to no item.
    """

    items: int
    scored: int
    ties: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)
    unused: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.scored <= self.items:
            raise ValueError(f"{self.scored} items were scored, but there are {self.items}")

    @property
    def share(self) -> float:
        """Per cent of the items that could be scored."""
        return 100 * self.scored / self.items

    @property
    def asked(self) -> int:
        """The number of items, without those that an early stop left out."""
        return self.items - sum(n for r, n in self.reasons.items() if r.startswith(NOT_ASKED))


@dataclass(frozen=True, slots=True)
class Fitness:
    """Whether a result can support a verdict: `answer/fitness.py` has the rules.

    All numbers are in per cent: token accuracy and lms where a result has them, exact ties among
    the scored items, and scored items. `reasons` say why it is unfit; a fit result has none.
    """

    accuracy: float | None = None
    lms: float | None = None
    ties: float = 0.0
    scored: float = 100.0
    reasons: tuple[str, ...] = ()

    @property
    def fit(self) -> bool:
        """Whether a verdict may rest on it."""
        return not self.reasons


ScaleName: TypeAlias = Literal[
    "preference", "factor", "odds", "log-odds", "association", "difference", "index"
]


def _views() -> Any:
    """The views of results (tables, figures and formats), loaded on first use."""
    return result_views.load()


@dataclass(frozen=True, slots=True)
class Result:
    """One measure on one data set for one model: the score and all that explains it.

    `spec` says in names what was measured; `compared` how: the share of items that prefer the
    stereotype, an odds ratio (in its logarithm), an effect size of log-odds, one of word
    associations, one of paired differences, or an index with an ideal of its own. `shown` names
    the extras that belong beside the score. `verdicts` are by category, that of the whole under "".
    `items` has one row for each sentence (or each word of an
    association test). `artifacts` holds what `Options.keep` requested, and is not saved. An unfit
    result (`fitness`) has no verdict other than "inconclusive".
    """

    spec: Spec
    compared: ScaleName
    overall: Estimate
    by_category: Mapping[str, Estimate]
    extras: Mapping[str, Estimate]
    accuracy: Estimate | None
    coverage: Coverage
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    items: Any
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    fitness: Fitness = field(default_factory=Fitness)

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.spec.model)

    @property
    def measure(self) -> str:
        """The measure's name."""
        return str(self.spec.measure)

    @property
    def data(self) -> str:
        """The data's name."""
        return str(self.spec.data)

    @property
    def title(self) -> str:
        """Measure and data in words, for notes."""
        return self.spec.title

    def __repr__(self) -> str:
        estimate = self.overall
        span = f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
        return f"Result({self.title}, {self.model}: {span}, n = {estimate.n})"

    def _repr_html_(self) -> str:
        return str(_views().table_html([self]))

    def plot(self, what: str | None = None) -> Any:
        """A figure of the scores, or the one named by `what`; it has a `save` method."""
        return _views().plot([self], what)

    def frame(self, by_category: bool = False) -> Any:
        """The result as a pandas frame: score, interval, ideal, n, verdict."""
        return _views().table([self], by_category)

    def to_markdown(self) -> str:
        """A section for a model card: sentences and a table."""
        return str(_views().as_markdown([self]))

    def to_latex(self) -> str:
        """A table for a LaTeX document with booktabs."""
        return str(_views().as_latex([self]))

    def items_by_influence(self, top: int | None = None) -> Any:
        """The items that drive the score, with their sentences, the most influential first."""
        return _views().by_influence(self, top)


class Results(Sequence[Result]):
    """The results of a run, in order, and notes on what was asked for and could not be done.

    `lost` names the models that failed on the way.
    """

    def __init__(
        self, results: Iterable[Result], notes: Iterable[str] = (), lost: Iterable[str] = ()
    ) -> None:
        self._results, self.notes, self.lost = tuple(results), tuple(notes), tuple(lost)

    @overload
    def __getitem__(self, place: int) -> Result: ...

    @overload
    def __getitem__(self, place: slice) -> "Results": ...

    def __getitem__(self, place: int | slice) -> "Result | Results":
        if isinstance(place, slice):
            return Results(self._results[place], self.notes, self.lost)
        return self._results[place]

    def __len__(self) -> int:
        return len(self._results)

    @property
    def models(self) -> list[str]:
        """The names of its models, each once."""
        return list(dict.fromkeys(r.model for r in self))

    def select(
        self,
        *,
        models: Sequence[str] = (),
        measures: Sequence[str] = (),
        data: Sequence[str] = (),
    ) -> "Results":
        """The results of some models, measures or data sets; a name that none has is an error."""
        results = list(self)
        for name, names_given in (("model", models), ("measure", measures), ("data", data)):
            if not isinstance(names_given, str | Iterable):
                raise DataError(f"{name}s are {names_given!r:.40}; give a list of names.")
            allowed = (names_given,) if isinstance(names_given, str) else tuple(names_given or ())
            names = list(dict.fromkeys(str(getattr(r, name)) for r in self))
            for value in allowed:
                if value not in names:
                    raise NameUnknown(unknown(name, value, names))
            results = [r for r in results if not allowed or getattr(r, name) in allowed]
        return Results(results, self.notes, self.lost)

    def _repr_html_(self) -> str:
        return str(_views().table_html(self))

    def plot(self, what: str | None = None) -> Any:
        """A figure of the scores, or the one named by `what`; it has a `save` method."""
        return _views().plot(self, what)

    def frame(self, by_category: bool = False) -> Any:
        """All results as a pandas frame: score, interval, ideal, n, verdict."""
        return _views().table(self, by_category)

    def answer(self) -> Any:
        """The answer by bias type as a pandas frame: verdict, strength, evidence, what is needed.

        Findings come first; `attrs["sentences"]` has it in words, by model.
        """
        return _views().answer(self)

    def to_markdown(self) -> str:
        """A section for a model card: sentences and a table."""
        return str(_views().as_markdown(self))

    def to_latex(self) -> str:
        """A table for a LaTeX document with booktabs."""
        return str(_views().as_latex(self))

    def __repr__(self) -> str:
        return f"Results({', '.join(r.title for r in self._results)})"
