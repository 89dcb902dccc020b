"""What every row must have: its card, and choices that exist."""

from collections.abc import Mapping, Sequence
from typing import Any

from unmask.errors import UnmaskError
from unmask.support.registry import choice


def check_card(row: Any) -> None:
    """A name, what it asks, its formula, its sources and its criticism; a variant its deviation."""
    for field in ("name", "about", "formula", "criticism"):
        if not isinstance(getattr(row, field), str) or not getattr(row, field).strip():
            raise UnmaskError(f"the card of {row.name!r} is not complete: it has no {field}.")
    if isinstance(row.cite, str) or not row.cite or not isinstance(row.bibtex, str):
        raise UnmaskError(
            f"the card of {row.name!r} is not complete: cite is a tuple of keys, such as "
            "('nangia2020',), and bibtex a text."
        )
    if ("@" in row.name) != bool(row.deviation):
        raise UnmaskError(
            f"{row.name!r}: a variant (name@source), and only a variant, states its deviation."
        )


def check_choices(row: Any, allowed: Mapping[str, Sequence[str]]) -> None:
    """Fields that hold one of a few words."""
    for field, words in allowed.items():
        if getattr(row, field) not in words:
            raise UnmaskError(
                f"{row.name!r}: {field} is {getattr(row, field)!r}; it may be {choice(words)}."
            )
