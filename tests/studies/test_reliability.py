"""Reliability, planning, and leaving out items."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.power import NormalIndPower, tt_ind_solve_power

import unmask
from conftest import invoke, tiny
from unmask.errors import DataError, UnmaskError
from unmask.options import Options
from unmask.stats.effects import mixture
from unmask.stats.power import clusters_needed, words_needed
from unmask.studies import reliability as relying
from unmask.studies.sample_size import needs


def table(groups=8, words=10, frames=3, noise=0.0, seed=0):
    """Groups whose words prefer the stereotype more or less often."""
    rng = np.random.default_rng(seed)
    rows = []
    for g in range(groups):
        chance = (g + 0.5) / groups
        for w in range(words):
            lean = rng.normal()
            for f in range(frames):
                lead = lean + noise * rng.normal()
                win = float(rng.random() < chance)
                family = f"f{g // 2}"
                names = {"group_pair": family, "group": str(g % 2), "template": f"{family}/{f}"}
                rows.append({**names, "cluster": f"{g}/{w}", "lead": lead, "win": win})
    frame = pd.DataFrame(rows)
    frame.index = [f"i{k}" for k in range(len(frame))]
    return frame.assign(category=frame.group_pair, cell=frame.group_pair + "/" + frame.group)


def answered(seed, stereotype=0.0, likes=0.0, families=10, words=8, frames=3):
    """Margins of a model that likes one side's word, and has a stereotype in some families."""
    rng = np.random.default_rng(seed)
    rows = []
    for f in range(families):
        strength = stereotype * rng.normal()
        liked = likes * rng.normal()
        for side in (0, 1):
            for w in range(words):
                lean = strength + liked * (1 - 2 * side) + 0.5 * rng.normal()
                for k in range(frames):
                    lead = lean + rng.logistic()
                    names = {"group_pair": f"f{f}", "group": str(side), "template": f"f{f}/{k}"}
                    rows.append({**names, "cluster": f"{f}/{side}/{w}", "lead": lead})
    frame = pd.DataFrame(rows).assign(win=lambda t: (t.lead > 0).astype(float))
    frame.index = [f"i{k}" for k in range(len(frame))]
    return frame.assign(category=frame.group_pair, cell=frame.group_pair + "/" + frame.group)


def test_reliability_is_of_the_stereotype_and_not_of_the_word():
    """Without a stereotype, a liking for words of 3 logits is nothing to rely on."""
    none = [relying.generalizability(answered(k, likes=3.0)) for k in range(12)]
    assert np.median([v["generalizability"] for v in none]) < 0.3
    assert np.mean([v["low"] == 0 for v in none]) >= 0.9
    there = [relying.generalizability(answered(k, 1.5, 3.0)) for k in range(5)]
    assert min(v["generalizability"] for v in there) > 0.6
    for v in there:
        assert v["low"] < v["generalizability"] < v["high"]
    few = relying.generalizability(answered(0, families=3))
    assert few["generalizability"] is None
    one = answered(0, 1.5)
    one.loc[one.group_pair == "f9", "cluster"] = "f9/all"
    assert relying.generalizability(one)["generalizability"] > 0.5  # that family has no error
    unsided = relying.generalizability(answered(0).assign(group=""))
    assert unsided["generalizability"] is None


def test_measures_that_share_nothing_but_a_liking_for_words_do_not_agree():
    one, two = answered(1, likes=3.0), answered(2, likes=3.0)
    liking = np.where(one.group == "0", 3.0, -3.0)
    pair = [t.assign(lead=t.lead + liking) for t in (one, two)]
    pair = [t.assign(win=(t.lead > 0).astype(float)) for t in pair]
    found = relying._agreement(*pair)
    assert found["same side"] > 65
    assert abs(found["correlation"]) < 0.2
    assert abs(found["kappa"]) < 0.2
    same = relying._agreement(one, one)
    assert same["correlation"] == pytest.approx(1)
    assert same["kappa"] == pytest.approx(1)


def test_alpha_is_one_where_frames_repeat_each_other():
    assert relying.alpha(table(noise=0.0)) == pytest.approx(1)
    # frames with as much noise as signal: 3 x .5 / (1 + 2 x .5) = .75
    assert relying.alpha(table(words=200, noise=1.0)) == pytest.approx(0.75, abs=0.05)
    assert relying.alpha(table().assign(template="")) is None
    liked = table(words=200, noise=1.0)
    liked["lead"] += 4.0 * (liked.group == "1")
    assert relying.alpha(liked) == pytest.approx(0.75, abs=0.05)  # a side's word changes nothing


def test_items_are_not_left_out_for_the_model_that_chose_them(tmp_path):
    path = tmp_path / "disagree.csv"
    chosen = pd.DataFrame({"item": ["age/0/0", "gender-work/nurse/0"], "data": "bundled-pairs"})
    chosen.assign(chosen_on="bundled other").to_csv(path, index=False)
    with pytest.raises(DataError, match="selected on bundled itself"):
        unmask.run("bundled", ["aul"], ["bundled-pairs"], exclude=path, limit=20)
    assert unmask.run(tiny("bert"), ["aul"], ["bundled-pairs"], exclude=path)[0].overall.n < 356


def test_an_item_that_disagrees_is_found():
    frames = {}
    for k in range(5):
        rng = np.random.default_rng(k)
        t = table(groups=4, words=6, frames=2)
        t["win"] = np.where(t.group.isin(["f0/0", "f1/0"]), 1.0, 0.0)
        t["lead"] = t.win - 0.5 + 0.1 * rng.normal(size=len(t))
        t.loc["i3", ["win", "lead"]] = 1 - t.win["i3"], -t.lead["i3"]
        frames["m", f"x{k}"] = t
    found = relying.discrimination(frames).set_index("item")
    assert found.index[found.disagrees].tolist() == ["i3"]
    assert found.agreement["i3"] == 0
    assert found.discrimination.notna().all()


@pytest.mark.slow
def test_the_study_on_two_models_and_leaving_items_out(tmp_path):
    models = [tiny("bert"), tiny("roberta")]
    study, apart = relying.reliability(
        models, Options(), measures=["aul", "aula", "cps"], words=["weat-6"]
    )
    found = {t.name: t.frame for t in study.tables}
    assert len(found["items"]) == 6
    assert len(found["measures"]) == 6
    assert len(found["checkpoints"]) == 3
    assert len(found["wordings"]) == 6
    assert set(found["layers"].columns) >= {"layer", "d", "low", "high", "with the last"}
    last = found["layers"].groupby("model").tail(1)
    assert last["with the last"].tolist() == pytest.approx([1, 1])
    gone = apart if len(apart) else found["items-all"].head(5)
    path = tmp_path / "gone.csv"
    assert set(apart.chosen_on) <= {"tiny-bert tiny-roberta"} or len(apart) == 0
    gone.assign(data="bundled-pairs").drop(columns="chosen_on", errors="ignore").to_csv(
        path, index=False
    )
    less = unmask.run(models[0], ["aul"], ["bundled-pairs"], exclude=path)
    assert less[0].overall.n == 356 - len(gone)
    assert less[0].provenance["data"]["excluded"] == {"file": "gone.csv", "items": len(gone)}
    assert f"{len(gone)} items are excluded" in less.notes[0]
    path.write_text("item\nnobody\n")
    with pytest.raises(DataError, match="contains no item id"):
        unmask.run(models[0], ["aul"], ["bundled-pairs"], exclude=path)
    with pytest.raises(DataError, match="no sentence pairs"):
        relying.reliability(models, Options(), data="weat-6")


# ---------------------------------------------------------------- planning


def test_items_needed_are_those_of_statsmodels():
    needed = clusters_needed(3, 1.0, 1.0)
    # a share against a fixed one: a z test with standard deviation .5
    theirs = NormalIndPower(ddof=0).solve_power(0.03 / 0.5, power=0.8, alpha=0.05, ratio=0)
    assert needed == pytest.approx(theirs, rel=0.015)
    assert clusters_needed(3, 2.0, 4.0) == pytest.approx(theirs * 2 / 4, rel=0.02)


def test_words_needed_are_those_of_statsmodels():
    within = 0.5 / math.sqrt(1 - 0.25 * 0.5**2)  # d in units of the spread within sets
    assert mixture(within, 9, 9) == pytest.approx(0.5)
    theirs = tt_ind_solve_power(within, alpha=0.05, power=0.8)
    assert words_needed(0.5) == pytest.approx(theirs, abs=1)
    with pytest.raises(UnmaskError, match="power"):
        words_needed(0.5, power=1.2)


def test_plan_from_results_and_from_nothing(tmp_path):
    found = unmask.run(tiny("bert"), ["aul", "w-seat"], ["bundled-pairs", "weat-6"])
    frame = needs(found, {"points": 3, "d": 0.5})
    row = frame[frame["bias type"] == "overall"].iloc[0]
    assert (row.pairs, row.words, row.templates) == (356, 166, 23)
    assert row.detects == pytest.approx(15, abs=14)
    assert re.match(r"Add about \d+ (words|templates)|These items are|Adding words", row.advice)
    assert set(frame.unit) == {"points", "d"}
    age, overall = (frame[frame["bias type"] == t].iloc[0] for t in ("age", "overall"))
    assert age.detects > overall.detects
    unmask.save(found, tmp_path / "r")
    status, out, _ = invoke("plan", tmp_path / "r", "--detect", "3,0.5d", "--power", "0.9")
    assert status == 0
    assert "advice" in out
    status, out, _ = invoke("plan", "--detect", "5")
    assert status == 0
    assert "independent" in out
    for wrong in (("--detect", "0"), ("--power", "2"), ("--detect", "much")):
        status, _, err = invoke("plan", *wrong)
        assert status == 2, err
