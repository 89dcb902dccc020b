"""What to measure and how: `Spec`, `Options`, `Resampling`. Each checks itself."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from unmask.errors import UnmaskError
from unmask.support.registry import unknown

DTYPES = ("float32", "tf32", "float64", "bfloat16", "float16")
POOLS: Mapping[str, str] = {
    "cls": "the [CLS] token's state (BERT's stands first, XLNet's last)",
    "last": "the last token's state",
    "mean": "the mean over all tokens that are not special",
    "mean-all": "the mean over all tokens, specials among them",
    "first": "the first token's state, whatever it is",
    "word-mean": "the mean over the word's pieces",
    "word-first": "the word's first piece",
    "word-last": "the word's last piece",
    "after-word": "the place behind the word's first piece",
}
KEEP = ("tokens", "samples", "sentences")
RANDOM = ("targets", "attributes")
DECIDED = "decided"
FAMILIES = ("run", "row")
ENGINES = ("local", "ray")
LOADS = ("8bit", "4bit")
AUTO = "auto"


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
        _whole("draws", self.draws, 1)
        _whole("seed", self.seed, 0)
        _whole("splits", self.splits, 0)
        if not isinstance(self.level, int | float) or not 0 < self.level < 1:
            raise UnmaskError(
                f"level is {self.level!r}; give the share of intervals that should hold the true "
                "value, between 0 and 1, such as 0.95."
            )

    @property
    def tail(self) -> float:
        """The probability left out on each side of an interval."""
        return (1 - self.level) / 2


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest bias that would matter: in points of a preference score, in d, in odds.

    3 points: 53 of 100 pairs. 0.2: Cohen's small effect. Odds of 1.1: a tenth more. All are a
    convention, not a finding: say what matters in your use.
    """

    points: float = 3.0
    d: float = 0.2
    odds: float = 1.1

    def __post_init__(self) -> None:
        for name, fewest, most in (("points", 0, 50), ("d", 0, 2), ("odds", 1, 100)):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not fewest < value < most
            ):
                raise UnmaskError(
                    f"{value!r} {name} cannot be what matters; give a number between {fewest} and "
                    f"{most}."
                )

    def of(self, compared: str) -> float:
        """What matters, in the unit in which an estimate is kept: odds as a logarithm."""
        if compared == "odds":
            return math.log(self.odds)
        return self.points if compared == "preference" else self.d


def amounts(text: str, what: str = "matters") -> dict[str, float]:
    """`3`, `3points`, `0.2d` or `1.1x`, or several with commas, by unit.

    A bare number is in points; x are times the odds.
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
                f"{what} is {text!r}; give points, an effect size or times the odds, such as 3 or "
                "0.2d or 1.1x or 3,0.2d,1.1x."
            )
        unit = {"d": "d", "x": "odds"}.get(match[2], "points")
        if unit in by_unit:
            raise UnmaskError(f"{what} is {text!r}, which gives {unit} twice; give one of each.")
        by_unit[unit] = value
    return by_unit


def matters(given: Any) -> Threshold:
    """What matters, from a record, a number of points or a text such as `3,0.2d`."""
    return given if isinstance(given, Threshold) else Threshold(**amounts(given))


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
    stand for the measure's own where they are given. `tags` are the columns that a study reads
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
        _association_choices(self.pool, self.layer, self.samples)

    @property
    def title(self) -> str:
        """Measure and data in words, for notes."""
        return f"{named(self.measure)} on {named(self.data)}"

    @property
    def key(self) -> tuple[str, ...]:
        """Measure, data and all that was chosen: what tells results of one model apart."""
        tags = sorted((k, v) for k, v in self.tags.items() if k != "model")
        chosen = (self.pool, self.layer, self.contexts, self.samples, *tags)
        return (named(self.measure), named(self.data), *map(str, chosen))

    @property
    def comparable(self) -> tuple[str, ...]:
        """The key without a limit of items: such results have items in common."""
        measure, data, *chosen = self.key
        return (measure, _LIMITED.sub("", data), *chosen)

    def in_names(self) -> "Spec":
        """The same with names for objects, as a result keeps it."""
        return replace(
            self,
            model=named(self.model),
            measure=named(self.measure),
            data=named(self.data),
            contexts=None if self.contexts is None else named(self.contexts),
        )


def named(thing: Any) -> str:
    """The name of a thing that may be given by name."""
    return str(getattr(thing, "name", thing))


MOST_SAMPLES = 10_000_000  # of CEAT; each is a row of scores of all words
INDEPENDENT = "none"  # of a user's items that do not hang together
ABOUT: Mapping[str, str] = {
    "seed": "Seed of resampling, permutation and shuffling; one seed, the same numbers.",
    "level": "Level of the intervals, such as 0.95.",
    "dtype": f"Precision of the model: {', '.join(DTYPES)}.",
    "device": "Where the model runs: cpu, cuda, cuda:1, or auto (all GPUs and the CPU).",
    "load": "Load a large model in 8bit or 4bit (bitsandbytes).",
    "engine": "Where batches run: local, or ray (the workers of a Ray cluster).",
    "address": "Ray address; default: start one locally.",
    "workers": "Ray workers that hold a model; default: one for each GPU, or for two CPUs.",
    "tokens": "Tokens in one forward pass: a number, or auto (what the device runs well).",
    "pool": f"Vector of an association measure: {', '.join(POOLS)}; default: the measure's own.",
    "layer": "Layer of word vectors: from the embeddings (0) or from the end (-1, the default).",
    "contexts": "Contexts of words: bare, templates, or a file or folder of sentences.",
    "samples": "Samples that CEAT draws; default: the measure's own number.",
    "splits": "Random splits of a permutation test; 0 for no test.",
    "random": "Words of a word test that count as a sample: targets, or attributes too.",
    "matters": "Smallest bias that matters: in points, d or times the odds, such as 3,0.2d,1.1x.",
    "family": "Tests that verdicts are corrected over: all of a run, or only those of a row (a "
    "score's categories, a measure's word tests).",
    "exclude_flagged": "Also run each set without the items that have visible defects.",
    "exclude": "Table with a column 'item': the ids of items to leave out.",
    "until": "Ask items in random order and stop early: decided (the verdict is clear), or a "
    "number (the interval reaches at most so many points to each side).",
    "limit": "Use at most N items of each sentence set, evenly spread, drawn by the seed; the "
    "set's name says so.",
    "encoding": "Encoding of your own file, where it is not UTF-8 or marked UTF-16.",
    "cluster": "none: items of your own file are independent; default: its column 'cluster', else "
    "items that change the same words belong together.",
    "keep": f"What results keep besides items, in `Result.kept`: {', '.join(KEEP)}.",
    "recheck": "With a reduced dtype, decide close items again in float32.",
    "fast": "Use the fast paths; without them each pass is a plain call of the network.",
    "cache": "Keep the model's answers for later runs, and reuse those kept.",
    "store": "An open answer cache to use, for programs that hold one.",
    "plans": "Plans that models with one tokenizer share, for programs that hold some.",
    "progress": "True for a bar, or a function progress(what, done, total).",
    "decided": "A function of each result as it comes; its verdict follows at the end.",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: the keyword arguments of `unmask.run`; `ABOUT` says what each field is."""

    seed: int = 0
    level: float = 0.95
    dtype: str = "float32"
    device: str | None = None
    load: str | None = None
    engine: str = "local"
    address: str | None = None
    workers: int | None = None
    tokens: int | str = AUTO
    pool: str | None = None
    layer: int | None = None
    contexts: str | None = None
    samples: int | None = None
    splits: int = 100_000
    random: str = "targets"
    matters: Threshold | str | float = field(default_factory=Threshold)
    family: str = "run"
    exclude_flagged: bool = False
    exclude: Path | str | None = None
    until: str | float | None = None
    limit: int | None = None
    encoding: str | None = None
    cluster: str | None = None
    keep: tuple[str, ...] = ()
    recheck: bool = True
    fast: bool = True
    cache: bool = False
    store: Any = None
    plans: Any = None
    progress: Callable[[str, int, int], None] = lambda what, done, total: None
    decided: Callable[[Any], None] = lambda result: None

    def __post_init__(self) -> None:
        _ = self.resampling
        object.__setattr__(self, "matters", matters(self.matters))
        if self.tokens != AUTO:
            _whole("tokens", self.tokens, 1)
        _one_of("family", self.family, FAMILIES)
        if self.until is not None:
            object.__setattr__(self, "until", _until(self.until))
        _one_of("engine", self.engine, ENGINES)
        if self.load is not None:
            _one_of("load", self.load, LOADS)
        if self.workers is not None:
            _whole("workers", self.workers, 1)
        if self.engine == "local" and (self.address is not None or self.workers is not None):
            raise UnmaskError("address and workers are of a Ray cluster; give engine ray too.")
        for name in ("fast", "cache", "recheck", "exclude_flagged"):
            if not isinstance(getattr(self, name), bool):
                raise UnmaskError(f"{name} is {getattr(self, name)!r}; give True or False.")
        if self.engine == "ray" and not self.fast:
            raise UnmaskError(
                "workers of a Ray cluster use the fast paths; leave out --no-fast, or --engine ray."
            )
        if self.engine == "ray" and (self.load is not None or self.device == AUTO):
            raise UnmaskError(
                "a worker of a Ray cluster holds a whole model as it is; leave out load and device "
                "auto, or engine ray."
            )
        if self.limit is not None:
            _whole("limit", self.limit, 1)
        if self.cluster not in (None, INDEPENDENT):
            raise UnmaskError(
                f"cluster is {self.cluster!r}; give {INDEPENDENT!r}, or leave it out and put a "
                "column 'cluster' into your file."
            )
        _association_choices(self.pool, self.layer, self.samples)
        _one_of("dtype", self.dtype, DTYPES)
        if isinstance(self.keep, str) or not isinstance(self.keep, tuple | list):
            raise UnmaskError(f"keep is {self.keep!r}; give a tuple of {', '.join(KEEP)}.")
        for name in self.keep:
            _one_of("keep", name, KEEP)
        if not callable(self.progress):
            raise UnmaskError("progress is not a function; give progress(model, done, total).")
        if not callable(self.decided):
            raise UnmaskError("decided is not a function; give decided(result).")

    @property
    def least(self) -> Threshold:
        """The smallest bias that would matter."""
        return matters(self.matters)

    @property
    def resampling(self) -> Resampling:
        """Seed, level and splits as the estimators take them."""
        return Resampling(seed=self.seed, level=self.level, splits=self.splits, random=self.random)


class OptionArguments(TypedDict, total=False):
    """The keyword arguments of `run` and `evaluate`: the fields of `Options`.

    `progress` may also be True, which shows a bar.
    """

    seed: int
    level: float
    dtype: str
    device: str | None
    load: str | None
    engine: str
    address: str | None
    workers: int | None
    tokens: int | str
    pool: str | None
    layer: int | None
    contexts: Any
    samples: int | None
    splits: int
    random: str
    matters: Threshold | str | float
    family: str
    exclude_flagged: bool
    exclude: Path | str | None
    until: str | float | None
    limit: int | None
    encoding: str | None
    cluster: str | None
    keep: tuple[str, ...]
    recheck: bool
    fast: bool
    cache: bool
    store: Any
    plans: Any
    progress: Callable[[str, int, int], None] | bool | None
    decided: Callable[[Any], None]


def checked_names(given: Iterable[str]) -> None:
    """Refuse options that there are not, with the nearest right ones."""
    names = list(OptionArguments.__annotations__)
    for name in given:
        if name not in names:
            raise UnmaskError(unknown("option", name, ["models", "measures", "data", *names]))


def _association_choices(pool: Any, layer: Any, samples: Any) -> None:
    if pool is not None:
        _one_of("pool", pool, POOLS)
    if layer is not None:
        _whole("layer", layer, -math.inf)
    if samples is not None:
        _whole("samples", samples, 2)
        if samples > MOST_SAMPLES:
            raise UnmaskError(f"samples is too large; at most {MOST_SAMPLES:,} are drawn.")


def _until(given: Any) -> str | float:
    """`decided`, or the half-width in points at which a run may stop."""
    if given == DECIDED:
        return DECIDED
    try:
        points = float(given)
    except (TypeError, ValueError):
        points = math.nan
    if isinstance(given, bool) or not 0 < points < 50:
        raise UnmaskError(
            f"until is {given!r}; give {DECIDED!r}, or a number of points between 0 and 50."
        )
    return points


def _one_of(what: str, value: Any, allowed: Any) -> None:
    if value not in allowed:
        raise UnmaskError(unknown(what, str(value), allowed))


def _whole(what: str, value: Any, least: float) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise UnmaskError(f"{what} is {value!r}; give a whole number{bound}.")
