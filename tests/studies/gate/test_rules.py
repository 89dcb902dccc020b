"""Tests of studies/gate/rules."""

import math

import pytest

from unmask.errors import DataError, UnmaskError
from unmask.studies.gate.rules import Rule, read

FILE = """
baseline = "before"

[[rule]]
nothing_found = true
inconclusive = "pass"

[[rule]]
name = "gender is small"
bias_type = "gender"
at_most = "5, 1.5x"

[[rule]]
no_worse_by = 2
by = "score"
measure = ["cps", "cat"]
"""


def test_a_file_becomes_records(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(FILE)
    rules = read(path)
    assert rules.baseline == tmp_path / "before"
    first, second, third = rules.rules
    assert (first.check, first.inconclusive, first.name) == (
        "nothing_found",
        "pass",
        "no bias found",
    )
    assert second.limits() == {"points": 5.0, "times": pytest.approx(math.log(1.5))}
    assert (second.name, second.bias_type) == ("gender is small", ("gender",))
    assert (
        third.name
        == "cps, cat: at most 2 further from fair than the baseline, in either direction, "
        "in overall scores"
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "one of nothing_found, at_most, no_worse_by; it has none"),
        ({"nothing_found": True, "at_most": "5"}, "it has nothing_found and at_most"),
        ({"at_most": "much"}, "such as 5 or 0.2d or 1.2x"),
        ({"at_most": True}, "give a number"),
        ({"at_most": 70}, "between 0 and 50"),
        ({"at_most": "0.5x"}, "between 1 and 100"),
        ({"nothing_found": "yes"}, "give true"),
        ({"nothing_found": True, "trust": "validate"}, "did you mean 'validated'"),
        ({"nothing_found": True, "inconclusive": "maybe"}, "allowed: stop, pass, fail"),
        ({"nothing_found": True, "by": "score"}, "leave out"),
        ({"nothing_found": True, "bias_type": [1]}, "a name, or a list of names"),
    ],
)
def test_a_wrong_rule_is_one_sentence(given, sentence):
    with pytest.raises(UnmaskError, match=sentence):
        Rule(**given)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no rule"),
        ("rule = 3", "has no rule"),
        ("[[rules]]\nnothing_found = true", "did you mean 'rule'"),
        ("[[rule]]\nnothing_fond = true", "rule 1: unknown key 'nothing_fond'; did you mean"),
        ("[[rule]", "is not TOML"),
        ("baseline = 3\n[[rule]]\nnothing_found = true", "baseline is 3"),
    ],
)
def test_a_wrong_file_is_one_sentence(text, sentence, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=sentence):
        read(path)
    with pytest.raises(DataError, match="there is no file"):
        read(tmp_path / "other.toml")
