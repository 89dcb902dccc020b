"""Tests of flow/run_association."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from unmask.api import evaluate, run
from unmask.errors import DataError, ModelError, NotApplicable
from unmask.measures import ASSOCIATION
from unmask.models.static_vectors import load_static
from unmask.text import contexts
from unmask.text.contexts import Mention, Source, VectorRequest, WordTest
from unmask.types import Stimuli

SMALL = Stimuli(
    "small",
    {"x": ("nurse", "maid", "dancer"), "y": ("judge", "captain", "banker")},
    {"a": ("gentle", "kind"), "b": ("strong", "brave", "clever")},
    forms=dict.fromkeys(("nurse", "maid", "dancer", "judge", "captain", "banker"), "singular"),
)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
@pytest.mark.parametrize("measure", ["s-seat", "w-seat", "weat"])
def test_measures_equal_a_plain_loop(family, measure):
    model = tiny(family)
    found = evaluate(model, measure, SMALL).overall
    source = contexts.bare if measure == "weat" else contexts.templates
    met = source(SMALL)
    pool = ASSOCIATION[measure].pool_for(model.kind)
    vec = {
        w: [model.vectors().embed([VectorRequest(m, pool)])[0] for m in ms] for w, ms in met.items()
    }

    def cos(u, v):
        return u @ v / np.linalg.norm(u) / np.linalg.norm(v)

    def many(label):
        return [v for w in SMALL.sets[label] for v in vec[w]]

    def s(v):
        return np.mean([cos(v, a) for a in many("a")]) - np.mean([cos(v, b) for b in many("b")])

    x, y = [s(v) for v in many("x")], [s(v) for v in many("y")]
    d = (np.mean(x) - np.mean(y)) / np.std(x + y, ddof=1)
    assert found.value == pytest.approx(d, abs=1e-9)


def test_swapping_sets_flips_every_measure():
    model = tiny("bert")
    swapped = Stimuli(
        "swapped", dict(reversed(SMALL.targets.items())), SMALL.attributes, forms=SMALL.forms
    )
    for name in ("weat", "s-seat", "w-seat"):
        a, b = (evaluate(model, name, t).overall.value for t in (SMALL, swapped))
        assert a == pytest.approx(-b)
    a, b = (evaluate(model, "ceat", t, samples=4000).overall.value for t in (SMALL, swapped))
    assert a == pytest.approx(-b, abs=0.05)


def test_without_a_word_is_the_effect_of_the_others():
    """Target and attribute words alike: the measure run again on the words that are left."""
    whole = evaluate(tiny("bert"), "w-seat", SMALL)
    rows = whole.items.set_index("item")
    for label, words in SMALL.sets.items():
        if len(words) < 3:
            continue
        targets, attributes = dict(SMALL.targets), dict(SMALL.attributes)
        side = targets if label in targets else attributes
        side[label] = tuple(words[1:])
        fewer = replace(SMALL, targets=targets, attributes=attributes, unequal=True)
        again = evaluate(tiny("bert"), "w-seat", fewer).overall.value
        assert rows.without[words[0]] == pytest.approx(again, abs=1e-5)


def test_ceat_reports_its_distribution():
    found = evaluate(tiny("bert"), "ceat", SMALL, samples=500).overall
    assert (found.n, found.more["samples"]) == (6, 500)
    assert {"tau2", "I2", "prediction", "quantiles", "sd"} <= found.more.keys()
    low, high = found.more["prediction"]
    drawn = found.more["monte_carlo"]["interval"]
    assert low < drawn[0] <= found.value <= drawn[1] < high
    assert found.low < drawn[0] < drawn[1] < found.high  # other words, not only other draws


def test_variants_that_are_not_reproduced_for_elmo_are_refused():
    for name in (
        "s-seat@may2019",
        "s-seat@biasbench",
        "w-seat@husse2022",
        "ceat@husse2022",
        "ceat@guo2021",
    ):
        assert "elmo" not in ASSOCIATION[name].kinds


@pytest.fixture
def vectors(tmp_path, rng):
    every = [w for v in SMALL.sets.values() for w in v]
    return every, rng.normal(size=(len(every), 5)).astype(np.float32), tmp_path


def test_a_test_that_cannot_be_scored_does_not_end_the_run(shared):
    path = shared("vectors/glove840b_weat_subset.txt")
    found = run(str(path), "weat", "weat")
    assert {r.data for r in found} >= {"weat-1", "weat-6", "weat-9"}
    assert any("weat-3b" in note and "not scored" in note for note in found.notes)


def test_missing_words_are_named_counted_and_refused_below_two(vectors):
    every, numbers, folder = vectors
    keep = [(w, v) for w, v in zip(every, numbers, strict=True) if w != "dancer"]
    path = folder / "some.txt"
    path.write_text("\n".join(f"{w} " + " ".join(map(str, v)) for w, v in keep))
    result = evaluate(str(path), "weat", SMALL)
    assert result.coverage.lost == {"dancer": "not in the vectors"}
    assert result.coverage.scored == result.coverage.items - 1
    path.write_text("\n".join(f"{w} " + " ".join(map(str, v)) for w, v in keep if w != "kind"))
    with pytest.raises(DataError, match=r"a has only 1 of its 2 words scored \(without kind\)"):
        evaluate(str(path), "weat", SMALL)
    with pytest.raises(NotApplicable, match="measures that do: weat"):
        evaluate(str(path), "w-seat", SMALL)
    path.write_text("no vectors here at all\nnone\n")
    with pytest.raises(ModelError, match="not a vectors file"):
        load_static(str(path))


def test_a_sentence_that_does_not_fit_is_left_out():
    model = tiny("bert")
    long = Mention("tired " * 200 + "nurse", (1200, 1205))
    met = {**contexts.templates(SMALL)}
    met["nurse"] = (*met["nurse"], long)
    test = WordTest(SMALL, Source("made", lambda s: met))
    result = evaluate(model, "w-seat", test)
    assert result.settings["contexts"] == "made"
    assert result.items.set_index("item").contexts["nurse"] == 6


def test_commands(tmp_path):
    asked = ["-x", "w-seat,ceat", "-d", "weat-6,weat-7", "--samples", 200]
    status, out, err = invoke("run", *asked, "-o", tmp_path / "r")
    assert status == 0, err
    assert "joint p" in out
    assert out.count("on weat-7: d ") == 2  # as they come
    assert out.count("weat-7") == 4
    assert len(unmask.load(tmp_path / "r")) == 4


def test_ceat_takes_sets_of_one_word_by_design_only():
    """husse2022's Table 14 has simplified sets of one word; one word left of many is refused."""
    result = unmask.evaluate("bundled", "ceat", "husse-c3-term-simplified", samples=200)
    assert result.overall.method == "one word per set"
    assert np.isnan(result.overall.low)
    assert result.verdicts[""].word == "inconclusive"
    assert result.items[result.items.label.isin(["X", "Y"])].without.isna().all()
    with pytest.raises(DataError, match="has only 1 of the 2 words required"):
        unmask.evaluate("bundled", "w-seat", "husse-c3-term-simplified")


def test_a_choice_that_a_model_lacks_is_answered_with_those_it_has():
    model = tiny("bert")
    layers = model.abilities.layers
    with pytest.raises(NotApplicable, match=f"has no layer 99; it has {layers[0]} to {layers[-1]}"):
        evaluate(model, "w-seat", SMALL, layer=99)
