"""Tests of data/wordsets."""

import json

import pytest

import unmask
from conftest import tiny
from unmask.api import evaluate, run
from unmask.data import catalogue
from unmask.data.cards import seat_files
from unmask.data.packaged import packaged
from unmask.data.wordsets import ASIDE, groups, stimuli
from unmask.errors import DataError
from unmask.reports.cite import references
from unmask.text import contexts
from unmask.types import Stimuli


def test_every_word_set_is_complete():
    for test in packaged("words.json")["tests"]:
        assert test["source"] in references()
        for side in ("targets", "attributes"):
            assert len(test[side]) == 2
            for label, forms in test[side].items():
                assert label == label.lower()
                for form, listed in forms.items():
                    assert form in contexts.TEMPLATES or form == ASIDE
                    assert listed
                    assert all(w == w.strip() and w for w in listed)


def test_sizes_and_overlaps():
    """Target sets are of equal size; no word is on both sides of a contrast."""
    for name, test in stimuli().items():
        (x, y), (a, b) = test.targets.values(), test.attributes.values()
        assert len(x) == len(y), name
        assert not set(x) & set(y), name
        shared = set(a) & set(b)
        assert not shared, f"{name}: {shared}"


COUNTS = {  # from the papers: targets a side, attributes a side
    "weat-1": (25, 25), "weat-2": (25, 25), "weat-3": (32, 25), "weat-4": (16, 25),
    "weat-5": (16, 8), "weat-6": (8, 8), "weat-7": (8, 8), "weat-8": (8, 8), "weat-9": (6, 7),
    "weat-10": (8, 8), "weat-3b": (15, 25), "weat-5b": (15, 8), "weat-6b": (8, 8),
    "ceat-i1": (12, 13), "ceat-i2": (12, 8), "ceat-i3": (12, 12), "ceat-i4": (12, 6),
    "husse-dis-term": (23, 225), "husse-dis-term-m": (23, 223), "husse-i1-term": (45, 13),
    "husse-i2-term": (45, 8), "husse-occ-name": (26, 20), "husse-c9-name-m": (14, 8),
    "abw": (15, 18), "double-bind-competent": (8, 10), "double-bind-likable": (8, 8),
}  # fmt: skip


@pytest.mark.parametrize("name", list(COUNTS))
def test_published_counts(name):
    test = stimuli()[name]
    assert tuple(len(v) for v in test.sets.values()) == tuple(
        n for n in COUNTS[name] for _ in range(2)
    )


def test_kurita_and_thys_have_their_own_lists(shared):
    """The author's own lists, and the number that his code gives on the bundled model."""
    stated = json.loads(shared("wordsets/kurita2019/thys2025_lpbs.json").read_text())["tests"]
    for name, key in (("math", "weat 7"), ("science", "weat 8")):
        data = catalogue.sentences(f"kurita-{name}@thys2025")
        for side, target in (("A", "target_1"), ("B", "target_2")):
            words = {i.cluster for i in data.items if i.group == side}
            assert words == set(stated[key][target])
        plain = {i.cluster for i in catalogue.sentences(f"kurita-{name}").items}
        assert {i.cluster for i in data.items} - plain == {"Shakespear"}
    for name, d in (("math", 0.5866), ("science", 0.4418)):
        found = evaluate("bundled", "lpbs@thys2025", f"kurita-{name}@thys2025")
        assert found.overall.value == pytest.approx(d, abs=5e-5)


def test_misspellings_are_mended_under_the_plain_name():
    released = {w for v in stimuli()["husse-c3-term@husse2022"].sets.values() for w in v}
    mended = {w for v in stimuli()["husse-c3-term"].sets.values() for w in v}
    assert "crashs" in released
    assert "crashs" not in mended
    assert "crashes" in mended
    assert "misspelt" in stimuli()["husse-c3-term"].meta["defects"]
    assert "self-sufficent" in stimuli()["husse-dis-term@husse2022"].attributes["positive"]
    assert "self-sufficient" in stimuli()["husse-dis-term"].attributes["positive"]
    assert "failure" in stimuli()["weat-10"].attributes["unpleasant"]


def test_groups_name_tests_that_exist():
    for members in groups().values():
        assert members
        for member in members:
            assert member in stimuli() or member in seat_files()


SMALL = Stimuli(
    "small",
    {"x": ("nurse", "maid", "dancer"), "y": ("judge", "captain", "banker")},
    {"a": ("gentle", "kind"), "b": ("strong", "brave", "clever")},
    forms=dict.fromkeys(("nurse", "maid", "dancer", "judge", "captain", "banker"), "singular"),
)


def test_holm_over_a_family():
    results = run(["bundled"], ["w-seat"], ["thys2025-words"])
    frame = unmask.table(results)
    assert len(frame) == 6
    people = frame[frame.p_corrected.notna()]  # flowers and insects are no one's bias type
    smallest = people.p.min()
    expected = min(1, len(people) * smallest)
    assert people.p_corrected[people.p.idxmin()] == pytest.approx(expected)
    assert (people.p_corrected >= people.p).all()


def test_unequal_targets_name_the_variant_that_subsamples():
    uneven = Stimuli(
        "u",
        {"x": ("nurse", "maid"), "y": ("judge", "captain", "banker")},
        SMALL.attributes,
        forms=SMALL.forms,
    )
    with pytest.raises(DataError, match="w-seat@husse2022"):
        evaluate(tiny("bert"), "w-seat", uneven)
    found = evaluate(tiny("bert"), "w-seat@husse2022", uneven)
    assert found.coverage.scored == found.coverage.items - 1


def test_a_users_word_test_in_json(tmp_path):
    path = tmp_path / "mine.json"
    given = {
        "targets": {"a": ["nurse", "maid"], "b": ["judge", "sailor"]},
        "attributes": {"x": ["she", "woman"], "y": ["he", "man"]},
    }
    path.write_text(json.dumps(given))
    result = evaluate("bundled", "w-seat", str(path))
    assert (result.data, result.coverage.scored) == ("mine", 8)
    same = {**given, "attributes": {"a": ["she", "her"], "y": ["he", "man"]}}
    letters = {**given, "targets": {"a": "nurse", "b": ["judge", "sailor"]}}
    for wrong in ({"targets": {"a": ["nurse"]}}, same, letters):
        path.write_text(json.dumps(wrong))
        with pytest.raises(DataError, match="is not a word test"):
            evaluate("bundled", "w-seat", str(path))
    with pytest.raises(DataError, match="there is no file"):
        evaluate("bundled", "w-seat", str(tmp_path / "none.json"))
