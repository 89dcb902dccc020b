"""Tests of data/readers/pairs."""

import json

import pandas as pd
import pytest

from unmask.data import catalogue
from unmask.errors import DataError


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_users_file_in_every_form(tmp_path, suffix):
    frame = pd.DataFrame(
        {
            "stereotype": ["She was late.", "A, b."],
            "antistereotype": ["He was late.", "A, c."],
            "category": ["x", "y"],
        }
    )
    path = tmp_path / f"mine{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    data = catalogue.sentences(str(path))
    assert [i.texts["antistereotype"].string for i in data.items] == ["He was late.", "A, c."]
    assert [i.category for i in data.items] == ["x", "y"]


def test_quotes_in_a_tsv_and_odd_line_ends(tmp_path):
    path = tmp_path / "q.tsv"
    path.write_text('stereotype\tantistereotype\n"Yes," she said.\t"Yes," he said.\nA.\tB.\n')
    data = catalogue.sentences(str(path))
    assert data.items[0].texts["stereotype"].string == '"Yes," she said.'
    assert len(data.items) == 2
    path.write_text("stereotype\tantistereotype\nShe ran.\n")
    with pytest.raises(DataError, match="line 2 has 1 fields and the header 2"):
        catalogue.sentences(str(path))
    lines = tmp_path / "l.jsonl"
    row = {"stereotype": "She\u2028ran.", "antistereotype": "He ran."}
    lines.write_text(json.dumps(row, ensure_ascii=False) + "\n")
    assert len(catalogue.sentences(str(lines)).items) == 1


def test_a_broken_parquet_file_is_one_sentence(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(DataError, match="not a parquet file"):
        catalogue.sentences(str(path))
