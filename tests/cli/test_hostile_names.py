"""Names of models, rules and categories come from files: none of them steers a terminal or CI."""

from dataclasses import replace

import pandas as pd
import pytest

import unmask
from conftest import invoke
from unmask.support.printable import one_line, visible

ODD = "evil\n::error file=x::stopped\x1b[31m\u202emodel"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    pairs = pd.DataFrame(
        [
            (f"The man {k} is a doctor.", f"The woman {k} is a doctor.", "gen\n::warning::x\x1bder")
            for k in range(12)
        ],
        columns=["stereotype", "antistereotype", "category"],
    )
    results = unmask.run("bundled", ["cps", "pmi"], pairs)
    odd = [replace(r, spec=replace(r.spec, model=ODD)) for r in results]
    places = [tmp_path_factory.mktemp("r") / name for name in ("one", "two")]
    for place in places:
        unmask.save(odd, place)
    return places


def commands(folders, tmp_path):
    one, two = folders
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nat_most = 5\nname = "\\n::error::rule\\u001b"\n')
    yield ("gate", one, "--rules", rules, "--summary", tmp_path / "summary.md")
    yield ("trend", one, two, "-o", tmp_path / "t", "--force")
    yield ("items", one)
    yield ("export", "--csv", one)
    yield ("export", "--format", "csv-items", one)
    yield ("export", "--format", "md", one)
    yield ("leaderboard", one, two)
    yield ("compare", one, two)
    yield ("report", one)


def test_no_name_steers_a_terminal_or_a_build_server(folders, tmp_path):
    for words in commands(folders, tmp_path):
        _, out, err = invoke(*words)
        text = out + err
        if (tmp_path / "summary.md").exists():
            text += (tmp_path / "summary.md").read_text()
        assert "\x1b[31m" not in text, words
        assert "\u202e" not in text, words
        assert not any(line.lstrip().startswith("::") for line in text.splitlines()), words


def test_one_line_keeps_what_people_read():
    assert one_line("a model: 5 :: 6") == "a model: 5 :: 6"
    assert one_line("C++ std::vector") == "C++ std::vector"
    assert one_line("x\ny\tz") == "x y z"
    assert one_line("::set-output name=a::b") == ": :set-output name=a::b"
    assert one_line("text ##[error]x") == "text ## [error]x"
    assert visible("a\nb\x00") == "a\nb\ufffd"
