"""Tests of reports/formats."""

import pytest

from conftest import invoke

RUN = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "12")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "r"
    assert invoke(*RUN, "-o", folder)[0] == 0
    return folder


def test_several_models_are_named_in_every_form(done, tmp_path):
    other = tmp_path / "other"
    assert invoke(*RUN, "-o", other, "--seed", "9")[0] == 0
    for form in ("md", "tex"):
        text = invoke("export", done, other, "--format", form)[1]
        assert "(r)" in text
        assert "(other)" in text
