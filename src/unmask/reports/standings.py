"""How a measure stands in the lab, where a known bias was planted, for a kind of model."""

from dataclasses import dataclass
from functools import cache

from unmask.data.packaged import published
from unmask.types import Result

WORDS = ("sound", "with care", "cannot tell", "not testable", "fails", "baseline")
UNTESTED = "untested"
MARGIN = "mean margin"  # what the lab calls it
POOLS = {"word-first": "first piece", "word-last": "last piece", "mean": "whole sentence"}
# What it means in a clause where a rule of docs/lab.md was missed, or was left open.
MISSED = {
    "reads the planted bias": "does not find a planted bias",
    "false alarms as promised": "finds a bias where there is none too often",
    "no shift by frequency": "moves with how often a group is spoken of",
    "no shift on unbalanced items": "moves with how often a group is spoken of",
    "keeps its slope for a rare group": "loses the bias where a group is rare",
}
OPEN = {
    "reads the planted bias": "may not find a planted bias",
    "false alarms as promised": "false alarms are not known",
    "no shift by frequency": "may move with how often a group is spoken of",
    "no shift on unbalanced items": "may move with how often a group is spoken of",
    "keeps its slope for a rare group": "may lose the bias where a group is rare",
}
CLAUSES = {
    "sound": "finds a planted bias, whatever the groups' frequency",
    "not testable": "it does not find the planted bias in such models, and mostly not a strong "
    "control either",
    "baseline": "not meant to find a bias",
    UNTESTED: "the lab has no such models, or not this measure",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """One of WORDS, or untested, and a clause why."""

    word: str
    clause: str

    @property
    def short(self) -> str:
        """The word, as tables have it: there a verdict may be "cannot tell", on the model."""
        return "unsettled" if self.word == "cannot tell" else self.word

    def __str__(self) -> str:
        return f"{self.short}: {self.clause}"


def standing(measure: str, kind: str) -> Standing:
    """How a measure stands for a kind of model."""
    return _known().get((measure, kind), Standing(UNTESTED, CLAUSES[UNTESTED]))


def standings(measure: str) -> dict[str, Standing]:
    """How a measure stands, by the kinds of model that the lab has of it."""
    return {kind: s for (name, kind), s in _known().items() if name == measure}


def of_result(result: Result, choice: str = "") -> Standing:
    """How the measure of a result stands for the kind of its model, with the choices made for it.

    The lab has looked at one choice at a time; `choice` is another one than the result's.
    """
    choices = [*_choices(result), *([choice] if choice else [])]
    name = f"{result.measure} ({', '.join(choices)})" if choices else result.measure
    return standing(name, kind_of(result))


def kind_of(result: Result) -> str:
    """The kind of a result's model; nothing where it is not known."""
    return str((result.provenance.get("model") or {}).get("kind", ""))


def _choices(result: Result) -> list[str]:
    """The choices of a result, as the lab calls them."""
    spec, out = result.spec, []
    if spec.pool is not None:
        out.append(POOLS.get(spec.pool, f"pool {spec.pool}"))
    if spec.layer is not None:
        out.append("no layer" if spec.layer == 0 else f"layer {spec.layer}")
    if spec.contexts is not None:
        out.append("natural contexts" if spec.contexts != "templates" else "templates")
    return out


@cache
def _known() -> dict[tuple[str, str], Standing]:
    out = {}
    for s in published("lab"):
        why = [MISSED[r] for r in s["missed"]] or [OPEN[r] for r in s["open"]]
        clause = CLAUSES.get(s["verdict"]) or "; ".join(dict.fromkeys(why))
        out[s["measure"], s["models"]] = Standing(s["verdict"], clause)
    return out


def rank(measure: str) -> int:
    """For sorting: the best standing that a measure has for any kind of model, as a number."""
    known = [WORDS.index(s.word) for s in standings(measure).values()]
    return min(known, default=len(WORDS))
