"""Modules that are imported when they are first used, so that `unmask --help` waits for none."""

import importlib.util
import sys
from types import ModuleType


def later(name: str) -> ModuleType:
    """A module of the package by its full name, imported at its first use."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
