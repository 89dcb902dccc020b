"""Check a user's file of pairs, and repair it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.data import defects
from unmask.data.check import design, instrument
from unmask.data.check import rows as by_row
from unmask.data.check.records import PROBLEM, ParsedFile, Remark, sentences, stripped
from unmask.data.clusters import clustered
from unmask.data.readers.own_columns import ALIASES, understood
from unmask.data.readers.pairs import broken_rows, pairs_of, read_rows
from unmask.data.readers.table import Row, read_table
from unmask.errors import DataError
from unmask.support.printable import INVISIBLE
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Dataset

RULES = (
    instrument.variety,
    instrument.balance,
    instrument.frequency,
    instrument.valence,
    instrument.sources,
)
LOOKS: Sequence[Callable[[ParsedFile], Iterator[Remark]]] = (
    design.columns,
    design.identities,
    design.categories,
    design.clusters,
    design.directions,
    *RULES,
    by_row.defects,
    by_row.spaces,
    by_row.invisible,
    by_row.marks,
    by_row.articles,
    by_row.languages,
    design.power,
)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A user's file: its columns and rows, the data set that they form, and the findings."""

    columns: dict[str, str]
    ignored: tuple[str, ...]
    rows: Sequence[dict[str, Any]]
    data: Dataset
    findings: tuple[Remark, ...]
    read: int  # rows in the file, usable or not

    def but(self, *more: Remark) -> "CheckedFile":
        """The same with further findings."""
        return replace(self, findings=(*self.findings, *more))


def check(path: Path, encoding: str | None = None) -> CheckedFile:
    """Check a file of pairs; a file that cannot be read is a DataError.

    Unusable rows are findings, and the others are checked without them. Findings use the line
    numbers that an editor shows.
    """
    rows = read_rows(path, encoding)
    heads = list(read_table(path, [], encoding)[0])
    columns = understood(heads)
    ignored = tuple(h for h in heads if h not in columns)
    clean = [{k: stripped(v) for k, v in row.items()} for row in rows]
    unusable = broken_rows(clean)
    usable = [n for n in range(len(rows)) if n not in unusable]
    if not usable:
        raise DataError(f"{path}: no row can be used: {next(iter(unusable.values()))}")
    lines = [row.line if isinstance(row, Row) else n for n, row in enumerate(rows, 1)]
    data = defects.flagged(clustered(pairs_of([clean[n] for n in usable], path.stem, path)))
    view = ParsedFile([rows[n] for n in usable], columns, ignored, data)
    findings = [
        *(f.numbered(lines) for f in _unusable(unusable)),
        *(f.numbered([lines[n] for n in usable]) for look in LOOKS for f in look(view)),
    ]
    return CheckedFile(columns, ignored, view.rows, data, tuple(findings), len(rows))


def _unusable(rows: Mapping[int, str]) -> Iterator[Remark]:
    """Report unusable rows by reason."""
    for reason in dict.fromkeys(rows.values()):
        problem, _, advice = reason.rstrip(".").partition("; ")
        numbers = [n + 1 for n, row_reason in rows.items() if row_reason == reason]
        yield from by_row.of_rows(PROBLEM, problem, advice, numbers)


def check_set(data: Dataset) -> CheckedFile:
    """Check a data set by name, whose columns are known to be right."""
    data = defects.flagged(data)
    looks = (design.categories, design.clusters, design.directions, *RULES)
    file = ParsedFile((), {}, (), data)
    rows = (by_row.defects, by_row.marks, by_row.articles, by_row.languages)
    findings = [f for look in (*looks, *rows, design.power) for f in look(file)]
    count = len(data.items)
    return CheckedFile({}, (), [{} for _ in data.items], data, tuple(findings), count)


def problems(data: Dataset) -> list[str]:
    """Return the problems of a user's items as sentences for a run: those that would mislead."""
    file = ParsedFile((), {}, (), data)
    looks = (design.clusters, design.directions, by_row.defects)
    return [f.sentence for look in looks for f in look(file) if f.state == PROBLEM]


def repaired(checked: CheckedFile) -> list[dict[str, str]]:
    """Return the rows of a repaired file: known column names, no stray spaces, no repeated rows.

    Pairs of equal sentences are left out. The derived category, cluster, group pair, group and
    template are written as columns, so that they can be read and corrected.
    """
    records = []
    file: set[tuple[str, ...]] = set()
    rows = zip(checked.rows, checked.data.items, strict=True)
    for row, item in rows:
        pro, anti = (INVISIBLE.sub("", text) for text in sentences(item))
        key = defects.sentence_key(item)
        if "contradictory" in item.meta.get("flags", ()):
            key = (pro, anti)  # both are kept: only the author knows which one is right
        if key in file or pro == anti:
            continue
        file.add(key)
        cells = {k: str(stripped(v)) for k, v in row.items() if v not in (None, "")}
        design = {
            k: getattr(item, k) for k in ("category", "cluster", "group_pair", "group", "template")
        }
        labels = {k: " ".join(v.split()) for k, v in design.items() if v}
        records.append({**cells, **labels, STEREOTYPE: pro, ANTISTEREOTYPE: anti})
    columns = dict.fromkeys(k for row in records for k in row)
    heads = [k for k in ALIASES if k in columns] + [k for k in columns if k not in ALIASES]
    return [{k: row.get(k, "") for k in heads} for row in records]
