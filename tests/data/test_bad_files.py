"""Tests of data/bad_files."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import unmask
from conftest import invoke
from unmask.data import catalogue, fetch
from unmask.data.readers.pairs import read_pairs
from unmask.text import contexts


def refused(path, match):
    with pytest.raises(unmask.DataError, match=match):
        read_pairs(path)


def test_csv_that_would_be_misread_is_refused_with_its_line(tmp_path):
    path = tmp_path / "p.csv"
    head = "stereotype,antistereotype\n"
    path.write_text(head + "a b,c d\nThe nurse, she said,The nurse\n")
    refused(path, "line 3 has 3 fields")
    path.write_text(head + 'a b,"c d\nThe nurse,he\n')
    refused(path, "close its quotes")
    path.write_bytes(head.encode() + b"caf\xe9 one,caf\xe9 two\n")
    refused(path, "line 2 is not UTF-8")
    assert read_pairs(path, "cp1252").items[0].texts["stereotype"].string == "café one"
    status, _, err = invoke("run", "-d", path, "-x", "aul", "--encoding", "nonsense")
    assert status == 2
    assert "unknown encoding" in err
    path.write_bytes((head + "a b,c d\n").encode("utf-16"))
    assert len(read_pairs(path).items) == 1
    path.write_text(head + "x" * 200_000 + ",b\n")
    assert len(read_pairs(path).items[0].texts["stereotype"].string) == 200_000
    path.write_text("stereotype,antistereotype\na\u2028b,c\n")
    assert read_pairs(path).items[0].texts["stereotype"].string == "a\u2028b"


def test_json_lines_that_are_no_rows(tmp_path):
    path = tmp_path / "p.jsonl"
    for line, said in (
        ("null", "line 1 is not an object"),
        ('{"stereotype": 3, "antistereotype": "x"}', "not text"),
        ('{"stereotype": "a \\ud83d", "antistereotype": "x"}', "an invalid character"),
        ('{"stereotype": NaN, "antistereotype": "x"}', "is empty"),
    ):
        path.write_text(line + "\n")
        refused(path, said)
    frame = pd.DataFrame({"stereotype": ["a", np.nan], "antistereotype": ["b", "c"]})
    frame.to_parquet(tmp_path / "p.parquet")
    refused(tmp_path / "p.parquet", "too few columns|is empty")


def test_a_cached_file_is_verified_on_every_use(tmp_path, monkeypatch, shared):
    original = shared("crows-pairs/crows_pairs_anonymized.csv")
    monkeypatch.delenv("UNMASK_DATA")
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    target = tmp_path / "crows-pairs" / "crows_pairs_anonymized.csv"
    target.parent.mkdir()
    shutil.copy(original, target)
    assert catalogue.sentences("crows-pairs").about["as_pinned"] is True
    target.write_bytes(original.read_bytes()[:5000])
    asked = []
    monkeypatch.setattr(fetch, "download", lambda url, *rest: asked.append(url) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        catalogue.sentences("crows-pairs")
    assert asked  # the cut file was not used: it is fetched again


def test_a_span_must_point_at_its_word(tmp_path):
    path = tmp_path / "c.jsonl"
    row = {"stimulus": "rose", "sentence": "We saw that it came.", "span": [7, 11]}
    path.write_text(json.dumps(row))
    with pytest.raises(unmask.DataError, match="points at 'that'"):
        contexts.stored(path)
    row = {"stimulus": "African American", "sentence": "An African-American man.", "span": [3, 19]}
    path.write_text(json.dumps(row))
    contexts.stored(path)  # what joins the words does not count


def test_a_cut_archive_keeps_what_came_before_the_cut(tmp_path):
    import bz2
    import gzip
    import lzma

    from unmask.corpus import readers

    rng = np.random.default_rng(1)
    text = "\n".join(f"A rose number {n} {rng.integers(10**9)}." for n in range(40_000)).encode()
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        path = tmp_path / f"c.txt{suffix}"
        data = pack(text)
        path.write_bytes(data[: int(len(data) * 0.8)])
        with pytest.raises(readers.DamagedFile):
            list(readers.blocks(path))
        assert len(next(readers.blocks(path))) > 0.3 * len(text), suffix
    (tmp_path / "bomb.txt").write_bytes(b"x" * 3_000_000)
    with pytest.raises(readers.DamagedFile, match="unpacks to more"):
        list(readers.blocks(tmp_path / "bomb.txt", most=1_000_000))
    odd = b'null\n{"body": "A rose."}\n[1]\n3\n'
    assert b"A rose." in readers.documents(odd, True)
