"""Tests of flow/precision."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import unmask
from conftest import tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import precision
from unmask.flow.sentence_scores import Scored
from unmask.models.transformers.weights import running
from unmask.options import Options, Spec
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Dataset


def reduced_model():
    """A network in bfloat16, and the same weights in float32."""
    model = tiny("bert")
    net = type(model.net)(model.net.config)
    net.load_state_dict(model.net.state_dict())
    full = replace(model, net=net.to(torch.bfloat16).float().eval(), name="tiny")
    small = replace(full, net=type(net)(net.config), precision="bfloat16")
    small.net.load_state_dict(full.net.state_dict())
    small.net.to(torch.bfloat16).eval()
    return full, small


def preferred(result):
    table = result.items.pivot(index="item", columns="label", values="score")
    return {
        (a, b): (table[a] > table[b]).to_numpy()
        for a, b in (("stereotype", "antistereotype"), ("stereotype", "unrelated"))
    }


@pytest.mark.filterwarnings("ignore:mkldnn")
def test_with_recheck_every_preference_is_float32s(monkeypatch):
    monkeypatch.setattr(precision, "SAMPLE", 40)
    full, small = reduced_model()
    data = Dataset("some", "triplets", bundled_pairs().items[::4])
    specs = [(n, data) for n in ("sss", "aul", "aula")]

    def ran(model, **options):
        asked = [Spec(model, n, d) for n, d in specs]
        return unmask.evaluate_specs(asked, Options(**options, keep=("tokens",)))

    exact, rough, mended = ran(full), ran(small, recheck=False), ran(small)
    moved = 0
    for one, two, three in zip(exact, rough, mended, strict=True):
        told = three.settings["recheck"]
        assert "recheck" not in one.settings
        assert "recheck" not in two.settings
        for pair, wanted in preferred(one).items():
            assert np.array_equal(preferred(three)[pair], wanted), (one.measure, pair)
        flips = preferred(one)["stereotype", "antistereotype"]
        flips = flips != preferred(two)["stereotype", "antistereotype"]
        assert told["flipped"] == flips.sum()
        assert 40 <= told["again"] < len(data.items)
        assert told["error"] > 0
        moved += told["flipped"]
        if one.measure == "aul":  # the tokens that are kept are those of the scores
            means = three.artifacts["tokens"].groupby(["item", "label"]).logp.mean()
            scores = three.items.set_index(["item", "label"]).score
            assert np.allclose(scores.loc[means.index], means, atol=1e-9)
    assert moved > 0  # else the test shows nothing


@pytest.mark.filterwarnings("ignore:mkldnn")
def test_recheck_is_for_preferences_only():
    _, small = reduced_model()
    found = unmask.evaluate_specs([Spec(small, "lpbs", "kurita-career")], Options())[0]
    assert "recheck" not in found.settings


def test_a_margin_is_safe_beyond_one_and_a_half_times_the_largest_error():
    """`SAFE` stands in the docs: 1.2 errors are looked at again, 2 are not."""
    data = bundled_pairs()
    pairs = replace(data, items=data.items[:3])
    columns = {STEREOTYPE: {0: 1.2, 1: 2.0, 2: -1.2}, ANTISTEREOTYPE: dict.fromkeys(range(3), 0.0)}
    score = [columns[k].get(i, 99.0) if k in columns else 99.0 for i in range(3)
             for k in pairs.items[i].texts]  # fmt: skip
    size = np.zeros(len(score), np.int64)
    scored = Scored(np.array(score), np.array(score), size, size, {}, 0, 0)
    group = SimpleNamespace(data=pairs, places={0})
    assert precision._unsure(group, {0: scored}, {0: 1.0}).tolist() == [True, False, True]


@pytest.mark.filterwarnings("ignore:mkldnn")
def test_reduced_precision_leaves_float32_as_it_was():
    """torch turns oneDNN off for good where a product in bfloat16 fails; float32 would move."""
    full, small = reduced_model()
    ask = {"measures": "pll", "data": "bundled-pairs", "limit": 6}
    (before,) = unmask.run(full, **ask)
    unmask.run(small, **ask)
    assert torch.backends.mkldnn.enabled == torch.backends.mkldnn.is_available()
    (after,) = unmask.run(full, **ask)
    assert before.items.score.equals(after.items.score)
    if torch.backends.mkldnn.is_available():
        with running(full.net):
            torch.backends.mkldnn.set_flags(False)
        assert torch.backends.mkldnn.enabled
