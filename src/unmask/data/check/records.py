"""Records of a check: a view of the user's file, and the findings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset

GOOD, NOTE, PROBLEM = "good", "note", "problem"
NAMED = 8  # rows or words that a sentence lists


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding about a file: a sentence, the rows concerned, and what to do."""

    state: str
    about: str
    sentence: str
    rows: tuple[int, ...] = ()
    advice: str = ""

    @property
    def text(self) -> str:
        """The sentence with the rows concerned."""
        if not self.rows:
            return self.sentence
        named = ", ".join(map(str, self.rows[:NAMED])) + (", ..." if len(self.rows) > NAMED else "")
        return f"{self.sentence.removesuffix('.')} ({named})."

    def numbered(self, lines: Sequence[int]) -> "Remark":
        """Return it with line numbers of the file in place of row numbers."""
        return replace(self, rows=tuple(lines[row - 1] for row in self.rows))


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The checks' view of a file: rows under known names, columns, and the data set they form."""

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
    """Strip a text, and replace repeated or unusual spaces by one space."""
    return " ".join(value.split()) if isinstance(value, str) else value


def short(text: str) -> str:
    """Shorten a name, which may be a whole text."""
    return text if len(text) <= 40 else f"{text[:39]}…"
