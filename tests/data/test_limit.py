"""Tests of data/limit."""

import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.data import catalogue
from unmask.reports.results import load

RUN = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "12")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "r"
    assert invoke(*RUN, "-o", folder)[0] == 0
    return folder


def test_a_limit_is_declared_everywhere(done):
    (found,) = load(done)
    assert found.data == "bundled-pairs:12-of-356"
    assert found.coverage.items == 12
    assert found.provenance["data"]["limited"] == {
        "items": 12,
        "of": 356,
        "seed": 0,
    }
    texts = [(done / "report.html").read_text(), found.to_markdown(), found.to_latex()]
    texts += [invoke("export", done, "--format", f)[1] for f in ("hub", "lm-eval")]
    assert all("12-of-356" in text for text in texts)


def test_a_limit_spreads_over_the_set_and_leaves_small_sets_alone():
    data = catalogue.sentences("bundled-pairs")
    some = catalogue.limited(data, 10)
    places = [data.items.index(i) for i in some.items]
    assert places == sorted(places)
    assert max(places) > 300
    assert catalogue.limited(data, 356) is data
    assert invoke("run", "--limit", "0")[0] == 2


def test_a_limit_takes_both_of_sides_that_take_turns():
    texts = [[f"The {w} {n} is a doctor." for w in ("man", "woman")] for n in range(64)]
    rows = [(*texts[n][:: 1 if n % 2 else -1], n % 2) for n in range(64)]
    frame = pd.DataFrame(rows, columns=["stereotype", "antistereotype", "category"])
    (data,) = catalogue.resolve(frame)
    some = catalogue.limited(data, 16)
    share = sum(i.category == "1" for i in some.items) / 16
    assert 0.2 < share < 0.8
    assert catalogue.limited(data, 16).items == some.items
    places = [data.items.index(i) for i in some.items]
    assert all(4 * k <= p < 4 * k + 4 for k, p in enumerate(places))


def test_a_limit_that_does_nothing_is_noted(here):
    found = unmask.run("bundled", "w-seat", "weat-6", limit=5)
    assert any("limit was not used" in note for note in found.notes)


def test_a_limit_follows_the_seed():
    data = catalogue.sentences("bundled-pairs")
    usual, other, again = (catalogue.limited(data, 40, seed) for seed in (0, 3, 3))
    assert other.items == again.items != usual.items
    assert usual.name == "bundled-pairs:40-of-356"
    assert other.name == "bundled-pairs:40-of-356-seed-3"
    found = unmask.run(tiny("bert"), ["aul"], ["bundled-pairs"], limit=40, seed=3)
    assert found[0].data == other.name
