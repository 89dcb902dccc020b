"""Tests of test_api."""

import numpy as np
import pandas as pd
import pytest
import torch

import unmask
from conftest import tiny
from unmask.models.transformers.model import in_memory, wrap

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
        (PAIRS.assign(stereotype=[1, 2, 3]), "which is not text"),
        (PAIRS.assign(stereotype=None), "is empty"),
        (3, "is not data"),
        ((model, "x"), "is not data"),
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
