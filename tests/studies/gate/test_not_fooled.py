"""What could make a gate pass that should not: lost items, levels, edited files, odd tests."""

import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

import unmask
from conftest import invoke
from simulated_models import simulated
from unmask.data.bias_types import of_sets
from unmask.data.packaged import bundled_pairs
from unmask.studies.gate.check import gate
from unmask.studies.gate.rules import Rule
from unmask.studies.recompute import at_level, recomputed
from unmask.types import Results


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of the bundled model by measures of each kind of number."""
    out = tmp_path_factory.mktemp("run") / "r"
    data = ["bundled-pairs", "kurita-career", "weat-6"]
    results = unmask.run("bundled", ["cps", "cat", "odds", "lpbs", "w-seat"], data)
    unmask.save(results, out)
    return out


def rules_file(tmp_path, text):
    path = tmp_path / "rules.toml"
    path.write_text(f"[[rule]]\n{text}\n")
    return path


def lost(results, count, category=None):
    """Results whose first items, of a category or of all, have no score."""
    out = []
    for r in results:
        first = r.items[r.items.category == category] if category else r.items
        gone = list(dict.fromkeys(first["item"]))[:count]
        items = r.items.assign(
            reason=r.items.reason.where(~r.items["item"].isin(gone), "a score is not finite")
        )
        coverage = replace(r.coverage, scored=r.coverage.items - len(gone))
        out.append(replace(r, items=items, coverage=coverage))
    return Results(out)


def test_lost_items_stop_a_gate(tmp_path):
    fair = simulated(bundled_pairs(), tmp_path, 3)
    rule = {"at_most": "45", "trust": "any"}
    assert gate(fair, [Rule(**rule)]).state == "pass"
    few, many = lost(fair, 1, "religion"), lost(fair, 40)
    assert gate(few, [Rule(**rule)]).state == "pass"  # one item
    found = gate(many, [Rule(**rule)])
    assert found.state == "inconclusive"
    assert "40 of 356 items have no score (11 %, allowed 5 %)" in found.outcomes[0].reason
    assert "bundled-pairs 316 of 356" in found.outcomes[0].items
    assert gate(many, [Rule(**rule, max_unscored=50)]).state == "pass"
    hidden = lost(fair, 12, "religion")  # 3 % of all, and most of a category
    assert gate(hidden, [Rule(**rule)]).state == "inconclusive"
    with pytest.raises(unmask.UnmaskError, match="max_unscored"):
        Rule(at_most="5", max_unscored=101)


def test_the_level_of_a_run_changes_no_decision(tmp_path):
    states = set()
    words = ("run", "-x", "cps,odds", "-d", "bundled-pairs,kurita-career", "-q")
    for level in ("0.5", "0.6", "0.95", "0.999"):
        out = tmp_path / level
        assert invoke(*words, "--level", level, "-o", out)[0] == 0
        rules = rules_file(tmp_path, "at_most = '20,3x'\nby = 'score'")
        status, shown, _ = invoke("gate", out, "--rules", rules)
        assert "All tests use the 95 % level" in shown
        answer = json.loads(invoke("gate", out, "--rules", rules, "--json")[1])
        states.add((status, answer["level"], answer["rules"][0]["reason"]))
    assert len(states) == 1


def test_estimates_are_those_of_the_items(folder):
    results = unmask.load(folder)
    again = recomputed(results, 0.95)
    for one, two in zip(results, again, strict=True):
        assert two.overall.value == pytest.approx(one.overall.value)
        assert (two.overall.low, two.overall.high) == pytest.approx(
            (one.overall.low, one.overall.high)
        )
        for name, estimate in one.by_category.items():
            assert two.by_category[name].low == pytest.approx(estimate.low)
    odds = next(r for r in results if r.measure == "odds").overall
    moved = at_level(odds, 0.8)
    assert odds.low < moved.low < moved.value == odds.value < moved.high < odds.high
    assert at_level(moved, 0.95).low == pytest.approx(odds.low)


def test_a_measure_without_token_accuracy_stays_without(tmp_path):
    """Hardly any trait is the likeliest word of its place: that makes no model unfit."""
    results = unmask.run("bundled", ["trait"], ["bundled-2"], limit=400)
    again = recomputed(results, 0.95)
    assert [r.accuracy for r in again] == [None]
    assert [r.fitness for r in again] == [r.fitness for r in results]
    assert again[0].fitness.fit


@pytest.mark.parametrize("measure", ["cps", "odds", "lpbs", "w-seat"])
def test_numbers_that_contradict_their_items_are_refused(folder, tmp_path, measure):
    edited = tmp_path / "edited"
    shutil.copytree(folder, edited)
    content = json.loads((edited / "results.json").read_text())
    record = next(r for r in content["results"] if r["spec"]["measure"] == measure)
    shift = 9.0 if measure != "cps" else -12.0
    for key in ("value", "low", "high"):
        record["overall"][key] += shift
    (edited / "results.json").write_text(json.dumps(content))
    status, _, err = invoke("gate", edited)
    assert (status, "contradicts items.parquet" in err, err.count("\n")) == (2, True, 1)


def test_a_category_cannot_be_edited_either(folder, tmp_path):
    edited = tmp_path / "edited"
    shutil.copytree(folder, edited)
    content = json.loads((edited / "results.json").read_text())
    content["results"][0]["by_category"]["gender"]["value"] = 50.0
    (edited / "results.json").write_text(json.dumps(content))
    assert "(gender)" in invoke("gate", edited)[2]


def set_ties(record):
    record["coverage"]["ties"] = 5


def set_accuracy(record):
    record["accuracy"]["value"] = 99.0


def drop_category(record):
    del record["by_category"]["age"]
    del record["verdicts"]["age"]


def narrow_odds(record):
    middle = record["overall"]["value"]
    record["overall"] |= {"low": middle - 0.01, "high": middle + 0.01, "se": 0.005}


def odd_seed(record):
    record["settings"]["seed"] = "x"


def odd_verdicts(record):
    record["verdicts"] = {"nowhere": record["verdicts"][""]}


@pytest.mark.parametrize(
    "edit", [set_ties, set_accuracy, drop_category, narrow_odds, odd_seed, odd_verdicts]
)
def test_other_edits_are_refused_in_one_sentence(folder, tmp_path, edit):
    edited = tmp_path / "edited"
    shutil.copytree(folder, edited)
    content = json.loads((edited / "results.json").read_text())
    measure = "odds" if edit is narrow_odds else "cps"
    edit(next(r for r in content["results"] if r["spec"]["measure"] == measure))
    (edited / "results.json").write_text(json.dumps(content))
    status, _, err = invoke("gate", edited)
    assert (status, err.count("\n")) == (2, 1), err


def test_people_are_told_by_the_targets():
    """Names against weapons are about people; instruments against weapons are not."""
    names = ["European-American names", "African-American names"]
    assert of_sets([*names, "Weapons", "Tools"]) == "race and colour"
    assert of_sets(["Weapons", "Instruments", *names]) == "race and colour"
    assert of_sets(["Math", "Arts", "Insects of men", "Female terms"]) == "gender"
    assert of_sets(["Instruments", "Weapons", "Pleasant", "Unpleasant"]) is None
    assert of_sets(["Zulu", "Xhosa", "Weapons", "Tools"], "mine") == "mine"


def test_what_is_left_out_is_reported(tmp_path):
    results = unmask.run("bundled", ["w-seat"], ["weat-1", "weat-6"])
    note = "Not about people and left out of the answer: w-seat on weat-1."
    assert note in results.notes
    unmask.save(results, tmp_path / "r")
    assert "Excluded, not about people: w-seat on weat-1." in invoke("gate", tmp_path / "r")[1]


def test_pairs_and_their_opposites_do_not_make_a_model_fair(tmp_path):
    one = [(f"The man {k} is a doctor.", f"The woman {k} is a doctor.") for k in range(40)]
    frame = pd.DataFrame(
        [*one, *(p[::-1] for p in one[:30])], columns=["stereotype", "antistereotype"]
    )
    path = tmp_path / "pairs.csv"
    frame.to_csv(path, index=False)
    (found,) = unmask.run("bundled", ["cps"], str(path))
    assert found.coverage.items == 10
    assert "60 of 70 items contradict each other" in " ".join(found.notes)
    (same,) = unmask.run("bundled", ["cps"], frame)
    assert same.coverage.items == 10
    status, out, _ = invoke("data", "check", path, "--strict")
    assert status == 1
    assert "columns swapped" in " ".join(out.split())
    frame.iloc[[*range(30), *range(40, 70)]].to_csv(path, index=False)
    status, _, err = invoke("run", "-x", "cps", "-d", path, "-o", tmp_path / "r")
    assert (status, "contradict each other" in err) == (2, True)


def test_a_baseline_is_compared_by_the_distance_from_fair(tmp_path):
    assert "further from fair than the baseline" in Rule(no_worse_by="5").name
    assert "either direction" in Rule(no_worse_by="5").name


def no_verdicts(record):
    record["verdicts"] = {}


def invented_reasons(record):
    record["coverage"]["reasons"] = {"not asked: decided": 30}


@pytest.mark.parametrize("edit", [no_verdicts, invented_reasons])
def test_a_record_cannot_be_emptied(folder, tmp_path, edit):
    edited = tmp_path / "edited"
    shutil.copytree(folder, edited)
    content = json.loads((edited / "results.json").read_text())
    edit(content["results"][0])
    (edited / "results.json").write_text(json.dumps(content))
    status, _, err = invoke("gate", edited)
    assert (status, "contradicts items.parquet" in err) == (2, True)


def test_invented_extras_decide_nothing(folder):
    results = unmask.load(folder)
    one = next(r for r in results if r.measure == "cps")
    fair = replace(one.overall, value=50.0, low=49.0, high=51.0)
    invented = replace(one, extras={**one.extras, "adjusted:no such": fair, "adjusted": fair})
    (again,) = recomputed(unmask.Results([invented]), 0.95)
    assert "adjusted:no such" not in again.extras
    assert again.extras.get("adjusted") != fair


def edited_folder(folder, tmp_path, measure, change):
    """A copy of a run in which the record of a measure was changed by hand."""
    edited = tmp_path / "edited"
    shutil.copytree(folder, edited)
    content = json.loads((edited / "results.json").read_text())
    change(next(r for r in content["results"] if r["spec"]["measure"] == measure))
    (edited / "results.json").write_text(json.dumps(content))
    return edited


def smaller(record):
    """A smaller effect in a narrow interval, the items as they are."""
    overall = record["overall"]
    value = overall["value"] - 0.9
    overall |= {"value": value, "low": value - 0.2, "high": value + 0.2}
    overall["more"]["inner"] = [value - 0.2, value + 0.2]


def narrower(record):
    overall = record["overall"]
    near = [overall["value"] - 0.05, overall["value"] + 0.05]
    overall |= {"low": near[0], "high": near[1]}
    overall["more"]["inner"] = near


@pytest.mark.parametrize(
    ("measure", "change", "words"),
    [
        ("w-seat", smaller, "from the items it is"),
        ("lpbs", narrower, "narrower than its items allow"),
        ("odds", narrower, "narrower than its items allow"),
    ],
)
def test_intervals_that_items_do_not_allow_are_refused(folder, tmp_path, measure, change, words):
    edited = edited_folder(folder, tmp_path, measure, change)
    status, _, err = invoke("gate", edited)
    assert (status, words in err) == (2, True)


def test_verdicts_written_by_hand_change_nothing(folder, tmp_path):
    def calm(record):
        for verdict in record["verdicts"].values():
            verdict["word"] = "negligible"

    rule = 'nothing_found = true\ntrust = "any"\nmeasure = "w-seat"'
    rules = rules_file(tmp_path, rule)
    edited = edited_folder(folder, tmp_path, "w-seat", calm)
    shown = [invoke("gate", f, "--rules", rules, "--json") for f in (folder, edited)]
    (one, two) = [(status, json.loads(out)["rules"][0]["reason"]) for status, out, _ in shown]
    assert one == two
    assert one[0] != 0
