"""Tests of cli/shared."""

from dataclasses import fields

import unmask
from conftest import invoke
from unmask.options import ABOUT
from unmask.reports import files


def test_version_and_short_help():
    assert invoke("--version")[1].strip() == f"unmask {unmask.__version__}"
    assert "Usage" in invoke("run", "-h")[1]


def test_two_runs_of_one_second_get_two_folders(tmp_path):
    made = {files.new_folder(tmp_path / "results", "%Y") for _ in range(3)}
    assert len(made) == 3
    assert all(folder.is_dir() for folder in made)


def test_every_option_is_explained():
    assert list(ABOUT) == [f.name for f in fields(unmask.Options)]
