"""The examples of the README and the documentation run."""

import importlib.util
import json
import re
from functools import partial

import nbformat
import pytest
from nbclient import NotebookClient

import unmask
from conftest import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    """What one page asked of the bundled model the next need not ask again."""
    monkeypatch.chdir(tmp_path)
    for name in ("run", "evaluate"):
        monkeypatch.setattr(unmask, name, partial(getattr(unmask, name), cache=True))
    # The README begins as the quick start does: together they ask the model once.
    pages = [ROOT / "README.md", page] if page.name == "index.md" else [page]
    for one in pages:
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", one.read_text(), re.S)):
            exec(compile(block, f"{one.name}, example {number + 1}", "exec"), {})


def examples():
    spec = importlib.util.spec_from_file_location("examples", ROOT / "tools" / "examples.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_documentation_shows_is_what_a_run_gives(tmp_path):
    """README output, notebooks and images are from one run, and a new one gives the same."""
    assert examples().stale(tmp_path) == []


def test_another_number_or_word_is_stale():
    same = examples().same
    assert same("cps 63.2 [58.1, 68.0] biased", "cps  63.3 [58.1, 68.0]  biased")
    assert not same("cps 63.2 [58.1, 68.0] biased", "cps 61.2 [58.1, 68.0] biased")
    assert not same("cps 63.2 biased", "cps 63.2 cannot tell")
    assert same("p 0.4936", "p 0.4968")


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
FETCHING = {"read", "reproduce"}  # they need published data sets


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_tutorials_run(path, tmp_path, shared):
    if path.stem in FETCHING:
        shared("crows-pairs/crows_pairs_anonymized.csv")
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_tutorials_are_in_the_menu_with_what_they_print():
    menu = (ROOT / "mkdocs.yml").read_text()
    assert len(TUTORIALS) == 6
    for path in TUTORIALS:
        assert f"tutorials/{path.name}" in menu
        cells = json.loads(path.read_text())["cells"]
        code = [c for c in cells if c["cell_type"] == "code"]
        assert all(c["execution_count"] for c in code)
        assert sum(bool(c["outputs"]) for c in code) >= 2
        text = path.read_text()
        assert "/tmp/" not in text
        assert "Traceback" not in text


def test_commands_in_the_readme_exist():
    from typer.main import get_command

    from unmask.cli.main import app

    known = set(get_command(app).commands)
    for page in PAGES:
        for command in re.findall(r"^(?:\$ )?unmask (\w+)", page.read_text(), re.M):
            assert command in known, f"{page.name}: unmask {command}"
