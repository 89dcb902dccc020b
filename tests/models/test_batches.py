"""Tests of models/batches."""

import numpy as np
import pytest

from unmask.models.batches import Budget, batches


def plain_batches(lengths, places, budget, vocabulary):
    """One row at a time."""
    groups, group, asked = [], [], 0
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        longest = lengths[group[0]] if group else lengths[i]
        tokens, logits = (len(group) + 1) * longest, (asked + places[i]) * vocabulary
        ragged = tokens > budget.enough and lengths[i] < budget.ragged * longest
        if group and (tokens > budget.tokens or logits > budget.logits or ragged):
            groups.append(group)
            group, asked = [], 0
        group.append(i)
        asked += places[i]
    return [*groups, group] if group else groups


@pytest.mark.parametrize("seed", range(40))
def test_batches_are_those_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 60, rng.integers(0, 300))
    places = rng.integers(1, 9, len(lengths))
    ragged = float(rng.choice([0.8, 1.0]))
    budget = Budget(*(int(rng.integers(1, n)) for n in (900, 5000, 300)), ragged)
    found = [g.tolist() for g in batches(lengths, places, budget, 50)]
    assert found == plain_batches(lengths.tolist(), places.tolist(), budget, 50)
