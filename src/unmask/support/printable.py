"""Text of others as it may be printed: names of models, rules and categories come from files."""

import re

from rich.markup import escape as _escape

# Control characters, and marks that turn the direction of text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"(^|(?<=\s))::(?=\S.*::)")  # such as ::error file=x::, which GitHub obeys


def visible(text: str) -> str:
    """Text without characters that steer a terminal or turn its direction."""
    return _UNSEEN.sub("\ufffd", text.encode("utf-8", "replace").decode())


def one_line(text: str) -> str:
    """Visible text in one line, in which a build server finds no command of its own."""
    line = visible(re.sub(r"[\n\r\t\u2028\u2029\x85]+", " ", text))
    return _COMMAND.sub(": :", line).replace("##[", "## [")


def escape(text: str) -> str:
    """One line as rich prints it, without markup of its own."""
    return _escape(one_line(text))
