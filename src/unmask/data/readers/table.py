"""Files of rows and JSON files, read whole or refused in one sentence."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.errors import DataError

LARGEST_TABLE = 1 << 30  # bytes of a file of rows
MOST_ROWS = 250_000  # of a parquet file
LARGEST_UNPACKED = 1 << 28  # bytes of a parquet file's values, each standing for itself
BATCH_ROWS = 1024  # read at a time
FIELD = 10_000_000  # characters of a field


class Row(dict[str, Any]):
    """A row of a text file, and the line where it begins."""

    def __init__(self, values: Mapping[str, Any], line: int) -> None:
        super().__init__(values)
        self.line = line


def place(row: Mapping[str, Any], number: int) -> str:
    """Describe a row's position to the user: its line, or its number in a file without lines."""
    return f"line {row.line}" if isinstance(row, Row) else f"row {number + 1}"


Names = Callable[[Iterable[str]], Mapping[str, str]]


def read_json(path: Path) -> Any:
    """A JSON file, or one sentence about what is wrong with it."""
    try:
        return json.loads(decoded(path))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
        reason = str(error)[:100]
        raise DataError(f"{path} is not a JSON file ({reason}); give the original file.") from error


def decoded(path: Path, encoding: str | None = None) -> str:
    """The text of a file: UTF-8, or UTF-16 with its mark, unless an encoding is named."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(
            f"{str(path)!r} cannot be read ({reason}); give the path of a file."
        ) from error
    if len(data) > LARGEST_TABLE:
        raise DataError(
            f"{path} has {len(data):,} bytes; at most {LARGEST_TABLE:,} are read: split it, or "
            "give it as parquet."
        )
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    codec = encoding or ("utf-16" if marked else "utf-8-sig")
    try:
        return data.decode(codec)
    except LookupError as error:
        raise DataError(f"unknown encoding {encoding!r}; give 'utf-8' or 'cp1252'.") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line} is not {codec.removesuffix('-sig').upper()} ({error.reason}); "
            "save the file as UTF-8, or name its encoding."
        ) from error
    except UnicodeError as error:  # some encodings decode nothing
        raise DataError(
            f"{path} cannot be read as {codec!r} ({error}); save it as UTF-8."
        ) from error


def read_table(
    path: Path, needed: Sequence[str], encoding: str | None = None, names: Names | None = None
) -> list[dict[str, Any]]:
    """Read a CSV, TSV, JSON-lines or parquet file, which must have the `needed` columns.

    `names` maps the file's column names to the known ones.
    """
    suffix = path.suffix.lower()
    if suffix in (".xlsx", ".xls", ".ods"):
        raise DataError(f"{path} is a spreadsheet; save it as CSV (UTF-8) and give that file.")
    if suffix == ".parquet":
        rows = _parquet(path)
    else:
        text = decoded(path, encoding)
        if not text.strip():
            raise DataError(f"{path} is empty; give a file with the columns {', '.join(needed)}.")
        if suffix in {".jsonl", ".ndjson"}:
            rows = _json_lines(path, text)
        else:
            rows = _separated(path, text, suffix == ".tsv")
    if rows and names is not None:
        new = {old: name for old, name in names(rows[0]).items() if old != name}
        rows = [_renamed(row, new) for row in rows] if new else rows
    return _complete(path, rows, needed)


def _renamed(row: dict[str, Any], new: Mapping[str, str]) -> dict[str, Any]:
    values = {new.get(k, k): v for k, v in row.items()}
    return Row(values, row.line) if isinstance(row, Row) else values


def _json_lines(path: Path, text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {number} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number} is not an object but {line.strip()[:30]!r}.")
        rows.append(Row(row, number))
    return rows


def _separated(path: Path, text: str, tabs: bool) -> list[dict[str, Any]]:
    """Read rows of CSV or TSV. In a TSV a quote is literal unless all quoted fields are closed.

    If the header of a CSV file has semicolons or tabs and no comma, these separate the fields, as
    in spreadsheets of many countries. Empty rows are skipped.
    """
    csv.field_size_limit(FIELD)
    options: dict[str, Any] = {"strict": True}
    header = text.lstrip().partition("\n")[0]
    if not tabs and "," not in header and ";" in header:
        options["delimiter"] = ";"
    if tabs or ("," not in header and "\t" in header):
        options["delimiter"] = "\t"
        cells = (f for line in text.split("\n") for f in line.rstrip("\r").split("\t"))
        if not all(len(f) > 1 and f.endswith('"') for f in cells if f.startswith('"')):
            options["quoting"] = csv.QUOTE_NONE
    reader = csv.reader(io.StringIO(text, newline=""), **options)
    try:
        heads = _trimmed(next((f for f in reader if any(map(str.strip, f))), []))
        rows: list[dict[str, Any]] = []
        end = reader.line_num
        for fields in reader:
            if any(f.strip() for f in fields):
                rows.append(_row(path, end + 1, heads, fields))
            end = reader.line_num
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}; close its quotes, and double every quote "
            "inside a quoted field."
        ) from error
    return rows


def _trimmed(fields: list[str]) -> list[str]:
    """Fields without empty ones at the end, which spreadsheets like to add."""
    while fields and not fields[-1].strip():
        fields = fields[:-1]
    return fields


def _row(path: Path, line: int, heads: Sequence[str], fields: list[str]) -> dict[str, Any]:
    if len(fields) > len(heads):
        fields = fields[: len(heads)] + _trimmed(fields[len(heads) :])
    if len(fields) != len(heads):
        raise DataError(
            f"{path}, line {line} has {len(fields)} fields and the header {len(heads)}; put a "
            "sentence with a comma in quotes."
        )
    if len(set(heads)) != len(heads):
        raise DataError(f"{path} has two columns with the same name; rename one of them.")
    return Row(dict(zip(heads, fields, strict=True)), line)


def _parquet(path: Path) -> list[dict[str, Any]]:
    """Read a parquet file after checking its size: a small file may hold very many rows."""
    try:
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise DataError(
                    f"{path} has {file.metadata.num_rows:,} rows; at most {MOST_ROWS:,} are read: "
                    "split it, or keep a sample of it."
                )
            rows: list[dict[str, Any]] = []
            size = 0
            for batch in file.iter_batches(BATCH_ROWS):
                size += sum(map(_unpacked, batch.columns))
                if size > LARGEST_UNPACKED:
                    raise DataError(
                        f"{path} holds more than {LARGEST_UNPACKED:,} bytes once it is unpacked; "
                        "split it, or keep a sample of it."
                    )
                rows += batch.to_pylist()
            return rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a parquet file ({error}); write it again.") from error


def _unpacked(column: Any) -> int:
    """Return the bytes of a column if each value is stored separately."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    values = column.dictionary
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return int(values.nbytes) * len(column)
    lengths = pc.take(pc.binary_length(values), column.indices)
    return int(pc.sum(lengths).as_py() or 0)


def _complete(
    path: Path, rows: list[dict[str, Any]], needed: Sequence[str]
) -> list[dict[str, Any]]:
    if not rows:
        raise DataError(f"{path} has a header and no rows; add some.")
    missing = [c for c in needed if c not in rows[0]]
    if missing:
        raise DataError(
            f"{path} has no column {' and no column '.join(map(repr, missing))} (it has "
            f"{', '.join(map(str, rows[0]))}); required columns: {', '.join(needed)}."
        )
    short = next((n for n, r in enumerate(rows) if any(r.get(c) is None for c in needed)), None)
    if short is not None:
        raise DataError(
            f"{path}, {place(rows[short], short)} has too few columns; fill it in or remove it."
        )
    return rows
