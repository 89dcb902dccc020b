"""Checks for every measure: its card, and the allowed values of its fields."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from unmask.errors import UnmaskError
from unmask.support.registry import choice

Row = TypeVar("Row")
ODD = "Pairs with unknown words, or with a special token as text, are scored too."


def variant(row: Row, source: str, **changes: Any) -> Row:
    """Return a row that reproduces released code; `changes` include its `deviation`."""
    base: Any = row
    released: Any = replace(base, name=f"{base.name}@{source}", variant_of=base.name, **changes)
    if getattr(released, "scores_odd", False):
        released = replace(released, deviation=f"{released.deviation} {ODD}")
    return released  # type: ignore[no-any-return]


def check_card(row: Any) -> None:
    """Check the card: name, question, formula, sources, criticism; a variant's deviation."""
    for field in ("name", "about", "formula", "criticism"):
        if not isinstance(getattr(row, field), str) or not getattr(row, field).strip():
            raise UnmaskError(f"the card of {row.name!r} is not complete: it has no {field}.")
    if isinstance(row.cite, str) or not row.cite or not isinstance(row.bibtex, str):
        raise UnmaskError(
            f"the card of {row.name!r} is not complete: cite is a tuple of keys, such as "
            "('nangia2020',), and bibtex is a string."
        )
    marks = {"@" in row.name, bool(row.deviation), bool(row.variant_of)}
    if len(marks) > 1:
        raise UnmaskError(
            f"{row.name!r}: a variant (name@source) must set variant_of and deviation; another "
            "measure must set neither."
        )


def check_types(row: Any) -> None:
    """Check that fields have the type of their default: truth, text, or a tuple of texts."""
    for f in fields(row):
        value, usual = getattr(row, f.name), f.default
        if isinstance(usual, bool) and not isinstance(value, bool):
            raise UnmaskError(f"{row.name!r}: {f.name} is {value!r:.40}; give True or False.")
        if isinstance(usual, str) and not isinstance(value, str):
            raise UnmaskError(f"{row.name!r}: {f.name} is {value!r:.40}; give a string.")
        texts = isinstance(value, tuple) and all(isinstance(v, str) for v in value)
        strings = isinstance(usual, tuple) and all(isinstance(v, str) for v in usual)
        if (strings or f.name in ("cite", "kinds")) and not texts:
            raise UnmaskError(
                f"{row.name!r}: {f.name} is {value!r:.40}; give a tuple of strings, such as ('a',)."
            )


def check_choices(row: Any, allowed: Mapping[str, Sequence[str | int]]) -> None:
    """Check the fields that accept only certain values."""
    for field, words in allowed.items():
        if getattr(row, field) not in words:
            value, words_allowed = getattr(row, field), choice(map(str, words))
            raise UnmaskError(f"{row.name!r}: {field} is {value!r}; it may be {words_allowed}.")
