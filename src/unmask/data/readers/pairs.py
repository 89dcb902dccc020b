"""Readers of sentence pairs: CrowS-Pairs and its translations, and users' own files."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.data.readers.own_columns import understood
from unmask.data.readers.table import place, read_json, read_table
from unmask.errors import DataError
from unmask.text.roles import find_word
from unmask.types import (
    ANTISTEREOTYPE,
    STEREOTYPE,
    UNRELATED,
    Contrast,
    Dataset,
    Span,
    Text,
    half_character,
)

_WORDS = r"\[(?:'[\w -]*'(?:, '[\w -]*')*)?\]"
_PLAIN = re.compile(rf"\[(?:{_WORDS}(?:, {_WORDS})*)?\]")
# In CrowS-Pairs `stereo` items are about a disadvantaged group, `antistereo` items about an
# advantaged one.
DIRECTIONS = {"stereo": "disadvantaged", "antistereo": "advantaged"}


def read_crows_pairs(path: Path, name: str = "crows-pairs", encoding: str | None = None) -> Dataset:
    """CrowS-Pairs (Nangia et al. 2020): stereotype is `sent_more`, whatever the direction.

    The cluster is the writer. `meta` keeps the direction (`stereo` is about a disadvantaged
    group) and how many of the annotators named the item's own bias type. Rows of a translation
    that lack a sentence are left out, and `about` counts them.
    """
    needed = ["sent_more", "sent_less", "stereo_antistereo", "bias_type"]
    rows = read_table(path, needed, encoding)
    items, empty = [], 0
    for number, row in enumerate(rows):
        if not (row["sent_more"].strip() and row["sent_less"].strip()):
            empty += 1
            continue
        ratings = _ratings(row.get("annotations", ""))
        items.append(
            Contrast(
                id=str(row.get("") or row.get("index") or number),
                texts={
                    STEREOTYPE: Text(row["sent_more"]),
                    ANTISTEREOTYPE: Text(row["sent_less"]),
                },
                category=row["bias_type"],
                cluster=row.get("anon_writer") or f"item {number}",
                meta={
                    "direction": row["stereo_antistereo"],
                    "ratings": ratings,
                    "agreement": sum(row["bias_type"] in r for r in ratings),
                    "biased": sum(bool(r) for r in ratings),
                },
                group_pair=row["bias_type"],
                group=DIRECTIONS.get(row["stereo_antistereo"], ""),
            )
        )
    cluster = "writer" if "anon_writer" in rows[0] else "item"
    about = {"left_out": {"empty sentence": empty}} if empty else {}
    return Dataset(name, "pairs", tuple(items), cluster, about)


def read_translated(path: Path, name: str = "translated") -> Dataset:
    """The translated gender pairs of Kaneko et al. (2022), a JSON list."""
    try:
        items = [
            Contrast(
                str(number),
                {STEREOTYPE: Text(row["stereotype"]), ANTISTEREOTYPE: Text(row["anti-stereotype"])},
                row["bias_type"],
                f"item {number}",
                {"direction": row["direction"]},
                group_pair=row["bias_type"],
                group=DIRECTIONS.get(row["direction"], ""),
            )
            for number, row in enumerate(read_json(path))
        ]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} does not have the format of translated pairs (no {error}); give the original "
            "file."
        ) from error
    return Dataset(name, "pairs", tuple(items))


def _ratings(text: str) -> list[list[str]]:
    """The annotators' bias types: a Python list of lists in the published file."""
    if _PLAIN.fullmatch(text):  # all published ratings match; ten times as fast
        return json.loads(text.replace("'", '"'))  # type: ignore[no-any-return]
    try:
        ratings = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError):
        return []
    return [list(r) for r in ratings] if isinstance(ratings, list | tuple) else []


def read_pairs(path: Path, encoding: str | None = None) -> Dataset:
    """Read a user's CSV, TSV, JSON lines or parquet with `stereotype` and `antistereotype`.

    Optional columns: `unrelated`, `id`, `category`, `cluster`, `group` (the target group of the
    stereotype) with its `group_pair` (else the category), `template` (the wording that items
    share), and `stereotype_fill`, ... (the word that differs, for CAT; with it give `unrelated`).
    Letter case, hyphens and spaces in the names do not matter, and common aliases are accepted.
    """
    return pairs_of(read_rows(path, encoding), path.stem, path)


def read_rows(path: Path, encoding: str | None = None) -> list[dict[str, Any]]:
    """Read the rows of a user's file of pairs, with columns renamed to the known names."""
    return read_table(path, [STEREOTYPE, ANTISTEREOTYPE], encoding, understood)


def pairs_of(rows: Sequence[Mapping[str, Any]], name: str, path: Path | str) -> Dataset:
    """Build a data set from rows with the columns of `read_pairs`; `path` is for messages."""
    triplets = all(_cell(r, UNRELATED) is not None for r in rows)
    labels = (STEREOTYPE, ANTISTEREOTYPE, UNRELATED) if triplets else (STEREOTYPE, ANTISTEREOTYPE)
    items = []
    for number, row in enumerate(rows):
        try:
            items.append(_user_item(row, number, labels))
        except DataError as error:
            hint = " 'unmask data check' lists all defects." if isinstance(path, Path) else ""
            raise DataError(f"{path}, {place(row, number)}: {error}{hint}") from error
    notes = (*_incomplete(rows, name, triplets), *_spellings(items, name))
    return Dataset(
        name,
        "triplets" if triplets else "pairs",
        tuple(items),
        "cluster" if "cluster" in rows[0] else "item",
        {"notes": notes} if notes else {},
    )


def broken_rows(rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the defect of each unusable row, by its number from 0."""
    reasons: dict[int, str] = {}
    for number, row in enumerate(rows):
        try:
            _user_item(row, number, (STEREOTYPE, ANTISTEREOTYPE))
        except DataError as error:
            reasons[number] = str(error)
    return reasons


def _incomplete(rows: Sequence[Mapping[str, Any]], name: str, triplets: bool) -> tuple[str, ...]:
    """Return a note if only some rows have an unrelated sentence."""
    lacking = sum(_cell(r, UNRELATED) is None for r in rows)
    if triplets or lacking == len(rows):
        return ()
    return (
        f"{name}: {lacking} of {len(rows)} rows have no 'unrelated' sentence, so all rows are read "
        "as pairs; fill in the column to use cat and its lms.",
    )


def _spellings(items: Sequence[Contrast], name: str) -> tuple[str, ...]:
    """Return a note on categories that differ only in letter case or spaces."""
    forms: dict[str, list[str]] = {}
    for category in dict.fromkeys(item.category for item in items):
        forms.setdefault(" ".join(category.casefold().split()), []).append(category)
    return tuple(
        f"{name}: the categories {', '.join(map(repr, names))} differ only in spelling and "
        "have separate rows in tables of categories."
        for names in forms.values()
        if len(names) > 1
    )


def _cell(row: Mapping[str, Any], name: str) -> Any:
    """A field's value; None where it is missing, empty or not a number."""
    value = row.get(name)
    if not isinstance(value, str | int | float | None):  # an array has no truth value
        return value
    missing = value is None or value != value or (isinstance(value, str) and not value.strip())
    return None if missing else value


def _user_item(row: Mapping[str, Any], number: int, labels: Sequence[str]) -> Contrast:
    texts = {}
    for label in labels:
        sentence = _cell(row, label)
        if sentence is None:
            raise DataError(f"the column {label!r} is empty; fill it in.")
        if not isinstance(sentence, str):
            raise DataError(
                f"the column {label!r} holds {sentence!r:.30}, which is not text; put a sentence "
                "there."
            )
        fill = _cell(row, f"{label}_fill")
        span = find_word(sentence, str(fill)) if fill is not None else None
        spans: dict[str, tuple[Span, ...]] = {"fill": (span,), "word": (span,)} if span else {}
        texts[label] = Text(sentence, spans)
    values = {
        k: _cell(row, k) for k in ("id", "category", "cluster", "group_pair", "group", "template")
    }
    cells = {k: str(v) for k, v in values.items() if v is not None}
    if damaged := [k for k, v in cells.items() if half_character(v)]:
        raise DataError(
            f"the column {damaged[0]!r} has an invalid character (a lone surrogate); correct it."
        )
    name, category = cells.get("id", str(number)), cells.get("category", "all")
    side = cells.get("group", "")
    return Contrast(
        name,
        texts,
        category,
        cells.get("cluster", name),
        {k: v for k in ("source", "valence", "frequency") if (v := _fact(row, k)) is not None},
        group_pair=cells.get("group_pair", category if side else ""),
        group=side,
        template=cells.get("template", ""),
    )


def _fact(row: Mapping[str, Any], name: str) -> str | float | None:
    """Return an optional fact about a row's trait; a frequency is a number."""
    value = _cell(row, name)
    if value is None or name != "frequency":
        return None if value is None else str(value).strip()
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
