"""Tests of stats/specification_curve: one null for all specifications, in plain loops."""

import numpy as np
import pytest

from unmask.options import Resampling
from unmask.stats.specification_curve import _deviations, joint_signs, joint_words

MANY = Resampling(draws=400, seed=5)


def test_signs_by_a_plain_loop():
    rng = np.random.default_rng(0)
    clusters = 6
    leads = []
    for size in (12, 9):
        number = rng.integers(clusters, size=size)
        leads.append((rng.choice([-0.5, 0.5, 0.5], size=size), number))
    found = joint_signs(leads, clusters, resampling=MANY)
    signs = np.random.default_rng(5).choice(np.array([-1.0, 1.0]), size=(400, clusters))
    seen = np.median([v.mean() for v, _ in leads])
    hits = 0
    for row in signs:
        drawn = [np.mean([v * row[c] for v, c in zip(*lead, strict=True)]) for lead in leads]
        hits += abs(np.median(drawn)) >= abs(seen) - 1e-12
    assert found == pytest.approx((hits + 1) / 401)


def test_words_by_a_plain_loop():
    rng = np.random.default_rng(1)
    words = [f"w{k}" for k in range(8)]
    one = (rng.normal(size=8) + np.array([1.0] * 4 + [0.0] * 4), 4, words)
    two = (rng.normal(size=6), 3, words[:3] + words[4:7])
    found = joint_words([one, two], MANY)
    keys = np.random.default_rng(5).random((40, 8))

    def effect(scores, chosen):
        rest = [k for k in range(len(scores)) if k not in chosen]
        return (scores[list(chosen)].mean() - scores[rest].mean()) / scores.std(ddof=1)

    seen = np.median([effect(s, range(n)) for s, n, _ in (one, two)])
    hits = 0
    for row in keys:
        drawn = []
        for scores, n, names in (one, two):
            order = np.argsort([row[words.index(w)] for w in names])
            drawn.append(effect(scores, order[:n].tolist()))
        hits += abs(np.median(drawn)) >= abs(seen) - 1e-12
    assert found == pytest.approx((hits + 1) / 41)


def test_a_curve_without_a_lead_is_no_finding_and_a_clear_one_is():
    rng = np.random.default_rng(2)
    number = np.repeat(np.arange(20), 5)
    clear = [(np.full(100, 0.5), number), (np.full(100, 0.5), number)]
    none = [(rng.permuted(np.repeat([-0.5, 0.5], 50)), number) for _ in range(2)]
    assert joint_signs(clear, 20) < 0.001
    assert joint_signs(none, 20) > 0.05


def test_a_liking_for_words_does_not_hide_a_stereotype():
    """Eight families whose sides are 90 points apart, and a lead of 5 points beneath that."""
    rng = np.random.default_rng(3)
    strata = np.repeat(np.arange(16), 6)  # clusters by family and side
    number = np.repeat(np.arange(96), 2)
    side = (strata % 2)[number]
    found, blind, false = [], [], []
    for seed in range(40):
        how = Resampling(draws=500, seed=seed)
        for base, out in ((0.1, found), (0.0, false)):
            p = np.where(side == 0, 0.95, 0.05 + base)
            leads = [((rng.random(192) < p) - 0.5, number) for _ in range(3)]
            out.append(joint_signs(leads, 96, strata, how) <= 0.05)
            if base:
                blind.append(joint_signs(leads, 96, resampling=how) <= 0.05)
    assert np.mean(found) > 0.6
    assert np.mean(blind) < np.mean(found) - 0.2
    assert np.mean(false) <= 0.15


def test_a_cluster_alone_in_its_stratum_flips_as_a_whole():
    lead, number = np.array([0.5, 0.5, -0.5]), np.array([0, 1, 2])
    strata = np.array([0, 0, 1])
    sums = np.array([0.5, 0.5, -0.5]) / 3
    apart = _deviations(sums, np.full(3, 1 / 3), strata)
    assert apart == pytest.approx([0, 0, -0.5 / 3])
    assert 0 < joint_signs([(lead, number)], 3, strata, MANY) <= 1
