"""What is asked of a paper's study."""

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.options import Options


@dataclass(frozen=True, slots=True)
class Request:
    """How to run a paper: options, a declared sub-sample, a corpus, a store of contexts.

    `command` is what asked, for the record.
    """

    options: Options
    quick: bool = False
    corpus: Sequence[str] = ()
    contexts: str | None = None
    command: str | None = None
