"""Files of rows and JSON files, read whole or refused in one sentence."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.errors import DataError


def read_json(path: Path) -> Any:
    """A JSON file, or one sentence about what is wrong with it."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a JSON file ({error}); give the original file.") from error


def read_table(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a CSV, TSV, JSON-lines or parquet file that must have some columns."""
    if path.suffix == ".parquet":
        return _complete(path, _parquet(path), needed)
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")  # the Dutch pairs are in Windows' encoding
    if not text.strip():
        raise DataError(f"{path} is empty; give a file with the columns {', '.join(needed)}.")
    if path.suffix in {".jsonl", ".ndjson"}:
        try:
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError as error:
            raise DataError(f"{path} has a line that is not JSON: {error}.") from error
    else:
        rows = _separated(text, path.suffix == ".tsv")
    return _complete(path, rows, needed)


def _separated(text: str, tabs: bool) -> list[dict[str, Any]]:
    """Rows of CSV or TSV. In a TSV a quote is a quote, unless all that open a field close it."""
    file = io.StringIO(text, newline="")
    if not tabs:
        return list(csv.DictReader(file))
    fields = (f for line in text.splitlines() for f in line.split("\t") if f.startswith('"'))
    if all(len(f) > 1 and f.endswith('"') for f in fields):
        return list(csv.DictReader(file, delimiter="\t"))
    return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        return list(pq.read_table(path).to_pylist())
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is not a parquet file ({error}); write it again.") from error


def _complete(
    path: Path, rows: list[dict[str, Any]], needed: Sequence[str]
) -> list[dict[str, Any]]:
    if not rows:
        raise DataError(f"{path} has a header and no rows; add some.")
    missing = [c for c in needed if c not in rows[0]]
    if missing:
        raise DataError(
            f"{path} has no column {' and no column '.join(map(repr, missing))} (it has "
            f"{', '.join(map(str, rows[0]))}); needed are {', '.join(needed)}."
        )
    short = next((n for n, r in enumerate(rows) if any(r.get(c) is None for c in needed)), None)
    if short is not None:
        raise DataError(f"{path}, row {short + 1} has too few columns; fill it in or remove it.")
    return rows
