"""Untrusted text made safe to print: names of models, rules and categories come from files."""

import re

from rich.markup import escape as _escape

# Invisible characters: control characters, soft hyphens, zero-width and directional marks,
# fillers, blank patterns, line separators, tags and noncharacters. Joiners and variation selectors
# are allowed, because some scripts need them.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b"
    "\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U000e0000-\U000e007f]"
)
# Such as ::error file=x::, which GitHub obeys at the start of a line; a long word may be wrapped.
_COMMAND = re.compile(r"::(?=\S.*::)")


def visible(text: str) -> str:
    """Replace characters that could control a terminal or reverse its text direction."""
    return INVISIBLE.sub("\ufffd", text.encode("utf-8", "replace").decode())


def one_line(text: str) -> str:
    """Visible text in one line, without commands that a build server would obey."""
    line = visible(re.sub(r"[\n\r\t\u2028\u2029\x85]+", " ", text))
    return _COMMAND.sub(": :", line).replace("##[", "## [")


def escape(text: str) -> str:
    """One line as rich prints it, without markup of its own."""
    return _escape(one_line(text))
