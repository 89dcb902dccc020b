"""Tests of studies/compare."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import unmask
from conftest import tiny
from unmask.api import run
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.flow import external_scores
from unmask.flow.results import preferences
from unmask.options import Resampling
from unmask.stats.multiplicity import corrected
from unmask.studies import compare as comparing

FILES = {
    "bert": "bert-base-cased_BertNextSentence_BertLM",
    "roberta": "roberta-base_ModelNSP_RoBERTaLM",
    "xlnet": "xlnet-base-cased_ModelNSP_XLNetLM",
    "gpt2": "gpt2_ModelNSP_GPT2LM",
}


def published_runs(shared):
    out = []
    for name, file in FILES.items():
        path = shared(f"stereoset/predictions/predictions_{file}.json")
        result = external_scores.score_file(path, "stereoset", name=name)
        out.append(comparing.Run(name, {("scores", "stereoset"): result}))
    return out


def test_stereoset_predictions_with_intervals_and_all_pairs(shared):
    runs = published_runs(shared)
    bert = runs[0].results["scores", "stereoset"].overall
    assert bert.value == pytest.approx(58.68, abs=0.005)
    assert bert.low == pytest.approx(56.5, abs=0.35)
    assert bert.high == pytest.approx(61.1, abs=0.35)
    assert bert.more["design_effect"] > 1
    frame, changed = comparing.compare(runs, margin=5)
    assert len(frame) == 6
    assert (frame.n == 2106).all()
    assert np.allclose(frame.p_holm, corrected(frame.p.tolist()))
    gpt = frame[(frame["first"] == "bert") & (frame.second == "gpt2")].iloc[0]
    assert gpt.low <= gpt.difference <= gpt.high
    assert gpt.won + gpt.lost == len(
        changed[(changed["first"] == "bert") & (changed.second == "gpt2")]
    )


def test_comparison_of_two_runs(tmp_path):
    measures, data = ["aul", "w-seat", "lpbs"], ["bundled-pairs", "weat-6", "kurita-career"]
    for family in ("bert", "roberta"):
        unmask.save(run([tiny(family)], measures, data), tmp_path / family)
    runs = comparing.runs_of([tmp_path / "bert", tmp_path / "roberta"])
    frame, changed = comparing.compare(runs)
    assert set(frame.measure) == set(measures)
    aul = frame.set_index("measure").loc["aul"]
    assert aul.difference == pytest.approx(aul.b - aul.a)
    moved = changed[changed.measure == "aul"].moved.abs().tolist()
    assert moved == sorted(moved, reverse=True)
    same = comparing.runs_of([tmp_path / "bert", tmp_path / "bert"])
    assert "bert" in same[0].name
    frame, _ = comparing.compare(same)
    assert (frame.p > 0.9).all()
    assert (frame.difference == 0).all()


def test_items_that_are_not_shared_are_said(tmp_path):
    a = run([tiny("bert")], ["aul"], ["bundled-pairs"])[0]
    fewer = replace(
        a, items=a.items[a.items.category != "age"], spec=replace(a.spec, model="fewer")
    )
    runs = [comparing.Run(r.model, {("aul", "bundled-pairs"): r}) for r in (a, fewer)]
    row = comparing.compare(runs)[0].iloc[0]
    assert row.only_first == 32
    assert row.n == len(bundled_pairs().items) - 32
    none = replace(a, items=a.items.assign(item="x" + a.items.item))
    with pytest.raises(DataError, match="no item"):
        comparing.compare([runs[0], comparing.Run("none", {("aul", "bundled-pairs"): none})])
    with pytest.raises(DataError, match="share no measure"):
        comparing.compare([runs[0], comparing.Run("other", {})])


def test_only_ties_are_no_score_where_ties_are_dropped():
    item = {"item": "1", "category": "age", "cluster": "c", "score": 1.0, "reason": None}
    item |= dict.fromkeys(("group_pair", "group", "template"), "")
    frame = pd.DataFrame([{**item, "label": k} for k in ("stereotype", "antistereotype")])
    with pytest.raises(DataError, match="all items are ties"):
        preferences(frame, ties="drop", macro=False, resampling=Resampling())


def test_word_tests_are_compared_by_their_own_number(tmp_path):
    """Under ceat the difference is that of the combined effects, not w-seat's."""
    for layer in (1, 2):
        found = run([tiny("bert")], ["ceat", "w-seat"], ["weat-6"], layer=layer, samples=300)
        unmask.save(found, tmp_path / str(layer))
    frame, changed = comparing.compare(comparing.runs_of([tmp_path / "1", tmp_path / "2"]))
    rows = frame.set_index("measure")
    assert (rows.difference - (rows.b - rows.a)).abs().max() < 1e-12
    assert rows.difference["ceat"] != rows.difference["w-seat"]
    assert rows.n.to_dict() == {"ceat": 32, "w-seat": 16}  # four sets, and two
    assert set(changed[changed.measure == "ceat"].item) & {"career", "family", "salary", "home"}


def test_runs_that_keep_other_words_are_not_compared(tmp_path):
    found = run([tiny("bert")], ["w-seat"], ["weat-6"])[0]
    fewer = replace(found, items=found.items[found.items["item"] != "John"])
    runs = [comparing.Run(n, {("w-seat", "weat-6"): r}) for n, r in (("a", found), ("b", fewer))]
    with pytest.raises(DataError, match=r"different words .John"):
        comparing.compare(runs)
    earlier = replace(found, items=found.items.drop(columns="without"))
    runs[1] = comparing.Run("b", {("w-seat", "weat-6"): earlier})
    with pytest.raises(DataError, match="earlier version"):
        comparing.compare(runs)


def test_a_margin_has_the_unit_of_the_measure(tmp_path):
    found = run([tiny("bert")], ["w-seat", "aul"], ["weat-6", "bundled-pairs"])
    both = [comparing.Run(n, {(r.measure, r.data): r for r in found}) for n in "ab"]
    words = [comparing.Run(n, {(r.measure, r.data): r for r in found[1:]}) for n in "ab"]
    assert {r.measure for r in words[0].results.values()} == {"w-seat"}
    frame = comparing.compare(both, margin="3")[0].set_index("measure")
    assert frame.p_equivalent.notna().to_dict() == {"aul": True, "w-seat": False}
    for margin in ("3", 2, {"points": 2}):
        with pytest.raises(DataError, match=r"makes no sense for w-seat .* in d"):
            comparing.compare(words, margin=margin)
    with pytest.raises(unmask.UnmaskError, match="between 0 and 2"):
        comparing.compare(words, margin="3d")
