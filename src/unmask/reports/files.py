"""Write files that appear only when complete, and never through a link."""

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from unmask.errors import DataError
from unmask.support.printable import one_line

Frame: TypeAlias = pd.DataFrame
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FINISHED = ("results.json", "report.html", "comparison.csv")  # a folder with one of them is done


@contextmanager
def target(
    output: Path | None, usual: Path, *, force: bool = False, timed: str = ""
) -> Iterator[Path]:
    """Provide the folder for results, and remove it again if it stays empty.

    A finished folder is refused unless `force`. Without `output` the next free name is used; with
    `timed` a folder named by the time, inside `usual`.
    """
    folder = output or usual
    before = [f for f in (folder, *folder.parents) if not f.exists()]
    if output is not None or (force and not timed):
        _free(folder, force)
        make_folder(folder)
    else:
        folder = new_folder(folder, timed) if timed else _next(folder)
        before = list(dict.fromkeys([folder, *before]))
    try:
        yield folder
    finally:
        for empty in before:
            with suppress(OSError):  # it holds something
                empty.rmdir()


def _free(folder: Path, force: bool) -> None:
    done = [name for name in _FINISHED if (folder / name).exists()]
    if done and not force:
        raise DataError(
            f"{str(folder)!r} already contains results ({done[0]}); name another folder with -o, "
            "or overwrite them with --force."
        )


def _next(folder: Path) -> Path:
    """Return the first of NAME, NAME-2, ... that is not finished: a killed study resumes."""
    for number in itertools.count(1):
        place = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        if not any((place / name).exists() for name in _FINISHED):
            return make_folder(place)
    raise AssertionError


def new_folder(parent: Path, form: str) -> Path:
    """Create a new folder named by the time; if the name is taken, a number is added."""
    make_folder(parent)
    name = datetime.now().strftime(form)
    for number in itertools.count(1):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        break
    return folder


def make_folder(folder: Path) -> Path:
    """Create a folder, so that an unwritable one fails before any long computation."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "no permission to write")
    except OSError as error:
        raise DataError(
            f"cannot write to {str(folder)!r} ({error.strerror}); name another folder with -o."
        ) from error
    return folder


def atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a new file next to `path`, and move it into place; a link there is replaced."""
    part = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        part = Path(name)
        write(part)
        part.chmod(0o644)
        part.replace(path)
    except OSError as error:
        raise DataError(
            f"cannot write {str(path)!r} ({error.strerror or error}); free up disk space, or "
            "choose another folder with -o."
        ) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def put(path: Path, text: str) -> None:
    """Write text to a file, all or nothing; a device or a pipe is written directly."""
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_text(text, encoding="utf-8", errors="replace")
        return
    atomically(path, lambda part: part.write_text(text, encoding="utf-8", errors="replace"))


def add(path: Path, text: str) -> None:
    """Append text to a file, which is created if necessary."""
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)


def put_csv(path: Path, *parts: Frame) -> None:
    """Write frames as one CSV file; text that a spreadsheet would read as a formula is quoted."""
    table = pd.concat(parts, ignore_index=True).rename(columns=quoted).map(quoted)
    atomically(path, lambda part: table.to_csv(part, index=False))


def quoted(value: Any) -> Any:
    """A value of a CSV file; a text that a spreadsheet would take for a formula is quoted."""
    if not isinstance(value, str):
        return value
    value = one_line(value)
    if not value.startswith(_FORMULA):
        return value
    try:
        float(value.removesuffix("*"))
    except ValueError:
        return "'" + value
    return value
