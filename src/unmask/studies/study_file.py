"""A study as a file: models, measures, data and options in TOML, read and written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from unmask.errors import DataError, UnmaskError
from unmask.options import Options
from unmask.support import toml
from unmask.support.registry import unknown

NAME = "study.toml"
LISTS = ("models", "measures", "data")
# Options that only a program can set are not allowed in a file.
OPTIONS = tuple(
    f.name for f in fields(Options) if f.name not in ("store", "plans", "progress", "decided")
)


@dataclass(frozen=True, slots=True)
class StudyFile:
    """What to run and how, in names and plain values; without measures or data the defaults run.

    Paths are relative to the working directory, as on the command line.
    """

    models: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in LISTS:
            value = getattr(self, name)
            if isinstance(value, str):
                value = (value,)
            if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
                raise UnmaskError(f"{name} is {value!r:.60}; give a list of names.")
            object.__setattr__(self, name, tuple(value))
        if not isinstance(self.options, Mapping):
            raise UnmaskError(f"options is {self.options!r:.60}; give a table [options].")
        for name in self.options:
            if name not in OPTIONS:
                raise UnmaskError(unknown("option", name, OPTIONS))
        options: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in self.options.items()
        }
        object.__setattr__(self, "options", options)
        Options(**options)

    def toml(self) -> str:
        """The file's text; what is not said is left out."""
        lines = [f"{k} = {_value(getattr(self, k))}" for k in LISTS if getattr(self, k)]
        options = {k: v for k, v in self.options.items() if v is not None}
        lines += ["", "[options]", *(f"{k} = {_value(v)}" for k, v in options.items())]
        return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def read(path: Path) -> StudyFile:
    """Read a study from its file; any mistake in it raises one sentence."""
    content = toml.read(path, (*LISTS, "options"), "'unmask run --save-config' writes one")
    try:
        return StudyFile(**content)
    except UnmaskError as error:
        raise DataError(f"{path}: {error}") from error
