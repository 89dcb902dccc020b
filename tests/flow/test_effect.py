"""Tests of flow/effect."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from unmask.flow.effect import _templates, effect
from unmask.measures import ASSOCIATION
from unmask.options import Resampling
from unmask.stats.ceat import ceat_samples, draw_indices
from unmask.stats.effects import Words, template_variance, unit


def test_all_four_sets_give_a_wider_interval():
    plain, wide = (
        unmask.evaluate("bundled", "w-seat", "weat-6", random=random).overall
        for random in ("targets", "attributes")
    )
    assert plain.value == wide.value
    assert wide.low < plain.low < plain.high <= wide.high
    assert "four sets" in wide.method


def test_ceat_without_an_attribute_word_by_its_formula(rng):
    """Sets of unlike sizes: X has three words and Y two, A four and B two; two contexts each."""
    sizes = {"x": 3, "y": 2, "a": 4, "b": 2}
    by_word = {
        label: {f"{label}{k}": rng.normal(size=(2, 6)) + (label == "x") for k in range(n)}
        for label, n in sizes.items()
    }
    row = replace(ASSOCIATION["ceat"], samples=300)
    got = effect(row, by_word, Resampling(splits=0))
    assert got.overall.more["words"] == [3, 2]
    assert got.sentences is None
    assert got.drawn.shape == (300,)

    def mean_cosine(one, two):
        cosines = [u @ v / np.linalg.norm(u) / np.linalg.norm(v) for u in one for v in two]
        return float(np.mean(cosines))

    def pull(attribute):
        halves = [
            np.mean([mean_cosine(word, attribute) for word in by_word[label].values()])
            for label in ("x", "y")
        ]
        return halves[0] - halves[1]

    units = [[unit(v).astype(np.float32) for v in words.values()] for words in by_word.values()]
    draws = np.random.default_rng(0)
    indices = [draw_indices([len(v) for v in words], 300, draws, True) for words in units]
    samples = ceat_samples(units, indices)
    spread = Words(samples.words[:3], samples.words[3:], 0.0).spread
    for label, sign in (("a", 1.0), ("b", -1.0)):
        influence = {word: pull(vectors) for word, vectors in by_word[label].items()}
        for word in influence:
            others = np.mean([p for w, p in influence.items() if w != word])
            moved = sign * (others - np.mean(list(influence.values()))) / spread
            expected = got.overall.value + moved
            assert got.without[label][word] == pytest.approx(expected, abs=1e-5)


def test_forms_of_one_word_are_one_word():
    """Plurals say the same again: n, interval and p are those of the words, not of their forms."""
    from unmask.text.inflection import lexemes

    assert lexemes(["rose", "roses", "lily", "lilies", "iris", "gas"]) == {
        "rose": "rose", "roses": "rose", "lily": "lily", "lilies": "lily", "iris": "iris",
        "gas": "gas",
    }  # fmt: skip
    assert lexemes(["roses"]) == {"roses": "roses"}
    rng = np.random.default_rng(0)
    words = {"X": ["rose", "lily", "tulip", "daisy"], "Y": ["ant", "flea", "wasp", "moth"]}
    plurals = {"rose": "roses", "lily": "lilies", "tulip": "tulips", "daisy": "daisies",
               "ant": "ants", "flea": "fleas", "wasp": "wasps", "moth": "moths"}  # fmt: skip
    single = {k: {w: rng.normal(size=(1, 6)) for w in some} for k, some in words.items()}
    rest = {k: {f"{k}{i}": rng.normal(size=(3, 6)) for i in range(4)} for k in "AB"}
    both = {
        k: some | {plurals[w]: v + 0.01 * rng.normal(size=v.shape) for w, v in some.items()}
        for k, some in single.items()
    }
    for name in ("weat", "ceat"):
        measure = replace(ASSOCIATION[name], samples=50 if name == "ceat" else 0)
        one, two = (effect(measure, some | rest, Resampling()) for some in (single, both))
        assert one.overall.n == two.overall.n == 8
        assert two.overall.more["words"] == [4, 4]
        assert two.overall.low == pytest.approx(one.overall.low, abs=0.1)
        assert two.overall.high == pytest.approx(one.overall.high, abs=0.1)
        assert two.overall.p == pytest.approx(one.overall.p, abs=0.05)
        assert two.without["X"]["rose"] == two.without["X"]["roses"]
        assert len(two.without["X"]) == 8


def test_templates_are_paired_where_both_sets_stand_in_the_same_ones(rng):
    by_word = {
        "X": {w: rng.normal(size=(3, 4)) for w in ("a", "b", "c")},
        "Y": {w: rng.normal(size=(3, 4)) for w in ("d", "e", "f")},
    }
    scores = (rng.normal(size=9), rng.normal(size=9))
    same = {k: dict.fromkeys(words, ("one", "two", "three")) for k, words in by_word.items()}
    other = {**same, "Y": dict.fromkeys(by_word["Y"], ("four", "five", "six"))}
    tables = [s.reshape(3, 3) for s in scores]
    for frames, paired in ((same, True), (other, False)):
        got = _templates(by_word, scores, frames)
        assert got == template_variance(*tables, paired=paired)
    assert template_variance(*tables, paired=True) != template_variance(*tables, paired=False)
