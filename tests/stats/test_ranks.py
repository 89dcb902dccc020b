"""Tests of stats/ranks."""

import numpy as np
import pytest

from unmask.options import Resampling
from unmask.stats.ranks import ranks

HOW = Resampling(draws=2000)


def test_distances_have_the_noise_taken_off():
    values, errors = np.array([[3.0, 4.0], [1.0, 0.0]]), np.full((2, 2), 1.0)
    distance, _, _ = ranks(values, errors, HOW)
    assert distance[0] == pytest.approx(np.sqrt((9 + 16 - 2) / 2))
    assert distance[1] == 0  # no farther than noise alone would be


def test_models_that_cannot_be_told_apart_share_a_rank():
    values = np.array([[0.1, 0.2], [0.2, 0.1], [9.0, 9.0]])
    _, low, high = ranks(values, np.full((3, 2), 1.0), HOW)
    assert low.tolist() == [1, 1, 3]
    assert high.tolist() == [2, 2, 3]


def test_ranks_hold_the_true_ones():
    """Four models, six measures, errors of 1: all four true ranks within, in 95 % of the draws."""
    rng = np.random.default_rng(0)
    true = np.repeat([[0.0], [1.0], [2.0], [4.0]], 6, axis=1)
    held = []
    for seed in range(150):
        seen = true + rng.normal(size=true.shape)
        how = Resampling(draws=500, seed=seed)
        _, low, high = ranks(seen, np.ones_like(true), how)
        held.append(all(low <= [1, 2, 3, 4]) and all(high >= [1, 2, 3, 4]))
    assert np.mean(held) > 0.9
