"""The settings with which a paper is reproduced."""

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.errors import UnmaskError
from unmask.options import Options


@dataclass(frozen=True, slots=True)
class Request:
    """How to reproduce a paper: options, a declared subsample, a corpus, a context store.

    `sentences` is the maximum number of natural sentences per word. `command` is the command line,
    for the record.
    """

    options: Options
    quick: bool = False
    corpus: Sequence[str] = ()
    contexts: str | None = None
    command: str | None = None
    sentences: int = 100

    def __post_init__(self) -> None:
        if self.sentences < 1:
            raise UnmaskError(f"sentences is {self.sentences}; give at least 1 per word.")
