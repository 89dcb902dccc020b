"""Tests of studies/compare."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import unmask
from conftest import tiny
from simulation import pairs
from simulation.answers import of_factors, result
from unmask.api import run
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.flow import external_scores
from unmask.flow.estimates import preferences
from unmask.options import Resampling
from unmask.reports.difference_words import knowledge_sentences, summary
from unmask.stats.multiplicity import corrected
from unmask.studies import compare as comparing
from unmask.studies.bias_type_differences import compare_by_bias_type
from unmask.studies.contrast import paired_runs
from unmask.types import Results

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
        out.append(comparing.ModelRun(name, {("scores", "stereoset"): result}))
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


def test_what_a_forward_pass_cannot_resolve_is_no_difference():
    """Batches of another shape change margins by less than 1e-4 nats."""
    (first,) = unmask.run(measures=["trait"], data=["bundled-2"], limit=300)
    noise = np.random.default_rng(0).normal(3e-6, 1e-6, len(first.items))
    second = replace(first, items=first.items.assign(score=first.items.score + noise))
    for pair in ([first, second], [first, first]):
        runs = paired_runs(pair)
        for difference in (runs.difference([0], [1]), runs.bias().difference):
            assert (difference.value, difference.p) == (0.0, 1.0)


def test_items_that_are_not_shared_are_said(tmp_path):
    a = run([tiny("bert")], ["aul"], ["bundled-pairs"])[0]
    fewer = replace(
        a, items=a.items[a.items.category != "age"], spec=replace(a.spec, model="fewer")
    )
    runs = [comparing.ModelRun(r.model, {("aul", "bundled-pairs"): r}) for r in (a, fewer)]
    row = comparing.compare(runs)[0].iloc[0]
    assert row.only_first == 32
    assert row.n == len(bundled_pairs().items) - 32
    none = replace(a, items=a.items.assign(item="x" + a.items.item))
    with pytest.raises(DataError, match="no item"):
        comparing.compare([runs[0], comparing.ModelRun("none", {("aul", "bundled-pairs"): none})])
    with pytest.raises(DataError, match="share no measure"):
        comparing.compare([runs[0], comparing.ModelRun("other", {})])


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
    runs = [
        comparing.ModelRun(n, {("w-seat", "weat-6"): r}) for n, r in (("a", found), ("b", fewer))
    ]
    with pytest.raises(DataError, match=r"different words .John"):
        comparing.compare(runs)
    earlier = replace(found, items=found.items.drop(columns="without"))
    runs[1] = comparing.ModelRun("b", {("w-seat", "weat-6"): earlier})
    with pytest.raises(DataError, match="earlier version"):
        comparing.compare(runs)


def test_a_margin_has_the_unit_of_the_measure(tmp_path):
    found = run([tiny("bert")], ["w-seat", "aul"], ["weat-6", "bundled-pairs"])
    both = [comparing.ModelRun(n, {(r.measure, r.data): r for r in found}) for n in "ab"]
    words = [comparing.ModelRun(n, {(r.measure, r.data): r for r in found[1:]}) for n in "ab"]
    assert {r.measure for r in words[0].results.values()} == {"w-seat"}
    frame = comparing.compare(both, margin="3")[0].set_index("measure")
    assert frame.p_equivalent.notna().to_dict() == {"aul": True, "w-seat": False}
    for margin in ("3", 2, {"points": 2}):
        with pytest.raises(DataError, match=r"does not apply to w-seat .* in d"):
            comparing.compare(words, margin=margin)
    with pytest.raises(unmask.UnmaskError, match="between 0 and 2"):
        comparing.compare(words, margin="3d")


# ---------------------------------------------------------------- factors, and what changed


def factor_runs(*biases):
    """Results of `trait` on the same items, with these mean log factors."""
    columns = pairs.grid(3, 4, 8, 2)
    rng = np.random.default_rng(4)
    base = pairs.margins(rng, columns, pairs.Liking(template=0.0), 0.0)
    return [
        of_factors(result(columns, base + bias, "trait", f"m{k}")) for k, bias in enumerate(biases)
    ]


def test_factors_are_compared_as_factors_and_not_as_shares_of_pairs():
    """1.2 times as likely before and 1.62 after: a factor of 1.35, in logarithms."""
    one, two = factor_runs(np.log(1.2), np.log(1.62))
    assert one.compared == "factor"
    paired = paired_runs([one, two])
    change = paired.difference([0], [1])
    assert np.exp(change.value) == pytest.approx(1.35, rel=0.02)
    assert change.low <= change.value <= change.high
    assert paired.scores == pytest.approx([one.overall.value, two.overall.value], abs=0.02)
    bias = paired.bias()
    assert (bias.first, bias.second) == pytest.approx(tuple(paired.scores), abs=0.05)
    assert bias.worse(0.0) < 0.05
    back = paired_runs([two, one]).difference([0], [1])
    assert (back.value, back.low) == pytest.approx((-change.value, -change.high))
    frame, _ = comparing.compare([Results([one]), Results([two])])
    assert frame.difference.iloc[0] == pytest.approx(change.value)
    by_type = compare_by_bias_type([Results([one]), Results([two])])
    assert (by_type.verdict == "more stereotypical").any()
    assert "ratio" in summary(frame, by_type)[0]
    assert "%" not in summary(frame, by_type)[0]


def test_the_same_factor_twice_is_no_change():
    one, two = factor_runs(0.2, 0.2)
    change = paired_runs([one, two]).difference([0], [1])
    assert (change.value, change.low, change.high, change.p) == (0.0, 0.0, 0.0, 1.0)
    assert paired_runs([one, two]).bias().no_worse(0.1) < 0.05


def test_less_stereotype_is_told_from_less_knowledge():
    def said(verdict, control, p):
        frame = pd.DataFrame(
            [
                {"first": "a", "second": "b", "measure": "trait", "data": "bundled-2:positive"}
                | {"compared": "factor", "difference": control, "low": control - 0.1}
                | {"high": control + 0.1, "p": p}
            ]
        )
        types = pd.DataFrame(
            [{"first": "a", "second": "b", "bias_type": "age", "verdict": verdict, "main": True}]
        )
        return knowledge_sentences(frame, types)[0]

    closer, none = "closer to fair", "no difference shown"
    assert said(closer, 0.0, 0.9).startswith(
        "b is closer to fair for at least one bias type, and no loss of knowledge"
    )
    assert "but also knows less: it may be partly damaged" in said(closer, -0.5, 0.001)
    assert said(none, -0.5, 0.001).startswith("b knows less than a, and no change in stereotypes")
    assert said(none, 0.0, 0.9).startswith("No loss of knowledge is shown between a and b")
    assert said("more stereotypical", -0.5, 0.001).startswith("b knows less than a (")
    assert "positive control ratio 0.61 [0.55, 0.67]" in said(none, -0.5, 0.001)
