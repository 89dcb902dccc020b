"""What is seen of a user's file, and what is found in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset

GOOD, NOTE, PROBLEM = "good", "note", "problem"
NAMED = 8  # rows or words that a sentence names


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was seen in a file: a sentence, the rows it is about, and what to do."""

    state: str
    about: str
    sentence: str
    rows: tuple[int, ...] = ()
    advice: str = ""

    @property
    def text(self) -> str:
        """The sentence with the rows that it is about."""
        if not self.rows:
            return self.sentence
        named = ", ".join(map(str, self.rows[:NAMED])) + (", ..." if len(self.rows) > NAMED else "")
        return f"{self.sentence.removesuffix('.')} ({named})."

    def numbered(self, lines: Sequence[int]) -> "Remark":
        """The same with the lines of the file in place of rows from 1."""
        return replace(self, rows=tuple(lines[row - 1] for row in self.rows))


@dataclass(frozen=True, slots=True)
class Looked:
    """A file as the checks see it: rows under known names, columns, and the data set they make."""

    rows: Sequence[dict[str, Any]]
    columns: dict[str, str]
    ignored: tuple[str, ...]
    data: Dataset

    @property
    def items(self) -> Sequence[Contrast]:
        """The items, one for each row."""
        return self.data.items


def sentences(item: Contrast) -> list[str]:
    """The two sentences of a pair."""
    return [item.texts[k].string for k in (STEREOTYPE, ANTISTEREOTYPE)]


def stripped(value: Any) -> Any:
    """A text without spaces at its ends, doubled, or of an odd kind."""
    return " ".join(value.split()) if isinstance(value, str) else value


def short(text: str) -> str:
    """A name that may be a whole text."""
    return text if len(text) <= 40 else f"{text[:39]}…"
