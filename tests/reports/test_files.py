"""Tests of reports/files."""

import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.types import Contrast, Dataset, Text

GOOD = "The nurse said that she was tired.", "The nurse said that he was tired."


def made(*rows, **more):
    items = [
        Contrast(str(n), {"stereotype": Text(a), "antistereotype": Text(b)}, "c", f"k{n}")
        for n, (a, b) in enumerate(rows)
    ]
    return Dataset("made", "pairs", tuple(items), **more)


def test_names_do_not_steer_the_terminal_or_a_spreadsheet(tmp_path):
    path = tmp_path / "x\x1b[31m[bold].csv"
    path.write_text("stereotype,antistereotype,category\na b,c d,=1+1\ne f,g h,@x\n")
    status, out, err = invoke(
        "run", "-m", "bundled", "-x", "aul", "-d", path, "--by-category", "-o", tmp_path / "o"
    )
    assert status == 0, err
    assert "\x1b[31m" not in out
    assert "[bold]" in out
    from unmask.reports.files import put_csv

    frame = pd.DataFrame({"a": ["=1+1", "-0.5*", "-3", "@x", "plain"], "b": [1.0, -2.0, 3, 4, 5]})
    put_csv(tmp_path / "t.csv", frame)
    cells = pd.read_csv(tmp_path / "t.csv", dtype=str).a.tolist()
    assert cells == ["'=1+1", "-0.5*", "-3", "'@x", "plain"]


def test_files_are_written_without_following_links(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "o"
    folder.mkdir()
    for name in ("results.json", "items.parquet"):
        (folder / name).symlink_to(victim)
    unmask.save(unmask.run(tiny("bert"), "aul", made(GOOD)), folder)
    assert victim.read_text() == "mine"
    assert not (folder / "results.json").is_symlink()


def test_a_stopped_run_and_a_full_disk_are_one_sentence(tmp_path, monkeypatch):
    from unmask import api
    from unmask.reports import files

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "run", stopped)
    status, _, err = invoke("run", "-x", "aul", "-o", tmp_path / "o")
    assert status == 130
    assert "run the same command to resume" in " ".join(err.split())

    def full(part):
        raise OSError(28, "No space left on device")

    with pytest.raises(unmask.DataError, match="No space left"):
        files.atomically(tmp_path / "x", full)
    assert list(tmp_path.glob(".x*")) == []


def test_dollar_signs_are_no_mathematics(tmp_path):
    from unmask.reports.figures import study_charts
    from unmask.reports.html import study_page

    shown = pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": "a $x_ and $_^"})
    figure = study_charts.curves("f", "t", shown, ("a", "A"), ("b", "B"), "c")
    study_page.write(study_page.Study("s", [], [figure]), tmp_path)
    assert (tmp_path / "f.png").is_file()
