"""Tests of data/kept: what was read before is what would be read now."""

import os
from pathlib import Path

import pytest

from conftest import damaged_values
from unmask.data import catalogue, read_cache
from unmask.data.packaged import bundled_pairs
from unmask.support import store as stored
from unmask.types import Contrast, Dataset, Text

DATA = os.environ.get("UNMASK_DATA", "")
real = pytest.mark.skipif(not DATA, reason="needs UNMASK_DATA")


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "source.csv"
    path.write_text("some")
    return path


class Reader:
    """Makes a data set, and counts how often."""

    def __init__(self, data):
        self.data, self.times = data, 0

    def __call__(self):
        self.times += 1
        return self.data


def test_a_data_set_is_read_once(source):
    make = Reader(bundled_pairs())
    first, again = (read_cache.cached("pairs", [source], make) for _ in range(2))
    assert make.times == 1
    assert first == again
    assert [repr(i) for i in first.items] == [repr(i) for i in again.items]


def test_another_file_name_or_code_is_another_data_set(source, monkeypatch):
    make = Reader(bundled_pairs())
    read_cache.cached("pairs", [source], make)
    read_cache.cached("others", [source], make)
    source.write_text("same")
    read_cache.cached("pairs", [source], make)
    monkeypatch.setattr(stored, "code_digest", lambda: b"another")
    read_cache.cached("pairs", [source], make)
    assert make.times == 4


def test_a_damaged_file_is_read_anew(source):
    make = Reader(bundled_pairs())
    read_cache.cached("pairs", [source], make)
    damaged_values(source.parent / "cache" / stored.FILE_NAME)
    read_cache.cached("pairs", [source], make)
    read_cache.cached("pairs", [source], make)
    assert make.times == 2


def test_what_is_no_plain_value_is_not_kept(source):
    item = Contrast("1", {"stereotype": Text("a"), "antistereotype": Text("b")}, "", "1")
    odd = Contrast("2", item.texts, "", "2", meta={"path": Path("x")})
    make = Reader(Dataset("odd", "pairs", (item, odd)))
    assert read_cache.cached("odd", [source], make) == read_cache.cached("odd", [source], make)
    assert make.times == 2


@real
@pytest.mark.parametrize("name", ["crows-pairs", "stereoset", "winobias-type1"])
def test_published_sets_are_the_same_again(name, tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    first, again = (catalogue.resolve(name)[0] for _ in range(2))
    assert first == again
    assert repr(first) == repr(again)
    with stored.opened() as cache:
        assert cache.usage(stored.DATA)[0] == 1
