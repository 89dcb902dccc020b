"""Names to objects. A wrong name is answered with the nearest right ones."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from unmask.errors import NameUnknown

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A read-only table of named things of one sort (`noun` names the sort in messages)."""

    def __init__(self, noun: str, rows: Iterable[tuple[str, T]]) -> None:
        self._noun = noun
        self._rows: dict[str, T] = {}
        for name, row in rows:
            if name in self._rows:
                raise ValueError(f"two {noun}s are named {name!r}")
            self._rows[name] = row

    def __getitem__(self, name: str) -> T:
        if name in self._rows:
            return self._rows[name]
        return self.among(name, ())

    def among(self, name: str, more: Iterable[str]) -> T:
        """The row of a name; for a wrong name, `more` names are suggested as well."""
        if name in self._rows:
            return self._rows[name]
        raise NameUnknown(unknown(self._noun, name, [*self._rows, *more]))

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def get(self, name: str, default: Any = None) -> Any:
        """The row of a name, or the default; a wrong name is no error here."""
        return self._rows.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def unknown(noun: str, name: str, allowed: Iterable[str]) -> str:
    """One sentence for a wrong name: the nearest right ones, or all if none is near."""
    allowed = list(allowed)
    folded = {a.lower(): a for a in allowed}
    close = [folded[n] for n in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    if close:
        return f"unknown {noun} {name!r}; did you mean {choice(close)}?"
    listed = ", ".join(allowed[:20]) + (", ..." if len(allowed) > 20 else ".")
    return f"unknown {noun} {name!r}; allowed: {listed}"


def choice(names: Iterable[str]) -> str:
    """`a`, `b` or `c`, in words."""
    quoted = [repr(n) for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]
