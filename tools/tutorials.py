"""Run the tutorials and keep what they print: `python tools/tutorials.py [NAME...]`."""

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
# What differs from one run to the next, or says on which machine it was made.
VOLATILE = re.compile(r"/tmp/\S+?(?=[\"'\s)])")


def executed(path: Path, folder: str) -> nbformat.NotebookNode:
    """A notebook with its outputs, run in a folder of its own; an error in it is one here."""
    book = nbformat.read(path, as_version=4)
    client = NotebookClient(book, timeout=900, resources={"metadata": {"path": folder}})
    client.execute()
    return book


def clean(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without times, warnings and progress."""
    for cell in book.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
            for output in cell.outputs:
                if "text" in output:
                    output.text = VOLATILE.sub("...", output.text)
    return book


def main(names: list[str]) -> None:
    """Run all tutorials, or some."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.environ.setdefault("UNMASK_CACHE", str(Path(folder) / "cache"))
            book = clean(executed(path, folder))
        nbformat.write(book, path)
        print(path.name, len(path.read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1:])
