"""Tests of studies/papers/claims: words, intervals, and claims about several models."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from unmask.data.packaged import published
from unmask.studies.papers import claims, husse2022_claims, kaneko2022_claims, thys2025_claims
from unmask.studies.papers.husse2022_appendix import CHARACTERS
from unmask.studies.papers.husse2022_choices import (
    ALIKE,
    MATTERS,
    SAME_BIASES,
    larger,
    neither,
    paired,
    released,
    scores_under,
)
from unmask.studies.papers.husse2022_claims import WORD
from unmask.studies.papers.husse2022_tables import MAIN, NAMED, HusseRun
from unmask.types import Estimate


def about(value, half):
    return Estimate(value, value - half, value + half, 0.95, "t", 20, 0.0, None, half / 2)


@pytest.mark.parametrize(
    ("value", "half", "word"), [(2, 1, "holds"), (-2, 1, "does not hold"), (0.5, 1, "inconclusive")]
)
def test_a_claim_that_something_is_positive(value, half, word):
    finding = claims.positive(about(value, half), "higher by", "points")
    assert finding.word == word
    assert finding.here.startswith("lower by 2" if value < 0 else "higher by ")
    assert f"{abs(value):.1f} points [" in finding.here
    assert claims.positive(None).word == "does not apply"


def test_the_jackknife_is_that_of_a_plain_loop(rng):
    sums = rng.integers(1, 9, (40, 4)).astype(float)
    got = claims.jackknifed(sums, kaneko2022_claims._shares)

    def share(some):
        a, b, c, d = (sum(row[k] for row in some) for k in range(4))
        return 100 * (c / d - a / b)

    values = [share([r for n, r in enumerate(sums) if n != k]) for k in range(len(sums))]
    mean = sum(values) / len(values)
    variance = 39 / 40 * sum((v - mean) ** 2 for v in values)
    assert got.value == pytest.approx(share(sums))
    assert got.se == pytest.approx(math.sqrt(variance))
    assert got.low < got.value < got.high


def test_the_jackknifes_interval_holds_what_it_promises(rng):
    """Two shares of clustered answers, equal in truth: 95 of 100 intervals hold 0."""
    held = 0
    for _ in range(300):
        base = rng.normal(size=(60, 1))
        won = (base + rng.normal(size=(60, 5)) > 0).sum(1)
        other = (base + rng.normal(size=(60, 5)) > 0).sum(1)
        sums = np.stack([won, np.full(60, 5), other, np.full(60, 5)], 1).astype(float)
        got = claims.jackknifed(sums, kaneko2022_claims._shares)
        held += got.low <= 0 <= got.high
    assert 0.91 <= held / 300 <= 0.985


def test_every_claim_says_where_it_stands():
    for module, least in ((kaneko2022_claims, 6), (thys2025_claims, 5), (husse2022_claims, 8)):
        assert len(module.CLAIMS) >= least
        assert all(c.text and c.where for c in module.CLAIMS)


def test_a_summary_counts_the_words():
    rows = [
        {"model": "m", "holds?": w} for w in ("holds", "holds", "inconclusive", "needs a corpus")
    ]
    assert claims.summary(rows) == (
        "m: 2 of 3 claims hold; inconclusive: 1; 1 claim needs a corpus."
    )


# ---------------------------------------------------------------- several models


def sized(values):
    """A run of models by their names: size, and scores with a half-width of their intervals."""
    columns = published("thys2025")["columns"]
    scores = {
        m: {c: about(v.get(c, 0.0), v.get("half", 1.0)) for c in columns}
        for m, (_, v) in values.items()
    }
    return thys2025_claims.ThysRun(
        published("thys2025"), scores, {m: s for m, (s, _) in values.items()}
    )


def word(run, start):
    claim = next(c for c in thys2025_claims.CLAIMS if c.text.startswith(start))
    return claim.check(run, "all").word


def test_a_rise_with_size_must_be_shown_in_every_family():
    up = {"a-base": (1, {"CAT": 0.0}), "a-large": (3, {"CAT": 9.0})}
    assert word(sized(up), "CAT's bias score rises") == "holds"
    both = up | {"b-base": (1, {"CAT": 9.0}), "b-large": (3, {"CAT": 0.0})}
    assert word(sized(both), "CAT's bias score rises") == "does not hold"
    unsure = up | {"b-base": (1, {"CAT": 0.0}), "b-large": (3, {"CAT": 0.5})}
    assert word(sized(unsure), "CAT's bias score rises") == "inconclusive"
    assert word(sized({"a-base": (1, {})}), "CAT's bias score rises") == "needs several models"


def test_no_pattern_is_a_rise_here_and_a_fall_there():
    a = {"a-base": (1, {"LPBS": 0.0}), "a-large": (3, {"LPBS": 9.0})}
    down = {"b-base": (1, {"LPBS": 9.0}), "b-large": (3, {"LPBS": 0.0})}
    up = {"b-base": (1, {"LPBS": 0.0}), "b-large": (3, {"LPBS": 9.0})}
    assert word(sized(a | down), "LPBS neither rises") == "holds"
    assert word(sized(a | up), "LPBS neither rises") == "does not hold"


def test_scores_that_go_together_over_models():
    def of(turn):
        return {
            f"m{k}-base": (
                k,
                {"CAT": turn * float(k), "lms": float(k + 0.1 * (k % 2)), "half": 0.1},
            )
            for k in range(1, 8)
        }

    assert word(sized(of(1)), "CAT's bias score correlates") == "holds"
    assert word(sized(of(-1)), "CAT's bias score correlates") == "does not hold"


# ---------------------------------------------------------------- choices


def test_choices_are_paired_over_the_papers_eight_tests():
    """Table 13 as printed: the mean of |d| of OPT's sentences and words."""
    every = released()
    pair = paired(every, "OPT", {**WORD, "level": "sent"}, WORD)
    assert len(pair.d[0]) == 8
    both = every[(every.model == "OPT") & (every.method == "SEAT") & (every.sets == "full")]
    both = both[(both.context == "template") & (both.targets == both.test.map(NAMED))]
    wide = both.pivot(index="test", columns="level", values="d")
    assert sorted(pair.d[0]) == sorted(wide["sent"])
    assert sorted(pair.d[1]) == sorted(wide["word-average"])
    names, terms = ({**WORD, "targets": t} for t in ("names", "terms"))
    across = paired(every, "BERT", names, terms)
    tests = set(scores_under(every, "BERT", names).reset_index().test)
    assert len(across.d[0]) == len(
        tests & set(scores_under(every, "BERT", terms).reset_index().test)
    )
    assert not scores_under(every, "BERT", husse2022_claims.CEAT).index.duplicated().any()


def claim(module, start):
    return next(c for c in module.CLAIMS if c.text.startswith(start))


def test_printed_correlations_are_those_of_table_5():
    run = HusseRun({"m": "masked"}, {}, True, {})
    one = claim(husse2022_claims, "Methods that use cosine similarity correlate: w-SEAT and CEAT")
    assert one.paper(run).text == "ELMo 0.79; BERT 0.62; GPT-2 0.08; OPT 0.54; BLOOM 0.75"
    assert one.paper(run).word == "holds"
    assert one.check(run, "m").word == "needs natural contexts"


def test_the_words_of_choices():
    pair = husse2022_claims.Pair(
        (np.array([0.1] * 12), np.array([0.9] * 11 + [0.8])), (np.zeros(12), np.ones(12))
    )
    bigger, same_size = larger("old", "new"), neither("old", "new")
    assert bigger.judge(pair).word == "holds"
    assert bigger.read(pair) == "0.10 old, 0.89 new"
    assert ALIKE.judge(pair).word == "does not hold"
    assert MATTERS.judge(pair).word == "holds"
    assert same_size.judge(pair).word == "does not hold"
    same = husse2022_claims.Pair((pair.d[0], pair.d[0] + 0.01), (np.ones(12), np.ones(12)))
    assert ALIKE.judge(same).word == "holds"
    assert same_size.judge(same).word == "holds"
    assert SAME_BIASES.judge(same).word == "holds"
    assert SAME_BIASES.judge(pair).word == "does not hold"
    none = husse2022_claims.Pair(same.d, (np.zeros(12), np.zeros(12)))
    assert SAME_BIASES.judge(none).word == "inconclusive"  # nothing could be found
    assert pd.notna(bigger.judge(same).here)
    rules = (bigger, ALIKE, MATTERS, same_size, SAME_BIASES)
    assert [rule.amount(pair) > 0 for rule in rules] == [True, False, True, False, False]
    assert [rule.amount(same) > 0 for rule in rules] == [True, True, False, True, True]


def test_the_papers_numbers_speak_without_intervals():
    """LPBS on simplified sets moves by 0.36 of four tests: that is above 0.2, however few."""
    run = HusseRun({}, {}, True, {})
    by_numbers = {c.text: c.paper(run) for c in husse2022_claims.CLAIMS}
    assert by_numbers["How word sets are simplified moves LPBS's scores"] == ("BERT 0.36", "holds")
    again = by_numbers["The scores of CEAT's authors are reproduced"]
    assert again.text.startswith("ELMo 0.09")
    (fault,) = (v for k, v in by_numbers.items() if k.startswith("Reading ELMo by characters"))
    assert fault == ("ELMo 0.95", "holds")


def test_the_fault_of_elmo_is_judged_on_an_elmo():
    tokens, words = (
        [1.2, 0.4, 1.4, 0.5, 0.5, 1.3, 0.8, 1.3],
        [1.2, 0.6, 1.4, 0.7, 0.9, 1.2, 0.6, 1.0],
    )
    results, tested = {}, {}
    for test, value, other in zip(MAIN.values(), tokens, words, strict=True):
        for level, context, d in (
            ("sent", "template", value),
            ("sent", CHARACTERS, value - 1),
            ("word-average", "template", other),
        ):
            overall = SimpleNamespace(value=d)
            results["elmo", "SEAT", test, level, context] = SimpleNamespace(overall=overall)
    run = HusseRun({"elmo": "elmo", "bert": "masked"}, results, True, tested)
    fault = claim(husse2022_claims, "Reading ELMo by characters")
    nearer = claim(husse2022_claims, "Once that bug is fixed")
    assert fault.check(run, "elmo").word == nearer.check(run, "elmo").word == "holds"
    assert fault.check(run, "bert").word == "does not apply"


def test_claims_about_significance_are_pooled_over_models(monkeypatch):
    """On the release's own scores: eight tests of a model could never show it."""
    monkeypatch.setattr(husse2022_claims, "measured", lambda run: released())
    kinds = dict.fromkeys(["ELMo", "BERT", "GPT-2", "OPT", "BLOOM"], "masked")
    run = HusseRun(kinds, {}, True, {})
    words = claim(husse2022_claims, "Words' vectors give")
    found = words.check(run, "all")
    every = [paired(released(), m, {**WORD, "level": "sent"}, WORD) for m in kinds]
    assert words.several
    assert found.word == words.paper(run).word == "holds"
    assert found.here.endswith(f"of {2 * sum(len(p.d[0]) for p in every)} significant")
    alone = claim(husse2022_claims, "Simpler word sets")
    assert alone.paper(run).word == "inconclusive"  # 2 of 5, and 2 of 5


def test_most_and_fewest_need_their_models_and_no_order(monkeypatch):
    monkeypatch.setattr(husse2022_claims, "measured", lambda run: released())
    kinds = {"ELMo": "elmo", "BERT": "masked", "GPT-2": "causal", "OPT": "causal"}
    one = claim(husse2022_claims, "Under s-SEAT, ELMo")
    for order in (list(kinds), list(kinds)[::-1]):
        run = HusseRun({m: kinds[m] for m in order}, {}, True, {})
        assert one.check(run, "all").word == one.paper(run).word == "holds"
    without = HusseRun({m: k for m, k in kinds.items() if m != "GPT-2"}, {}, True, {})
    assert one.check(without, "all").word == "needs several models"
    tied = husse2022_claims._extremes({"a": 5, "b": 5, "c": 1}, ["a"], ["c"])
    assert tied == "inconclusive"
    assert husse2022_claims._extremes({"a": 4, "b": 5, "c": 1}, ["a"], ["c"]) == "does not hold"


def test_to_overestimate_is_to_be_farther_from_50():
    """47 and 40 for the other measure: it is the other that shows more."""
    sums = np.array([40.0, 100.0, 47.0, 100.0])
    assert kaneko2022_claims._farther(sums) == pytest.approx(-7)
    assert kaneko2022_claims._farther(np.array([53.0, 100, 41.0, 100])) == pytest.approx(6)


def test_a_result_that_is_missing_is_said_and_the_rest_goes_on():
    run = kaneko2022_claims.KanekoRun(["m"], {}, published("kaneko2022"), True)
    rows = claims.table(kaneko2022_claims.CLAIMS, run, ["m"]).frame
    lost = rows[rows.claim.str.startswith("All measures find")].iloc[0]
    assert lost["holds?"] == "needs all results"
    assert "could not be scored" in lost["this run"]
    assert lost["by its numbers"] == "holds"


def test_the_papers_numbers_have_a_word_of_their_own():
    run = thys2025_claims.ThysRun(published("thys2025"), {}, {})
    words = {c.text: c.paper(run).word for c in thys2025_claims.CLAIMS}
    assert words["CAT's bias score rises with size in every family"] == "holds"
    # the paper says that it has no direction; it falls in all three families
    assert words["LPBS neither rises in every family nor falls in every family"] == "does not hold"
    assert claims.stated("", [1.0, -1.0]).word == "holds in 1 of 2"


def test_causal_models_are_in_no_correlation_between_measures():
    given = {f"m{k}": (k, {"CAT": float(k), "lms": float(k + 0.1 * (k % 2))}) for k in range(8)}
    run = sized(given)
    assert word(run, "CAT's bias score correlates") == "holds"
    alone = run._replace(causal=frozenset(list(given)[3:]))
    assert word(alone, "CAT's bias score correlates") == "needs several models"
    assert len(alone.columns(("CAT",))["CAT"]) == 3
