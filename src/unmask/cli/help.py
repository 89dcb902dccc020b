"""What `unmask --help` shows: the commands by what they are for, in plain text.

Typer's own drawing imports so much of rich that it takes longer than all else; each command's
options are still drawn by it.
"""

from typing import Any

from typer.core import TyperGroup

SECTIONS = {
    "Measure": ("run", "score", "compare", "gate", "reliability"),
    "Read results": (
        "report",
        "items",
        "trend",
        "scaling",
        "leaderboard",
        "serve",
        "export",
        "log",
    ),
    "Study": ("reproduce", "vary", "validate", "plan"),
    "Look up": ("list", "cite", "data", "contexts", "cache"),
}


class Commands(TyperGroup):
    """The commands, listed by section."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**{**attrs, "rich_markup_mode": None})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A section for each purpose; what has none comes last."""
        listed = [name for names in SECTIONS.values() for name in names]
        rest = tuple(name for name in self.list_commands(ctx) if name not in listed)
        width = max(map(len, (*listed, *rest)))
        for title, names in {**SECTIONS, "More": rest}.items():
            rows = [(f"{n:{width}}", self.commands[n].get_short_help_str(1000)) for n in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
