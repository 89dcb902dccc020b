"""Reader of two lists of sentences that are not pairs."""

from pathlib import Path

from unmask.data.readers.table import decoded
from unmask.errors import DataError
from unmask.types import Contrast, Dataset, Text


def read_lists(first: Path, second: Path) -> Dataset:
    """Two text files, a sentence in a line, such as `women.txt+men.txt`; empty lines do not count.

    An item is a sentence; its category is the name of its file.
    """
    items = []
    for label, path in (("first", first), ("second", second)):
        if not path.is_file():
            raise DataError(
                f"there is no file {str(path)!r}; give two files, such as women.txt+men.txt."
            )
        sentences = [line.strip() for line in decoded(path).splitlines() if line.strip()]
        if not sentences:
            raise DataError(f"{path} has no sentences; write one in each line.")
        items += [
            Contrast(f"{label}/{n}", {label: Text(line)}, path.stem, f"{label}/{line}")
            for n, line in enumerate(sentences)
        ]
    return Dataset(f"{first.stem}+{second.stem}", "lists", tuple(items), "sentence")
