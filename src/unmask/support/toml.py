"""Read a TOML file; every mistake in it is one sentence."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unmask.errors import DataError
from unmask.support.registry import unknown


def read(path: Path, keys: Iterable[str], where: str) -> dict[str, Any]:
    """Return the content of a file that has only these keys; `where` says how to get one."""
    if not path.exists() or path.is_dir():
        raise DataError(f"there is no file {str(path)!r}; {where}.")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits
        raise DataError(f"{path} is not TOML ({error}); fix that line.") from error
    for name in content:
        check_key(str(path), name, keys)
    return content


def check_key(where: str, name: str, keys: Iterable[str]) -> None:
    """Refuse a key that is not one of `keys`, with the nearest right ones."""
    if name not in (allowed := [*keys]):
        raise DataError(f"{where}: {unknown('key', name, allowed)}")
