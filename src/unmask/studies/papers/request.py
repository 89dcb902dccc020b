"""What is asked of a paper's study."""

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.errors import UnmaskError
from unmask.options import Options


@dataclass(frozen=True, slots=True)
class Request:
    """How to run a paper: options, a declared sub-sample, a corpus, a store of contexts.

    `sentences` is how many natural sentences of a word are used at most. `command` is what asked,
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
            raise UnmaskError(f"sentences is {self.sentences}; give at least 1 a word.")
