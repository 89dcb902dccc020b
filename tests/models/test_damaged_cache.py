"""Tests of models/damaged_cache."""

import numpy as np

from unmask.models.output_cache import VectorOutputs, opened


def test_damaged_answers_are_asked_for_again(tmp_path):
    path, key = tmp_path / "answers.sqlite", b"k" * 16
    vectors = np.arange(6.0).reshape(1, 6)
    with opened(path) as store:
        VectorOutputs(store, "s").note([key], vectors)
    whole = path.read_bytes()
    for at in [*range(0, 120), *range(120, len(whole), 61)]:
        hurt = bytearray(whole)
        hurt[at] ^= 1 << (at % 8)
        for old in tmp_path.iterdir():
            old.unlink()
        path.write_bytes(hurt)
        with opened(path) as store:
            found = VectorOutputs(store, "s").recall([key])
        assert found is None or np.array_equal(found, vectors)
    for foreign in (bytes(5000), b"no database at all, but long enough to be one" * 50):
        path.write_bytes(foreign)
        with opened(path) as store:
            VectorOutputs(store, "s").note([key], vectors)
            assert "was renamed to" in store.messages[0]
        with opened(path) as store:
            assert np.array_equal(VectorOutputs(store, "s").recall([key]), vectors)
