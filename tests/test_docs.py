"""The examples of the README and the documentation run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S)):
        exec(compile(block, f"{page.name}, example {number + 1}", "exec"), {})


def test_commands_in_the_readme_exist():
    from typer.main import get_command

    from unmask.cli.main import app

    known = set(get_command(app).commands)
    for page in PAGES:
        for command in re.findall(r"^(?:\$ )?unmask (\w+)", page.read_text(), re.M):
            assert command in known, f"{page.name}: unmask {command}"
