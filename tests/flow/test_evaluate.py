"""Tests of flow/evaluate."""

from dataclasses import replace

import pytest

import unmask
from conftest import tiny
from unmask.errors import ModelError
from unmask.flow import slice_plans
from unmask.flow.evaluate import evaluate
from unmask.flow.loading import loaded
from unmask.options import Options


def test_what_a_model_cannot_do_is_told_once_and_costs_no_other(tmp_path):
    model = tiny("bert")
    (tmp_path / "v.txt").write_text("a 1 2\nb 2 1\n")

    class Broken:
        def __getattr__(self, name):
            return getattr(model, name)

        def vectors(self, **_):
            raise ModelError("vectors broke")

    told = []
    asked = [("aul", "bundled-pairs"), ("ll", "bundled-pairs"), ("w-seat", "weat-6")]
    specs = [unmask.Spec(Broken(), *a) for a in asked[:1]]
    specs += [unmask.Spec(specs[0].model, *a) for a in asked[1:]]
    specs += [unmask.Spec(str(tmp_path / "v.txt"), "weat", "weat-6")]
    how = unmask.Options(limit=5, dtype="bfloat16", recheck=False)
    found = evaluate(specs, how, lambda spec, error: told.append((spec.title, str(error))))
    assert [r.measure for r in found] == ["aul"]
    assert [t for t, _ in told] == ["ll on bundled-pairs", "w-seat on weat-6", "weat on weat-6"]
    assert "vectors broke" in told[1][1]
    assert "--dtype" in told[2][1]
    for spec in specs[1:]:
        with pytest.raises(unmask.UnmaskError):
            evaluate([spec], how)


def test_models_of_one_tokenizer_share_their_plans(monkeypatch):
    made = []
    real = slice_plans.plan
    monkeypatch.setattr(slice_plans, "plan", lambda *a: made.append(a[0].name) or real(*a))
    first = tiny("bert")
    second = replace(first, name="second")
    other = tiny("roberta")
    found = unmask.run([first, second, other], ["aul", "pll"], "bundled-pairs", limit=10)
    assert made == ["tiny-bert"] * 2 + ["tiny-roberta"] * 2
    one, two = ([r for r in found if r.model == n] for n in ("tiny-bert", "second"))
    assert [r.overall for r in one] == [r.overall for r in two]
    alone = unmask.run(other, ["aul", "pll"], "bundled-pairs", limit=10)
    assert [r.overall for r in alone] == [r.overall for r in found if r.model == "tiny-roberta"]


def test_only_a_network_goes_to_ray(monkeypatch, tmp_path):
    """Word vectors and served models are asked from here whatever the engine is."""
    loads = []
    monkeypatch.setattr(
        "unmask.models.ray.remote_model.load_remote",
        lambda name, *, dtype, device, address, workers, n_sharing: loads.append("ray"),
    )
    monkeypatch.setattr("unmask.models.load.load_any", lambda *a, **k: loads.append("here"))
    vectors = tmp_path / "few.vec"
    vectors.write_text("he 1 0\nshe 0 1\n")
    loaded("bundled", Options(engine="ray"))
    loaded(str(vectors), Options(engine="ray"))
    loaded("bundled", Options())
    assert loads == ["ray", "here", "here"]
