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
# What is run where no measure is named, by the kind of model: what the lab finds sound comes first.
SUITES: dict[Kind, tuple[str, ...]] = {
    "masked": SUITE,
    "permutation": SUITE,
    "causal": ("trait", "cps", "cat", "odds", "w-seat"),
    "encoder": ("w-seat",),
    "elmo": ("w-seat",),
    "static": ("weat",),
}


def check_own_name(row: Measure) -> None:
    """Refuse a user's row under the name of one of ours, which its scores would be taken for."""
    if MEASURES.get(row.name, row) != row:
        raise UnmaskError(
            f"the name {row.name!r} belongs to a measure of unmask; give your measure another name."
        )


def find(measure: Any) -> Measure:
    """A measure by name, of ours or of an installed package; a row is taken as it is."""
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
