"""Tests of support/store: one file, one integrity rule, one eviction rule."""

import sqlite3
import warnings
from contextlib import closing

import pytest

from conftest import damaged_values, invoke
from unmask.support import store as stored
from unmask.support.store import DATA, MODELS, OUTPUTS, PLANS, Store, opened

KEY, VALUE = b"k" * 16, bytes(range(60))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    return tmp_path


def test_a_value_is_found_under_its_namespace_and_key(folder):
    stored.save(PLANS, KEY, VALUE)
    assert stored.load(PLANS, KEY) == VALUE
    assert stored.load(DATA, KEY) is None
    assert stored.load(PLANS, b"l" * 16) is None
    assert not stored.is_empty(PLANS)
    assert stored.is_empty(MODELS)
    assert [p.name for p in folder.iterdir()] == [stored.FILE_NAME]


def test_a_damaged_value_is_missing(folder):
    stored.save(PLANS, KEY, VALUE)
    damaged_values(folder / stored.FILE_NAME)
    assert stored.load(PLANS, KEY) is None
    stored.save(PLANS, KEY, VALUE)
    assert stored.load(PLANS, KEY) == VALUE


def test_a_value_under_the_key_of_another_is_missing(folder):
    stored.save(PLANS, KEY, VALUE)
    with closing(sqlite3.connect(folder / stored.FILE_NAME)) as file, file:
        file.execute("UPDATE cached SET key = ?", (b"l" * 16,))
    assert stored.load(PLANS, b"l" * 16) is None


def test_a_damaged_file_gives_the_value_or_nothing(tmp_path):
    """A flipped bit anywhere in the file, and files of other programs."""
    path = tmp_path / "cache"
    with opened(path) as store:
        store.put(OUTPUTS, [(KEY, VALUE)])
    whole = path.read_bytes()
    for at in [*range(0, 120), *range(120, len(whole), 61)]:
        hurt = bytearray(whole)
        hurt[at] ^= 1 << (at % 8)
        for old in tmp_path.iterdir():
            old.unlink()
        path.write_bytes(hurt)
        with opened(path) as store:
            assert store.get(OUTPUTS, [KEY]) in ({}, {KEY: VALUE})
    for foreign in (bytes(5000), b"no database at all, but long enough to be one" * 50):
        path.write_bytes(foreign)
        with opened(path) as store:
            store.put(OUTPUTS, [(KEY, VALUE)])
            assert "was renamed to" in store.messages[0]
        with opened(path) as store:
            assert store.get(OUTPUTS, [KEY]) == {KEY: VALUE}


def test_a_disk_that_takes_nothing_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "file" / "below"))
    stored.save(DATA, KEY, VALUE)
    assert stored.load(DATA, KEY) is None


@pytest.mark.parametrize("what", ["code", "version"])
def test_other_code_and_other_versions_have_another_digest(monkeypatch, what):
    plain = stored.code_digest.__wrapped__
    before = plain()
    assert plain() == before
    if what == "version":
        monkeypatch.setattr(stored, "version", lambda name: "0")
    else:
        monkeypatch.setattr(stored.Path, "read_bytes", lambda self: b"other")
    assert plain() != before


def test_the_least_recently_used_values_are_deleted_first(tmp_path, monkeypatch):
    """Of small and large values together, and only as many as the limit needs."""
    monkeypatch.setattr(stored, "DAY", -1)
    monkeypatch.setattr(stored.time, "time", lambda: clock[0])
    monkeypatch.setenv("UNMASK_CACHE_SIZE", "200000")
    clock = [1000]
    store = Store(tmp_path / "a")
    for number in range(40):
        clock[0] += 1
        namespace = (OUTPUTS, PLANS)[number % 2]
        store.put(namespace, [(bytes([number]) * 16, bytes((5_000, 15_000)[number % 2]))])
        store.flush()
    clock[0] += 1
    assert store.get(OUTPUTS, [bytes([0]) * 16])  # the oldest, but just used
    store.close()
    with opened(tmp_path / "a") as left:
        assert 100_000 < left.size() <= 200_000
        names = [(OUTPUTS, PLANS)[n % 2] for n in range(40)]
        present = [bool(left.get(names[n], [bytes([n]) * 16])) for n in range(40)]
    assert present[0]
    first = present.index(True, 1)
    assert 1 < first < 39
    assert all(present[first:])


def test_two_processes_may_share_the_store(tmp_path):
    one, two = Store(tmp_path / "a"), Store(tmp_path / "a")
    one.put(OUTPUTS, [(b"1" * 16, b"x")])
    one.flush()
    assert two.get(OUTPUTS, [b"1" * 16]) == {b"1" * 16: b"x"}
    two.put(OUTPUTS, [(b"2" * 16, b"y")])
    two.flush()
    assert one.get(OUTPUTS, [b"2" * 16])
    one.close()
    two.close()


def test_the_cache_is_shown_and_cleared(folder):
    command = ("run", "-x", "w-seat", "-d", "weat-6", "-o", folder / "r", "--force")
    status, _, err = invoke(*command)
    assert status == 0, err
    status, out, _ = invoke("cache", "info")
    shown = " ".join(out.split())
    assert status == 0
    assert " 0 vectors" not in shown
    assert "1 model metadata" in shown
    assert invoke("cache", "clear")[0] == 0
    assert "empty, at most 2147 MB" in " ".join(invoke("cache", "info")[1].split())
    assert invoke(*command, "--no-cache")[0] == 0
    assert not (folder / stored.FILE_NAME).exists()


def test_a_wrong_limit_is_refused_and_a_foreign_file_is_renamed(folder, monkeypatch):
    command = ("run", "-x", "w-seat", "-d", "weat-6", "-o", folder / "r", "--force")
    monkeypatch.setenv("UNMASK_CACHE_SIZE", "much")
    status, _, err = invoke(*command)
    assert status == 2
    assert "UNMASK_CACHE_SIZE" in err
    monkeypatch.delenv("UNMASK_CACHE_SIZE")
    (folder / stored.FILE_NAME).write_bytes(b"no database" * 500)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        status, _, err = invoke(*command)
    assert status == 0
    assert list(folder.glob("*.aside"))


def test_an_error_during_a_run_costs_only_the_cache(tmp_path):
    """A full disk or a damaged page while a run goes on: it goes on without the file."""
    store = Store(tmp_path / "a")
    store.put(OUTPUTS, [(KEY, b"v")])
    store.flush()
    store._file.close()  # whatever is asked of it now is an error
    assert store.usage(OUTPUTS) == (0, 0)
    store.put(OUTPUTS, [(b"l" * 16, b"v")])
    store.close()
    assert any("nothing more is cached" in line for line in store.messages)
