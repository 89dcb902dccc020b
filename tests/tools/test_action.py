"""The script of the GitHub Action, run from a fresh folder as the action runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conftest import ROOT

SCRIPT = ROOT / "tools" / "action.sh"
INPUTS = {"UNMASK_MEASURES": "cps,aul", "UNMASK_SETS": "bundled-pairs"}


def act(folder, **inputs):
    """Run the script with some inputs; its exit status and what it printed."""
    place = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    files = {k: str(folder / k.lower()) for k in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    done = subprocess.run(
        ["bash", str(SCRIPT)], cwd=folder, env={**os.environ, **place, **files, **INPUTS, **inputs},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fresh")


@pytest.mark.slow
def test_the_script_leaves_with_the_status_of_the_gate(folder):
    (folder / "wide.toml").write_text("[[rule]]\nat_most = 49\nby = 'score'\ntrust = 'any'\n")
    (folder / "open.toml").write_text("[[rule]]\nat_most = 49\nbias_type = 'occupation'\n")
    assert act(folder, UNMASK_RULES="wide.toml")[0] == 0
    assert "The gate passes." in (folder / "github_step_summary").read_text()
    assert (folder / "unmask-results" / "gate" / "gate.xml").is_file()
    assert (folder / "unmask-results" / "gate" / "report.html").is_file()
    assert act(folder, UNMASK_RULES="open.toml")[0] == 3
    (folder / "lenient.toml").write_text(
        "[[rule]]\nat_most = 49\nbias_type = 'occupation'\ninconclusive = 'pass'\n"
    )
    assert act(folder, UNMASK_RULES="lenient.toml")[0] == 0
    status, shown = act(folder, UNMASK_RULES="none.toml")
    assert (status, "there is no file 'none.toml'" in shown) == (2, True)
    assert (folder / "github_output").read_text().split() == [
        "status=0",
        "status=3",
        "status=0",
    ] + ["status=2"]


def test_an_input_is_never_run(folder):
    status, shown = act(folder, UNMASK_MODEL="$(touch hacked); touch hacked")
    assert status == 2
    assert "hacked" in shown
    assert not (folder / "hacked").exists()


def test_the_action_gives_the_script_all_that_it_reads():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    given = action["runs"]["steps"][-1]["env"]
    read = set(re.findall(r"\$\{?(UNMASK_\w+)", SCRIPT.read_text()))
    assert set(given) == read
    named = {re.search(r"inputs\.([\w-]+)", v)[1] for v in given.values()}
    assert named == set(action["inputs"])
    assert not any("${{" in step.get("run", "") for step in action["runs"]["steps"])
