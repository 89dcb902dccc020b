"""Tests of flow/effect."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from unmask.flow.effect import effect
from unmask.measures import ASSOCIATION
from unmask.options import Resampling
from unmask.stats.ceat import ceat_samples, draw_indices
from unmask.stats.effects import Words, unit


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
        pulls = {word: pull(vectors) for word, vectors in by_word[label].items()}
        for word in pulls:
            others = np.mean([p for w, p in pulls.items() if w != word])
            moved = sign * (others - np.mean(list(pulls.values()))) / spread
            expected = got.overall.value + moved
            assert got.without[label][word] == pytest.approx(expected, abs=1e-5)
