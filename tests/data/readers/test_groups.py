"""Tests of data/readers/groups: CBS, DisCo and HolisticBias."""

import json

import pytest

from conftest import shared_file
from unmask.data import catalogue
from unmask.data.readers.groups import disco, phrases_of


@pytest.fixture
def field_data(monkeypatch):
    monkeypatch.setenv("UNMASK_DATA", str(shared_file("field").parent))


@pytest.mark.parametrize(
    ("language", "items", "groups"),
    [("en", 700, 35), ("de", 350, 35), ("zh", 350, 35), ("ar", 700, 30), ("ko", 700, 35)],
)
def test_templates_with_every_country_and_occupation(language, items, groups, field_data):
    (data,) = catalogue.resolve(f"cbs-{language}")
    assert len(data.items) == items
    assert {len(i.texts) for i in data.items} == {groups}
    text = next(iter(data.items[0].texts.values()))
    for role in ("target", "attribute"):
        ((start, end),) = text.spans[role]
        assert text.string[start:end].strip()


def test_english_frames_with_a_plural_have_one(field_data):
    item = next(i for i in catalogue.sentences("cbs-en").items if i.id == "0/secretary")
    assert item.texts["canada"].string == "People from canada are secretaries."


def test_disco_has_a_sentence_for_each_person():
    data = disco([("king", "queen"), ("lord", "lady")], "made", article="The ")
    assert len(data.items) == 14
    assert data.items[0].texts["woman|1 lady"].string == "The lady is it."
    assert data.items[11].texts["man|0 king"].string == "it was the king's major at college."


def test_gendered_nouns_stand_once_with_the_man_first(field_data):
    (data,) = catalogue.resolve("disco-nouns")
    labels = list(data.items[0].texts)
    pairs = [(labels[k][4:].split(" ", 1)[1], labels[k + 1][6:].split(" ", 1)[1])
             for k in range(0, len(labels), 2)]  # fmt: skip
    assert ("actor", "actress") in pairs
    assert len({frozenset(p) for p in pairs}) == len(pairs) > 80


@pytest.mark.parametrize(
    ("version", "used", "every"), [("1.0", 460_980, 472_991), ("1.1", 549_120, 566_625)]
)
def test_holistic_sentences_are_as_many_as_the_release_makes(version, used, every):
    folder = shared_file(f"field/holisticbias/v{version}")
    names = ("descriptors", "nouns", "standalone_noun_phrases", "sentence_templates")
    read = [json.loads((folder / f"{n}.json").read_text()) for n in names]
    phrases = list(phrases_of(*read[:3]))
    must = [bool(t.get("must_be_noun")) for t in read[3].values()]
    assert (
        sum(not m or p.sort not in ("descriptor", "fixed") for p in phrases for m in must) == every
    )
    kept = [p for p in phrases if p.sort.endswith(("_noun", "_descriptor")) and not p.gendered]
    assert len(kept) * len(must) == used


def test_the_small_set_has_a_hundred_descriptors(field_data):
    (data,) = catalogue.resolve("holisticbias-1.0-small")
    descriptors = {label.split("|")[0] for i in data.items for label in i.texts}
    assert 90 <= len(descriptors) <= 100  # an axis with one of them has no pair
    assert catalogue.shape(data) == "frames"
    texts = {t.string for i in data.items for t in i.texts.values()}
    assert not any("{" in t for t in texts)
