"""One scenario after another: how often an interval holds, a test rejects, and how wide it is."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Random = np.random.Generator
FEW = 10  # clusters below which nothing is concluded


class Draw(NamedTuple):
    """One repetition: the interval and the truth, p under a true null, the value, p otherwise."""

    low: float
    truth: float
    high: float
    p: float | None = None
    value: float = float("nan")
    found: float | None = None


class Row(NamedTuple):
    """One scenario, in per cent; `width` is over that of an interval with the variance known."""

    what: str
    scenario: str
    covers: float | None
    rejects: float | None
    power: float | None
    width: float | None
    enough: bool  # at least 10 clusters or 8 words per set


def of(e: Any, truth: float, null: bool) -> Draw:
    """A repetition from an estimate."""
    return Draw(e.low, truth, e.high, e.p if null else None, e.value, None if null else e.p)


def p_only(p: float, null: bool = True) -> Draw:
    """A repetition with a test and no interval."""
    nothing = float("nan")
    return Draw(nothing, 0.0, nothing, p if null else None, nothing, None if null else p)


def repeated(
    what: str, scenario: str, enough: bool, times: int, draw: Callable[[Random, int], Draw]
) -> Row:
    """A scenario drawn `times` times, seeded by its name."""
    rng = np.random.default_rng([len(what), *scenario.encode()])
    some = [Draw(*draw(rng, seed)) for seed in range(times)]
    known = [d for d in some if d.low == d.low]
    covers = [d.low - 1e-9 <= d.truth <= d.high + 1e-9 for d in known]
    values = [d.value for d in known if d.value == d.value]
    spread = float(np.std(values)) if values else 0.0
    wide = float(np.mean([d.high - d.low for d in known])) if known else 0.0
    return Row(
        what,
        scenario,
        100 * float(np.mean(covers)) if covers else None,
        _rejected([d.p for d in some]),
        _rejected([d.found for d in some]),
        wide / (2 * 1.96 * spread) if spread > 1e-9 else None,
        enough,
    )


def _rejected(p: list[float | None]) -> float | None:
    tests = [v for v in p if v is not None]
    return 100 * float(np.mean(np.array(tests) <= 0.05)) if tests else None
