"""Tests of reports/results."""

import json
from dataclasses import replace

import jsonschema
import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.data.packaged import bundled_pairs
from unmask.reports import results as files


@pytest.fixture(scope="module")
def made():
    some = replace(bundled_pairs(), name="some", items=bundled_pairs().items[::20])
    return unmask.run(tiny("bert"), ["cat", "w-seat", "lpbs"], [some, "weat-6", "kurita-career"])


def test_files_follow_the_schema_and_come_back_whole(made, tmp_path):
    unmask.save(made, tmp_path)
    content = json.loads((tmp_path / "results.json").read_text())
    jsonschema.validate(content, files.schema())
    again = unmask.load(tmp_path)
    for one, two in zip(made, again, strict=True):
        assert files.to_record(one) == files.to_record(two)
        pd.testing.assert_frame_equal(
            one.items.reset_index(drop=True)[["item", "label", "score"]],
            two.items[["item", "label", "score"]],
        )


WORDS = {"inconclusive": "cannot tell", "negligible": "not by more", "reversed": "biased"}


def former(record):
    """A result as version 2 of the format has it."""
    estimates = [record["overall"], *record["extras"].values(), *record["by_category"].values()]
    for estimate in estimates:
        if "mde" in estimate["more"]:
            estimate["more"]["detectable"] = estimate["more"].pop("mde")
    extras = {k.replace("adjusted", "stereotype"): v for k, v in record["extras"].items()}
    verdicts = {
        k: {**v, "word": WORDS.get(v["word"], v["word"])} for k, v in record["verdicts"].items()
    }
    return {**record, "extras": extras, "verdicts": verdicts}


def test_results_of_version_2_are_read(made, tmp_path):
    unmask.save(made, tmp_path)
    columns = {"group_pair": "family", "group": "side", "template": "frame", "influence": "pull"}
    frame = pd.read_parquet(tmp_path / "items.parquet").rename(columns=columns)
    frame.to_parquet(tmp_path / "items.parquet")
    content = json.loads((tmp_path / "results.json").read_text())
    content |= {"schema": 2, "results": [former(r) for r in content["results"]]}
    del content["items"]  # its digest is of the other table
    (tmp_path / "results.json").write_text(json.dumps(content))
    again = unmask.load(tmp_path)
    for one, two in zip(made, again, strict=True):
        assert (one.title, one.compared) == (two.title, two.compared)
        assert one.overall.se == two.overall.se
        assert one.extras.keys() == two.extras.keys()
        assert {k: v.word for k, v in one.verdicts.items()} == {
            k: v.word for k, v in two.verdicts.items()
        }
        assert set(one.items.columns) <= set(two.items.columns)
        assert one.items.score.sum() == pytest.approx(two.items.score.sum())
    assert "nadeem2021" in invoke("cite", tmp_path)[1]


BROKEN = {
    "cut": (lambda t: t[: len(t) // 2], "not a complete JSON file"),
    "empty": (lambda t: "", "not a complete JSON file"),
    "a list": (lambda t: "[]", "no list of results"),
    "null": (lambda t: '{"results": [null], "schema": 2, "notes": []}', "not match the results"),
    "no field": (lambda t: t.replace('"compared"', '"compard"', 1), "at results/0"),
    "a word": (lambda t: t.replace('"n": ', '"n": "x", "m": ', 1), "not match the results"),
    "later": (lambda t: t.replace('"schema": 3', '"schema": 99'), "reads 2 to 3"),
    "former": (lambda t: '{"schema": 2, "results": [{"model": "m"}]}', "not match the results"),
    "fewer": (lambda t: t[: t.rindex(',\n  {\n   "spec"')] + "\n ]\n}", "not contain the items"),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_file_is_one_sentence(name, made, tmp_path):
    unmask.save(made, tmp_path)
    change, said = BROKEN[name]
    path = tmp_path / "results.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(unmask.DataError, match=said):
        unmask.load(tmp_path)


def test_items_of_another_run_are_noticed(made, tmp_path):
    unmask.save(made, tmp_path / "a")
    unmask.save(made[:1], tmp_path / "b")
    (tmp_path / "a" / "items.parquet").write_bytes((tmp_path / "b" / "items.parquet").read_bytes())
    with pytest.raises(unmask.DataError, match="a run was interrupted while writing"):
        unmask.load(tmp_path / "a")
    (tmp_path / "a" / "items.parquet").unlink()
    with pytest.raises(unmask.DataError, match="holds no items"):
        unmask.load(tmp_path / "a")
    text = (tmp_path / "b" / "results.json").read_text()
    (tmp_path / "b" / "results.json").write_text(text, encoding="utf-8-sig")
    assert len(unmask.load(tmp_path / "b")) == 1
