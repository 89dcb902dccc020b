"""Clusters and sides of a user's pairs from the words in which their sentences differ."""

import pandas as pd
import pytest

import unmask
from conftest import invoke
from unmask.data import catalogue
from unmask.data.clusters import changed_words, clustered
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset, Text

WORDS = [("nurse", "doctor"), ("maid", "butler"), ("mother", "father"), ("queen", "king")]
FRAMES = [
    f"The {{}} was {w} there."
    for w in ("here", "late", "tired", "kind", "brave", "poor", "rich", "glad")
]


def rows(**columns):
    made = [
        {"stereotype": f.format(one), "antistereotype": f.format(two)}
        for k, f in enumerate(FRAMES * 2)
        for one, two in (pair if k % 2 else pair[::-1] for pair in WORDS)
    ][:60]
    return pd.DataFrame([{**r, **{k: v(r) for k, v in columns.items()}} for r in made])


def pair(one, two):
    return Contrast("0", {STEREOTYPE: Text(one), ANTISTEREOTYPE: Text(two)}, "all", "0")


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ("The nurse left.", "The doctor left.", ("nurse", "doctor")),
        ("He is an engineer.", "He is a nurse.", ("engineer", "nurse")),
        ("He lost his hat.", "She lost her hat.", ("he his", "she her")),
        ("The Nurse, left", "the nurse left early", ("", "early")),
        ("Same.", "same", ("same", "same")),
    ],
)
def test_changed_words(one, two, words):
    assert changed_words(pair(one, two)) == words


def test_swapped_words_are_one_cluster_with_two_sides():
    (data,) = catalogue.resolve(rows())
    assert data.cluster == "changed words"
    assert {i.cluster for i in data.items} == {" | ".join(sorted(p)) for p in WORDS}
    assert {i.group for i in data.items} == {w for p in WORDS for w in p}
    assert "4 pairs of words" in data.about["notes"][0]
    (independent,) = catalogue.resolve(rows(), cluster="none")
    assert len({i.cluster for i in independent.items}) == 60
    assert "notes" not in independent.about


def test_a_column_wins_and_unlike_items_stay_apart():
    (given,) = catalogue.resolve(rows(cluster=lambda r: r["stereotype"][:5]))
    assert (given.cluster, "notes" in given.about) == ("cluster", False)
    unlike = pd.DataFrame({"stereotype": ["A b.", "C d."], "antistereotype": ["A c.", "C e."]})
    (data,) = catalogue.resolve(unlike)
    assert (data.cluster, [i.cluster for i in data.items]) == ("item", ["0", "1"])


def test_where_all_items_change_the_same_words_only_repeated_rows_are_one():
    frame = rows().iloc[::4]
    (data,) = catalogue.resolve(pd.concat([frame] * 3))
    assert data.cluster == "sentences"
    assert len({i.cluster for i in data.items}) == 8
    items = tuple(pair(f.format("he"), f.format("she")) for f in FRAMES)
    assert clustered(Dataset("d", "pairs", items)).cluster == "item"


def test_repeated_rows_do_not_make_an_interval_narrower(tmp_path):
    """Twenty pairs, each twenty times, say no more than twenty pairs."""
    once = pd.DataFrame(
        {
            "id": [f"i{k}" for k in range(20)],
            "stereotype": [f"The word{k} sat." for k in range(20)],
            "antistereotype": [f"The other{k} sat." for k in range(20)],
        }
    )
    many = pd.concat([once] * 20).assign(id=[f"i{k}" for k in range(400)])
    widths = []
    for name, frame in (("once", once), ("many", many)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        better = [int(k) % 20 < 15 for k in range(len(frame))]
        scored = [
            (f"{i}/{label}", -1.0 - (b != (label == "stereotype")))
            for i, b in zip(frame.id, better, strict=True)
            for label in ("stereotype", "antistereotype")
        ]
        scores = tmp_path / f"{name}-scores.csv"
        pd.DataFrame(scored, columns=["id", "score"]).to_csv(scores, index=False)
        out = tmp_path / f"{name}-results"
        data = str(tmp_path / f"{name}.csv")
        assert invoke("score", scores, "-d", data, "-o", out, "-q")[0] == 0
        (result,) = unmask.load(out)
        assert result.overall.value == pytest.approx(75)
        widths.append(result.overall.high - result.overall.low)
        if name == "many":
            assert "grouped by the 20 pairs of words" in result.notes[0]
            free = tmp_path / "free"
            args = ("score", scores, "-d", data, "-o", free, "-q", "--cluster", "none")
            assert invoke(*args)[0] == 0
            (apart,) = unmask.load(free)
            assert apart.overall.high - apart.overall.low < 0.4 * widths[1]
    assert widths[1] >= 0.97 * widths[0]  # the half that is added counts less among twice as many


def test_a_wrong_cluster_is_one_sentence():
    with pytest.raises(unmask.UnmaskError, match="give 'none'"):
        unmask.run("bundled", "aul", rows(), cluster="words")


def test_notes_on_rows_and_categories_that_do_not_fit():
    frame = (
        rows()
        .head(6)
        .assign(unrelated=["The tree sat."] * 5 + [""], category=["Gender", "gender "] * 3)
    )
    (data,) = catalogue.resolve(frame)
    notes = " ".join(data.about["notes"])
    assert data.shape == "pairs"
    assert "1 of 6 rows have no 'unrelated' sentence" in notes
    assert "'Gender', 'gender ' differ only in spelling" in notes
