"""Which words of a sentence have content."""

import pytest

from unmask.text.function_words import content_words


@pytest.mark.parametrize(
    ("string", "found"),
    [
        ("The nurse isn't at home.", ["nurse", "home"]),
        ("She's a good doctor, they'll say!", ["good", "doctor", "say"]),
        ("It was there \u2014 and so it is.", []),
        ("Women don\u2019t drive_fast", ["Women", "drive", "fast"]),
        ("O'Brien can't cook", ["O", "Brien", "cook"]),
        ("John's a doctor, she's a nurse", ["John", "doctor", "nurse"]),
        ("", []),
    ],
)
def test_content_words_by_hand(string, found):
    assert [string[a:b] for a, b in content_words(string)] == found
