"""Tests of data/concerns."""

import pytest

from unmask.data import bias_types, catalogue
from unmask.text.contexts import WordTest


@pytest.mark.parametrize(
    ("category", "data", "bias_type"),
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
def test_a_category_belongs_to_a_concern(category, data, bias_type):
    assert bias_types.of_category(category, data) == bias_type


def test_every_word_test_of_the_package_is_assigned():
    by_bias_type = {}
    for group in ("weat", "husse2022", "tan2019", "ceat-intersectional", "religion"):
        for test in catalogue.resolve(group):
            if isinstance(test, WordTest):
                about = bias_types.of_sets(list(test.stimuli.sets), test.name)
                by_bias_type.setdefault(about, set()).add(test.name)
    known = {c.name for c in bias_types.BIAS_TYPES} | {None, "gender, race and colour"}
    assert by_bias_type.keys() <= known
    assert {"weat-1", "weat-2", "husse-c1-name"} == by_bias_type[None]
    assert {"weat-6", "weat-7b", "husse-occ-term"} <= by_bias_type["gender"]
    assert {"weat-3", "tan-c13"} <= by_bias_type["race and colour"]
    assert {"weat-9", "husse-dis-term"} <= by_bias_type["disability and illness"]
    assert by_bias_type["age"] == {"weat-10"}
    assert "ceat-i1" in by_bias_type["gender, race and colour"]


def test_lists_of_ones_own_are_known_by_their_labels():
    assert bias_types.of_sets(["men", "women", "math", "arts"]) == "gender"
    assert bias_types.of_sets(["he, boys, men", "she, girls, women", "a", "b"]) == "gender"
    assert bias_types.of_sets(["math", "arts", "old people", "young people"]) == "age"
    assert bias_types.of_sets(["male_names", "female_names", "a", "b"]) == "gender"
    assert bias_types.of_sets(["women\u2019s names", "men\u2019s names", "a", "b"]) == "gender"
    labels = ["European American names", "African American names", "good", "bad"]
    assert bias_types.of_sets(labels) == "race and colour"
    assert bias_types.of_sets(["cats", "dogs", "good", "bad"], "pets") == "pets"
    assert bias_types.of_sets(["management", "clerks", "gold", "tin"], "x") == "x"
