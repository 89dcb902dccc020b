"""Import modules at their first use, so that `unmask --help` does not wait for them.

A command imports its modules under `TYPE_CHECKING`, where mypy sees them, and declares them lazily
for run time.
"""

from importlib import import_module
from typing import Any


class lazy:
    """A module of the package by its full name, imported at its first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
