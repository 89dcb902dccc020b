"""Tests of stats/word_statistics: plain loops, laws, and the numbers that WEFE prints."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import spearmanr

import unmask
from conftest import shared_file
from unmask.errors import DataError
from unmask.measures import ASSOCIATION
from unmask.stats import word_statistics as stats
from unmask.stats.over_words import over_words, without_each
from unmask.types import Stimuli


@pytest.fixture
def sets(rng):
    return [rng.normal(size=(n, 7)) for n in (6, 6)], [rng.normal(size=(n, 7)) for n in (5, 5)]


def cos(a, b):
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_each_statistic_equals_its_plain_loop(sets):
    (x, y), (a, b) = sets
    one, two = sum(x) / len(x), sum(y) / len(y)
    rnd = np.mean([math.dist(w, one) - math.dist(w, two) for w in a])
    assert stats.relative_norm_distance(*sets) == pytest.approx(rnd)
    ripa = [
        np.mean([w @ (p - q) / np.linalg.norm(p - q) for p, q in zip(x, y, strict=True)]) for w in a
    ]
    assert stats.relative_inner_product(*sets) == pytest.approx(np.mean(ripa))
    mac = [np.mean([1 - cos(t, w) for w in s]) for t in (*x, *y) for s in (a, b)]
    assert stats.mean_average_cosine(*sets) == pytest.approx(np.mean(mac))
    ect = spearmanr([cos(one, w) for w in a], [cos(two, w) for w in a]).statistic
    assert stats.coherence(*sets) == pytest.approx(ect)
    way = np.mean([w / np.linalg.norm(w) for w in a], 0) - np.mean(
        [w / np.linalg.norm(w) for w in b], 0
    )
    signed = [cos(t, way) for t in (*x, *y)]
    assert stats.same(*sets) == pytest.approx(np.mean(np.abs(signed)))
    assert stats.same_skew(*sets) == pytest.approx(np.mean(signed))
    assert stats.same_stereotype(*sets) == pytest.approx(np.std(signed))


def test_direct_bias_projects_on_the_first_component_of_the_pairs(sets):
    targets, (a, b) = sets
    units = [[w / np.linalg.norm(w) for w in s] for s in (a, b)]
    rows = [w - (p + q) / 2 for p, q in zip(*units, strict=True) for w in (p, q)]
    values, vectors = np.linalg.eigh(np.cov(np.array(rows).T))
    way = vectors[:, np.argmax(values)]
    expected = np.mean([abs(cos(w, way)) for s in targets for w in s])
    assert stats.direct_bias(*sets) == pytest.approx(expected)


def test_same_of_three_groups_makes_directions_orthogonal(rng, sets):
    targets, attributes = sets[0], [*sets[1], rng.normal(size=(4, 7))]
    means = [np.mean([w / np.linalg.norm(w) for w in s], 0) for s in attributes]
    first, second = means[1] - means[0], means[2] - means[0]
    second = second - (second @ first) / (first @ first) * first
    expected = [
        abs(cos(w, first)) + abs(cos(w, second)) * np.linalg.norm(second)
        for s in targets
        for w in s
    ]
    assert stats.same(targets, attributes) == pytest.approx(np.mean(expected))


def test_generalised_weat_of_two_sets_is_half_weats_gap(sets):
    (x, y), (a, b) = sets
    mean = [np.mean([w / np.linalg.norm(w) for w in s], 0) for s in (x, y, a, b)]
    expected = (mean[0] - mean[1]) @ (mean[2] - mean[3]) / 2
    assert stats.generalised_weat(*sets) == pytest.approx(expected)


def test_the_logistic_regression_is_at_its_optimum(sets):
    a, b = sets[1]
    rows, label = np.concatenate([a, b]), np.repeat([0.0, 1.0], 5)
    wide, sign = np.column_stack([rows, np.ones(10)]), 2 * label - 1

    def loss(w):
        return 0.5 * w @ w + np.logaddexp(0, -sign * (wide @ w)).sum()

    found = stats.logistic(rows, label)
    assert loss(found) <= minimize(loss, np.zeros(8)).fun + 1e-9


def test_rnsb_of_targets_alike_is_zero(sets):
    targets = [np.ones((3, 7)), np.ones((3, 7))]
    assert stats.negative_sentiment(targets, sets[1]) == pytest.approx(0, abs=1e-12)
    assert stats.negative_sentiment(*sets) > 0


@pytest.mark.parametrize("name", ["rnd", "ripa", "gweat"])
def test_swapped_targets_turn_the_sign(sets, name):
    statistic = ASSOCIATION[name].statistic
    targets, attributes = sets
    assert statistic(targets[::-1], attributes) == pytest.approx(-statistic(targets, attributes))


def test_sets_that_do_not_fit_are_refused(sets):
    targets, attributes = sets
    with pytest.raises(DataError, match="two sets of targets"):
        stats.relative_norm_distance(targets[:1], attributes)
    with pytest.raises(DataError, match="as pairs"):
        stats.relative_inner_product([targets[0], targets[1][:3]], attributes)
    with pytest.raises(DataError, match="as many target sets"):
        stats.generalised_weat(targets, attributes[:1])


@pytest.mark.parametrize("name", ["same", "direct-bias"])
def test_sets_that_are_alike_have_no_direction(name, tmp_path):
    words = {"a": (1, 2, 3), "b": (2, 0, 1), "c": (0, 1, 4), "d": (3, 1, 1), "e": (1, 1, 0)}
    lines = [f"{len(words)} 3", *(f"{w} {' '.join(map(str, v))}" for w, v in words.items())]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    alike = Stimuli("alike", {"x": ("a", "b"), "y": ("c", "d")}, {"p": ("a", "b"), "q": ("a", "b")})
    with pytest.raises(DataError, match="identical"):
        unmask.evaluate(str(tmp_path / "vectors.txt"), name, alike)


def test_a_pair_leaves_with_its_partner(sets):
    without = without_each(stats.relative_inner_product, *sets, "targets")
    (x, y), attributes = sets
    expected = stats.relative_inner_product([np.delete(x, 2, 0), np.delete(y, 2, 0)], attributes)
    assert without[0][2] == without[1][2] == pytest.approx(expected)


def test_the_interval_covers_the_mean_of_many_draws(rng):
    """RND over words drawn at random: the jackknife's interval holds the truth as often as said."""
    held = 0
    for _ in range(300):
        draws = [rng.normal(m, 1, size=(12, 4)) for m in (0.0, 0.3)]
        attributes = [rng.normal(0.1, 1, size=(12, 4))]
        value = stats.relative_norm_distance(draws, attributes)
        without = without_each(stats.relative_norm_distance, draws, attributes)
        estimate = over_words(value, without, ideal=0.0)
        held += estimate.low <= TRUTH <= estimate.high
    assert held >= 270


TRUTH = -0.0266  # the mean of 200,000 such draws; its own error is 0.0004


F = ("female", "woman", "girl", "sister", "she", "her", "hers", "daughter")
M = ("male", "man", "boy", "brother", "he", "him", "his", "son")
FAMILY = ("home", "parents", "children", "family", "cousins", "marriage", "wedding", "relatives")
CAREER = (
    "executive",
    "management",
    "professional",
    "corporation",
    "salary",
    "office",
    "business",
    "career",
)


def test_the_numbers_that_wefe_prints():
    """Its docstrings on its sample vectors, to the last digit that they have."""
    vectors = shared_file("field/wefe/weat_w2v____old.txt")
    words = json.loads(shared_file("field/wefe/WEAT.json").read_text())
    both = Stimuli("q", {"F": F, "M": M}, {"family": FAMILY, "career": CAREER})
    seven = Stimuli("q", {"F": F[:7], "M": M[:7]}, {"family": FAMILY})
    maths = Stimuli(
        "w7",
        {k: tuple(words[k]) for k in ("math", "arts")},
        {k: tuple(words[k]) for k in ("male_terms", "female_terms")},
    )

    def value(measure, data):
        return unmask.evaluate(str(vectors), measure, data).overall.value

    assert value("rnd", both) == pytest.approx(0.0303818, abs=5e-8)
    assert value("ect", both) == pytest.approx(0.6190476190476191, abs=1e-12)
    assert value("ripa", both) == pytest.approx(0.1996923, abs=5e-8)
    assert value("ripa", seven) == pytest.approx(0.18600442, abs=5e-8)
    assert value("mac", maths) == pytest.approx(0.9327782, abs=5e-8)
    assert value("weat@wefe", both) == pytest.approx(0.4507653, abs=5e-8)
    assert value("weat@wefe", maths) == pytest.approx(0.9981079, abs=5e-8)
    assert value("weat", maths) == pytest.approx(0.9664138, abs=5e-8)
    normalised = replace(ASSOCIATION["rnd"], name="rnd-normalised", normalised=True)
    assert value(normalised, both) == pytest.approx(-0.0062788, abs=5e-8)
    normalised = replace(ASSOCIATION["ect"], name="ect-normalised", normalised=True)
    assert value(normalised, both) == pytest.approx(0.7619047619047621, abs=1e-12)


def test_other_numbers_of_sets_run_and_compare(tmp_path):
    """Three target sets, or one; a word that is lost takes its partner along."""
    lines = ["12 3"]
    rng = np.random.default_rng(1)
    names = ["he", "she", "man", "woman", "king", "queen", "a", "b", "c", "d", "e", "f"]
    lines += [" ".join([n, *(f"{v:.4f}" for v in rng.normal(size=3))]) for n in names]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    one = Stimuli(
        "one",
        {"words": ("a", "b", "c", "d")},
        {"women": ("she", "woman", "queen", "lost"), "men": ("he", "man", "king", "e")},
    )
    result = unmask.evaluate(str(tmp_path / "vectors.txt"), "direct-bias", one)
    assert result.coverage.lost == {"lost": "not in the vectors", "e": "its partner is missing"}
    assert not result.verdicts
    many = Stimuli(
        "many",
        {"x": ("a", "b"), "y": ("c", "d"), "z": ("e", "f")},
        {"p": ("he", "man"), "q": ("she", "woman"), "r": ("king", "queen")},
    )
    assert (
        unmask.evaluate(str(tmp_path / "vectors.txt"), "gweat", many).items.label.tolist()[0]
        == "X1"
    )
    with pytest.raises(unmask.UnmaskError, match="give word tests"):
        unmask.evaluate(str(tmp_path / "vectors.txt"), "weat", many)
