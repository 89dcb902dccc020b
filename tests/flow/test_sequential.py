"""Deciding early: what is measured, what is reported, and that parts score as the whole does."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.answer import fitness
from unmask.data import catalogue
from unmask.flow import sequential
from unmask.measures import find
from unmask.options import Options


def lopsided(count=60):
    """A data set in which a tiny network with a liking for long sentences is clearly one-sided."""
    rows = [
        {"stereotype": f"The man {k} was very very tall there", "antistereotype": f"The woman {k}",
         "cluster": f"c{k}"}
        for k in range(count)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def decided_network(monkeypatch):
    """A tiny network that counts as fit: untrained ones decide nothing."""
    monkeypatch.setattr(fitness, "_no_better", lambda accuracy: False)
    return tiny("gpt2")


def test_a_clear_case_stops_early_and_says_so(monkeypatch):
    model = decided_network(monkeypatch)
    whole = unmask.run(model, ["ll"], lopsided())[0]
    assert whole.overall.value in (0, 100)
    early = unmask.run(model, ["ll"], lopsided(), until="decided")[0]
    assert early.overall.n < 60
    assert early.verdicts[""].shows_bias
    assert early.coverage.items == 60
    assert early.coverage.reasons == {"not asked: the verdict was clear": 60 - early.overall.n}
    assert early.settings["rows"] < whole.settings["rows"]
    assert "the stopping rule was met without them" in " ".join(early.notes)


def biased_pairs(count=300):
    """The sentences of bias type a differ in length, which decides; those of b hardly differ."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(count):
        one, two = rng.permutation(["the man saw a dog", "the dog saw a man"])
        pro, anti = ("man", "the man saw a dog and then saw a man") if k % 2 == 0 else (one, two)
        rows.append({"stereotype": f"{pro} {k}", "antistereotype": f"{anti} {k}",
                     "category": "ab"[k % 2], "cluster": f"c{k}"})  # fmt: skip
    return pd.DataFrame(rows)


def test_decided_bias_types_are_not_measured_further_and_the_answer_is_kept(monkeypatch):
    model = decided_network(monkeypatch)
    early = unmask.run(model, ["ll"], biased_pairs(), until="decided", matters="1")
    counts = early[0].items.drop_duplicates("item").category.value_counts()
    assert counts["a"] < counts["b"] == 150
    answer = early.answer().set_index("bias_type")
    assert answer.verdict["a"] in ("biased", "reversed")
    assert answer.verdict["b"] == "inconclusive"
    looks = early[0].settings["looks"]["last"]
    assert looks["a"] < looks["b"] == looks[""] == 4


def test_what_was_measured_scores_as_it_does_alone():
    model = tiny("bert")
    early = unmask.run(model, ["aul", "cps"], ["bundled-pairs"], until=30.0)
    whole = unmask.run(model, ["aul", "cps"], ["bundled-pairs"])
    for a, b in zip(early, whole, strict=True):
        assert a.measure == b.measure
        assert a.overall.n < b.overall.n
        one = a.items.set_index(["item", "label"]).score
        two = b.items.set_index(["item", "label"]).score.loc[one.index]
        assert np.allclose(one, two, atol=5e-5)
        assert not a.items.duplicated(["item", "label"]).any()
        judged = a.extras["adjusted"]
        assert (judged.high - judged.low) / 2 <= 30


def test_where_nothing_is_clear_all_is_measured():
    found = unmask.run(tiny("bert"), ["aul"], ["bundled-pairs"], until=0.1)[0]
    assert found.overall.n == 356
    assert found.coverage.reasons == {}
    whole = unmask.run(tiny("bert"), ["aul"], ["bundled-pairs"])[0]
    assert found.overall.value == pytest.approx(whole.overall.value)
    assert found.overall.low < whole.overall.low  # five looks cost a little


def test_other_measures_are_asked_whole_and_keep_their_place():
    found = unmask.run(
        tiny("bert"), ["aul", "w-seat", "lpbs"], ["bundled-pairs", "weat-6", "kurita-career"],
        until="decided",
    )  # fmt: skip
    assert [r.measure for r in found] == ["aul", "lpbs", "w-seat"]
    assert "until" in found[0].settings
    assert "until" not in found[1].settings


def test_the_order_is_random_and_sides_take_turns():
    data = catalogue.resolve("bundled-pairs")[0]
    one, two = sequential.order(data, 0), sequential.order(data, 1)
    assert one != two
    assert one == sequential.order(data, 0)
    assert sorted(one.values()) == list(range(166))
    early = {i.group for i in data.items if one[i.cluster] < 60 and i.group_pair == "gender-work"}
    assert early == {"he", "she"}


def test_a_wrong_until_is_one_sentence(tmp_path):
    for wrong in ("soon", "0", "60"):
        status, _, err = invoke("run", "--until", wrong, "-o", tmp_path / "x")
        assert status == 2
        assert "until is" in err
    with pytest.raises(unmask.UnmaskError, match="until"):
        Options(until=True)
    assert Options(until="2.5").until == 2.5


def test_published_rounding_is_that_of_a_whole_run():
    measure = replace(find("cps@nangia2020"), name="cps@mine", decimals=1)
    model = tiny("bert")
    whole = unmask.run(model, [measure], ["bundled-pairs"], limit=60)[0]
    early = unmask.run(model, [measure], ["bundled-pairs"], limit=60, until=0.1)[0]
    assert early.overall.value == pytest.approx(whole.overall.value)
    assert early.coverage.ties == whole.coverage.ties > 0


def test_a_part_that_cannot_be_scored_is_counted_and_the_rest_goes_on():
    model, data = tiny("bert"), lopsided(40)
    place = sequential.order(catalogue.resolve(data)[0], 0)
    late = [c for c, k in place.items() if 16 <= k < 24]  # the third fifth of 40
    too_long = " very" * 600
    long = data.cluster.isin(late)
    data.loc[long, ["stereotype", "antistereotype"]] += too_long
    whole = unmask.run(model, ["aul"], data)[0]
    early = unmask.run(model, ["aul"], data, until=0.01)
    assert early[0].overall.n == whole.overall.n == 32
    assert early[0].coverage.reasons == {sequential.UNREAD: 8}


def test_causal_and_masked_models_have_their_own_measures():
    found = unmask.run(
        [tiny("gpt2"), tiny("bert")], ["aul", "ll"], ["bundled-pairs"], until=30.0, limit=80
    )
    assert {(r.model, r.measure) for r in found} == {("tiny-gpt2", "ll"), ("tiny-bert", "aul")}


def test_every_look_keeps_its_tokens_and_the_notes_are_those_of_the_whole():
    model = tiny("bert")
    whole, early = (
        unmask.run(model, ["aul"], ["bundled-pairs"], limit=60, keep=("tokens",), **more)[0]
        for more in ({}, {"until": 0.1})
    )
    assert len(early.artifacts["tokens"]) == len(whole.artifacts["tokens"])
    assert set(early.artifacts["tokens"]["item"]) == set(whole.artifacts["tokens"]["item"])
    assert early.accuracy.value == pytest.approx(whole.accuracy.value)
    assert {n for n in whole.notes if "Unfit" not in n} <= {*early.notes}
