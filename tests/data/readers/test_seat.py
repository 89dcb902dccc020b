"""Tests of data/readers/seat."""

import json

import pytest

from conftest import tiny
from unmask.api import evaluate, run
from unmask.data import catalogue
from unmask.data.cards import seat_files
from unmask.data.packaged import packaged
from unmask.data.readers import seat
from unmask.data.wordsets import stimuli


def packaged_words(name):
    return next(r["words"] for r in packaged("seat.json")["files"] if r["file"] == f"{name}.jsonl")


def test_seat_sentences_are_found_by_their_words(shared):
    """Every sentence of every file has its word; forms of one word are one stimulus."""
    for name in seat_files():
        shared(f"seat/{name}.jsonl")
        (test,) = catalogue.resolve(name)
        assert "sentences_without_their_word" not in test.about, name
        known = stimuli()[packaged_words(name)]
        for ours, words in zip(test.stimuli.sets.values(), known.sets.values(), strict=True):
            assert set(ours) <= set(words), name
        met = test.source.of(test.stimuli)
        longest = max(len(m.text[slice(*m.span)]) for ms in met.values() for m in ms)
        assert longest < 30
    one = catalogue.resolve("sent-weat1")[0].stimuli
    assert [len(w) for w in one.sets.values()] == [25] * 4


def test_a_sentence_without_its_word_is_left_out_and_said(shared, tmp_path):
    content = json.loads(shared("seat/sent-weat6.jsonl").read_text())
    content["attr1"]["examples"].append("Nothing of the kind.")
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(content))
    test = seat.read_file(path, "mine", stimuli()["weat-6"])
    result = evaluate(tiny("bert"), "w-seat", test)
    assert "1 sentence in the file without any word of the test" in result.notes[0]


COUNTED = {  # sentences of the release: targets and attributes
    "c1-name": (350, 350, 272, 284),
    "c3-name": (224, 224, 272, 284),
    "c3-term": (195, 195, 272, 284),
    "c6-name": (56, 56, 106, 112),
    "c6-term": (86, 86, 106, 112),
    "c9-name": (112, 112, 28, 28),
    "c9-term": (48, 48, 28, 28),
    "dis-term": (161, 161, 900, 900),
    "i1-name": (84, 84, 52, 52),
    "i1-term": (315, 315, 52, 52),
    "occ-name": (182, 182, 160, 160),
    "occ-term": (86, 86, 160, 160),
}


@pytest.mark.parametrize("name", list(COUNTED))
def test_the_releases_own_sentences(name, shared):
    shared("wordsets/husse2022/C1_name_word.jsonl")
    words, both = catalogue.resolve(f"husse2022-{name}")
    met = words.source.of(words.stimuli)
    counts = tuple(sum(len(met[w]) for w in ws) for ws in words.stimuli.sets.values())
    assert counts == COUNTED[name]
    assert all(m.text[slice(*m.span)] == w for w, ms in met.items() for m in ms)
    assert words.about["as_pinned"] is True
    if name == "c6-name":
        assert len(both.items) == 32
        text = next(iter(both.items[0].texts.values())).string
        assert text == "John likes the executive."


def test_seat_sentences(shared):
    """The published files: sentences found by their words; thys2025's six run as a family."""
    shared("seat/sent-weat6.jsonl")
    (test,) = catalogue.resolve("sent-weat6")
    assert test.source.name == "sent-weat6.jsonl"
    met = test.source.of(test.stimuli)
    assert len(test.stimuli.sets["male-names"]) == 8
    assert all(m.text[slice(*m.span)] == "John" for m in met["John"])
    assert sum(len(m) for m in met.values()) == sum(
        len(s["examples"]) for s in json.loads(shared("seat/sent-weat6.jsonl").read_text()).values()
    )
    results = run([tiny("bert")], ["s-seat"], ["thys2025-seat"])
    assert len(results) == 6
    for name in seat_files():
        shared(f"seat/{name}.jsonl")
        assert catalogue.resolve(name)[0].stimuli.sets
