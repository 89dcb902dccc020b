"""How results show themselves: by a module that the package names when it is imported.

Results are records of a lower floor than tables and figures. `unmask/__init__.py`, imported before
any other part, says where the views are; they are loaded when the first one is asked for.
"""

from collections.abc import Callable
from typing import Any


def _unset() -> Any:
    raise RuntimeError("unmask/__init__.py names the module of the views; this is a bug")


load: Callable[[], Any] = _unset
