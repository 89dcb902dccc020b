"""What to measure and how: `Spec`, `Options`, `Resampling`. Each checks itself."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from unmask.errors import UnmaskError
from unmask.support.registry import unknown

DTYPES = ("float32", "tf32", "float64", "bfloat16", "float16")
POOLS: Mapping[str, str] = {
    "cls": "the [CLS] token's state (the first token in BERT, the last in XLNet)",
    "last": "the last token's state",
    "mean": "the mean over all tokens that are not special",
    "mean-all": "the mean over all tokens, including special tokens",
    "first": "the first token's state, special or not",
    "word-mean": "the mean over the word's pieces",
    "word-first": "the word's first piece",
    "word-last": "the word's last piece",
    "after-word": "the position after the word's first piece",
}
KEEP = ("tokens", "samples", "sentences")
RANDOM = ("targets", "attributes")
DECIDED = "decided"
ENGINES = ("local", "ray")
LOADS = ("8bit", "4bit")
AUTO = "auto"
MOST_SAMPLES = 10_000_000  # of CEAT; each is a row of scores of all words
INDEPENDENT = "none"  # value of `cluster` that treats a user's items as independent


Check = Callable[[str, Any], Any]  # refuses what an option cannot be, or returns what it means


def one_of(allowed: Iterable[str]) -> Check:
    """The check that a value is one of those allowed."""
    return lambda name, value: _one_of(name, value, allowed)


def whole_number(least: float) -> Check:
    """The check that a value is a whole number that is not smaller than `least`."""
    return lambda name, value: _whole_number(name, value, least)


def _one_of(name: str, value: Any, allowed: Any) -> Any:
    if value not in allowed:
        raise UnmaskError(unknown(name, str(value), allowed))
    return value


def _whole_number(name: str, value: Any, least: float) -> Any:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise UnmaskError(f"{name} is {value!r}; give a whole number{bound}.")
    return value


def _samples(name: str, value: Any) -> Any:
    if _whole_number(name, value, 2) > MOST_SAMPLES:
        raise UnmaskError(f"{name} is {value:,}; give at most {MOST_SAMPLES:,}.")
    return value


def _yes_or_no(name: str, value: Any) -> Any:
    if not isinstance(value, bool):
        raise UnmaskError(f"{name} is {value!r}; give True or False.")
    return value


def _function(call: str) -> Check:
    def check(name: str, value: Any) -> Any:
        if not callable(value):
            raise UnmaskError(f"{name} is not a function; give {call}.")
        return value

    return check


def _tokens(name: str, value: Any) -> Any:
    return value if value == AUTO else _whole_number(name, value, 1)


def _cluster(name: str, value: Any) -> Any:
    if value != INDEPENDENT:
        raise UnmaskError(
            f"{name} is {value!r}; give {INDEPENDENT!r}, or leave it out and add a column "
            "'cluster' to your file."
        )
    return value


def _keep(option_name: str, value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, tuple | list):
        raise UnmaskError(f"{option_name} is {value!r}; give a tuple of {', '.join(KEEP)}.")
    return [_one_of(option_name, name, KEEP) for name in value] and value


def _until(name: str, value: Any) -> str | float:
    """`decided`, or the half-width in points at which a run may stop."""
    if value == DECIDED:
        return DECIDED
    try:
        points = float(value)
    except (TypeError, ValueError):
        points = math.nan
    if isinstance(value, bool) or not 0 < points < 50:
        raise UnmaskError(
            f"{name} is {value!r}; give {DECIDED!r}, or a number of percentage points between 0 "
            "and 50."
        )
    return points


@dataclass(frozen=True, slots=True)
class Resampling:
    """How uncertainty is computed: one argument for every estimator.

    `draws` resamples of the items or words, `splits` random splits of a permutation test (0: no
    test), the `seed` of both, and the `level` of the interval. `random` says which words of an
    association test are a sample: the `targets`, or the `attributes` as well.
    """

    draws: int = 10_000
    seed: int = 0
    level: float = 0.95
    splits: int = 100_000
    random: str = "targets"

    def __post_init__(self) -> None:
        _one_of("random", self.random, RANDOM)
        _whole_number("draws", self.draws, 1)
        _whole_number("seed", self.seed, 0)
        _whole_number("splits", self.splits, 0)
        if not isinstance(self.level, int | float) or not 0 < self.level < 1:
            raise UnmaskError(
                f"level is {self.level!r}; give a confidence level between 0 and 1, such as 0.95."
            )

    @property
    def tail(self) -> float:
        """The probability left out on each side of an interval."""
        return (1 - self.level) / 2


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest bias that matters: in points of a preference score, in d, as a factor.

    5 points: 55 % of the pairs. 0.2: Cohen's small effect. 1.2 times the odds, or the probability
    of a trait. All are a convention, not a finding: set what matters in your use.
    """

    points: float = 5.0
    d: float = 0.2
    times: float = 1.2

    def __post_init__(self) -> None:
        for name, fewest, most in (("points", 0, 50), ("d", 0, 2), ("times", 1, 100)):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not fewest < value < most
            ):
                raise UnmaskError(
                    f"{value!r} {name} cannot be the smallest bias that matters; give a number "
                    f"between {fewest} and {most}."
                )

    def held(self) -> dict[str, float]:
        """The thresholds by unit, as estimates store them: factors as logarithms."""
        return {"points": self.points, "d": self.d, "times": math.log(self.times)}


UNITS = {"points": "percentage points", "times": "factors"}  # others are their own name
AMOUNTS = {"points": "{:.3g} percentage points", "times": "a factor of {:.3g}", "d": "d = {:.3g}"}


def amount_text(value: float, unit: str) -> str:
    """A bias of some size in words: "5 percentage points", "a factor of 1.2", "d = 0.5"."""
    return AMOUNTS[unit].format(value)


def amounts(text: str, name: str = "matters") -> dict[str, float]:
    """`3`, `3points`, `0.2d` or `1.1x`, or several with commas, by unit.

    A bare number is in points; x is a factor.
    """
    by_unit: dict[str, float] = {}
    for part in str(text).split(","):
        match = re.fullmatch(r"\s*([0-9.]+)\s*(d|x|points?|)\s*", part)
        try:
            value = float(match[1]) if match else math.nan
        except ValueError:
            value = math.nan
        if match is None or not math.isfinite(value):
            raise UnmaskError(
                f"{name} is {text!r}; give percentage points, an effect size or a factor, such as "
                "5 or 0.2d or 1.2x or 5,0.2d,1.2x."
            )
        unit = {"d": "d", "x": "times"}.get(match[2], "points")
        if unit in by_unit:
            raise UnmaskError(
                f"{name} is {text!r}, which gives {UNITS.get(unit, unit)} twice; give one of each."
            )
        by_unit[unit] = value
    return by_unit


def matters(value: Any) -> Threshold:
    """What matters, from a record, a number of points or a text such as `5,0.2d`."""
    return value if isinstance(value, Threshold) else Threshold(**amounts(value))


SCALES = ("share", "d", "odds")  # what a table may show


def check_scale(scale: str | None) -> None:
    """Refuse a scale that tables do not have."""
    if scale is not None and scale not in SCALES:
        raise UnmaskError(unknown("scale", str(scale), SCALES))


_LIMITED = re.compile(r":\d+-of-\d+(-seed-\d+)?$")  # how the name of limited data ends


@dataclass(frozen=True, slots=True)
class Spec:
    """What is to be measured: a measure on data for a model, and the choices that go with it.

    `model`, `measure` and `data` are names or objects. `pool`, `layer`, `contexts` and `samples`
    replace the measure's own where they are given. `tags` are the columns that a study reads
    its results by.
    """

    model: Any
    measure: Any
    data: Any
    pool: str | None = None
    layer: int | None = None
    contexts: Any = None
    samples: int | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("pool", "layer", "samples"):
            _checked(name, getattr(self, name))

    @property
    def title(self) -> str:
        """Measure and data in words, for notes."""
        return f"{named(self.measure)} on {named(self.data)}"

    @property
    def key(self) -> tuple[str, ...]:
        """Measure, data and all that was chosen: what tells results of one model apart."""
        tags = sorted((k, v) for k, v in self.tags.items() if k != "model")
        choices = (self.pool, self.layer, self.contexts, self.samples, *tags)
        return (named(self.measure), named(self.data), *map(str, choices))

    @property
    def comparable(self) -> tuple[str, ...]:
        """The key without a limit of items: such results have items in common."""
        measure, data, *choices = self.key
        return (measure, _LIMITED.sub("", data), *choices)

    def in_names(self) -> "Spec":
        """The same with names for objects, as a result keeps it."""
        return replace(
            self,
            model=named(self.model),
            measure=named(self.measure),
            data=named(self.data),
            contexts=None if self.contexts is None else named(self.contexts),
        )


def named(value: Any) -> str:
    """The name of a thing that may be given by name."""
    return str(getattr(value, "name", value))


MODEL, ITEMS, NUMBERS = "How the model runs", "Items and words", "Statistics"
WORDS = "Choices of association measures"


def option(
    default: Any, about: str, panel: str = "", check: Check | None = None, **command: Any
) -> Any:
    """A field of `Options`: its default, its help, the panel of the help it is in, and its check.

    This is the only definition of an option: command-line flags, keyword arguments and the
    reference pages are generated from it. An option without a `panel` is not on the command line.
    The `check` sees every value; None passes where it is the default. `command` has the `type` and
    the `usual` value on the command line, where they differ.
    """
    defaults = {"default_factory": default} if isinstance(default, type) else {"default": default}
    return field(**defaults, metadata={"about": about, "panel": panel, "check": check, **command})


def _checked(name: str, value: Any) -> Any:
    """The value of an option after its check; None passes where it is the default."""
    spec = BY_NAME[name]
    check = spec.metadata["check"]
    if check is None or (value is None and spec.default is None):
        return value
    return check(name, value)


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: the keyword arguments of `unmask.run`, and the flags of `unmask run`."""

    seed: int = option(
        0, "Seed for resampling, permutation and shuffling; makes runs reproducible.", NUMBERS
    )
    level: float = option(0.95, "Confidence level of the intervals, such as 0.95.", NUMBERS)
    dtype: str = option(
        "float32", f"Precision of the model: {', '.join(DTYPES)}.", MODEL, one_of(DTYPES)
    )
    device: str | None = option(
        None, "Where the model runs: cpu, cuda, cuda:1, or auto (all GPUs and the CPU).", MODEL
    )
    load: str | None = option(
        None, "Load a large model in 8bit or 4bit (bitsandbytes).", MODEL, one_of(LOADS)
    )
    engine: str = option(
        "local",
        "Where batches run: local, or ray (the workers of a Ray cluster).",
        MODEL,
        one_of(ENGINES),
    )
    address: str | None = option(None, "Ray address; default: start one locally.", MODEL)
    workers: int | None = option(
        None,
        "Ray workers per model; default: one for each GPU, or for every two CPUs.",
        MODEL,
        whole_number(1),
    )
    tokens: int | str = option(
        AUTO,
        "Tokens in one forward pass: a number, or auto (chosen for the device).",
        MODEL,
        _tokens,
        type=str,
    )
    pool: str | None = option(
        None,
        f"Vector of an association measure: {', '.join(POOLS)}; default: the measure's own.",
        WORDS,
        one_of(POOLS),
    )
    layer: int | None = option(
        None,
        "Layer of the word vectors: 0 is the embeddings, -1 the last layer.",
        WORDS,
        whole_number(-math.inf),
    )
    contexts: str | None = option(
        None, "Contexts of words: bare, templates, or a file or folder of sentences.", WORDS
    )
    samples: int | None = option(
        None, "Samples that CEAT draws; default: the measure's own number.", WORDS, _samples
    )
    splits: int = option(100_000, "Random splits of a permutation test; 0 for no test.")
    random: str = option(
        "targets",
        "Words of a word test treated as a random sample: targets, or attributes too.",
        NUMBERS,
    )
    matters: Threshold | str | float = option(
        Threshold,
        "Smallest bias that matters: in percentage points, d or as a factor, such as 5,0.2d,1.2x.",
        NUMBERS,
        lambda name, value: matters(value),
        type=str,
        usual="5,0.2d,1.2x",
    )
    exclude_flagged: bool = option(
        False, "Also run each set without the items that have visible defects.", ITEMS, _yes_or_no
    )
    exclude: Path | str | None = option(
        None, "Table with a column 'item': the ids of items to leave out.", ITEMS, type=Path | None
    )
    until: str | float | None = option(
        None,
        "Query items in random order and stop early: 'decided' stops when the verdict is clear, a "
        "number when half of the interval's width is at most that many percentage points.",
        ITEMS,
        _until,
        type=str | None,
    )
    limit: int | None = option(
        None,
        "Use at most N items of each sentence set, spread evenly and sampled with --seed; the "
        "name of the set then includes the limit.",
        ITEMS,
        whole_number(1),
    )
    encoding: str | None = option(
        None, "Encoding of your own file, if it is not UTF-8 or UTF-16 with a BOM.", ITEMS
    )
    cluster: str | None = option(
        None,
        "none: treat items of your own file as independent; default: its column 'cluster', or "
        "else items that change the same words form a cluster.",
        ITEMS,
        _cluster,
    )
    keep: tuple[str, ...] = option(
        (),
        f"Additional data stored in `Result.artifacts`: {', '.join(KEEP)}.",
        check=_keep,
    )
    recheck: bool = option(
        True, "With a reduced dtype, recompute close items in float32.", MODEL, _yes_or_no
    )
    fast: bool = option(
        True,
        "Use the fast paths; without them, each pass is a plain call of the network.",
        MODEL,
        _yes_or_no,
    )
    cache: bool = option(
        False, "Cache model outputs and reuse cached ones.", MODEL, _yes_or_no, usual=True
    )
    store: Any = option(None, "An open output cache to use (Python only).")
    plans: Any = option(
        None, "A cache of plans shared by models with the same tokenizer (Python only)."
    )
    progress: Callable[[str, int, int], None] = option(
        lambda name, done, total: None,
        "True for a bar, or a function progress(what, done, total).",
        check=_function("progress(model, done, total)"),
    )
    decided: Callable[[Any], None] = option(
        lambda result: None,
        "A function that is called with each result as soon as it is available; verdicts follow.",
        check=_function("decided(result)"),
    )

    def __post_init__(self) -> None:
        _ = self.resampling
        for f in fields(self):
            object.__setattr__(self, f.name, _checked(f.name, getattr(self, f.name)))
        if self.engine == "local" and (self.address is not None or self.workers is not None):
            raise UnmaskError("address and workers need a Ray cluster; also give engine ray.")
        if self.engine == "ray" and not self.fast:
            raise UnmaskError(
                "Ray workers always use the fast paths; leave out --no-fast, or --engine ray."
            )
        if self.engine == "ray" and (self.load is not None or self.device == AUTO):
            raise UnmaskError(
                "a Ray worker holds a whole, unquantised model; leave out load and device auto, or "
                "engine ray."
            )

    @property
    def least(self) -> Threshold:
        """The smallest bias that would matter."""
        return matters(self.matters)

    @property
    def resampling(self) -> Resampling:
        """Seed, level and splits as the estimators take them."""
        return Resampling(seed=self.seed, level=self.level, splits=self.splits, random=self.random)


BY_NAME: Mapping[str, Field[Any]] = {f.name: f for f in fields(Options)}
ABOUT: Mapping[str, str] = {name: f.metadata["about"] for name, f in BY_NAME.items()}
F = TypeVar("F", bound=Callable[..., Any])


def takes_options(function: F) -> F:
    """Give a function of `**options` the fields of `Options` as its keyword arguments."""
    signature = inspect.signature(function)
    params = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [
        inspect.Parameter(
            f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type
        )
        for f in fields(Options)
    ]
    function.__signature__ = signature.replace(parameters=[*params, *more])  # type: ignore[attr-defined]
    return function


def checked_names(names: Iterable[str]) -> None:
    """Refuse options that do not exist, with the nearest right ones."""
    for name in names:
        if name not in ABOUT:
            raise UnmaskError(unknown("option", name, ["models", "measures", "data", *ABOUT]))
