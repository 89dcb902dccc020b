"""The views of results (tables, figures, formats), loaded on first use.

Results are defined in a lower layer than tables and figures. `unmask/__init__.py`, which is
imported before any other part, sets `load` to the function that imports the views.
"""

from collections.abc import Callable
from typing import Any


def _unset() -> Any:
    raise RuntimeError("unmask/__init__.py names the module of the views; this is a bug")


load: Callable[[], Any] = _unset
