"""Measures, data and models of other packages, found through their entry points."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from unmask.errors import UnmaskError


class EntryPoints(Iterable[str]):
    """The entry points that installed packages declare in a group, loaded on demand.

    The name of an entry point is the name that users give.
    """

    def __init__(self, group: str) -> None:
        self._group = group

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        try:
            return {p.name: p for p in entry_points(group=self._group)}
        except Exception:  # what an installed package declares may be malformed
            return {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __contains__(self, name: object) -> bool:
        return name in self._points

    def package(self, name: str) -> str:
        """The package that offers a name."""
        distribution = self._points[name].dist
        return distribution.name if distribution else "?"

    def load(self, name: str) -> Any:
        """The object behind a name; whatever goes wrong in the package is one sentence."""
        try:
            return self._points[name].load()
        except (Exception, SystemExit) as error:  # a package of others may fail in any way
            raise UnmaskError(
                f"{name!r} of the package {self.package(name)!r} cannot be loaded "
                f"({type(error).__name__}: {error}); fix or remove that package."
            ) from error
