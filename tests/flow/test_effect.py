"""Tests of flow/effect."""

import unmask


def test_all_four_sets_give_a_wider_interval():
    plain, wide = (
        unmask.evaluate("bundled", "w-seat", "weat-6", random=random).overall
        for random in ("targets", "attributes")
    )
    assert plain.value == wide.value
    assert wide.low < plain.low < plain.high <= wide.high
    assert "four sets" in wide.method
