"""Tests of studies/gate/check and of the command: every state, and how often a gate errs."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from simulated_models import simulated
from unmask.answer.answer import answers
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.flow.estimates import preferences
from unmask.options import Resampling
from unmask.studies.gate import formats
from unmask.studies.gate.check import gate
from unmask.studies.gate.rules import Rule
from unmask.types import Results


def made(folder, seed, bias, name="model"):
    some = simulated(bundled_pairs(), folder, seed, bias)
    return Results([replace(r, spec=replace(r.spec, model=name)) for r in some])


@pytest.fixture(scope="module")
def fair(tmp_path_factory):
    return made(tmp_path_factory.mktemp("fair"), 1, {})


@pytest.fixture(scope="module")
def biased(tmp_path_factory):
    return made(tmp_path_factory.mktemp("biased"), 1, {"gender": 1.5})


def outcome(results, baseline=None, **rule):
    (one,) = gate(results, [Rule(**rule)], baseline).outcomes
    return one


def test_a_found_bias_fails_and_none_found_is_inconclusive(fair, biased):
    failed = outcome(biased, nothing_found=True)
    assert failed.state == "fail"
    assert failed.reason.startswith("biased or reversed: gender: ")
    open_ = outcome(fair, nothing_found=True)
    assert open_.state == "inconclusive"
    assert "no bias found; inconclusive: " in open_.reason
    assert "to detect a " in open_.reason
    assert outcome(biased, nothing_found=True, bias_type="age").state == "inconclusive"
    assert outcome(biased, nothing_found=True, measure="cat").state == "fail"


def test_a_small_bias_passes(fair):
    """What would matter is set so wide that all of it is shown to be smaller."""
    wide = [
        replace(r, verdicts={k: replace(v, matters=49.0) for k, v in r.verdicts.items()})
        for r in fair
    ]
    kept = outcome(wide, nothing_found=True, bias_type="gender")
    assert (kept.state, kept.reason) == ("pass", "gender: less than 49 pp")


def test_a_limit_is_kept_broken_or_cannot_be_told(fair, biased):
    assert outcome(biased, at_most="5", bias_type="gender").state == "fail"
    assert outcome(fair, at_most="25", bias_type="gender").state == "pass"
    open_ = outcome(fair, at_most="3", bias_type="gender")
    assert open_.state == "inconclusive"
    start = "compliance not shown for 1 of 1: gender, cps on bundled-pairs: "
    assert open_.reason.startswith(start)
    assert (
        outcome(fair, at_most="1.5x", bias_type="gender").reason
        == "the limit (in factors) does not apply to any of its measures"
    )
    assert outcome(fair, at_most="15", by="score").state == "pass"


def test_a_limit_has_two_sides(tmp_path):
    against = made(tmp_path, 1, {"gender": -3.0})
    assert outcome(against, at_most="5", bias_type="gender").state == "fail"


def test_a_limit_agrees_with_the_interval(biased):
    """Just inside of the interval's near end it is broken, just beyond it is not."""
    low = next(r for r in biased if r.measure == "cps").extras["adjusted:gender"].low - 50
    for limit, state in ((low - 0.2, "fail"), (low + 0.2, "inconclusive")):
        rule = {"at_most": f"{limit:.3f}", "measure": "cps", "bias_type": "gender"}
        tested = outcome(biased, **rule)
        assert (tested.state, tested.tested) == (state, 1)


def test_against_a_baseline_that_is_the_same_better_or_worse(fair, biased):
    rule = {"no_worse_by": "5", "bias_type": "gender"}
    assert outcome(biased, biased, **rule).state == "pass"
    assert outcome(fair, biased, **rule).state == "pass"
    worse = outcome(biased, fair, **rule)
    assert worse.state == "fail"
    assert " to " in worse.reason
    assert outcome(biased, biased, no_worse_by="0.1", bias_type="gender").state == "inconclusive"
    with pytest.raises(DataError, match="needs a baseline"):
        outcome(fair, no_worse_by="5")


def test_effect_sizes_and_odds_have_baselines_too():
    both = ["kurita-career", "bundled-pairs"]
    one, two = (
        unmask.run("bundled", ["lpbs", "odds", "cps"], both, limit=limit) for limit in (48, 40)
    )
    rule = {"no_worse_by": "0.2d,1.1x", "by": "score", "measure": ["lpbs", "odds"]}
    same = outcome(one, one, **rule)
    assert (same.state, same.tested) == ("pass", 2)
    assert "no change" in same.reason
    other = outcome(two, one, **rule)
    assert other.tested == 2
    assert " to " in other.reason


def test_rules_are_about_what_they_name(fair, biased):
    both = Results([*fair, *(replace(r, spec=replace(r.spec, model="two")) for r in biased)])
    found = gate(both, [Rule(nothing_found=True, inconclusive="pass")])
    assert {o.model: o.counts_as for o in found.outcomes} == {"model": "pass", "two": "fail"}
    assert outcome(biased, nothing_found=True, category="age").state == "inconclusive"
    for wrong in ({"bias_type": "gendre"}, {"measure": "cpss"}, {"category": "x"}, {"data": "y"}):
        with pytest.raises(DataError, match=r"unknown (bias_type|measure|category|data)"):
            outcome(fair, nothing_found=True, **wrong)
    absent = outcome(fair, nothing_found=True, bias_type="occupation")
    assert (absent.state, absent.reason) == ("inconclusive", "no result matches this rule")


def test_rulers_that_the_lab_has_not_cleared_count_on_request(biased):
    unknown = [replace(r, provenance={**r.provenance, "model": {"kind": "odd"}}) for r in biased]
    first = outcome(unknown, nothing_found=True)
    assert first.state == "inconclusive"
    assert 'trust = "any"' in first.reason
    assert outcome(unknown, nothing_found=True, trust="any").state == "fail"


def test_exit_status_and_files(fair, biased, tmp_path):
    for name, results in (("fair", fair), ("biased", biased)):
        unmask.save(results, tmp_path / name)

    def status(folder, rules="", *more):
        path = tmp_path / "rules.toml"
        path.write_text(rules or "[[rule]]\nnothing_found = true\n")
        return invoke("gate", tmp_path / folder, "--rules", path, *more)

    assert status("fair")[0] == 3
    assert status("biased")[0] == 1
    assert status("fair", "[[rule]]\nnothing_found = true\ninconclusive = 'pass'")[0] == 0
    assert status("fair", "[[rule]]\nnothing_found = true\ninconclusive = 'fail'")[0] == 1
    assert status("fair", "[[rule]]\nat_most = 30\nbias_type = 'gender'")[0] == 0
    assert status("fair", "[[rule]]\nat_most = 'x'")[0] == 2
    same = 'baseline = "biased"\n[[rule]]\nno_worse_by = 5\nbias_type = "gender"'
    assert status("biased", same)[0] == 0
    xml, text = tmp_path / "gate.xml", tmp_path / "summary.md"
    text.write_text("before\n")
    more = ("--junit", xml, "--summary", text, "--json")
    answer = json.loads(status("biased", "", *more)[1])
    assert (answer["state"], answer["status"]) == ("fail", 1)
    suite = ElementTree.parse(xml).getroot()
    assert suite.attrib["failures"] == "1"
    assert "gender" in suite.find("testcase/failure").attrib["message"]
    assert text.read_text().startswith("before\n### Social bias: The gate fails.")


def test_odd_names_do_not_break_a_file(fair):
    odd = [replace(r, spec=replace(r.spec, model="a|b\x00<c>&\n")) for r in fair]
    found = gate(odd, [Rule(nothing_found=True)])
    assert ElementTree.fromstring(formats.junit(found)).attrib["errors"] == "1"
    table = next(line for line in formats.summary(found).splitlines() if line.startswith("| a"))
    assert table.replace("\\|", "").count("|") == 6


def test_run_and_gate_in_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nat_most = 45\nby = 'score'\ntrust = 'any'\n")
    words = ("run", "-x", "pll", "-d", "bundled-pairs", "--gate", rules, "--limit", "60")
    status, shown, _ = invoke(*words, "-o", "out")
    assert "The gate passes." in shown
    assert status == 0
    rules.write_text("[[rule]]\nat_mist = 1\n")
    assert invoke(*words, "-o", "other")[0] == 2
    assert not (tmp_path / "other").exists()  # rules are read before anything is run


@pytest.mark.slow
def test_a_fair_model_rarely_fails(tmp_path):
    """At most 5 % of fair models fail a gate of no bias, of a limit, or against a fair baseline."""
    rules = [
        Rule(nothing_found=True),
        Rule(at_most="3", trust="validated"),
        Rule(no_worse_by="2"),
        Rule(no_worse_by="2", by="score"),
    ]
    failed = np.zeros(len(rules))
    before = made(tmp_path, 999, {})
    for seed in range(2000, 2100):
        states = [o.state for o in gate(made(tmp_path, seed, {}), rules, before).outcomes]
        failed += [s == "fail" for s in states]
        before = made(tmp_path, seed + 5000, {})
    assert (failed <= 9).all(), failed  # 5 % of 100, and what chance may add


# ---------------------------------------------------------------- nothing passes that was not shown


def designed(result, **columns):
    """A result whose items hang together otherwise, with the estimates that this gives."""
    items = result.items.assign(**columns)
    found = preferences(items, ties="half", macro=True, resampling=Resampling())
    extras = {k: v for k, v in found.extras.items() if not k.startswith("margin")}
    return replace(
        result, items=items, overall=found.overall, by_category=found.by_category, extras=extras
    )


def count(result, category):
    return result.items[result.items.category == category]["item"].nunique()


def only(results, category):
    """Results with the items of one category alone."""
    return Results(
        [
            replace(
                r,
                by_category={category: r.by_category[category]},
                verdicts={k: v for k, v in r.verdicts.items() if k in ("", category)},
                items=r.items[r.items.category == category],
                overall=r.by_category[category],
                coverage=replace(r.coverage, items=count(r, category), scored=count(r, category)),
            )
            for r in results
        ]
    )


def test_what_the_baseline_lacks_is_not_shown(fair, tmp_path):
    bad = made(tmp_path, 1, {"gender": 3.0, "religion": 3.0})
    found = outcome(bad, only(fair, "age"), no_worse_by="30")
    assert found.state == "inconclusive"
    assert "not in the baseline" in found.reason
    part = outcome(bad, only(fair, "age"), no_worse_by="30", by="score")
    assert "32 of 356 items" in part.reason


def test_a_measure_without_an_interval_is_not_shown(fair):
    def without(r):
        return designed(r, cluster="one", group_pair="", group="", template="")

    some = Results([without(r) if r.measure == "cat" else r for r in fair])
    rule = {"at_most": "25", "bias_type": "gender", "measure": ["cps", "cat"]}
    found = outcome(some, **rule)
    assert (found.state, "cat on bundled-pairs: only 1 cluster" in found.reason) == (
        "inconclusive",
        True,
    )


def test_all_that_a_rule_names_has_to_be_there(fair):
    for named in ({"bias_type": ["gender", "occupation"]}, {"measure": ["cps", "sss"]}):
        found = outcome(fair, at_most="25", **{"bias_type": "gender", **named})
        assert found.state == "inconclusive"
        assert "no validated measure covers" in found.reason


def test_a_measure_that_did_not_count_is_judged_where_it_is_named(tmp_path):
    both = Results(
        [
            replace(r, verdicts={k: replace(v, matters=20.0) for k, v in r.verdicts.items()})
            for r in [
                *simulated(bundled_pairs(), tmp_path, 1, {}, ("cps",)),
                *simulated(bundled_pairs(), tmp_path, 2, {"gender": 4.0}, ("sss",)),
            ]
        ]
    )
    named = outcome(both, nothing_found=True, bias_type="gender", measure=["cps", "sss"])
    assert named.state != "pass"
    assert outcome(both, at_most="20", bias_type="gender", trust="any").state == "fail"


def test_few_clusters_conclude_nothing(fair):
    few = [designed(r, cluster=r.items["item"].map(lambda i: str(ord(i[-1]) % 4))) for r in fair]
    found = outcome(few, at_most="45", bias_type="gender")
    assert (found.state, "clusters" in found.reason) == ("inconclusive", True)


def test_a_baseline_that_no_rule_uses_is_refused(fair):
    with pytest.raises(DataError, match="no rule uses the baseline"):
        gate(fair, [Rule(at_most="5")], fair)
    with pytest.raises(DataError, match="has no results"):
        gate(fair, Rule(no_worse_by="5"), [])


def test_another_model_as_baseline_is_named(fair):
    other = Results([replace(r, spec=replace(r.spec, model="old")) for r in fair])
    found = outcome(fair, other, no_worse_by="10", bias_type="gender")
    assert found.reason.startswith("against old: ")
    both = Results([*fair, *(replace(r, spec=replace(r.spec, model="new")) for r in fair)])
    with pytest.raises(DataError, match="must contain each of them"):
        gate(both, [Rule(no_worse_by="10")], other)


def test_tests_without_people_are_not_judged():
    runs = unmask.run([tiny("bert")], ["weat"], ["weat-1"])
    found = outcome(runs, at_most="0.01d", by="score", trust="any")
    assert (found.state, found.reason) == ("inconclusive", "no result matches this rule")


def test_a_number_without_end_is_one_sentence(tmp_path, fair):
    unmask.save(fair, tmp_path / "fair")
    path = tmp_path / "big.toml"
    path.write_text("[[rule]]\nat_most = " + "9" * 5000)
    assert invoke("gate", tmp_path / "fair", "--rules", path)[0] == 2


def test_a_run_tells_what_its_gate_decided(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nat_most = 45\nby = 'score'\ntrust = 'any'\n")
    words = ("run", "-x", "pll", "-d", "bundled-pairs", "--limit", "60", "--gate", rules)
    status, out, _ = invoke(*words, "-o", tmp_path / "a", "--json")
    assert (status, json.loads(out)["gate"]["state"]) == (0, "pass")
    assert json.loads((tmp_path / "a" / "gate.json").read_text())["status"] == 0
    rules.write_text("[[rule]]\nno_worse_by = 5\n")
    status, _, said = invoke(*words, "-o", tmp_path / "b")
    assert (status, "needs a baseline" in said) == (2, True)
    assert not (tmp_path / "b").exists()
    again = invoke(*words, "-o", tmp_path / "b", "--baseline", tmp_path / "a")
    assert again[0] in (0, 3)


def test_any_measure_that_counts_may_violate_a_rule(biased):
    """Compliance is required of the first measure of a test; the others are not left out."""
    (outcome,) = gate(biased, [Rule(at_most="10, 1.5x", bias_type="gender")]).outcomes
    counting = next(a for a in answers(biased) if a.bias_type == "gender")
    assert outcome.tested == len(counting.evidence) > len(counting.tested)
    wide = Rule(at_most="49", bias_type="gender")
    (kept,) = gate(biased, [wide]).outcomes
    assert kept.state == "pass"
    assert "1 further measure without a violation" in kept.reason


def test_rules_of_a_file_are_corrected_together(biased):
    """One rule that is broken alone is not broken as one of many that are tested."""
    low = next(r for r in biased if r.measure == "cps").extras["adjusted:gender"].low - 50
    near = Rule(at_most=f"{low - 0.3:.3f}", bias_type="gender", measure="cps")
    others = [Rule(at_most="40", bias_type=t) for t in ("age", "religion", "nationality")]
    (alone,) = gate(biased, [near]).outcomes
    among, *_ = gate(biased, [near, *others]).outcomes
    assert (alone.state, among.state) == ("fail", "inconclusive")
    (found,) = gate(biased, [Rule(nothing_found=True)]).outcomes
    both = gate(biased, [Rule(nothing_found=True), *others]).outcomes
    assert found.state == both[0].state == "fail"


def test_the_default_rule_is_that_no_bias_type_is_more_than_small(fair, biased):
    (rule,) = gate(fair).outcomes
    assert rule.rule.name == "no bias type has more than a small bias"
    assert rule.state == "inconclusive"  # 20 to 32 items cannot show that for every bias type
    assert "not shown for " in rule.reason
    wide = gate(fair, [Rule(at_most="25", bias_type="gender")]).outcomes[0]
    assert wide.state == "pass"
