"""What would decide an inconclusive bias type: more words, items or templates."""

import math

from scipy.special import ndtr

from unmask.answer.evidence import Evidence
from unmask.answer.scales import SCALES, STRENGTHS, Scale
from unmask.stats.intervals import MIN_CLUSTERS
from unmask.stats.power import Needed, Pilot, pilot_of, words_needed

MOST_ADDED = 10_000  # words that somebody may be asked to add


def data_needed(main: Evidence, level: float) -> str:
    """Describe what would detect the next smaller size with 80 % power, at a corrected level."""
    if main.scale.paired:
        return _more_items(main, level)
    estimate, scale = main.estimate, main.scale
    if scale.is_factor:
        scale, estimate = SCALES["log-odds"], main.result.extras.get("effect_size", estimate)
    size = _next_size(scale, estimate.more.get("mde"))
    if size is None:
        return ""
    available = min(estimate.more.get("words") or [0])
    missing = words_needed(size[0], estimate.more.get("ratio", 1.0), level=level) - available
    words = _count(missing, "word")
    return f"add about {words} per set to detect a {size[1]} bias" if missing > 0 else ""


def _next_size(scale: Scale, mde: float | None) -> tuple[float, str] | None:
    """The largest of the conventional sizes that could not be detected."""
    sizes = zip(scale.sizes, STRENGTHS[1:], strict=True)
    smaller = [(size, name) for size, name in sizes if mde is not None and size < mde]
    return smaller[-1] if smaller else None


def _more_items(main: Evidence, level: float) -> str:
    margin = main.tested
    scale = main.scale if main.scale.is_factor else SCALES["preference"]
    pilot, size = pilot_of(margin), _next_size(scale, margin.more.get("mde"))
    if pilot is not None and size is None:
        return _to_decide(main, pilot.n_words)
    if pilot is None or size is None:
        return ""
    points = size[0] if scale.share else 100 * float(ndtr(size[0] / margin.more["spread"])) - 50
    unit = "item" if main.result.settings.get("cluster") in ("item", "none") else "word"
    addition = cheapest_addition(pilot, pilot.needed(points, level=level), unit)
    return f"add about {addition} to detect a {size[1]} bias" if addition else ""


def cheapest_addition(pilot: Pilot, needed: Needed, unit: str) -> str:
    """What to add to a pilot's items: words, templates or both, whichever makes the fewest items.

    `needed` is what `Pilot.needed` returns. Empty if nothing is missing, or nothing helps.
    """
    words, templates, both = needed
    n_words, n_templates = pilot.n_words, pilot.n_templates
    words = None if words is None else max(words, MIN_CLUSTERS)  # fewer show nothing
    ways = []  # the number of items that each way makes, and how to say it
    if words is not None and words > n_words:
        ways.append((words * n_templates, _count(words - n_words, unit)))
    if templates is not None and templates > n_templates:
        ways.append((n_words * templates, _count(templates - n_templates, "template")))
    if both is not None and both[0] > n_words and both[1] > n_templates:
        added = _count(both[1] - n_templates, "template")
        ways.append((both[0] * both[1], f"{_count(both[0] - n_words, unit)} and {added}"))
    return min(ways)[1] if ways else ""


def _to_decide(main: Evidence, words: int) -> str:
    """Describe how many more words would decide a bias near the smallest one that matters."""
    estimate, matters, bias = main.estimate, main.matters, abs(main.bias)
    low, high = estimate.more.get("inner") or (estimate.low, estimate.high)
    ways = [(estimate.high - estimate.low) / 2 / bias] if bias else []
    ways += [(high - low) / 2 / (matters - bias)] if bias < matters else []
    missing = math.ceil(words * (min(ways, default=0.0) ** 2 - 1))
    return f"add about {_count(missing, 'word')} to decide" if 0 < missing < MOST_ADDED else ""


def _count(count: int, unit: str) -> str:
    return f"{count} {unit}{'s' if count > 1 else ''}"
