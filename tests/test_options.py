"""Tests of test_options."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import tiny
from unmask.api import run
from unmask.data.packaged import bundled_pairs
from unmask.data.wordsets import stimuli
from unmask.errors import UnmaskError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dtype": "float23"}, "did you mean 'float32'"),
        ({"pool": "word-maen"}, "did you mean 'word-mean'"),
        ({"tokens": 0}, "tokens is 0; give a whole number of at least 1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"level": 95}, "between 0 and 1"),
        ({"samples": 1}, "at least 2"),
        ({"keep": ("token",)}, "did you mean 'tokens'"),
        ({"layr": 3}, "unknown option 'layr'; did you mean 'layer'"),
    ],
)
def test_options_check_themselves(given, said):
    with pytest.raises(unmask.UnmaskError, match=said):
        unmask.run(tiny("bert"), "aul", "bundled-pairs", **given)


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.default_rng(3)
    words = sorted({w for v in stimuli()["weat-6"].sets.values() for w in v})
    lines = [f"{w} " + " ".join(map(str, rng.normal(size=6))) for w in words]
    path = tmp_path / "v.txt"
    path.write_text("\n".join(lines))
    return str(path)


def test_an_option_that_a_model_cannot_honour_is_refused(vectors):
    for option, said in (
        ({"layer": 7}, "has no layers to choose from"),
        ({"pool": "cls"}, "has no pool 'cls'; it has word-mean"),
        ({"dtype": "bfloat16"}, "leave out --dtype"),
    ):
        with pytest.raises(unmask.NotApplicable, match=said):
            unmask.evaluate(vectors, "weat", "weat-6", **option)
    plain = unmask.evaluate(vectors, "weat", "weat-6", pool="word-mean")
    assert "layer" not in plain.settings
    assert plain.settings["pool"] == "word-mean"


def test_what_found_no_partner_is_said(tmp_path):
    some = replace(bundled_pairs(), name="some", items=bundled_pairs().items[:6])
    found = unmask.run(tiny("bert"), ["aul", "lpbs", "weat"], [some, "weat-6"])
    assert [r.title for r in found] == ["aul on some", "weat on weat-6"]
    assert "lpbs was not run: it needs templates" in found.notes[0]
    found = unmask.run(tiny("bert"), ["aul", "ll"], [some, "kurita-career"], pool="cls")
    notes = " ".join(found.notes)
    assert "kurita-career was not used" in notes
    assert "pool was not used" in notes
    assert "ll on some was not scored for tiny-bert" in notes
    unmask.save(found, tmp_path)
    assert unmask.load(tmp_path).notes == found.notes
    with pytest.raises(unmask.NotApplicable, match="measures that fit: pll"):
        unmask.run(tiny("bert"), ["lpbs", "weat"], some)
    # The standard suite takes what fits, and does not speak of the rest.
    assert unmask.run(tiny("gpt2"), None, "kurita-career").notes == ()


def test_sets_of_one_name_are_told_apart(tmp_path):
    """Two files with the same stem: each has its own scores under its own name."""
    rows = {"a": ("She was late.", "He was late."), "b": ("He was late.", "She was late.")}
    for folder, pair in rows.items():
        (tmp_path / folder).mkdir()
        lines = ["stereotype,antistereotype", ",".join(pair)]
        (tmp_path / folder / "pairs.csv").write_text("\n".join(lines))
    paths = [str(tmp_path / f / "pairs.csv") for f in rows]
    found = unmask.run(tiny("bert"), "pll", paths)
    assert [r.data for r in found] == ["pairs", "pairs#2"]
    assert sorted(r.overall.value for r in found) == [0, 100]
    unmask.save(found, tmp_path / "o")
    again = unmask.load(tmp_path / "o")
    assert [r.overall.value for r in again] == [r.overall.value for r in found]
    for one, two in zip(found, again, strict=True):
        assert one.items.score.tolist() == two.items.score.tolist()


def test_level_is_one_argument_throughout():
    wide, narrow = (
        unmask.run(tiny("bert"), ["aul", "w-seat"], ["bundled-pairs", "weat-6"], level=level)
        for level in (0.95, 0.5)
    )
    for a, b in zip(wide, narrow, strict=True):
        assert a.overall.value == b.overall.value
        assert a.overall.low < b.overall.low < b.overall.high < a.overall.high
        assert (a.overall.level, b.overall.level) == (0.95, 0.5)


def test_a_misspelt_option_is_answered_with_the_nearest():
    with pytest.raises(UnmaskError, match="unknown option 'limt'; did you mean 'limit'"):
        run("bundled", ["aul"], ["bundled-pairs"], limt=3)
    with pytest.raises(UnmaskError, match="did you mean 'exclude_flagged'"):
        unmask.evaluate("bundled", "aul", "bundled-pairs", exclude_flaged=True)


def test_a_bare_network_is_told_what_is_missing():
    with pytest.raises(UnmaskError, match=r"give both as \(network, tokenizer\)"):
        run([tiny("bert").net], ["aul"], ["bundled-pairs"])
