"""What the project's workflows, hooks and forms name exists: CI elsewhere calls what runs here."""

import re

import yaml

from conftest import ROOT

GITHUB = ROOT / ".github"


def targets():
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def called(text):
    return set(re.findall(r"^[^#\n]*\bmake ([a-z-]+)", text, re.M))


def test_workflows_and_hooks_call_targets_that_exist():
    files = [
        *(GITHUB / "workflows").glob("*.yml"),
        ROOT / ".pre-commit-config.yaml",
        ROOT / ".ci/run",
    ]
    assert len(files) == 4
    for file in files:
        names = called(file.read_text())
        assert names, file
        assert names <= targets(), file
    every = set().union(*(called(f.read_text()) for f in files))
    assert {"unit", "lint", "docs", "wheel", "fresh", "test"} <= every


def test_tests_run_on_both_architectures_and_three_pythons():
    jobs = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text())["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13"]
    assert any("arm" in system for system in matrix["os"])
    assert any("arm" not in system for system in matrix["os"])


def test_no_secret_is_stored_for_a_release():
    release = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text())
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (GITHUB / "workflows" / "release.yml").read_text()


def test_forms_are_complete():
    forms = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [f.stem for f in forms] == ["bug", "new-measure", "report-an-item", "wrong-number"]
    for form in forms:
        content = yaml.safe_load(form.read_text())
        assert {"name", "description", "body"} <= content.keys()
        assert all({"type", "id", "attributes"} <= field.keys() for field in content["body"])
