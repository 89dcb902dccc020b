"""A model that knows nothing is not called fair: dead networks, noise, ties, lost items."""

from dataclasses import replace
from functools import cache

import pandas as pd
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

import unmask
from conftest import invoke, tiny
from simulated_models import simulated
from unmask.answer import answer_sentences, fitness
from unmask.answer.answer import answers
from unmask.data.packaged import bundled_pairs
from unmask.models.names import BUNDLED_FOLDER
from unmask.studies.trend import trend
from unmask.types import Results

MEASURES = ["cps", "cat", "odds", "w-seat"]
DATA = ["bundled-pairs", "kurita-career", "weat-6"]


def no_weights(net):
    for p in net.parameters():
        p.zero_()


def no_embeddings(net):
    net.get_input_embeddings().weight.zero_()


def no_norms(net):
    for name, p in net.named_parameters():
        if "norm" in name.lower() and name.endswith("weight"):
            p.zero_()


def noise(net):
    random = torch.Generator().manual_seed(3)
    for p in net.parameters():
        if p.dim() > 1:
            p.add_(torch.randn(p.shape, generator=random) * p.std())


@cache
def measured(damage):
    net = AutoModelForMaskedLM.from_pretrained(BUNDLED_FOLDER)
    with torch.no_grad():
        damage(net)
    net.config._name_or_path = damage.__name__
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED_FOLDER)
    return unmask.run((net, tokenizer), MEASURES, DATA, limit=36)


def slow(damage):
    return pytest.param(damage, marks=pytest.mark.slow)


@cache
def sound():
    return unmask.run("bundled", MEASURES, DATA, limit=36)


@pytest.mark.parametrize("damage", [no_weights, slow(no_embeddings), slow(no_norms), noise])
def test_a_dead_network_passes_nothing(damage, tmp_path):
    results = measured(damage)
    for r in results:
        assert not r.fitness.fit, r.title
        assert {v.word for v in r.verdicts.values()} <= {"inconclusive"}
        assert r.accuracy is None or r.compared != "preference" or r.accuracy.value < 5
    for answer in answers(results):
        assert answer.verdict == "inconclusive"
    sentence = answer_sentences.sentence(answers(results))
    assert sentence.startswith("Warning: the model is unfit for a verdict: ")
    unmask.save(results, tmp_path / "r")
    for limit in ("10", "45"):
        (tmp_path / "rules.toml").write_text(f"[[rule]]\nat_most = '{limit}'\ntrust = 'any'\n")
        status, out, _ = invoke("gate", tmp_path / "r", "--rules", tmp_path / "rules.toml")
        assert (status, "unfit" in out) == (3, True)
    page = (unmask.report(tmp_path / "r", tmp_path / "page.html")).read_text()
    assert (
        "is unfit for a verdict"
        in page[page.index("<main>") : page.index("</p>", page.index("<main>"))]
    )


def test_the_sound_model_is_fit():
    assert all(r.fitness.fit for r in sound())
    cps = next(r for r in sound() if r.measure == "cps")
    assert cps.fitness.accuracy == cps.accuracy.value
    assert cps.accuracy.value > cps.accuracy.more["constant"] > 0


def untrained(net):
    random = torch.Generator().manual_seed(8)
    for p in net.parameters():
        if p.dim() > 1:
            p.copy_(0.02 * torch.randn(p.shape, generator=random))


def no_layers(net):
    for name, p in net.named_parameters():
        if ".layer." in name and "norm" not in name.lower():
            p.zero_()


@cache
def asked(damage, measure, data):
    net = AutoModelForMaskedLM.from_pretrained(BUNDLED_FOLDER)
    with torch.no_grad():
        damage(net)
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED_FOLDER)
    return unmask.run((net, tokenizer), [measure], [data], limit=60)


def test_templates_alone_do_not_make_an_untrained_network_fair():
    """Odds of 1 by knowing nothing: it predicts none of the four words that are asked for."""
    results = asked(untrained, "odds", "kurita-career")
    assert not results[0].fitness.fit
    assert unmask.gate(results).status == 3


def test_copying_a_token_in_sight_shows_no_ability():
    """Without layers half of the tokens in plain sight are right, and nothing is understood."""
    results = asked(no_layers, "aul", "bundled-pairs")
    assert results[0].accuracy.value > results[0].accuracy.more["constant"]
    decided = unmask.gate(results, [unmask.Rule(at_most="45", by="score", trust="any")])
    assert decided.status == 3
    assert "no result shows that the model can predict words" in decided.outcomes[0].reason


def test_nothing_shown_is_neither_ranked_followed_nor_negligible(tmp_path):
    results = asked(no_layers, "aul", "bundled-pairs")
    assert not any(a.verdict == "negligible" for a in answers(results))
    fit = unmask.run("bundled", ["cps", "aul"], ["bundled-pairs"], limit=60)
    board = unmask.leaderboard(Results([*fit, *results])).set_index("model")
    reason = board.unranked[results[0].model]
    no_proof = "no result shows that the model can predict words"
    assert no_proof in reason
    with pytest.raises(unmask.UnmaskError, match=no_proof):
        trend([Results(results), Results(results)])


def test_an_unfit_baseline_is_said(tmp_path):
    fair = unmask.run("bundled", ["cps"], ["bundled-pairs"], limit=36)
    rule = unmask.Rule(no_worse_by="49", by="score", trust="any")
    (found,) = unmask.gate(fair, [rule], measured(no_weights)).outcomes
    assert found.state == "inconclusive"
    assert "the baseline: " in found.reason


def test_an_accuracy_of_a_fixed_token_is_none_of_a_model():
    rounded = replace(sound()[0].accuracy, value=9.0 + 1e-12, low=7.0, high=11.0)
    rounded = replace(rounded, more={"constant": 9.0, "distinct": 500})
    assert fitness._no_better(rounded)


def test_what_is_unfit_does_not_pass_where_a_rule_lets_the_inconclusive_pass():
    rule = unmask.Rule(nothing_found=True, inconclusive="pass")
    assert unmask.gate(measured(no_weights), [rule]).status == 3
    assert unmask.gate(asked(no_layers, "aul", "bundled-pairs"), [rule]).status == 3
    open_ = unmask.run("bundled", ["cps"], ["bundled-pairs"], limit=20)
    assert unmask.gate(open_, [rule]).status == 0  # inconclusive, of a model that is fit


def test_few_hits_among_few_tokens_are_not_held_against_a_sound_model():
    """The words that differ are 24 names, of which it predicts hardly one."""
    names = ("Tom", "Sam", "Bob", "Jim", "Max", "Leo", "Dan", "Ben", "Roy", "Ray", "Joe", "Ted")
    other = ("Ann", "Eve", "Sue", "Kim", "Joy", "Ida", "Amy", "Meg", "Liz", "Pam", "Fay", "Zoe")
    rows = [
        (f"{a} was here today.", f"{b} was here today.") for a, b in zip(names, other, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["stereotype", "antistereotype"])
    found = unmask.run("bundled", ["sss", "cps"], frame)
    assert all(r.fitness.fit for r in found)


def test_boards_and_trends_list_it_without_a_rank(tmp_path):
    dead = measured(no_weights)
    board = unmask.leaderboard([sound(), dead])
    assert board["rank"].tolist()[0] == 1
    assert board["rank"].isna().tolist() == [False, True]
    assert board.unranked.tolist()[0] == ""
    assert "always predicting the same token" in board.unranked.tolist()[1]
    for name, results in (("a", sound()), ("b", dead), ("c", sound())):
        unmask.save(results, tmp_path / name)
    followed = trend([tmp_path / n for n in "abc"])
    assert len(followed.runs) == 2
    assert "always predicting" in next(iter(followed.unfit.values()))
    with pytest.raises(unmask.DataError, match="needs two runs that are fit"):
        trend([tmp_path / "a", tmp_path / "b"])


def test_a_model_without_verdicts_is_listed(tmp_path):
    both = Results([*sound(), *unmask.run(tiny("bert"), ["all-masked"], ["bundled-pairs"])])
    board = unmask.leaderboard(both)
    assert len(board) == 2
    assert board.unranked.tolist()[-1] == "it has no measure with a verdict"


def test_the_constant_prediction_is_counted_by_hand():
    result = unmask.evaluate("bundled", "cps", "bundled-pairs", keep=("tokens",), limit=60)
    tokens = result.artifacts["tokens"]
    most = tokens.gold.value_counts().iloc[0]
    assert result.accuracy.more["constant"] == pytest.approx(100 * most / len(tokens))
    related = tokens[tokens.label != "unrelated"]
    assert result.accuracy.value == pytest.approx(100 * related.hit.mean())


def test_word_tests_follow_what_the_model_can_do():
    """A word test has no accuracy: it is unfit where all that have one are."""
    dead = measured(noise)
    (word,) = [r for r in dead if r.measure == "w-seat"]
    assert not word.fitness.fit
    (alone,) = [r for r in sound() if r.measure == "w-seat"]
    assert alone.fitness.fit


def test_ties_and_lost_items_make_a_result_unfit(tmp_path):
    fair = simulated(bundled_pairs(), tmp_path, 5)[0]
    assert fair.fitness.fit
    many = replace(fair, coverage=replace(fair.coverage, ties=fair.coverage.scored // 4))
    few = replace(fair, coverage=replace(fair.coverage, items=3 * fair.coverage.scored))
    spared = replace(
        few,
        coverage=replace(
            few.coverage, reasons={"not asked: the verdict was clear": 2 * fair.coverage.scored}
        ),
    )
    from unmask.answer.fitness import assessed

    states = [assessed([r])[0].fitness.reasons for r in (many, few, spared)]
    assert "exact ties" in states[0][0]
    assert "could be scored" in states[1][0]
    assert states[2] == ()


def test_a_constant_file_and_a_constant_model(tmp_path):
    """Two columns that are the same, through a run: every item is a tie."""
    pairs = pd.DataFrame({"stereotype": [f"The man {k} sat." for k in range(30)]})
    pairs["antistereotype"] = pairs.stereotype
    results = unmask.run("bundled", ["aul"], pairs)
    assert results[0].coverage.ties == 30
    assert results[0].verdicts[""].word == "inconclusive"
    assert "exact ties" in results[0].verdicts[""].why
