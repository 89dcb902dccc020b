"""Pages of the papers: written whole, without markup from names, and what is refused."""

from html.parser import HTMLParser

import pandas as pd
import pytest

from conftest import invoke
from unmask.data.packaged import published
from unmask.errors import ModelError
from unmask.options import Options
from unmask.reports.figures import study_charts
from unmask.reports.html import study_page as pages
from unmask.studies.papers.reproduce import MODELS, PAPERS
from unmask.studies.papers.reproduce import reproduce as run_paper
from unmask.studies.papers.request import Request


def reproduce(paper, models, folder, options, **request):
    return run_paper(paper, models, folder, Request(options, **request))


def test_pages_are_written_whole(tmp_path):
    table = pages.Table("t", "A & B", pd.DataFrame({"a_b": ["x%"], "v": [1.5]}), "note")
    figure = study_charts.curves(
        "f", "F", pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": "x"}), ("a", "A"), ("b", "B"), "c"
    )
    pages.write(pages.Study("S <1>", [table], [figure], ["said"], {"m": "why"}), tmp_path)
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {
        *("t.csv", "t.tex", "f.png", "f.svg", "f.pdf", "f-numbers.csv"),
        *("report.html", "index.md"),
    }
    page = (tmp_path / "report.html").read_text()
    assert "S &lt;1&gt;" in page
    assert "why" in page
    assert "x\\%" in (tmp_path / "t.tex").read_text()
    assert "| x% | 1.50 |" in (tmp_path / "index.md").read_text()


def test_no_name_becomes_markup(tmp_path):
    """Names from files and models are text in every format, and no attribute of the page."""
    bad = '<b>|x|</b>"onerror="alert(1)'
    frame = pd.DataFrame({bad: [bad], "p": [0.0], "p McNemar": [3e-9]})
    figure = study_charts.curves(
        bad, bad, pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": bad}), ("a", bad), ("b", "B"), "c"
    )
    pages.write(pages.Study(bad, [pages.Table(bad, bad, frame, bad)], [figure], [bad]), tmp_path)
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "index.md").read_text()
    assert "<b>" not in page
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, dict(attrs)))

    Reader().feed(page)
    assert not [tag for tag, attrs in found if tag == "b" or "onerror" in attrs]
    assert "<b>" not in text.replace("\\<b\\>", "")
    row = next(line for line in text.split("\n") if "3e-09" in line)
    assert row.replace("\\|", "").count("|") == 4
    assert "0.00" not in row
    assert all(
        set(p.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") for p in tmp_path.iterdir()
    )


def test_published_tables_are_written_without_any_model(tmp_path):
    """No model can be loaded here: one short line each, and the tables all the same."""
    assert set(MODELS) == set(PAPERS)
    for paper in PAPERS:
        study = reproduce(paper, [], tmp_path / paper, Options())
        assert set(study.skipped) >= set(MODELS[paper])
        assert all(len(why) < 80 for name, why in study.skipped.items() if name in MODELS[paper])
        assert not (tmp_path / paper / "results.json").exists()
        for table in study.tables:
            assert (tmp_path / paper / f"{pages.safe(table.name)}.csv").is_file()
    names = {t.name for t in study.tables}
    assert {*(f"table{n}" for n in range(1, 15)), "appendix-b5", "appendix-d"} <= names


def test_a_model_that_is_named_must_load(tmp_path):
    with pytest.raises(ModelError, match="the hub cannot be reached"):
        reproduce("thys2025", ["no-such-model-here"], tmp_path, Options())
    with pytest.raises(ModelError) as error:
        reproduce("thys2025", ["gpt2"], tmp_path, Options())
    assert "did you mean" not in str(error.value)
    status, _, err = invoke("reproduce", "kaneko2023")
    assert status == 2
    assert "did you mean 'kaneko2022'" in err


def test_published_files_are_json_and_complete():
    for paper in PAPERS:
        values = published(paper)
        assert values["source"] == paper
        tables = {k: v for k, v in values.items() if k.startswith(("table", "figure"))}
        assert tables
        for name, table in tables.items():
            assert len(table) > 0, (paper, name)
            assert all(_finite(v) for v in _leaves(table)), (paper, name)


def _leaves(value):
    if isinstance(value, dict | list):
        return [
            x for v in (value.values() if isinstance(value, dict) else value) for x in _leaves(v)
        ]
    return [value]


def _finite(value):
    return value is None or isinstance(value, str | bool) or abs(value) < 1000
