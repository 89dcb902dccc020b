"""Fit tables to the terminal: less important columns are dropped, long names are broken."""

import re
from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len

from unmask.reports.columns import Cell

# In this order; dropped columns are in the files and on the page.
EXPENDABLE = (
    "needed to decide",
    "agreement",
    "acc.",
    "MDE",
    "p",
    "word pref.",
    "adjusted",
    "ties",
    "lab",
)
NARROW = 8  # columns that a name needs at least
Rows = list[list[Cell]]


def fitted(
    heads: Sequence[Cell], rows: Sequence[Sequence[Cell]], width: int
) -> tuple[list[Cell], Rows, list[str]]:
    """Return the heads and rows that fit in `width` columns, and the heads of dropped columns."""
    keep = list(range(len(heads)))
    gone = []
    for name in EXPENDABLE:
        if _total(heads, rows, keep) <= width:
            break
        dropped = [k for k in keep if heads[k].text == name]
        keep = [k for k in keep if k not in dropped]
        gone += [name for _ in dropped]
    sizes = {k: _size(heads, rows, k) for k in keep}
    over = sum(sizes.values()) + len(keep) - 1 - width
    for k in sorted((k for k in keep if heads[k].left), key=lambda k: -sizes[k]):
        if over <= 0:
            break
        room = max(sizes[k] - over, NARROW)
        over -= sizes[k] - room
        sizes[k] = room
    cut = [
        [replace(row[k], text=wrap(row[k].text, sizes[k])) if row[k].left else row[k] for k in keep]
        for row in rows
    ]
    return [heads[k] for k in keep], cut, gone


def fits(heads: Sequence[Cell], rows: Sequence[Sequence[Cell]], width: int) -> bool:
    """Whether a table fits with its names broken; else its numbers would be cut."""
    sizes = [
        max(cell_len(line) for cells in (heads, *rows) for line in cells[k].text.split("\n"))
        for k in range(len(heads))
    ]
    return sum(sizes) + len(sizes) - 1 <= width


def as_lines(heads: Sequence[Cell], rows: Sequence[Sequence[Cell]]) -> list[tuple[str, str]]:
    """Return each row as a name and one line of text, for terminals too narrow for a table."""
    return [
        (
            row[0].text.strip(),
            ", ".join(
                f"{head.text} {cell.text.strip()}"
                for head, cell in zip(heads[1:], row[1:], strict=True)
                if cell.text.strip()
            ),
        )
        for row in rows
    ]


def _size(heads: Sequence[Cell], rows: Sequence[Sequence[Cell]], k: int) -> int:
    return max(cell_len(cells[k].text) for cells in (heads, *rows))


def _total(heads: Sequence[Cell], rows: Sequence[Sequence[Cell]], keep: Sequence[int]) -> int:
    return sum(_size(heads, rows, k) for k in keep) + len(keep) - 1


def wrap(text: str, width: int) -> str:
    """Text in lines of a width, broken behind spaces and the marks inside names, not in words."""
    lines = [""]
    for part in re.findall(r"[^\s:@/_-]*[\s:@/_-]*", text):
        if lines[-1] and cell_len((lines[-1] + part).rstrip()) > width:
            lines.append("  " if text.startswith("  ") else "")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)
