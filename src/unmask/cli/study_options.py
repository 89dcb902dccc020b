"""Helpers that the study commands share: their options, and their models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unmask import options
from unmask.cli.options import split, token_budget
from unmask.flow import loading


def study_options(
    values: Mapping[str, Any], progress: Callable[[str, int, int], None]
) -> "options.Options":
    """The options of a study, from the flags of its command."""
    tokens = token_budget(values["tokens"])
    return options.Options(**{**values, "tokens": tokens, "progress": progress})


def named_models(option: Sequence[str] | None, argument: Sequence[str] | None) -> list[str]:
    """Return the models given as an option or as arguments; an unknown one fails at once."""
    names = split([*(option or ()), *(argument or ())] or None, ("bundled",))
    loading.look_up(names)
    return names
