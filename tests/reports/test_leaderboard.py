"""Tests of reports/leaderboard."""

import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.answer import fitness

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


def test_a_leaderboard_compares_what_all_models_have(model):
    other = tiny("roberta")
    both = unmask.run([model, other], ["cps", "aul"], PAIRS)
    board = unmask.leaderboard(both)
    assert (board.distance.diff().dropna() >= 0).all()
    assert set(board.columns) >= {"model", "distance", "biased", "measures", "cps on frame"}
    assert board.measures.tolist() == [1] * len(board)  # aul does not count beside cps
    first = board.set_index("model").accuracy[both[0].model]
    own = [r.accuracy.value for r in both if r.model == both[0].model]
    assert first == pytest.approx(sum(own) / len(own))
    again = unmask.leaderboard([*both, *both])
    assert sorted(again.model)[:2] == [f"{both[0].model} (run 1)", f"{both[0].model} (run 2)"]
    assert len(again) == 4
    with pytest.raises(unmask.DataError, match="no results"):
        unmask.leaderboard([])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folders = []
    for family in ("bert", "roberta"):
        folder = tmp_path_factory.mktemp(family)
        unmask.save(unmask.run([tiny(family)], ["cps", "aul", "w-seat"], [PAIRS, "weat-6"]), folder)
        folders.append(str(folder))
    return folders


def test_a_leaderboard_of_folders(saved, tmp_path):
    status, out, err = invoke("leaderboard", *saved, "-o", tmp_path / "board.csv")
    assert status == 0, err
    assert "tiny-bert" in out
    assert pd.read_csv(tmp_path / "board.csv").measures.tolist() == [2, 2]


def test_models_without_errors_are_not_ranked(model, monkeypatch):
    monkeypatch.setattr(fitness, "_no_better", lambda accuracy: False)  # they are not trained
    monkeypatch.setattr(fitness, "_shows_ability", lambda result: True)
    one = PAIRS.assign(cluster="all")
    both = unmask.run([model, tiny("roberta")], ["cps"], one)
    board = unmask.leaderboard(both)
    assert board["rank"].tolist() == [1, 1]
    assert board.rank_high.tolist() == [2, 2]


def test_networks_with_word_tests_alone_are_not_ranked(model):
    board = unmask.leaderboard(unmask.run([model, tiny("roberta")], "w-seat", "weat-6"))
    assert board.unranked.str.contains("no result shows that the model can predict words").all()
