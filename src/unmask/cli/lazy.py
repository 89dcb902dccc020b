"""Modules that are imported when they are first used, so that `unmask --help` waits for none.

A command imports its modules under `TYPE_CHECKING`, where mypy sees them, and names them here for
the time when it runs.
"""

from importlib import import_module
from typing import Any


class lazy:
    """A module of the package by its full name, imported at its first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
