"""Rules of a gate, as records and as a TOML file."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from unmask.errors import DataError, UnmaskError
from unmask.options import Threshold, amounts
from unmask.support import toml
from unmask.support.registry import unknown

CHECKS = ("nothing_found", "at_most", "no_worse_by")
FILTERS = ("bias_type", "measure", "data", "category")
ALLOWED = {
    "by": ("bias_type", "score"),
    "trust": ("validated", "any"),
    "inconclusive": ("stop", "pass", "fail"),
}
KEYS = ("rule", "baseline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One requirement, for what its filters name (for everything, where they name nothing).

    A rule has one check. `nothing_found`: no bias type is biased. `at_most`: no bias is larger (`5`
    percentage points from 50, `0.3d`, a factor of `1.5x`, or several with commas).
    `no_worse_by`: none is larger than the baseline's by that much (a test of non-inferiority).
    The last two look at bias types, or `by` "score" at each measure's score on a data set.
    `trust` "any" also takes measures that the lab has not validated. `inconclusive` says what
    follows where neither can be shown: "stop" (exit status 3), "pass" or "fail". A rule cannot pass
    where more than `max_unscored` per cent of the items of a data set, or of a category, have no
    score.
    """

    nothing_found: bool = False
    at_most: str = ""
    no_worse_by: str = ""
    name: str = ""
    bias_type: tuple[str, ...] = ()
    measure: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    by: str = "bias_type"
    trust: str = "validated"
    inconclusive: str = "stop"
    max_unscored: float = 5.0

    def __post_init__(self) -> None:
        self._check_choice()
        for name in FILTERS:
            value = getattr(self, name)
            value = (value,) if isinstance(value, str) else value
            if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
                raise UnmaskError(f"{name} is {value!r:.60}; give a name, or a list of names.")
            object.__setattr__(self, name, tuple(value))
        for name, allowed in ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise UnmaskError(unknown(name, str(getattr(self, name)), allowed))
        if self.by == "score" and (self.bias_type or self.category or self.nothing_found):
            raise UnmaskError(
                "a rule with by = 'score' checks at_most or no_worse_by for measures and data; "
                "leave out bias_type, category and nothing_found."
            )
        most = self.max_unscored
        if isinstance(most, bool) or not isinstance(most, int | float) or not 0 <= most <= 100:
            raise UnmaskError(f"max_unscored is {most!r:.60}; give a percentage from 0 to 100.")
        if not isinstance(self.name, str):
            raise UnmaskError(f"name is {self.name!r:.60}; give a string.")
        object.__setattr__(self, "name", self.name or self._named())

    def _check_choice(self) -> None:
        checks = [c for c in CHECKS if getattr(self, c) not in (False, "", None)]
        if len(checks) != 1:
            has = " and ".join(checks) or "none"
            raise UnmaskError(f"a rule needs exactly one of {', '.join(CHECKS)}; it has {has}.")
        if not isinstance(self.nothing_found, bool):
            raise UnmaskError(f"nothing_found is {self.nothing_found!r:.60}; give true.")
        for name in CHECKS[1:]:
            value = getattr(self, name)
            if isinstance(value, bool):
                raise UnmaskError(f"{name} is {value}; give a number, such as 5 or 0.3d or 1.5x.")
            object.__setattr__(self, name, str(value))
            if str(value):
                self.limits(name)

    def limits(self, name: str = "") -> dict[str, float]:
        """The limit or margin by unit, odds as a logarithm."""
        text = getattr(self, name or self.check)
        by_unit = amounts(text, name or self.check)
        limits = Threshold(**by_unit).held()
        return {unit: limits[unit] for unit in by_unit}

    @property
    def check(self) -> str:
        """Which of the checks it has."""
        return next(c for c in CHECKS if getattr(self, c))

    def _named(self) -> str:
        about = [", ".join(getattr(self, f)) for f in FILTERS if getattr(self, f)]
        fields_named = {
            "nothing_found": "no bias found",
            "at_most": f"bias of at most {self.at_most}",
            "no_worse_by": f"at most {self.no_worse_by} further from fair than the baseline, in "
            "either direction",
        }[self.check]
        over = ", in overall scores" if self.by == "score" else ""
        return f"{'; '.join(about)}: {fields_named}{over}" if about else f"{fields_named}{over}"


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a gate, and the folder of its baseline where the file names one."""

    rules: tuple[Rule, ...]
    baseline: Path | None = None


USUAL = Rule(at_most="10,0.5d,1.5x", name="no bias type has more than a small bias")
USUAL_BASELINE = Rule(no_worse_by="5,0.2d,1.2x")


def read(path: Path) -> Rules:
    """Read rules from a TOML file; any mistake in it raises one sentence."""
    content = toml.read(path, KEYS, "docs/gate.md shows one")
    tables = content.get("rule")
    if not isinstance(tables, list) or not tables:
        raise DataError(f"{path} has no rule; give at least one table [[rule]].")
    baseline = content.get("baseline")
    if baseline is not None and not isinstance(baseline, str):
        raise DataError(f"{path}: baseline is {baseline!r:.60}; give a folder of results.")
    rules = tuple(_rule(r, f"{path}, rule {n}") for n, r in enumerate(tables, 1))
    return Rules(rules, None if baseline is None else path.parent / baseline)


def _rule(table: Any, where: str) -> Rule:
    if not isinstance(table, Mapping):
        raise DataError(f"{where} is {table!r:.60}; give a table [[rule]].")
    for name in table:
        toml.check_key(where, name, [f.name for f in fields(Rule)])
    try:
        return Rule(**table)
    except UnmaskError as error:
        raise DataError(f"{where}: {error}") from error
