"""Tests of studies/papers/claims: words, intervals, and claims about several models."""

import math

import numpy as np
import pandas as pd
import pytest

from unmask.data.packaged import published
from unmask.studies.papers import claims, husse2022_claims, kaneko2022_claims, thys2025_claims
from unmask.studies.papers.husse2022_claims import WORD, chosen, paired, released
from unmask.studies.papers.husse2022_tables import NAMED, Run
from unmask.types import Estimate


def about(value, half):
    return Estimate(value, value - half, value + half, 0.95, "t", 20, 0.0, None, half / 2)


@pytest.mark.parametrize(
    ("value", "half", "word"), [(2, 1, "holds"), (-2, 1, "does not hold"), (0.5, 1, "inconclusive")]
)
def test_a_claim_that_something_is_positive(value, half, word):
    finding = claims.positive("paper", about(value, half), "higher by", "points")
    assert finding.word == word
    assert finding.here.startswith(f"higher by {value:.1f} points [")
    assert claims.positive("paper", None).word == "does not apply"


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
        "m: 2 of 4 claims hold; open: 1; in need of more than this run: 1."
    )


# ---------------------------------------------------------------- several models


def sized(values):
    """A run of models by their names: size, and scores with a half-width of their intervals."""
    columns = published("thys2025")["columns"]
    scores = {
        m: {c: about(v.get(c, 0.0), v.get("half", 1.0)) for c in columns}
        for m, (_, v) in values.items()
    }
    return thys2025_claims.Run(
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

    assert word(sized(of(1)), "CAT's bias and language") == "holds"
    assert word(sized(of(-1)), "CAT's bias and language") == "does not hold"


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
    tests = set(chosen(every, "BERT", names).reset_index().test)
    assert len(across.d[0]) == len(tests & set(chosen(every, "BERT", terms).reset_index().test))
    assert not chosen(every, "BERT", husse2022_claims.CEAT).index.duplicated().any()


def test_printed_correlations_are_those_of_table_5():
    run = Run({"m": "masked"}, {}, True, {})
    by_text = {c.text: c.check(run, "m") for c in husse2022_claims.CLAIMS}
    finding = by_text["... w-SEAT and CEAT"]
    assert finding.paper == "ELMo 0.79; BERT 0.62; GPT-2 0.08; OPT 0.54; BLOOM 0.75"
    assert finding.word == "needs natural contexts"


def test_the_words_of_choices():
    pair = husse2022_claims.Pair(
        (np.array([0.1] * 12), np.array([0.9] * 11 + [0.8])), (np.zeros(12), np.ones(12))
    )
    assert husse2022_claims._more_significant("", pair).word == "holds"
    assert husse2022_claims._larger("", pair).word == "holds"
    assert husse2022_claims._alike("", pair).word == "does not hold"
    assert husse2022_claims._matters("", pair).word == "holds"
    assert husse2022_claims._neither("", pair).word == "does not hold"
    same = husse2022_claims.Pair((pair.d[0], pair.d[0] + 0.01), (np.ones(12), np.ones(12)))
    assert husse2022_claims._more_significant("", same).word == "inconclusive"
    assert husse2022_claims._alike("", same).word == "holds"
    assert husse2022_claims._neither("", same).word == "holds"
    assert husse2022_claims._same_biases("", same).word == "holds"
    assert husse2022_claims._same_biases("", pair).word == "does not hold"
    assert pd.notna(husse2022_claims._larger("", same).here)
