"""What a loop over a model's specs gives at a time: results that can be made now."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from unmask.types import Result


def nothing() -> None:
    """Nothing is at work."""


class Step(NamedTuple):
    """Results that can be made now, by the place of their spec.

    `tend` keeps a device at work; call it now and then. `busy` says that it has more to begin for
    the same model; where it has not, it can go on with another one before these results are made.
    """

    makers: Mapping[int, Callable[[], Result]]
    tend: Callable[[], None] = nothing
    busy: bool = False
