"""Tests of cli/commands."""

import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO

import pandas as pd
import pytest
import typer

import unmask
from conftest import invoke
from unmask.cli.help import SECTIONS
from unmask.cli.main import app
from unmask.data import catalogue
from unmask.reports.results import load

RUN = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "12")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "r"
    assert invoke(*RUN, "-o", folder)[0] == 0
    return folder


def test_a_finished_folder_is_written_over_only_by_force(here):
    assert invoke(*RUN, "-o", "r", "--seed", "1")[0] == 0
    before = (here / "r" / "results.json").read_text()
    status, _, err = invoke(*RUN, "-o", "r", "--seed", "2")
    assert status == 2
    assert "already contains results" in err
    assert "--force" in err
    assert (here / "r" / "results.json").read_text() == before
    assert invoke(*RUN, "-o", "r", "--seed", "2", "--force")[0] == 0
    assert (here / "r" / "results.json").read_text() != before


@pytest.mark.parametrize("more", [(), ("-o", "a/b/c")])
def test_a_command_that_fails_leaves_no_folder(here, more):
    assert invoke("run", "-m", "bundled,bundeld", *more)[0] == 2
    assert invoke("run", "-d", "no.csv", *more)[0] == 2
    assert not list(here.iterdir())


def test_results_say_what_made_them(done):
    content = json.loads((done / "results.json").read_text())
    assert content["schema"] == 3
    assert content["made"]["unmask"] == unmask.__version__
    assert content["made"]["command"].startswith("unmask run -x sss -d bundled-pairs --limit 12")
    pd.Timestamp(content["made"]["date"])
    assert len(load(done)) == 1


def test_all_names_are_looked_up_before_a_model_works(monkeypatch):
    seen = []
    monkeypatch.setattr("unmask.flow.loading.loaded", lambda *a: seen.append(a))
    for names in (["bundled", "bundeld"], ["bundled", "./nowhere"], ["bundled", "no.txt"]):
        with pytest.raises(unmask.ModelError):
            unmask.run(names, "aul")
    with pytest.raises(unmask.NameUnknown):
        unmask.run("bundled", ["aul", "aull"])
    with pytest.raises(unmask.UnmaskError):
        unmask.run("bundled", "aul", ["bundled-pairs", "crows-pear"])
    assert not seen


def test_quiet_and_json_print_that_alone(here):
    status, out, err = invoke(*RUN, "--quiet", "-o", "q")
    assert (status, out, err) == (0, "q\n", "")
    status, out, err = invoke(*RUN, "--json", "-o", "j")
    content = json.loads(out)
    assert (status, err, content["folder"]) == (0, "", "j")
    assert content["results"][0]["overall"]["n"] == 12
    assert content["results"] == json.loads((here / "j" / "results.json").read_text())["results"]


def test_the_shells_completion_is_there():
    for shell in ("bash", "zsh", "fish"):
        # else it is made for the shell that calls, which may be one without completion
        told = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        call = [sys.executable, "-m", "unmask.cli.main", "--show-completion", shell]
        done = subprocess.run(call, capture_output=True, text=True, env=told)
        assert done.returncode == 0, done.stderr
        assert "COMP" in done.stdout.upper()
    asked = {"_UNMASK_COMPLETE": "complete_bash", "COMP_WORDS": "unmask rep", "COMP_CWORD": "1"}
    code = "from unmask.cli.main import app; app(prog_name='unmask')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}
    )
    assert done.stdout.split() == ["reproduce", "report"]


def test_list_data_knows_every_name_that_run_takes():
    for name in [*catalogue.names(), "bundled-pairs:shuffled", "stereoset:unrelated"]:
        with redirect_stdout(StringIO()):
            assert invoke("list", "data", name)[0] == 0, name
    assert invoke("list", "data", "bundled-pairs:shufled")[0] == 2


def test_models_are_named_alike_everywhere():
    for command in ("run", "reproduce", "vary", "reliability"):
        text = invoke(command, "--help")[1]
        assert "--model" in text
        assert "--models" in text
        assert "-m" in text
    for command in (("vary", "-m", "bundeld"), ("reliability", "--models", "bundeld")):
        status, _, err = invoke(*command)
        assert (status, "did you mean 'bundled'" in err) == (2, True)
    assert invoke("vary", "-m", "bundled,bundled-2")[0] == 2


def test_what_is_saved_anew_leaves_nothing_stale(tmp_path):
    assert invoke(*RUN, "-o", tmp_path / "r")[0] == 0
    unmask.save(load(tmp_path / "r"), tmp_path / "r")
    assert not (tmp_path / "r" / "report.html").exists()
    for call in (lambda: unmask.save(None, tmp_path), lambda: unmask.load(None)):
        with pytest.raises(unmask.UnmaskError):
            call()


def test_folders_are_taken_for_results(done):
    assert len(unmask.leaderboard(str(done))) == 1
    with pytest.raises(unmask.UnmaskError):
        unmask.leaderboard(3)


def test_a_wrong_use_is_one_sentence(done, here):
    for call in (
        ("run", "--limit", "abc"),
        ("score", "x.csv"),
        ("run", "--no-such"),
        ("export", done),
        ("export", done, "--lm-eval", "--format", "tex"),
        ("run", "-x", "aulx", "--save-config", "s.toml"),
    ):
        status, _, err = invoke(*call)
        assert (status, err.strip().count("\n")) == (2, 0), call
    assert not list(here.iterdir())


def test_items_of_each_category(tmp_path):
    call = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "60", "-o", tmp_path / "r")
    assert invoke(*call)[0] == 0
    lines = invoke("items", tmp_path / "r", "--by-category", "--top", "1")[1].splitlines()
    shown = [line.split("  ")[2] for line in lines if line.startswith("  ")]
    (found,) = load(tmp_path / "r")
    assert shown == sorted(set(found.items.category))


@pytest.mark.parametrize("arguments", [(), ("data",)])
def test_without_a_command_there_is_help_and_nothing_else(arguments):
    status, out, err = invoke(*arguments)
    assert status == 2
    assert "Usage:" in out
    assert not err


def test_the_help_lists_every_command_once():
    text = invoke("--help")[1]
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        lines = [line for line in text.split("\n") if line.startswith(f"  {name} ")]
        assert len(lines) == 1, name
        assert command.help.split()[0] in lines[0]
    assert {n for names in SECTIONS.values() for n in names} == group.commands.keys()
    assert "More:" not in text


def test_a_path_with_an_umlaut_is_read_under_an_ascii_locale(tmp_path):
    folder = tmp_path / "m\u00f6glich"
    folder.mkdir()
    (folder / "\u00fc.csv").write_text("stereotype,antistereotype\nA man sat.,A boy sat.\n")
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    call = [sys.executable, "-m", "unmask", "run", "-d", folder / "\u00fc.csv", "-x", "aul", "-q"]
    done = subprocess.run([*call, "-o", folder / "r"], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    (result,) = unmask.load(folder / "r")
    assert result.data == "\u00fc"


@pytest.mark.parametrize(
    "error",
    [MemoryError(), ImportError("libtorch_cpu.so: failed to map segment from shared object")],
)
def test_too_little_memory_is_one_sentence(monkeypatch, error):
    def fails(**_):
        raise error

    monkeypatch.setattr("unmask.cli.main.app", fails)
    status, _, err = invoke("list")
    assert (status, err.count("\n")) == (2, 1)
    assert "not enough memory" in err


def test_another_failed_import_is_not_hidden(monkeypatch):
    def fails(**_):
        raise ImportError("no module named 'x'")

    monkeypatch.setattr("unmask.cli.main.app", fails)
    with pytest.raises(ImportError):
        invoke("list")
