"""Does a measure fit the data and the model? Decided here, once, for every caller."""

from collections.abc import Iterable, Sequence

from unmask.data.catalogue import Data, shape
from unmask.errors import DataError, NotApplicable
from unmask.measures import MEASURES, Association, Likelihood, Measure
from unmask.models.protocol import Model
from unmask.support.registry import choice
from unmask.types import Dataset, Kind


def takes(measure: Measure, data: Data) -> bool:
    """Whether a measure takes data of this shape."""
    return shape(data) in measure.shapes


def meant_for(measure: Measure, data: Data) -> bool:
    """Whether a measure is run on some data unless both are named.

    Sentences with marked traits are only for measures that query the trait, and these measures are
    for no other data. Any other measure would run thousands of sentences one by one.
    """
    asks = isinstance(measure, Likelihood) and "trait" in measure.needs
    marked = isinstance(data, Dataset) and any(
        "trait" in t.spans for t in data.items[0].texts.values()
    )
    return asks == marked


def fitting(measure: Measure, candidates: Iterable[Data]) -> list[Data]:
    """The data behind a name that a measure takes; none is an error."""
    datasets = list(candidates)
    accepted = [d for d in datasets if takes(measure, d)]
    if not accepted:
        raise NotApplicable(_wrong_shape(measure, datasets))
    return accepted


def check_fit(measure: Measure, data: Data, model: Model) -> None:
    """Refuse a measure on a model or on data that it does not fit; names those that do."""
    can = model.abilities
    if model.kind not in measure.kinds:
        raise NotApplicable(_wrong_kind(measure, model.kind))
    if not takes(measure, data):
        raise NotApplicable(_wrong_shape(measure, [data]))
    if isinstance(measure, Association) and not can.pools:
        raise NotApplicable(f"{measure.name!r} needs word vectors; {model.name!r} has none.")
    if isinstance(measure, Likelihood) and measure.stream not in can.streams:
        provided = choice(can.streams) if can.streams else "none"
        raise NotApplicable(
            f"{measure.name!r} needs the output {measure.stream!r}, which {model.name!r} does "
            f"not provide (it provides {provided})."
        )
    if isinstance(data, Dataset) and len({item.id for item in data.items}) < len(data.items):
        raise DataError(f"{data.name!r} has two items with the same id; make the ids unique.")


def _wrong_shape(measure: Measure, sets: Sequence[Data]) -> str:
    shapes = dict.fromkeys(map(shape, sets))
    suitable = [m.name for m in MEASURES.values() if {*m.shapes} & {*shapes}]
    names = ", ".join(dict.fromkeys(repr(d.name) for d in sets))
    return (
        f"{measure.name!r} needs {' or '.join(measure.shapes)}, not {' and '.join(shapes)} "
        f"({names}); measures that fit: {', '.join(suitable)}."
    )


def _wrong_kind(measure: Measure, kind: Kind) -> str:
    suitable = [m.name for m in MEASURES.values() if m.family == measure.family and kind in m.kinds]
    if measure.family == "association":
        return (
            f"{measure.name!r} does not apply to {kind} vectors; measures that do: "
            f"{', '.join(suitable)}."
        )
    if not suitable:
        return (
            f"{measure.name!r} needs a language-modelling head, which {kind} models lack; use an "
            "association measure such as 'w-seat'."
        )
    return (
        f"{measure.name!r} does not apply to a {kind} language model (it needs "
        f"{choice(measure.kinds)}); measures that do: {', '.join(suitable)}."
    )
