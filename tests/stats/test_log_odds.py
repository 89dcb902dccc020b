"""Odds ratios by hand: sides by number of pieces, words, templates, laws."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unmask.stats import log_odds
from unmask.stats.clustering import Variance
from unmask.stats.effects import by_words


def items(rows):
    frame = pd.DataFrame(rows, columns=["item", "label", "score", "tokens"])
    return frame.assign(prior=np.nan, reason=None)


def made(seed=0):
    rng = np.random.default_rng(seed)
    words = {"x:a": 1, "x:b": 1, "x:c": 2, "y:d": 1, "y:e": 2, "y:f": 3}
    return items([(f"i{k}", w, -3 * rng.random(), n) for k in range(5) for w, n in words.items()])


def test_sides_are_summed_as_a_plain_loop_sums_them():
    frame = made()
    for item, value in log_odds.by_item(frame).items():
        part = frame[frame["item"] == item].set_index("label").score
        x, y = (sum(math.exp(v) for k, v in part.items() if k[0] == side) for side in "xy")
        assert value == pytest.approx(math.log(x / y))


def test_words_of_as_many_pieces_are_compared_with_each_other():
    """Of one piece there are two words of each side, of two pieces one, of three none of x."""
    words = {"x:a": 1, "x:b": 1, "x:c": 2, "y:d": 1, "y:e": 2, "y:f": 3, "y:g": 1}
    rng = np.random.default_rng(0)
    rows = [(f"i{k}", w, -3 * rng.random(), n) for k in range(5) for w, n in words.items()]
    frame = items(rows)
    for item, value in log_odds.by_pieces(frame).items():
        p = frame[frame["item"] == item].set_index("label").score.map(math.exp)
        assert value == pytest.approx(math.log((p["x:a"] + p["x:b"]) / (p["y:d"] + p["y:g"])))


def test_without_a_number_of_pieces_in_common_all_words_are_taken_together():
    frame = items([("i", "x:a", -1.0, 1), ("i", "y:b", -2.5, 2), ("i", "y:c", -2.5, 3)])
    assert log_odds.by_pieces(frame)["i"] == pytest.approx(1.5 - math.log(2))


def test_a_word_that_gives_itself_away_does_not_hide_the_attribute():
    """Side y alone has a word of two pieces, certain whatever the attribute: it says nothing."""
    rows = []
    for item, x in (("a", -1.0), ("b", -3.0)):
        rows += [(item, "x:he", x, 1), (item, "y:she", -4.0 - x, 1), (item, "y:lucinda", -0.01, 2)]
    frame = items(rows)
    found, mixed = log_odds.by_pieces(frame), log_odds.by_item(frame)
    assert found["a"] - found["b"] == pytest.approx(4.0)
    assert mixed["a"] - mixed["b"] < 2.5


def words_of(a, b):
    return by_words(np.array(a), np.array(b))


def test_the_odds_ratio_is_welchs_test():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.8, 1, 9), rng.normal(0, 2, 14)
    found = log_odds.odds_ratio(words_of(a, b))
    theirs = stats.ttest_ind(a, b, equal_var=False)
    interval = theirs.confidence_interval()
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.value == pytest.approx(a.mean() - b.mean())
    assert found.more["words"] == [9, 14]


def test_swapped_sets_turn_the_ratio_around():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.8, 1, 9), rng.normal(0, 2, 14)
    one, two = log_odds.odds_ratio(words_of(a, b)), log_odds.odds_ratio(words_of(b, a))
    assert (two.value, two.low, two.high) == pytest.approx((-one.value, -one.high, -one.low))


def test_templates_widen_the_interval():
    rng = np.random.default_rng(3)
    words = words_of(rng.normal(size=8), rng.normal(size=8))
    alone = log_odds.odds_ratio(words)
    both = log_odds.odds_ratio(words, Variance(0.2, 2.0))
    assert both.se == pytest.approx(math.sqrt(alone.se**2 + 0.2))
    assert both.high - both.low > alone.high - alone.low
    assert both.method == "t over words and templates"


def test_the_ratio_without_each_word_is_computed_anew():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=5), rng.normal(size=7)
    first, second = log_odds.without(words_of(a, b))
    for k in range(5):
        assert first[k] == pytest.approx(np.delete(a, k).mean() - b.mean())
    for k in range(7):
        assert second[k] == pytest.approx(a.mean() - np.delete(b, k).mean())


def test_words_that_are_not_compared_are_named():
    rows = [("i", "x:he", -1.0, 1), ("i", "y:she", -1.0, 1), ("i", "x:bartholomew", -1.0, 4)]
    assert log_odds.left_out(items(rows[:2])) == ()
    assert "bartholomew" in log_odds.left_out(items(rows))[0]
    assert "words of all lengths are compared" in log_odds.left_out(items(rows[1:]))[0]
