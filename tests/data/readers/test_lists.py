"""Tests of data/readers/lists."""

import pytest

from unmask.data import catalogue
from unmask.errors import DataError


def test_two_files_are_one_set_of_two_lists(tmp_path):
    (tmp_path / "women.txt").write_text("She ran.\n\nShe won.\n")
    (tmp_path / "men.txt").write_text("He ran.\n")
    (data,) = catalogue.resolve(f"{tmp_path / 'women.txt'}+{tmp_path / 'men.txt'}")
    assert data.name == "women+men"
    assert [list(i.texts) for i in data.items] == [["first"], ["first"], ["second"]]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "there is no file"),
        (b"", "no sentences"),
        (b"\xff\xfe\x00", "is not UTF-16"),
        (b"a\xe9b", "is not UTF-8"),
    ],
)
def test_lists_that_cannot_be_read(tmp_path, content, match):
    (tmp_path / "women.txt").write_text("She ran.\n")
    if content is not None:
        (tmp_path / "men.txt").write_bytes(content)
    with pytest.raises(DataError, match=match):
        catalogue.resolve(f"{tmp_path / 'women.txt'}+{tmp_path / 'men.txt'}")
