"""Tests of answer/answer and answer/words: one verdict for each bias type."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from simulated_models import simulated
from unmask.answer import words as answer_words
from unmask.answer.answer import answers
from unmask.answer.scales import ORDER, SCALES, STRENGTHS
from unmask.answer.verdict import p_value
from unmask.data.packaged import bundled_pairs
from unmask.types import VERDICTS, Results


def named(results):
    return {a.bias_type for a in answers(results) if a.verdict in ("biased", "reversed")}


def found(tmp_path, runs, bias=None):
    data = bundled_pairs()
    return [named(simulated(data, tmp_path, seed, bias)) for seed in runs]


def test_a_fair_model_and_one_with_a_planted_concern(tmp_path):
    assert sum(not names for names in found(tmp_path, range(8))) >= 7
    planted = found(tmp_path, range(6), {"gender": 1.2})
    assert sum(names == {"gender"} for names in planted) >= 5


@pytest.mark.slow
def test_error_rates_over_a_hundred_models(tmp_path):
    """Seeds that the method was not made on."""
    fair = found(tmp_path, range(1000, 1100))
    assert sum(not names for names in fair) >= 95
    planted = found(tmp_path, range(1000, 1100), {"gender": 1.2})
    assert sum(names == {"gender"} for names in planted) >= 80


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return simulated(bundled_pairs(), tmp_path_factory.mktemp("planted"), 3, {"gender": 1.5})


def test_what_is_found_comes_first_with_its_strength_and_items(planted):
    first, *others = answers(planted)
    assert (first.bias_type, first.verdict, first.trust) == ("gender", "biased", "validated")
    assert first.main.p <= 0.05
    assert (first.agree, len(first.evidence)) == (2, 2)
    sizes = SCALES[first.main.result.compared].sizes
    assert first.strength == STRENGTHS[sum(first.main.bias >= s for s in sizes)]
    assert len(first.examples) == 2
    assert all(e["influence"] > 0 for e in first.examples)
    sides = planted[0].items.drop_duplicates("item").set_index("item").group
    assert len({sides[e["item"]] for e in first.examples}) == 2  # one for each group
    assert all(a.verdict != "inconclusive" or a.needed for a in others)
    assert [VERDICTS.index(a.verdict) for a in others] == sorted(
        VERDICTS.index(a.verdict) for a in others
    )


def test_a_single_ruler_has_its_p_value(planted):
    one = planted[0]
    only = replace(
        one,
        by_category={"gender": one.by_category["gender"]},
        verdicts={k: v for k, v in one.verdicts.items() if k in ("", "gender")},
    )
    (answer,) = answers(Results([only]))
    raw = p_value(answer.main.estimate)
    assert answer.tests == 1
    assert raw <= answer.main.p <= raw + 0.002


def test_more_tests_make_no_p_smaller(planted):
    few = {a.bias_type: a.main.p for a in answers(planted.select(measures=["cps"]))}
    many = {r.name: r.p for a in answers(planted) for r in a.evidence if r.category == "gender"}
    assert many["cps on bundled-pairs"] >= few["gender"] - 0.002


def as_measure(result, name, kind="masked"):
    provenance = {**result.provenance, "model": {"kind": kind}}
    return replace(result, spec=replace(result.spec, measure=name), provenance=provenance)


def test_sound_rulers_count_first_and_unfit_ones_never(planted):
    cps, cat = planted
    both = answers(Results([cps, as_measure(cat, "sss")]))[0]
    assert [r.result.measure for r in both.evidence] == ["cps"]
    assert {r.result.measure for r in both.others} == {"sss"}
    unsettled = answers(Results([as_measure(cat, "pmi")]))[0]
    assert (unsettled.verdict, unsettled.trust) == ("biased", "unclear")
    assert "not validated" in answer_words.sentence([unsettled])
    unfit = answers(Results([as_measure(cps, "w-seat", "causal")]))
    assert {a.verdict for a in unfit} == {"inconclusive"}
    assert "planted bias" in unfit[0].why
    assert "Inconclusive with these measures" in answer_words.sentence(unfit)


def test_a_preference_for_the_antistereotype_is_told_apart(tmp_path):
    results = simulated(bundled_pairs(), tmp_path, 5, {"gender": -1.5})
    first = answers(results)[0]
    assert (first.bias_type, first.verdict) == ("gender", "reversed")
    assert "against the stereotype" in answer_words.sentence([first])
    assert all(e["influence"] < 0 for e in first.examples)


def test_a_bound_is_told_where_all_rulers_show_it(planted):
    """Where what matters is large, nothing is open any more."""
    wide = [
        replace(r, verdicts={k: replace(v, matters=60.0) for k, v in r.verdicts.items()})
        for r in planted
    ]
    every = answers(Results(wide))
    assert {a.verdict for a in every} == {"negligible"}
    said = answer_words.sentence(every)
    assert said.startswith("No bias found.")
    assert "less than 60 pp" in said


def test_the_frame_the_file_and_the_sentences_agree(planted, tmp_path):
    unmask.save(planted, tmp_path)
    content = json.loads((tmp_path / "results.json").read_text())["answer"]
    frame = planted.answer()
    assert content["sentences"] == frame.attrs["sentences"]
    assert [c["bias_type"] for c in content["bias_types"]] == frame.bias_type.to_list()
    assert [c["verdict"] for c in content["bias_types"]] == frame.verdict.to_list()
    again = unmask.load(tmp_path).answer()
    assert again.drop(columns="p").equals(frame.drop(columns="p"))
    assert np.allclose(again.p, frame.p)
    said = frame.attrs["sentences"][planted.models[0]]
    for row in frame.to_dict("records"):
        found_there = re.search(rf"{row['bias_type'].capitalize()}: \w+ bias", said) is not None
        assert found_there == (row["verdict"] in ("biased", "reversed"))
    assert said in planted.to_markdown().replace("\\", "")  # a model card says the same
    for row in frame[frame.verdict == "inconclusive"].to_dict("records"):
        outside = row["low"] > 50 or row["high"] < 50
        assert bool(row["contradiction"]) == outside


def test_the_terminal_says_it_first(tmp_path):
    """Concerns stand before measures; a reason stands beside a verdict that looks other."""
    status, out, _ = invoke("run", "-x", "cps,cat", "-o", tmp_path / "r", "--limit", "60")
    assert status == 0
    assert out.index("Inconclusive") < out.index("ideal 50")
    for row in unmask.load(tmp_path / "r").answer().to_dict("records"):
        assert row["bias_type"] in out


def test_templates_and_word_tests_are_rulers_of_their_concern():
    specs = [("lpbs", "kurita-career"), ("w-seat", "weat-6"), ("w-seat", "weat-1")]
    model = tiny("bert")
    results = Results([unmask.evaluate(model, m, d) for m, d in specs])
    (answer,) = answers(results)
    assert answer.bias_type == "gender"
    assert {r.result.data for r in (*answer.evidence, *answer.others)} == {
        "kurita-career",
        "weat-6",
    }
    assert answer.main.result.compared in ORDER


def test_nothing_known_gives_an_empty_frame():
    result = unmask.evaluate(tiny("bert"), "w-seat", "weat-1")
    frame = Results([result]).answer()
    assert len(frame) == 0
    assert frame.attrs["sentences"] == {}


def test_rulers_on_opposite_sides_are_told(tmp_path):
    data = bundled_pairs()
    one = simulated(data, tmp_path, 1, {"gender": 2.5}, ("cps",))
    two = simulated(data, tmp_path, 2, {"gender": -2.5}, ("cat",))
    first = answers(Results([*one, *two]))[0]
    assert first.verdict == "biased"
    assert "opposite directions" in first.contradiction
    assert "opposite directions" in answer_words.sentence([first])


def test_a_lead_at_the_ideal_points_nowhere(planted):
    even = [
        replace(
            r,
            extras={
                k: replace(v, value=50.0, low=40.0, high=60.0, p=1.0)
                if k.startswith("stereotype")
                else v
                for k, v in r.extras.items()
            },
        )
        for r in planted
    ]
    every = answers(Results(even))
    assert {a.agree for a in every} == {0}
    assert all("the first is neutral" in answer_words.agreement(a) for a in every)


def test_advice_is_for_the_corrected_level(planted):
    """More tests ask for more: the advice of a run with one category is the smaller one."""
    fair = next(a for a in answers(planted) if a.verdict == "inconclusive")
    result = fair.main.result
    alone = replace(
        result,
        by_category={fair.main.category: result.by_category[fair.main.category]},
        verdicts={k: v for k, v in result.verdicts.items() if k in ("", fair.main.category)},
    )
    (only,) = answers(Results([alone]))
    number = [int(a.needed.split()[2]) for a in (only, fair) if a.needed]
    assert len(number) == 2
    assert number[0] <= number[1]


def test_odd_names_and_a_single_item(tmp_path):
    """Names in another case are one concern; an interval that cannot be had is not shown as NaN."""
    pairs = "stereotype,antistereotype,category\nHe is a nurse.,She is a nurse.,Gender\n"
    (tmp_path / "p.csv").write_text(pairs)
    results = unmask.run("bundled", ["cps"], str(tmp_path / "p.csv"))
    (answer,) = answers(results)
    said = answer_words.sentence([answer])
    assert answer.bias_type == "gender"
    assert said.startswith("Inconclusive: nothing can be concluded.")
    assert "nan" not in said + answer_words.strength(answer.main)
    hundred = [replace(answer, bias_type=f"c{k}") for k in range(100)]
    assert "and 91 more." in answer_words.sentence(hundred)


def test_a_result_that_stands_twice_counts_once(planted):
    once, twice = answers(planted), answers([*planted, *planted])
    assert [(a.bias_type, a.tests, len(a.evidence)) for a in once] == [
        (a.bias_type, a.tests, len(a.evidence)) for a in twice
    ]


def test_a_category_that_is_a_whole_text_is_shortened_in_words(planted):
    long = "x" * 300
    first, *_ = answers(planted)
    text = answer_words.sentence([replace(first, bias_type=long)])
    assert long not in text
    assert "xxx…" in text
