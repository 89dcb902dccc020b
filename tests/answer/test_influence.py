"""Tests of reports/influence."""

import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.cli import terminal
from unmask.lab import planted_items
from unmask.lab.language import tokenizer_of
from unmask.lab.nets import network
from unmask.lab.world import Plant, World
from unmask.models.transformers.model import wrap

PAIRS = pd.DataFrame(
    {
        "stereotype": ["The man is a doctor.", "The boy likes work.", "He is strong."],
        "antistereotype": ["The woman is a doctor.", "The girl likes work.", "She is strong."],
        "category": ["work", "work", "body"],
    }
)


@pytest.fixture(scope="module")
def model():
    return tiny("bert")


def test_results_give_frames_items_and_texts():
    world = World(Plant(0.0))
    model = wrap(network("masked", 0), tokenizer_of(0), "masked", "untrained")
    tests = [PAIRS, planted_items.templates(world, "term"), planted_items.word_test(world, "term")]
    found = unmask.run([model], ["cps", "lpbs", "w-seat"], tests)
    frame = found.frame()
    assert set(frame.measure) == {"cps", "lpbs", "w-seat"}
    assert len(found.frame(by_category=True)) > len(frame)
    assert "|" in found.to_markdown()
    assert "\\toprule" in found[0].to_latex()
    pulls = found[0].items_by_influence()
    assert list(pulls.columns)[:3] == ["item", "category", "influence"]
    assert (pulls.influence.abs().diff().dropna() <= 0).all()
    scores = found[0].items.pivot(index="item", columns="label", values="score")
    by_hand = scores["stereotype"] - scores["antistereotype"]
    assert pulls.set_index("item").influence.to_dict() == pytest.approx(by_hand.to_dict())
    assert set(pulls.stereotype) == set(PAIRS.stereotype)
    words = next(r for r in found if r.measure == "w-seat")
    top = words.items_by_influence(3)
    assert len(top) == 3
    whole = words.items.set_index("item").without
    assert top.influence[0] == pytest.approx(words.overall.value - whole[top["item"][0]])
    templates = next(r for r in found if r.measure == "lpbs")
    assert {"word", "influence", "sentence"} <= set(templates.items_by_influence(2).columns)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folders = []
    for family in ("bert", "roberta"):
        folder = tmp_path_factory.mktemp(family)
        unmask.save(unmask.run([tiny(family)], ["cps", "aul", "w-seat"], [PAIRS, "weat-6"]), folder)
        folders.append(str(folder))
    return folders


def test_items_are_shown_with_their_sentences(saved, tmp_path):
    status, out, err = invoke("items", saved[0], "-x", "cps", "--top", "2")
    assert status == 0, err
    assert "cps on frame" in out
    assert "{" in out
    assert "aul" not in out
    whole = tmp_path / "items.csv"
    assert invoke("items", saved[0], "-o", whole)[0] == 0
    frame = pd.read_csv(whole)
    assert set(frame.measure) == {"cps", "aul", "w-seat"}
    assert invoke("items", saved[0], "--category", "body", "-x", "cps")[1].count("strong") == 1


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (("-x", "cpz"), "did you mean 'cps'"),
        (("-d", "fram"), "did you mean 'frame'"),
        (("--category", "wrok"), "did you mean 'work'"),
        (("--top", "0"), "--top is 0"),
    ],
)
def test_a_wrong_choice_of_items_is_one_sentence(saved, how, said):
    status, _, err = invoke("items", saved[0], *how)
    assert status == 2
    assert said in err


def test_what_differs_is_shown_in_place():
    row = {"item": 1, "stereotype": "He is a man", "antistereotype": "She is a woman today"}
    assert terminal._difference(row) == "{He | She} is a {man | woman today}"
    same = {"item": 1, "stereotype": "He is", "antistereotype": "He is here"}
    assert terminal._difference(same) == "He is { | here}"
