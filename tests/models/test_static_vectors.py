"""Tests of models/static_vectors."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.api import evaluate, run
from unmask.types import Stimuli

SMALL = Stimuli(
    "small",
    {"x": ("nurse", "maid", "dancer"), "y": ("judge", "captain", "banker")},
    {"a": ("gentle", "kind"), "b": ("strong", "brave", "clever")},
    forms=dict.fromkeys(("nurse", "maid", "dancer", "judge", "captain", "banker"), "singular"),
)

WEAT = {1: 1.50, 2: 1.53, 6: 1.81, 7: 1.06, 8: 1.24, 9: 1.38}


def test_weat_on_glove_gives_the_published_effect_sizes(shared):
    path = shared("vectors/glove840b_weat_subset.txt")
    results = run([str(path)], ["weat"], [f"weat-{n}" for n in WEAT])
    for n, result in zip(WEAT, results, strict=True):
        assert result.overall.value == pytest.approx(WEAT[n], abs=0.005), n
        assert result.coverage.scored == result.coverage.items


@pytest.fixture
def vectors(tmp_path, rng):
    every = [w for v in SMALL.sets.values() for w in v]
    return every, rng.normal(size=(len(every), 5)).astype(np.float32), tmp_path


def test_all_three_formats_are_read_alike(vectors):
    every, numbers, folder = vectors
    lines = [f"{w} " + " ".join(map(repr, map(float, v))) for w, v in zip(every, numbers)]  # noqa: B905
    (folder / "glove.txt").write_text("\n".join(lines) + "\n")
    header = f"{len(every)} 5"
    (folder / "w2v.vec").write_text("\n".join([header, *lines]) + "\n")
    binary = b"".join(
        w.encode() + b" " + v.tobytes() + b"\n"
        for w, v in zip(every, numbers)  # noqa: B905
    )
    (folder / "w2v.bin").write_bytes(header.encode() + b"\n" + binary)
    found = [evaluate(str(folder / n), "weat", SMALL) for n in ("glove.txt", "w2v.vec", "w2v.bin")]
    assert len({round(f.overall.value, 10) for f in found}) == 1


def test_capitals_are_kept_unless_a_file_has_none(vectors):
    """weat-3's names: `Adam` is not `adam`, but in an uncased file there is no other."""
    every, numbers, folder = vectors
    test = replace(SMALL, targets={"x": ("Nurse", "maid", "dancer"), "y": SMALL.targets["y"]})
    lines = [f"{w} " + " ".join(map(str, v)) for w, v in zip(every, numbers, strict=True)]
    path = folder / "uncased.txt"
    path.write_text("\n".join(lines))
    low = evaluate(str(path), "weat", test)
    assert low.coverage.scored == low.coverage.items
    assert "no capitals" in low.notes[0]
    path.write_text("\n".join([*lines, "Paris " + " ".join(map(str, numbers[0]))]))
    cased = evaluate(str(path), "weat", test)
    assert cased.coverage.lost == {"Nurse": "not in the vectors"}
    assert cased.notes == ()
