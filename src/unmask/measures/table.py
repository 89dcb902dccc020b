"""All measures by name: the two tables, and those that installed packages offer."""

from typing import Any, TypeAlias

from unmask.errors import UnmaskError
from unmask.measures.association import Association
from unmask.measures.association_rows import ASSOCIATION
from unmask.measures.likelihood import Likelihood
from unmask.measures.likelihood_rows import LIKELIHOOD
from unmask.support.plugins import EntryPoints
from unmask.support.registry import Registry
from unmask.types import Kind

Measure: TypeAlias = Likelihood | Association
MEASURES: Registry[Measure] = Registry("measure", [*LIKELIHOOD.items(), *ASSOCIATION.items()])
ENTRY_POINTS = EntryPoints("unmask.measures")
SUITE = ("trait", "cps", "cat", "odds", "pmi", "w-seat")
# The default measures by kind of model; those that the lab validated come first.
SUITES: dict[Kind, tuple[str, ...]] = {
    "masked": SUITE,
    "permutation": SUITE,
    "causal": ("trait", "cps", "cat", "odds", "w-seat"),
    "encoder": ("w-seat",),
    "elmo": ("w-seat",),
    "static": ("weat",),
}


def check_own_name(row: Measure) -> None:
    """Refuse a user's row with the name of a built-in measure, to avoid confusion."""
    if MEASURES.get(row.name, row) != row:
        raise UnmaskError(
            f"the name {row.name!r} belongs to a measure of unmask; give your measure another name."
        )


def find(measure: Any) -> Measure:
    """Return a measure by name, built-in or from a package; a row is returned unchanged."""
    if isinstance(measure, Likelihood | Association):
        return measure
    name = str(measure)
    if name in MEASURES or name not in ENTRY_POINTS:
        return MEASURES.among(name, ENTRY_POINTS)
    row = ENTRY_POINTS.load(name)
    if not isinstance(row, Likelihood | Association):
        raise UnmaskError(
            f"the measure {name!r} of the package {ENTRY_POINTS.package(name)!r} is a "
            f"{type(row).__name__}; it must be a Likelihood or an Association."
        )
    if row.name != name:
        raise UnmaskError(
            f"the measure {name!r} of the package {ENTRY_POINTS.package(name)!r} calls itself "
            f"{row.name!r}; a measure and its entry point must have the same name."
        )
    return row
