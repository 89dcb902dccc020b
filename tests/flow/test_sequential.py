"""Deciding early: what is asked, what is said, and that it is the same as asking for that part."""

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from unmask.data import catalogue
from unmask.flow import sequential
from unmask.options import Options


def lopsided(count=60):
    """A data set in which a tiny network with a liking for long sentences is clearly one-sided."""
    rows = [
        {"stereotype": f"The man {k} was very very tall there", "antistereotype": f"The woman {k}",
         "cluster": f"c{k}"}
        for k in range(count)
    ]  # fmt: skip
    import pandas as pd

    return pd.DataFrame(rows)


def test_a_clear_case_stops_early_and_says_so():
    model = tiny("gpt2")
    whole = unmask.run(model, ["ll"], lopsided())[0]
    assert whole.overall.value in (0, 100)
    early = unmask.run(model, ["ll"], lopsided(), until="decided")[0]
    assert early.overall.n < 60
    assert early.verdicts[""].word == "biased"
    assert early.coverage.items == 60
    assert early.coverage.reasons == {sequential.NOT_ASKED: 60 - early.overall.n}
    assert early.settings["rows"] < whole.settings["rows"]
    assert "clusters were asked" in " ".join(early.notes)
    assert "confidence sequence" in early.overall.method
    assert set(early.verdicts) == {""}


def test_what_was_asked_scores_as_it_does_alone():
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
        judged = a.extras["stereotype"]
        assert (judged.high - judged.low) / 2 <= 30


def test_where_nothing_is_clear_all_is_asked():
    found = unmask.run(tiny("bert"), ["aul"], ["bundled-pairs"], until=0.1)[0]
    assert found.overall.n == 356
    assert any("all 166 clusters were asked" in n for n in found.notes)


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
    early = {i.side for i in data.items if one[i.cluster] < 60 and i.family == "gender-work"}
    assert early == {"he", "she"}


def test_a_wrong_until_is_one_sentence(tmp_path):
    for wrong in ("soon", "0", "60"):
        status, _, err = invoke("run", "--until", wrong, "-o", tmp_path / "x")
        assert status == 2
        assert "until is" in err
    with pytest.raises(unmask.UnmaskError, match="until"):
        Options(until=True)
    assert Options(until="2.5").until == 2.5
