"""Names from files reach no terminal, log or drawing as they are."""

import pytest

from unmask.support.printable import one_line, visible


@pytest.mark.parametrize("mark", ["\ufffe", "\uffff", "\u2028", "\x85", "\x1b", "\u202e", "\u061c"])
def test_what_steers_is_replaced(mark):
    for shown in (visible(f"a{mark}b"), one_line(f"a{mark}b")):
        assert mark not in shown
        assert shown.startswith("a")
        assert shown.endswith("b")


def test_letters_of_all_scripts_stay():
    for text in (
        "Ça, na\u00efve",
        "\u0645\u06cc\u200c\u062e\u0648",
        "\U0001f468\u200d\U0001f9b0",
        "\u0939\u093f",
    ):
        assert visible(text) == text


def test_a_command_behind_a_long_word_is_none():
    """A terminal may wrap the word, so that the command would begin a line."""
    line = one_line("x" * 66 + "::error::stop")
    assert "::error::" not in line
    assert one_line("a :: b") == "a :: b"
