"""Tests of answer/answer and answer/answer_sentences: one verdict for each bias type."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from simulated_models import simulated
from unmask.answer import answer_sentences
from unmask.answer.answer import OVERALL, _main, answers, with_verdicts
from unmask.answer.answer_sentences import why_published_differs
from unmask.answer.needed import data_needed
from unmask.answer.scales import ORDER, SCALES, STRENGTHS
from unmask.answer.verdict import Correction, gatekeeping, undecided
from unmask.data.packaged import bundled_pairs
from unmask.flow.estimates import preferences
from unmask.options import Resampling, Threshold
from unmask.types import VERDICTS, Estimate, Results


def by_type(results):
    """The answers by bias type, without the overall one."""
    return [a for a in answers(results) if a.bias_type != OVERALL]


def named(results):
    return {a.bias_type for a in by_type(results) if a.shows_bias}


def found(tmp_path, runs, bias=None):
    data = bundled_pairs()
    return [named(simulated(data, tmp_path, seed, bias)) for seed in runs]


def test_an_unbiased_model_and_one_with_a_planted_bias(tmp_path):
    assert sum(not names for names in found(tmp_path, range(8))) >= 7
    planted = found(tmp_path, range(6), {"gender": 1.2})
    assert sum(names == {"gender"} for names in planted) >= 5


@pytest.mark.slow
def test_error_rates_over_two_hundred_models(tmp_path):
    """Seeds that the method was not made on; the overall verdict counts."""
    data = bundled_pairs()
    runs = [answers(simulated(data, tmp_path, seed)) for seed in range(1000, 1200)]
    assert (
        sum(any(a.shows_bias for a in run) for run in runs) <= 17
    )  # 5 % are 10; .02 for more than 17
    planted = found(tmp_path, range(1000, 1100), {"gender": 1.2})
    assert sum("gender" in names for names in planted) >= 95
    assert sum(names == {"gender"} for names in planted) >= 88


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return simulated(bundled_pairs(), tmp_path_factory.mktemp("planted"), 3, {"gender": 1.5})


def test_the_number_beside_a_verdict_is_one_that_shows_it(planted):
    """A joint test can be significant where the first measure alone shows nothing."""
    gender = next(a for a in answers(planted) if a.bias_type == "gender")
    one = gender.main
    several = [replace(one, estimate=replace(one.estimate, low=40.0)), one]
    assert _main(several, 1.0) is several[1]
    assert _main(several, -1.0) is several[0]  # none shows the opposite: the first in order
    assert _main(several, 0.0) is several[0]


def test_the_overall_verdict_comes_first(planted):
    first = answers(planted)[0]
    assert (first.bias_type, first.verdict) == (OVERALL, "biased")
    assert first.main.estimate.n == 356
    text = answer_sentences.sentence(answers(planted))
    assert "stereotypical bias overall" in text.split(".")[0]
    assert "% of 356 pairs [" in text


def test_findings_come_first_with_their_strength_and_items(planted):
    first, *others = by_type(planted)
    assert (first.bias_type, first.verdict, first.trust) == ("gender", "biased", "validated")
    assert first.p <= 0.05
    assert first.main.p == first.p
    assert (first.agree, len(first.evidence)) == (2, 2)
    sizes = SCALES[first.main.result.compared].sizes
    assert first.strength == STRENGTHS[sum(first.main.bias >= s for s in sizes)]
    assert len(first.examples) == 2
    assert all(e["influence"] > 0 for e in first.examples)
    groups = planted[0].items.drop_duplicates("item").set_index("item").group
    assert len({groups[e["item"]] for e in first.examples}) == 2  # one for each group
    assert all(a.verdict != "inconclusive" or a.needed for a in others)
    assert [VERDICTS.index(a.verdict) for a in others] == sorted(
        VERDICTS.index(a.verdict) for a in others
    )


def test_a_single_test_is_not_corrected(planted):
    one = planted[0]
    items = one.items[one.items.category == "gender"]
    only = replace(
        one,
        items=items,
        overall=one.by_category["gender"],
        extras={
            k.removesuffix(":gender"): v for k, v in one.extras.items() if k.endswith(":gender")
        }
        | {k: v for k, v in one.extras.items() if k.endswith(":gender")},
        by_category={"gender": one.by_category["gender"]},
        verdicts={k: v for k, v in one.verdicts.items() if k in ("", "gender")},
    )
    overall, answer = answers(Results([only]))
    assert answer.tests == overall.tests == 1
    assert answer.p == overall.p == one.extras["margin:gender"].p


def as_measure(result, name, kind="masked"):
    provenance = {**result.provenance, "model": {"kind": kind}}
    return replace(result, spec=replace(result.spec, measure=name), provenance=provenance)


def test_validated_measures_count_first_and_unfit_ones_never(planted):
    cps, cat = planted
    both = by_type(Results([cps, as_measure(cat, "sss")]))[0]
    assert [r.result.measure for r in both.evidence] == ["cps"]
    assert {r.result.measure for r in both.others} == {"sss"}
    unclear = by_type(Results([as_measure(cat, "pll")]))[0]
    assert (unclear.verdict, unclear.trust) == ("biased", "unclear")
    assert "unvalidated" in answer_sentences.sentence([unclear])
    judged_ = with_verdicts([cps, as_measure(cat, "sss")])
    assert all(v.counts for v in judged_[0].verdicts.values())
    assert not any(v.counts for v in judged_[1].verdicts.values())
    unfit = answers(Results([as_measure(cps, "w-seat", "causal")]))
    assert {a.verdict for a in unfit} == {"inconclusive"}
    assert "not detect even the control" in unfit[0].why
    assert "Inconclusive with these measures" in answer_sentences.sentence(unfit)


def test_a_preference_for_the_antistereotype_is_told_apart(tmp_path):
    results = simulated(bundled_pairs(), tmp_path, 5, {"gender": -1.5})
    first = by_type(results)[0]
    assert (first.bias_type, first.verdict) == ("gender", "reversed")
    assert "against the stereotype" in answer_sentences.sentence([first])
    assert all(e["influence"] < 0 for e in first.examples)


def test_what_is_smaller_than_what_matters_is_negligible(planted):
    """Where what matters is large, every bias type is decided."""
    wide = [
        replace(r, verdicts={k: replace(v, matters=60.0) for k, v in r.verdicts.items()})
        for r in planted
    ]
    every = answers(Results(wide))
    assert {a.verdict for a in every} == {"negligible"}
    text = answer_sentences.sentence(every)
    assert text.startswith("No overall bias of more than 60 pp: ")
    assert "Negligible (less than 60 pp): " in text


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
        if row["bias_type"] != OVERALL:
            there = re.search(rf"{row['bias_type'].capitalize()}: \w+ bias", said) is not None
            assert there == (row["verdict"] in ("biased", "reversed"))
    assert said in planted.to_markdown().replace("\\", "")  # a model card says the same
    for row in frame.to_dict("records"):
        outside = row["low"] > 50 or row["high"] < 50
        is_found = row["verdict"] in ("biased", "reversed")
        assert bool(row["contradiction"]) == (outside != is_found)


def test_the_terminal_says_it_first(tmp_path):
    """Bias types come before measures."""
    status, out, _ = invoke("run", "-x", "cps,cat", "-o", tmp_path / "r", "--limit", "60")
    assert status == 0
    assert out.index("Inconclusive") < out.index("ideal 50")
    for row in unmask.load(tmp_path / "r").answer().to_dict("records"):
        assert row["bias_type"] in out


def test_templates_and_word_tests_are_evidence_of_their_bias_type():
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


def test_tests_in_opposite_directions_are_reported(tmp_path):
    """Pairs against the stereotype, and odds of a template test towards it."""
    pairs = simulated(bundled_pairs(), tmp_path, 1, {"gender": -2.5}, ("cps",))
    odds = unmask.evaluate("bundled", "odds", "kurita-career", cache=True)
    odds = replace(odds, spec=replace(odds.spec, model=pairs[0].model))
    odds = replace(odds, provenance={**odds.provenance, "model": {"kind": "masked"}})
    gender = next(a for a in by_type(Results([*pairs, odds])) if a.bias_type == "gender")
    assert gender.shows_bias
    assert len(gender.tested) == 2
    assert "opposite directions" in gender.contradiction
    assert "opposite directions" in answer_sentences.sentence([gender])


def test_a_main_estimate_at_the_ideal_has_no_direction(planted):
    even = [
        replace(
            r,
            extras={
                k: replace(v, value=50.0, low=40.0, high=60.0, p=1.0)
                if k.startswith("adjusted")
                else v
                for k, v in r.extras.items()
            },
        )
        for r in planted
    ]
    every = answers(Results(even))
    assert {a.agree for a in every} == {0}
    assert all("the main one is neutral" in answer_sentences.agreement(a) for a in every)


def test_the_level_of_a_test_is_that_of_its_first_step():
    """The smallest p of ten types at that level is significant; a larger one need not be."""
    for p_overall in (0.3, 0.001):
        correction = Correction(11, p_overall <= 0.025)
        error = 1 - correction.level(0.95)
        first, types = gatekeeping(p_overall, [error, *[0.9] * 9])
        assert types[0] == pytest.approx(0.05)
        assert (first <= 0.05) == correction.overall
    assert Correction(11, False).level(0.95, bias_type=False) == pytest.approx(0.975)
    assert Correction(10, None).level(0.95) == pytest.approx(0.995)
    assert Correction(1, True).level(0.95) == pytest.approx(0.95)


def test_advice_is_for_the_corrected_level(planted):
    """More tests ask for more."""
    undecided = next(a for a in by_type(planted) if a.needed)
    levels = (Correction(tests, None).level(0.95) for tests in (1, 40))
    alone, many = (data_needed(undecided.main, level) for level in levels)
    numbers = [sum(map(int, re.findall(r"\d+", text))) for text in (alone, many) if text]
    assert len(numbers) < 2 or numbers[0] <= numbers[1]


def test_odd_names_and_a_single_item(tmp_path):
    """Names in another case are one bias type; a missing interval is not shown as NaN."""
    pairs = "stereotype,antistereotype,category\nHe is a nurse.,She is a nurse.,Gender\n"
    (tmp_path / "p.csv").write_text(pairs)
    results = unmask.run("bundled", ["cps"], str(tmp_path / "p.csv"))
    overall, answer = answers(results)
    said = answer_sentences.sentence([overall, answer])
    assert answer.bias_type == "gender"
    assert said.startswith("Inconclusive overall: ")
    assert "nan" not in said + answer_sentences.main_number(answer.main)
    hundred = [replace(answer, bias_type=f"c{k}") for k in range(100)]
    assert "and 91 more." in answer_sentences.sentence(hundred)


def test_a_result_that_is_given_twice_counts_once(planted):
    once, twice = answers(planted), answers([*planted, *planted])
    assert [(a.bias_type, a.tests, len(a.evidence)) for a in once] == [
        (a.bias_type, a.tests, len(a.evidence)) for a in twice
    ]


def test_a_category_that_is_a_whole_text_is_shortened_in_words(planted):
    long = "x" * 300
    first, *_ = by_type(planted)
    text = answer_sentences.sentence([replace(first, bias_type=long)])
    assert long not in text
    assert "xxx…" in text


def as_yes(result):
    """The same result with a margin of 1 for each item."""
    score = np.where(result.items.label == "stereotype", -9.0, -10.0)
    items = result.items.assign(score=score)
    e = preferences(items, ties="half", macro=False, resampling=Resampling())
    verdicts = undecided(e.by_category, "preference", Threshold())
    return replace(
        result, items=items, overall=e.overall, by_category=e.by_category, extras=e.extras,
        verdicts=verdicts,
    )  # fmt: skip


def test_a_model_that_always_prefers_the_stereotype_is_biased(planted):
    """No margin varies, so there is no mean margin to test, and the share is tested."""
    results = Results([as_yes(r) for r in planted])
    overall = answers(results)[0]
    assert (overall.verdict, overall.main.estimate.value) == ("biased", 100.0)


@pytest.mark.parametrize(
    ("published", "adjusted", "verdict", "says"),
    [
        ((64, 60, 68), (62, 48, 75), "inconclusive", "is less certain"),
        ((64, 60, 68), (53, 45, 61), "inconclusive", "a preference for one group's word"),
        ((64, 60, 68), (40, 33, 47), "reversed", "in opposite directions"),
        ((52, 48, 56), (60, 54, 66), "biased", "would be inconclusive"),
        ((52, 48, 56), (52, 46, 58), "inconclusive", ""),
        ((64, 60, 68), (60, 54, 66), "biased", ""),
    ],
)
def test_why_the_published_score_alone_would_say_something_else(
    planted, published, adjusted, verdict, says
):
    def estimate(value, low, high):
        return Estimate(value, low, high, 0.95, "made", 300, 50.0)

    overall = answers(planted)[0]
    main = replace(overall.main, estimate=estimate(*adjusted))
    reason = why_published_differs(
        replace(overall, verdict=verdict, main=main), estimate(*published)
    )
    assert says in reason
    assert bool(says) == bool(reason)
