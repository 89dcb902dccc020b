"""The lab's status of a measure for a kind of model: does it find a bias that was planted?"""

from dataclasses import dataclass
from functools import cache

from unmask.answer.scales import scale_of
from unmask.data.packaged import published
from unmask.types import Result

WORDS = ("validated", "caution", "unclear", "untestable", "fails", "baseline")
UNTESTED = "untested"
VALIDATED, UNCLEAR, UNFIT = "validated", "unclear", "unfit"
TRUST = {"validated": VALIDATED, "untestable": UNFIT, "fails": UNFIT}
MARGIN = "mean margin"  # what the lab calls it
POOLS = {"word-first": "first piece", "word-last": "last piece", "mean": "whole sentence"}
# The clause for a rule of docs/lab.md that a measure missed, or that stayed open.
MISSED = {
    "detects the planted bias": "does not detect a planted bias",
    "few false alarms": "has too many false alarms",
    "no shift by frequency": "depends on how often a group is mentioned",
    "no shift on unbalanced items": "depends on how often a group is mentioned",
    "keeps its slope for a rare group": "misses the bias of a rare group",
}
OPEN = {
    "detects the planted bias": "may not detect a planted bias",
    "few false alarms": "its false alarm rate is unknown",
    "no shift by frequency": "may depend on how often a group is mentioned",
    "no shift on unbalanced items": "may depend on how often a group is mentioned",
    "keeps its slope for a rare group": "may miss the bias of a rare group",
}
CLAUSES = {
    "validated": "detects a planted bias at any group frequency",
    "untestable": "does not detect even the control in these models, so it cannot be judged",
    "baseline": "not meant to detect bias",
    UNTESTED: "the lab has not tested this measure on this kind of model",
}


@dataclass(frozen=True, slots=True)
class LabStatus:
    """A status, one of WORDS or untested, and a clause that gives the reason."""

    word: str
    clause: str

    @property
    def trust(self) -> str:
        """How far such evidence counts: validated, unclear or unfit."""
        return TRUST.get(self.word, UNCLEAR)

    def __str__(self) -> str:
        return f"{self.word}: {self.clause}"


def lab_status(measure: str, kind: str) -> LabStatus:
    """The status of a measure for a kind of model; without a kind, the one that all kinds share."""
    untested = LabStatus(UNTESTED, CLAUSES[UNTESTED])
    if kind:
        return _published().get((measure, kind), untested)
    statuses = list(by_kind(measure).values())
    return statuses[0] if len({s.word for s in statuses}) == 1 else untested


def by_kind(measure: str) -> dict[str, LabStatus]:
    """The status of a measure by kind of model, for the kinds that the lab has tested."""
    return {kind: s for (name, kind), s in _published().items() if name == measure}


def of_result(result: Result, choice: str = "") -> LabStatus:
    """The status of a result's measure for its kind of model and its design choices.

    The lab has tested one choice at a time; `choice` is one that the result does not record.
    """
    choices = [*_choices(result), *([choice] if choice else [])]
    if scale_of(result).share and not choices:  # its test is that of the mean margin
        margin = lab_status(f"{result.measure} ({MARGIN})", kind_of(result))
        if margin.word != UNTESTED:
            return margin
    name = f"{result.measure} ({', '.join(choices)})" if choices else result.measure
    return lab_status(name, kind_of(result))


def kind_of(result: Result) -> str:
    """The kind of a result's model; nothing where it is not known."""
    return str((result.provenance.get("model") or {}).get("kind", ""))


def _choices(result: Result) -> list[str]:
    """The choices of a result, as the lab calls them."""
    spec, names = result.spec, []
    if spec.pool is not None:
        names.append(POOLS.get(spec.pool, f"pool {spec.pool}"))
    if spec.layer is not None:
        names.append("no layer" if spec.layer == 0 else f"layer {spec.layer}")
    if spec.contexts is not None:
        names.append("natural contexts" if spec.contexts != "templates" else "templates")
    return names


@cache
def _published() -> dict[tuple[str, str], LabStatus]:
    statuses = {}
    for row in published("lab"):
        reasons = [MISSED[r] for r in row["missed"]] or [OPEN[r] for r in row["open"]]
        clause = CLAUSES.get(row["status"]) or "; ".join(dict.fromkeys(reasons))
        statuses[row["measure"], row["models"]] = LabStatus(row["status"], clause)
    return statuses


def rank(measure: str) -> int:
    """Sort key: the index in WORDS of a measure's best status over all kinds of models."""
    ranks = [WORDS.index(s.word) for s in by_kind(measure).values()]
    return min(ranks, default=len(WORDS))
