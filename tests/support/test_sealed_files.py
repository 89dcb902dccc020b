"""Tests of support/sealed_files."""

import os

import pytest

from conftest import invoke
from unmask.support import sealed_files


def test_what_was_written_is_read_and_what_was_damaged_is_not(tmp_path):
    path = tmp_path / "deep" / "file"
    sealed_files.write(path, b"known")
    assert sealed_files.read(path) == b"known"
    assert [p.name for p in path.parent.iterdir()] == ["file"]
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        broken = bytearray(whole)
        broken[bit // 8] ^= 1 << bit % 8
        path.write_bytes(broken)
        assert sealed_files.read(path) is None
    path.write_bytes(whole[:-1])
    assert sealed_files.read(path) is None
    assert sealed_files.read(tmp_path / "none") is None


def test_a_disk_that_takes_nothing_is_no_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    sealed_files.write(tmp_path / "file" / "below", b"lost")
    assert sealed_files.read(tmp_path / "file" / "below") is None


@pytest.mark.parametrize("what", ["code", "version"])
def test_other_code_and_other_versions_have_another_digest(monkeypatch, what):
    plain = sealed_files.code_digest.__wrapped__
    before = plain()
    assert plain() == before
    if what == "version":
        monkeypatch.setattr(sealed_files, "version", lambda name: "0")
    else:
        monkeypatch.setattr(sealed_files.Path, "read_bytes", lambda self: b"other")
    assert plain() != before


def test_the_oldest_files_leave_first(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    for age, name in enumerate("cba"):
        sealed_files.write(tmp_path / "plans" / name, bytes(84))
        os.utime(tmp_path / "plans" / name, (age, age))
    assert sealed_files.usage("plans") == (3, 300)
    sealed_files.trimmed("plans", 250)
    assert sorted(p.name for p in (tmp_path / "plans").iterdir()) == ["a", "b"]
    out = " ".join(invoke("cache", "info")[1].split())
    assert "plans: 2 query plans, 0.0 MB" in out
    assert invoke("cache", "clear")[0] == 0
    assert sealed_files.usage("plans") == (0, 0)
