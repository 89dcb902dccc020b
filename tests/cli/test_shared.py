"""Tests of cli/shared."""

import inspect
import io
from dataclasses import fields

from rich.console import Console

import unmask
from conftest import invoke
from unmask.cli.options import OUTPUT, WHAT, starting
from unmask.options import ABOUT, ITEMS, MODEL, NUMBERS
from unmask.reports import files
from unmask.reports.progress_bars import bars


def test_version_and_short_help():
    assert invoke("--version")[1].strip() == f"unmask {unmask.__version__}"
    assert "Usage" in invoke("run", "-h")[1]


def test_two_runs_of_one_second_get_two_folders(tmp_path):
    made = {files.new_folder(tmp_path / "results", "%Y") for _ in range(3)}
    assert len(made) == 3
    assert all(folder.is_dir() for folder in made)


def test_every_option_is_explained_and_a_typed_argument():
    names = [f.name for f in fields(unmask.Options)]
    assert list(ABOUT) == names
    assert [n for n in inspect.signature(unmask.run).parameters if n in names] == names


def test_the_options_of_run_stand_in_parts():
    shown = invoke("run", "--help")[1]
    parts = [WHAT, OUTPUT, ITEMS, MODEL, NUMBERS, "Choices of association measures"]
    assert all(f"─ {part} ─" in shown for part in parts)


def completed(typed, monkeypatch):
    """What a shell is offered for `unmask TYPED`."""
    monkeypatch.setenv("_UNMASK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"unmask {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    return invoke()[1].split()


def test_names_are_completed(monkeypatch, tmp_path):
    (tmp_path / "mine.csv").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert {"cps", "cps@felkner2023"} <= set(completed("run -x cp", monkeypatch))
    assert "pll,cps" in completed("run -x pll,cp", monkeypatch)
    assert "crows-pairs" in completed("run -d crow", monkeypatch)
    assert "mine.csv" in completed("run -d min", monkeypatch)
    assert completed("run -m bun", monkeypatch) == ["bundled"]


def test_by_category_has_the_same_default_everywhere():
    import inspect

    from unmask.cli import run, score

    defaults = {
        f: inspect.signature(f).parameters["by_category"].default for f in (run.run, score.score)
    }
    assert set(defaults.values()) == {False}


def test_a_terminal_is_told_at_once_and_a_pipe_is_not():
    for terminal, text in ((True, "loading ...\r"), (False, "")):
        out = io.StringIO()
        starting(Console(file=out, force_terminal=terminal, no_color=True), False)
        assert out.getvalue().replace("\x1b[2m", "").replace("\x1b[0m", "") == text


def test_a_bar_speaks_of_sentences():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, no_color=True)
    with bars(console) as advance:
        advance("model", 30, 120)
    assert "25 % of the sentences" in out.getvalue()
