"""Tests of data/concerns."""

import pytest

from unmask.data import catalogue, concerns
from unmask.text.contexts import WordTest


@pytest.mark.parametrize(
    ("category", "data", "concern"),
    [
        ("race-color", "crows-pairs", "race and colour"),
        ("Race_Color", "mine.csv", "race and colour"),
        ("profession", "stereoset", "occupation"),
        ("socioeconomic", "bundled-pairs", "social class"),
        ("left-handed", "mine.csv", "left-handed"),
        ("", "mine.csv", "mine.csv"),
        ("nurse", "winogender", "gender"),
        ("Race and colour", "mine.csv", "race and colour"),
        ("all", "mine.csv", "mine.csv"),
        ("christian", "winobias-religion", "christian"),
    ],
)
def test_a_category_belongs_to_a_concern(category, data, concern):
    assert concerns.of_category(category, data) == concern


def test_every_word_test_of_the_package_is_assigned():
    by_concern = {}
    for group in ("weat", "husse2022", "tan2019", "ceat-intersectional", "religion"):
        for test in catalogue.resolve(group):
            if isinstance(test, WordTest):
                about = concerns.of_sets(list(test.stimuli.sets), test.name)
                by_concern.setdefault(about, set()).add(test.name)
    known = {c.name for c in concerns.CONCERNS} | {None, "gender, race and colour"}
    assert by_concern.keys() <= known
    assert {"weat-1", "weat-2", "husse-c1-name"} == by_concern[None]
    assert {"weat-6", "weat-7b", "husse-occ-term"} <= by_concern["gender"]
    assert {"weat-3", "tan-c13"} <= by_concern["race and colour"]
    assert {"weat-9", "husse-dis-term"} <= by_concern["disability and illness"]
    assert by_concern["age"] == {"weat-10"}
    assert "ceat-i1" in by_concern["gender, race and colour"]


def test_lists_of_ones_own_are_known_by_their_labels():
    assert concerns.of_sets(["men", "women", "math", "arts"]) == "gender"
    assert concerns.of_sets(["he, boys, men", "she, girls, women", "a", "b"]) == "gender"
    assert concerns.of_sets(["math", "arts", "old people", "young people"]) == "age"
    assert concerns.of_sets(["male_names", "female_names", "a", "b"]) == "gender"
    assert concerns.of_sets(["women\u2019s names", "men\u2019s names", "a", "b"]) == "gender"
    labels = ["European American names", "African American names", "good", "bad"]
    assert concerns.of_sets(labels) == "race and colour"
    assert concerns.of_sets(["cats", "dogs", "good", "bad"], "pets") == "pets"
    assert concerns.of_sets(["management", "clerks", "gold", "tin"], "x") == "x"
