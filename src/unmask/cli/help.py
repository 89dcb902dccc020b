"""The output of `unmask --help`: commands grouped by purpose, in plain text.

Typer would draw it with rich, whose import takes longer than everything else; the options of each
command are still drawn that way.
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
        """List a section for each purpose; commands without one come last."""
        listed = [name for names in SECTIONS.values() for name in names]
        rest = tuple(name for name in self.list_commands(ctx) if name not in listed)
        width = max(map(len, (*listed, *rest)))
        for title, names in {**SECTIONS, "More": rest}.items():
            rows = [(f"{n:{width}}", self.commands[n].get_short_help_str(1000)) for n in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
