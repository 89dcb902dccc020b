"""Tests of models/budget."""

from unmask.models.batches import Budget, batches, budget_for, full_speed


def test_batches_hold_the_budget_and_every_row_once(rng):
    lengths = rng.integers(1, 60, 300).tolist()
    places = rng.integers(1, 9, 300).tolist()
    groups = batches(lengths, places, Budget(tokens=256, logits=4000), vocabulary=100)
    assert sorted(i for g in groups for i in g) == list(range(300))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[i] for i in group) <= 256
        assert len(group) == 1 or sum(places[i] for i in group) * 100 <= 4000


def test_budgets_fit_the_device():
    assert budget_for("auto", None) == Budget()
    assert budget_for(100, None).tokens == 100
    large = budget_for("auto", 140 * 2**30)
    assert large.tokens > 30_000
    assert budget_for("auto", 4 * 2**30).tokens < large.tokens
    assert budget_for(512, 140 * 2**30).tokens == 512


def test_a_network_of_many_weights_needs_few_tokens_to_keep_a_gpu_busy():
    base, large = full_speed(110_000_000, 12, "bfloat16"), full_speed(335_000_000, 24, "bfloat16")
    assert 32_768 >= base > large > full_speed(1_560_000_000, 48, "bfloat16")
    assert full_speed(7_000_000_000, 32, "bfloat16") == full_speed(10**12, 32, "float16") == 2_048
    assert full_speed(0, 12, "bfloat16") == full_speed(1_000_000, 12, "float32") == 32_768
    assert full_speed(335_000_000, 24, "tf32") < large
    assert budget_for("auto", 140 * 2**30, large).enough == large
