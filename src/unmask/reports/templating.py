"""Templates of the package, and escaping for LaTeX, Markdown and file names."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from unmask.support.printable import one_line

_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}


def safe(name: str) -> str:
    """A file name from any text: letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "figure"


def latex(text: str) -> str:
    """Text as LaTeX shows it."""
    return "".join(_TEX.get(mark, mark) for mark in text)


def markdown(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", one_line(" ".join(text.split())))


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("unmask.reports"),
        autoescape=lambda name: bool(name) and ".html" in str(name),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"tex": latex, "md": markdown}
    return environment


def rendered(template: str, **values: Any) -> str:
    """A template of the package, filled in."""
    return _templates().get_template(template).render(**values)
