"""What nobody sees in a file, and files that are larger than they look."""

import time

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unmask
from conftest import invoke
from unmask.data.check import file as file_check

HIDDEN = {"zero-width": "\u200b", "right-to-left": "\u202e", "NUL": "\x00", "soft hyphen": "\u00ad",
    "arabic mark": "\u061c", "mongolian separator": "\u180e", "grapheme joiner": "\u034f",
    "tag": "\U000e0061", "hangul filler": "\u3164", "braille blank": "\u2800",
    "line separator": "\u2028", "no character": "\ufffe"}  # fmt: skip


def written(tmp_path, mark, joiner=False):
    rows = [(f"The man {k} is tired.", f"The woman {k} is tired.") for k in range(12)]
    rows[3] = (rows[3][0].replace("tired", f"ti{mark}red"), rows[3][1])
    path = tmp_path / "p.csv"
    pd.DataFrame(rows, columns=["stereotype", "antistereotype"]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", HIDDEN)
def test_characters_that_cannot_be_seen_are_a_problem(tmp_path, name):
    path = written(tmp_path, HIDDEN[name])
    found = [f for f in file_check.check(path).findings if "invisible" in f.sentence]
    assert [(f.state, f.rows) for f in found] == [("problem", (5,))]
    assert invoke("data", "check", path, "--strict")[0] == 1
    assert invoke("data", "check", path, "--write", tmp_path / "clean.csv")[0] == 0
    clean = pd.read_csv(tmp_path / "clean.csv")
    assert clean.stereotype[3].replace("ti red", "tired") == "The man 3 is tired."


def test_joiners_in_both_columns_belong_to_a_script(tmp_path):
    rows = [
        (
            f"\u0645\u06cc\u200c\u062e\u0648\u0627\u0646\u0645 {k}",
            f"\u0645\u06cc\u200c\u062f\u0627\u0646\u0645 {k}",
        )
        for k in range(12)
    ]
    path = tmp_path / "p.csv"
    pd.DataFrame(rows, columns=["stereotype", "antistereotype"]).to_csv(path, index=False)
    assert not [f for f in file_check.check(path).findings if "invisible" in f.sentence]


def test_a_small_parquet_file_of_very_many_rows_is_refused_at_once(tmp_path):
    path = tmp_path / "many.parquet"
    texts = pa.array(["The man sat.", "The woman sat."], pa.string())
    index = pa.array([0], pa.int8())
    column = [pa.DictionaryArray.from_arrays(pa.concat_arrays([index] * 1), texts)]
    size = 3_000_000
    table = pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array([k] * size, pa.int8()), texts)
            for k, name in enumerate(("stereotype", "antistereotype"))
        }
    )
    del column
    pq.write_table(table, path)
    assert path.stat().st_size < 1_000_000
    begun = time.monotonic()
    for words in (("data", "check", path), ("run", "-x", "cps", "-d", path, "--limit", "5")):
        status, _, err = invoke(*words)
        assert (status, "3,000,000 rows" in err) == (2, True)
    assert time.monotonic() - begun < 20


def test_long_texts_that_unpack_are_refused(tmp_path, monkeypatch):
    from unmask.data.readers import table

    monkeypatch.setattr(table, "LARGEST_UNPACKED", 100_000)
    path = tmp_path / "long.parquet"
    frame = pd.DataFrame({"stereotype": ["x" * 200] * 4000, "antistereotype": ["y" * 200] * 4000})
    frame.to_parquet(path)
    with pytest.raises(unmask.DataError, match="once it is unpacked"):
        table.read_table(path, ["stereotype"])
    frame.head(100).to_parquet(path)
    assert len(table.read_table(path, ["stereotype"])) == 100


def test_a_dictionary_of_long_texts_is_measured_unpacked(tmp_path):
    """Parquet keeps a repeated text once; in memory each row has its own."""
    long = pa.array(["x" * 3_000_000]).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), long.dictionary)
    pq.write_table(
        pa.table({"stereotype": column, "antistereotype": column}), tmp_path / "p.parquet"
    )
    begun = time.monotonic()
    status, _, err = invoke("data", "check", tmp_path / "p.parquet")
    assert (status, "once it is unpacked" in err) == (2, True)
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("mark", ["  ", "\u00a0", "\u200b "])
def test_a_contradiction_does_not_hide_behind_spaces(mark):
    rows = [(f"The man {k} is kind.", f"The woman {k} is kind.") for k in range(12)]
    other = (rows[0][1].replace(" ", mark, 1), rows[0][0].upper())
    frame = pd.DataFrame([*rows, other], columns=["stereotype", "antistereotype"])
    (found,) = unmask.run("bundled", ["cps"], frame)
    assert found.coverage.items == 11
