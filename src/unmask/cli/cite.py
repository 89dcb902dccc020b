"""The command `cite`: BibTeX of what was run."""

from unmask.cli.options import Folder, made_console
from unmask.reports import cite as references
from unmask.reports import results

console = made_console()


def cite(folder: Folder) -> None:
    """Print BibTeX entries for the measures and data of a run."""
    text = references.cited(results.load(folder))
    console.print(text, markup=False, highlight=False, soft_wrap=True)
