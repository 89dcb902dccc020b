"""Tests of studies/compare_items."""

import pytest

import unmask
from conftest import tiny
from unmask.studies import compare as comparing
from unmask.types import Contrast, Dataset, Text

GOOD = "The nurse said that she was tired.", "The nurse said that he was tired."


def made(*rows, **more):
    items = [
        Contrast(str(n), {"stereotype": Text(a), "antistereotype": Text(b)}, "c", f"k{n}")
        for n, (a, b) in enumerate(rows)
    ]
    return Dataset("made", "pairs", tuple(items), **more)


def test_compare_pairs_sentences_and_not_only_ids(tmp_path):
    rows = [
        (f"The nurse number {n} was late.", f"The judge number {n} was late.") for n in range(12)
    ]
    model = tiny("bert")
    whole = unmask.evaluate(model, "aul", made(*rows))
    moved = unmask.evaluate(model, "aul", made(GOOD, *rows))  # every id means another sentence
    runs = [comparing.ModelRun(n, {("aul", "made"): r}) for n, r in (("a", whole), ("b", moved))]
    row = comparing.compare(runs)[0].iloc[0]
    assert row.n == 12
    assert row.difference == 0
    twice = unmask.evaluate(model, "aul", made(GOOD, GOOD, *rows))
    runs[1] = comparing.ModelRun("c", {("aul", "made"): twice})
    with pytest.raises(unmask.DataError, match="run both on one file"):
        comparing.compare(runs)


def test_compare_keeps_every_result_apart(tmp_path):
    specs = [
        unmask.Spec(tiny("bert"), "w-seat", "weat-6", layer=n, tags={"n": n}) for n in (0, 1, 2)
    ]
    for name, some in (("a", specs), ("b", specs[1:2])):
        unmask.save(unmask.evaluate_specs(some), tmp_path / name)
    runs = comparing.runs_of([tmp_path / "a", tmp_path / "b"])
    frame, _ = comparing.compare(runs)
    assert len(frame) == 1
    assert "layer 1" in frame.choices[0]
    both, _ = comparing.compare(comparing.runs_of([tmp_path / "a", tmp_path / "a"]))
    assert len(both) == 3
    assert len(set(both.choices)) == 3
