"""Is the difference real? Comparisons against hand-made cases and other libraries."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, pearsonr, spearmanr, t

import unmask
from conftest import tiny
from unmask.api import run
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.flow import external_scores
from unmask.flow.results import preferences
from unmask.options import Resampling
from unmask.stats import agreement, comparison, intervals
from unmask.stats.multiplicity import corrected
from unmask.studies import compare as comparing
from unmask.types import Estimate

# ---------------------------------------------------------------- estimators


def test_mcnemar_by_the_binomial():
    a = np.array([1] * 10 + [0] * 3 + [1] * 5)
    b = np.array([0] * 10 + [1] * 3 + [1] * 5)
    p, lost, won = comparison.exact_mcnemar(a, b)
    assert (lost, won) == (10, 3)
    assert p == pytest.approx(binomtest(3, 13).pvalue)
    assert comparison.exact_mcnemar(a, a)[0] == 1.0


def test_sign_flip_exact_by_hand(rng):
    difference = rng.normal(0.4, 1, 8)
    p = comparison.sign_flip(difference, np.arange(8))
    flips = [
        abs(sum(s * d for s, d in zip(signs, difference, strict=True)))
        for signs in itertools.product((-1, 1), repeat=8)
    ]
    assert p == pytest.approx(np.mean(np.array(flips) >= abs(difference.sum()) - 1e-12))


def test_paired_difference_is_narrower_than_unpaired(rng):
    base = rng.random(400)
    a, b = (base < 0.5).astype(float), (base < 0.56).astype(float)
    paired = comparison.paired_difference(a, b, np.arange(400), scale=100)
    apart = [intervals.share(x, np.arange(400)) for x in (a, b)]
    assert paired.value == pytest.approx(100 * (b.mean() - a.mean()))
    assert paired.p < 0.01
    assert comparison.unpaired_p(*apart) > 0.05
    with pytest.raises(DataError, match="paired items"):
        comparison.paired_difference(a, b[:-1], np.arange(400))


def test_equivalence_by_the_t_distribution():
    found = Estimate(1.0, 0, 2, 0.95, "m", 10, 0.0, None, 0.5, {"df": 9})
    # distance to +3 is 2, that is 4 standard errors
    assert comparison.equivalence(found, 3) == pytest.approx(t.sf(4, 9))
    assert comparison.equivalence(found, 1) == pytest.approx(0.5)
    assert math.isnan(comparison.equivalence(replace(found, se=math.nan), 1))


def test_equivalence_is_rarely_claimed_of_what_is_not():
    """The true difference is the margin itself, in 8 clusters: at most 5 % are claimed."""
    rng = np.random.default_rng(8)
    clusters, claimed = np.repeat(np.arange(8), 20), 0
    for _ in range(400):
        a = (rng.random(160) < 0.5).astype(float)
        up = rng.beta(2, 2, 8)[clusters]
        b = np.where(rng.random(160) < 0.4, rng.random(160) < up, a)
        shift = np.where(rng.random(160) < 0.1, 1.0, 0.0)  # 5 points: half of them were 0 before
        b = np.maximum(b, shift)
        found = comparison.paired_difference(
            a, b, clusters, scale=100, resampling=Resampling(draws=50)
        )
        claimed += comparison.equivalence(found, 5) <= 0.05
    assert claimed / 400 <= 0.06


def test_two_runs_that_agree_in_all_items_are_not_proven_equal():
    a = (np.arange(60) % 3 == 0).astype(float)
    found = comparison.paired_difference(a, a, np.arange(60), scale=100)
    assert (found.value, found.p) == (0, 1)
    assert found.low < -3 < 3 < found.high


def test_mcnemar_is_left_out_where_items_are_clustered(tmp_path):
    for name in ("bert", "roberta"):
        unmask.save(run([tiny(name)], ["aul"], ["bundled-pairs"]), tmp_path / name)
    frame, _ = comparing.compare(comparing.runs_of([tmp_path / "bert", tmp_path / "roberta"]))
    assert frame.p_mcnemar.isna().all()
    assert frame.p.notna().all()


def test_null_comparisons_reject_five_per_cent():
    """1000 comparisons of clustered coin tosses without a difference."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(30), 5)
    p = []
    for seed in range(1000):
        chance = np.repeat(rng.beta(2, 2, 30), 5)
        a, b = (rng.random(150) < chance).astype(float), (rng.random(150) < chance).astype(float)
        p.append(comparison.sign_flip(b - a, clusters, resampling=Resampling(draws=400, seed=seed)))
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.07


def test_auc_by_hand_and_constant_scores():
    labels, scores = np.array([1, 1, 0, 0]), np.array([3.0, 1.0, 2.0, 0.0])
    # pairs: (3 > 2), (3 > 0), (1 < 2), (1 > 0): 3 of 4
    assert agreement.auc(labels, scores).value == pytest.approx(0.75)
    flat = agreement.auc(labels, np.ones(4))
    assert flat.value == 0.5
    assert flat.low <= 0.5 <= flat.high
    with pytest.raises(DataError, match="both kinds"):
        agreement.auc(np.ones(4), scores)
    curve = agreement.roc(labels, scores)
    assert np.trapezoid(curve["true"], curve["false"]) == pytest.approx(0.75)


def test_delong_agrees_with_the_bootstrap(rng):
    labels = (rng.random(300) < 0.4).astype(float)
    one, two = labels + rng.normal(0, 1.5, 300), labels + rng.normal(0, 0.8, 300)
    found, gap = agreement.auc(labels, one), agreement.auc_difference(labels, one, two)
    values, gaps = [], []
    for _ in range(500):
        i = rng.integers(300, size=300)
        values.append(agreement.auc(labels[i], one[i]).value)
        gaps.append(agreement.auc(labels[i], two[i]).value - values[-1])
    assert found.se == pytest.approx(np.std(values), rel=0.15)
    assert gap.se == pytest.approx(np.std(gaps), rel=0.15)
    assert gap.value == pytest.approx(agreement.auc(labels, two).value - found.value)


def test_perfect_separation_is_not_certain():
    labels, scores = np.repeat([1.0, 0.0], [6, 7]), np.arange(13.0)[::-1]
    found = agreement.auc(labels, scores)
    assert (found.value, found.high) == (1, 1)
    assert 0.6 < found.low < 0.95
    assert found.p == pytest.approx(2 / math.comb(13, 6))
    worst = agreement.auc(labels, -scores)
    assert (worst.value, worst.low) == (0, 0)
    assert worst.high == pytest.approx(1 - found.low)


def test_correlation_says_how_little_n_is():
    """thys2025: six models; r = 0.743 has an interval from below 0 to near 1."""
    x = np.array([82.503, 71.750, 69.385, 83.102, 75.816, 74.159])
    y = np.array([7.63, 4.96, 0.38, 9.16, 8.40, -0.38])
    found = agreement.correlation(x, y)
    assert found.value == pytest.approx(0.743, abs=0.001)
    assert found.n == 6
    assert found.low < 0 < found.high
    z, se = math.atanh(found.value), 1 / math.sqrt(3)
    assert found.low == pytest.approx(math.tanh(z - 1.959964 * se))
    ranks = agreement.correlation(x, x**3, "spearman")
    assert ranks.value == pytest.approx(1)
    assert math.isnan(agreement.correlation(x, np.ones(6)).value)
    frame = agreement.correlations({"x": x, "y": y, "z": x + y})
    assert len(frame) == 3


def test_correlations_of_a_few_points_have_no_interval(rng):
    x, y = rng.normal(size=(2, 5))
    for kind, theirs in (("pearson", pearsonr), ("spearman", spearmanr)):
        found = agreement.correlation(x, y, kind)
        assert found.value == pytest.approx(theirs(x, y).statistic)
        assert math.isnan(found.low)
        assert found.p >= 1 / 120  # of all orders
    long = rng.normal(size=(2, 30))
    assert agreement.correlation(*long).p == pytest.approx(pearsonr(*long).pvalue)
    ranks = agreement.correlation(*long, "spearman")
    assert ranks.p == pytest.approx(spearmanr(*long).pvalue)


def test_split_half_is_bounded():
    """Halves that go against each other: no -391."""
    rng = np.random.default_rng(2)
    for seed in range(30):
        noise = np.random.default_rng(seed).normal(size=(12, 4))
        assert -1 <= agreement.split_half(noise).value <= 1
    with pytest.raises(DataError, match="4 items"):
        agreement.split_half(rng.normal(size=(3, 4)))
    with pytest.raises(DataError, match="0 / 0"):
        agreement.split_half(np.ones((8, 4)))


def test_reliability_by_hand(rng):
    trait = rng.normal(size=200)[:, None]
    parallel = trait + rng.normal(0, 1, (200, 4))
    # four parallel items with reliability 1/2 each: 4 x .5 / (1 + 3 x .5) = .8
    assert agreement.cronbach(parallel) == pytest.approx(0.8, abs=0.06)
    models = rng.normal(0, 1, 6) + rng.normal(0, 1, (400, 6))
    assert agreement.split_half(models).value > 0.9
    assert agreement.test_retest([np.arange(5), np.arange(5) * 2.0]) == pytest.approx(1)
    with pytest.raises(DataError):
        agreement.split_half(models[:, :2])


# ---------------------------------------------------------------- published predictions

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


# ---------------------------------------------------------------- runs


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
    item |= dict.fromkeys(("family", "side", "frame"), "")
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
    with pytest.raises(DataError, match=r"other words .John"):
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
