"""Import the package's modules at their first use, so that `unmask --help` does not wait for them.

Importing pandas, scipy and the rest takes seconds, and most commands need only some of it.
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_LOCK = threading.RLock()


class _LazyModule(ModuleType):
    """A module that is executed when one of its names is first used.

    `importlib.util.LazyLoader` also executes it when its `__file__` is looked at, as `inspect`
    does with every module there is.
    """

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            with _LOCK:
                loader = self.__dict__.pop("_pending", None)
                if loader is not None:
                    loader.exec_module(self)
                if name in self.__dict__:
                    return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _LazyLoader(Loader):
    """Make the module of a loader, and leave its execution for later."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LazyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        module.__dict__["_pending"] = self._loader


class _LazyFinder(MetaPathFinder):
    """Find modules of the package."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name.startswith("unmask.") else None
        if spec is not None and spec.loader is not None:
            spec.loader = _LazyLoader(spec.loader)
        return spec


@contextmanager
def lazy_imports() -> Iterator[None]:
    """Within this context, `from unmask.part import module` executes nothing yet."""
    finder = _LazyFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
