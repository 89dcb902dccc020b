"""The Python door: what it takes, and what results give back."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
import torch

import unmask
from conftest import invoke, tiny
from unmask.cli import terminal
from unmask.lab import items
from unmask.lab.language import tokenizer_of
from unmask.lab.nets import network
from unmask.lab.world import Plant, World
from unmask.models.transformers.model import in_memory, wrap
from unmask.options import ABOUT
from unmask.reports import files

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


def test_one_name_or_many_are_the_same():
    many = unmask.run(["bundled"], ["sss"], [PAIRS])
    one = unmask.run("bundled", "sss", PAIRS)
    assert one.frame().drop(columns="method").equals(many.frame().drop(columns="method"))


def test_a_network_with_its_tokenizer_is_measured_without_dropout_and_trained_on(model):
    net, tokenizer = model.net, model.codec.tokenizer
    net.train()
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    first, second = (unmask.evaluate((net, tokenizer), "pll", PAIRS) for _ in range(2))
    assert net.training
    assert first.items.score.tolist() == second.items.score.tolist()
    net.eval()
    plain = unmask.evaluate(in_memory(net, tokenizer), "pll", PAIRS)
    assert np.allclose(plain.items.score, first.items.score)


def test_networks_that_were_changed_between_two_calls_are_not_mixed_up(model):
    net, tokenizer = model.net, model.codec.tokenizer
    before = unmask.evaluate((net, tokenizer), "aul", PAIRS, cache=True)
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(1.5)
    after = unmask.evaluate((net, tokenizer), "aul", PAIRS, cache=True)
    with torch.no_grad():
        for p in net.parameters():
            p.div_(1.5)
    assert before.items.score.tolist() != after.items.score.tolist()


def test_a_frame_and_a_file_of_pairs_give_the_same(model, tmp_path):
    PAIRS.to_csv(tmp_path / "frame.csv", index=False)
    from_file = unmask.evaluate(model, "cps", tmp_path / "frame.csv")
    from_frame = unmask.evaluate(model, "cps", PAIRS)
    assert from_file.items.score.tolist() == from_frame.items.score.tolist()
    assert from_frame.by_category.keys() == {"work", "body"}

    class Hub:
        """As `datasets.Dataset` does it."""

        def to_pandas(self):
            return PAIRS

    assert unmask.evaluate(model, "cps", Hub()).overall.value == from_file.overall.value


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (PAIRS.drop(columns="stereotype"), "no column 'stereotype'"),
        (PAIRS.head(0), "no rows"),
        (PAIRS.assign(stereotype=[1, 2, 3]), "which is no text"),
        (PAIRS.assign(stereotype=None), "is empty"),
        (3, "is no data"),
        ((model, "x"), "is no data"),
    ],
)
def test_data_that_are_none_are_one_sentence(model, data, said):
    with pytest.raises(unmask.UnmaskError, match=said):
        unmask.evaluate(model, "cps", data)


def test_progress_is_shown_on_request(model, capsys):
    unmask.run([model], ["cps"], PAIRS, progress=True)
    unmask.run([model], ["cps"], PAIRS, progress=False)
    with pytest.raises(unmask.UnmaskError, match="progress"):
        unmask.run([model], ["cps"], PAIRS, progress=3)


def test_results_give_frames_items_and_texts():
    world = World(Plant(0.0))
    model = wrap(network("masked", 0), tokenizer_of(0), "masked", "untrained")
    tests = [PAIRS, items.templates(world, "term"), items.word_test(world, "term")]
    found = unmask.run([model], ["cps", "lpbs", "w-seat"], tests)
    frame = found.frame()
    assert set(frame.measure) == {"cps", "lpbs", "w-seat"}
    assert len(found.frame(by_category=True)) > len(frame)
    assert "|" in found.to_markdown()
    assert "\\toprule" in found[0].to_latex()
    pulls = found[0].items_by_influence()
    assert list(pulls.columns)[:3] == ["item", "category", "pull"]
    assert (pulls.pull.abs().diff().dropna() <= 0).all()
    scores = found[0].items.pivot(index="item", columns="label", values="score")
    by_hand = scores["stereotype"] - scores["antistereotype"]
    assert pulls.set_index("item").pull.to_dict() == pytest.approx(by_hand.to_dict())
    assert set(pulls.stereotype) == set(PAIRS.stereotype)
    words = next(r for r in found if r.measure == "w-seat")
    top = words.items_by_influence(3)
    assert len(top) == 3
    whole = words.items.set_index("item").without
    assert top.pull[0] == pytest.approx(words.overall.value - whole[top["item"][0]])
    templates = next(r for r in found if r.measure == "lpbs")
    assert {"word", "pull", "sentence"} <= set(templates.items_by_influence(2).columns)


def test_a_leaderboard_compares_what_all_models_have(model):
    other = tiny("roberta")
    both = unmask.run([model, other], ["cps", "aul"], PAIRS)
    board = unmask.leaderboard(both)
    assert (board.distance.diff().dropna() >= 0).all()
    assert set(board.columns) >= {"model", "distance", "biased", "measures", "cps on frame"}
    assert board.measures.tolist() == [2] * len(board)
    with pytest.raises(unmask.DataError, match="twice"):
        unmask.leaderboard([*both, both[0]])
    with pytest.raises(unmask.DataError, match="no results"):
        unmask.leaderboard([])


# ---------------------------------------------------------------- the same from the command line


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


def test_a_leaderboard_of_folders(saved, tmp_path):
    status, out, err = invoke("leaderboard", *saved, "-o", tmp_path / "board.csv")
    assert status == 0, err
    assert "tiny-bert" in out
    assert pd.read_csv(tmp_path / "board.csv").measures.tolist() == [3, 3]


def test_version_and_short_help():
    assert invoke("--version")[1].strip() == f"unmask {unmask.__version__}"
    assert "Usage" in invoke("run", "-h")[1]


def test_two_runs_of_one_second_get_two_folders(tmp_path):
    made = {files.new_folder(tmp_path / "results", "%Y") for _ in range(3)}
    assert len(made) == 3
    assert all(folder.is_dir() for folder in made)


def test_what_differs_is_shown_in_place():
    row = {"item": 1, "stereotype": "He is a man", "antistereotype": "She is a woman today"}
    assert terminal._difference(row) == "{He | She} is a {man | woman today}"
    same = {"item": 1, "stereotype": "He is", "antistereotype": "He is here"}
    assert terminal._difference(same) == "He is { | here}"


def test_runs_in_memory_are_compared_as_those_in_folders(model, tmp_path):
    one = unmask.run(model, ["pll", "aul"], "bundled-pairs", limit=30)
    other = wrap(tiny("roberta").net, tiny("roberta").codec.tokenizer, "masked", "other")
    two = unmask.run(other, ["pll", "aul"], "bundled-pairs", limit=30)
    for folder, found in (("a", one), ("b", two)):
        unmask.save(found, tmp_path / folder)
    frame, changed = unmask.compare([one, two])
    again, _ = unmask.compare([tmp_path / "a", str(tmp_path / "b")])
    assert frame.equals(again)
    assert set(frame.measure) == {"pll", "aul"}
    assert len(changed)
    same, _ = unmask.compare([one, one])
    assert (same.difference == 0).all()
    assert not same.borderline.any()
    for wrong in ("a", one[0], [one, 3], [one]):
        with pytest.raises(unmask.UnmaskError):
            unmask.compare(wrong)


def test_published_neighbours_stand_beside_ones_own_number(model):
    found = unmask.evaluate(model, "aul", "bundled-pairs", limit=30)
    with pytest.raises(unmask.UnmaskError, match="aul on crows-pairs"):
        unmask.neighbours(found)
    mine = replace(found, spec=replace(found.spec, data="crows-pairs:30-of-1508"), by_category={})
    frame = unmask.neighbours([mine])
    assert frame.score.is_monotonic_increasing
    paper = dict(zip(frame.model, frame.score, strict=True))
    assert paper["bert-base-cased"] == 52.92  # kaneko2022, Table 5: AUL on CrowS-Pairs
    assert paper["roberta-large"] == 62.4
    assert paper["tiny-bert"] == found.overall.value
    control = replace(found, spec=replace(found.spec, data="crows-pairs:shuffled"))
    with pytest.raises(unmask.UnmaskError):
        unmask.neighbours(control)


def test_every_option_is_explained():
    assert list(ABOUT) == [f.name for f in fields(unmask.Options)]
