"""What would give a wrong number without a word gets one: a note, or a refusal."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.data.packaged import bundled_pairs
from unmask.data.readers.harness import sentence_pairs
from unmask.errors import DataError, UnmaskError
from unmask.measures import LIKELIHOOD, table
from unmask.types import Dataset, Stimuli

DATA = bundled_pairs()


def pairs(count=20):
    words = ["".join(w) for w in product("abcdef", repeat=2)][:count]
    return pd.DataFrame(
        {
            "id": [f"w{k}" for k in range(count)],
            "stereotype": [f"The {w} sat." for w in words],
            "antistereotype": [f"The g{w} sat." for w in words],
        }
    )


def scored(folder, one, two, count=20):
    """A result of scores `one` for stereotypes and `two` for the others, or the failed call."""
    pairs(count).to_csv(folder / "mine.csv", index=False)
    labels = ("stereotype", "antistereotype")
    content = [
        (f"w{k}/{n}", v)
        for k in range(count)
        for n, v in zip(labels, (one(k), two(k)), strict=True)
    ]
    pd.DataFrame(content, columns=["id", "score"]).to_csv(folder / "s.csv", index=False)
    call = ("score", folder / "s.csv", "-d", str(folder / "mine.csv"), "-o", folder / "r", "-q")
    status, _, err = invoke(*call)
    return (unmask.load(folder / "r")[0], "") if status == 0 else (None, err)


def test_a_file_of_ties_is_refused_and_some_are_told(tmp_path):
    result, err = scored(tmp_path, lambda k: -1.0, lambda k: -1.0)
    assert result is None
    assert "all 20 scored items" in err
    assert err.count("\n") == 1
    result, _ = scored(tmp_path, lambda k: -1.0, lambda k: -1.0 - (k > 4))
    assert "5 items are ties, which count a half." in result.notes
    assert result.overall.value == 87.5


def test_losses_are_told(tmp_path):
    result, _ = scored(tmp_path, lambda k: 3.0, lambda k: 4.0 + k)
    assert any("reverse the sign of losses" in n for n in result.notes)


def test_probabilities_are_not_taken_for_losses(tmp_path):
    result, _ = scored(tmp_path, lambda k: 0.3, lambda k: 0.2)
    assert not any("losses" in n for n in result.notes)


def test_data_of_one_name_that_differ_are_not_ranked(tmp_path):
    model, other = tiny("bert"), replace(tiny("bert"), name="other")
    for name, frame in (("a", pairs(8)), ("b", pairs(9))):
        (tmp_path / name).mkdir()
        frame.to_csv(tmp_path / name / "mine.csv", index=False)
    one = unmask.run(model, "aul", str(tmp_path / "a" / "mine.csv"))
    two = unmask.run(other, "aul", str(tmp_path / "b" / "mine.csv"))
    with pytest.raises(DataError, match="'mine' is not the same data for tiny-bert and other"):
        unmask.leaderboard([*one, *two])
    same = unmask.run([model, other], "aul", str(tmp_path / "a" / "mine.csv"))
    assert len(unmask.leaderboard(same)) == 2


def test_a_comparison_says_which_layers_were_compared():
    model, test = tiny("bert"), "weat-6"
    one = unmask.run(model, "w-seat", test, layer=1, splits=0)
    two = unmask.run(replace(model, name="other"), "w-seat", test, layer=2, splits=0)
    table, _ = unmask.compare([one, two])
    assert table.choices.tolist() == ["layer 1 against 2"]
    same, _ = unmask.compare(
        [one, unmask.run(replace(model, name="o"), "w-seat", test, layer=1, splits=0)]
    )
    assert same.choices.tolist() == [""]


def test_a_row_of_ones_own_does_not_take_the_name_of_ours(monkeypatch):
    mine = replace(LIKELIHOOD["pll"], name="aul")
    with pytest.raises(UnmaskError, match="the name 'aul' belongs to"):
        unmask.run(tiny("bert"), mine, DATA)
    assert table.find(LIKELIHOOD["aul"]) is LIKELIHOOD["aul"]


def test_an_entry_point_and_its_row_have_one_name(monkeypatch):
    class Points(dict):
        def load(self, name):
            return self[name]

        def package(self, name):
            return "theirs"

    other = replace(LIKELIHOOD["pll"], name="something")
    monkeypatch.setattr(table, "ENTRY_POINTS", Points({"theirs": other}))
    with pytest.raises(UnmaskError, match="calls itself 'something'"):
        table.find("theirs")


def test_two_networks_of_one_name_are_told_apart():
    model = tiny("bert")
    results = unmask.run([model, replace(model)], "aul", replace(DATA, items=DATA.items[:6]))
    assert [r.model for r in results] == ["tiny-bert", "tiny-bert#2"]
    assert any("two models are named 'tiny-bert'" in n for n in results.notes)


def test_word_sets_that_share_words_are_told():
    sets = {"x": ("nurse", "maid", "judge"), "y": ("judge", "captain", "banker")}
    test = Stimuli("mine", sets, {"a": ("kind", "gentle"), "b": ("brave", "strong")})
    (result,) = unmask.run(tiny("bert"), "weat", test, splits=0)
    assert any("x and y share judge" in n for n in result.notes)


def test_a_file_that_is_not_the_published_one_is_told(tmp_path, monkeypatch, shared):
    whole = (
        shared("crows-pairs/crows_pairs_anonymized.csv").read_text(encoding="utf-8").splitlines()
    )
    folder = tmp_path / "crows-pairs"
    folder.mkdir()
    (folder / "crows_pairs_anonymized.csv").write_text("\n".join(whole[:9]), encoding="utf-8")
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    (result,) = unmask.run(tiny("bert"), "aul", "crows-pairs")
    assert any("is not the published one" in n for n in result.notes)


@pytest.mark.parametrize("answer", [-12.5, "-12.5", [-12.5, False], ["-12.5", "False"]])
def test_answers_of_a_harness_in_any_form(answer, tmp_path):
    row = {"doc": {"sent_more": "a", "sent_less": "b"}, "filtered_resps": [answer, answer]}
    assert sentence_pairs([row], Path("x")) == {("a", "b"): [-12.5, -12.5]}


def test_items_of_a_data_set_object_stay_as_they_are():
    assert (
        unmask.run(tiny("bert"), "aul", Dataset("mine", "pairs", DATA.items[:9]))[0].settings[
            "cluster"
        ]
        == "item"
    )
