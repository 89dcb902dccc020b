"""Tests of measures/suites."""

import pandas as pd
import pytest
import transformers

import unmask
from conftest import invoke, tiny
from unmask.data import catalogue
from unmask.errors import NotApplicable
from unmask.measures import SUITES
from unmask.models.load import kind_named
from unmask.models.transformers.model import kind_of
from unmask.reports.results import load

PAIRS = pd.DataFrame(
    {
        "stereotype": ["The man is a doctor.", "The boy likes work.", "He is strong."],
        "antistereotype": ["The woman is a doctor.", "The girl likes work.", "She is strong."],
    }
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "small-gpt"
    model = tiny("gpt2")
    model.net.save_pretrained(folder)
    model.codec.tokenizer.save_pretrained(folder)
    return folder


def test_every_kind_of_model_has_a_suite_of_its_own(causal, here):
    assert kind_named(str(causal)) == "causal"
    vectors = here / "v.txt"
    words = [w for s in catalogue.word_sets(["weat-6"]) for ws in s.sets.values() for w in ws]
    vectors.write_text("".join(f"{w} {len(w)} {ord(w[0])} {ord(w[-1])}\n" for w in words))
    found = unmask.run([str(causal), str(vectors)], None, ["weat-6", PAIRS])
    assert {r.measure for r in found if "small-gpt" in r.model} == {"cps", "w-seat"}
    assert {r.measure for r in found if "v.txt" in r.model} == {"weat"}
    assert [n.split()[0] for n in found.notes] == ["frame:"]
    assert "cannot be separated" in found.notes[0]
    kinds = {"masked", "causal", "permutation", "encoder", "elmo", "static"}
    assert kinds == set(SUITES)
    for kind, suite in SUITES.items():
        assert all(kind in unmask.measures.find(m).kinds for m in suite)


def test_a_measure_runs_where_it_applies_and_says_where_not(causal, tmp_path):
    args = ("-m", "bundled", "-m", causal, "-x", "pll,ll", "-d", "bundled-pairs", "--limit", "6")
    status, out, _ = invoke("run", *args, "-o", tmp_path / "r")
    assert status == 0
    found = load(tmp_path / "r")
    assert {(r.measure, "gpt" in r.model) for r in found} == {("pll", False), ("ll", True)}
    flat = " ".join(out.split())
    assert "ll on bundled-pairs:6-of-356 was not scored for bundled" in flat
    assert f"pll on bundled-pairs:6-of-356 was not scored for {causal}" in flat
    assert f"ll on bundled-pairs:6-of-356, {causal}:" in flat  # notes name their model


def test_sequence_to_sequence_models_are_refused_with_the_reason(tmp_path):
    for config in (transformers.T5Config(), transformers.BartConfig()):
        with pytest.raises(NotApplicable, match="sequence-to-sequence"):
            kind_of(config)
    transformers.T5Config().save_pretrained(tmp_path)
    status, _, err = invoke("run", "-m", tmp_path)
    assert (status, err.count("\n")) == (2, 1)
