"""Tests of text/contexts."""

import json
import re

import pytest

from unmask.data.cards import seat_files
from unmask.data.packaged import packaged
from unmask.data.wordsets import stimuli
from unmask.errors import DataError
from unmask.text import contexts, inflection
from unmask.text.contexts import Mention


def sentences_of(test):
    for word, mentions in contexts.templates(test).items():
        yield from ((word, m.text) for m in mentions)


def test_every_word_stands_in_a_sentence_of_its_form():
    """No countable noun without an article, no plural with 'is', no adjective with 'a'."""
    singular, plural = set(), set()
    for test in stimuli().values():
        singular |= {w for w, form in test.forms.items() if form == "singular"}
        plural |= {w for w, form in test.forms.items() if form == "plural"}
    assert not singular & plural
    pronouns = {
        "he": "subject",
        "she": "subject",
        "him": "object",
        "her": "object",
        "his": "possessive",
        "hers": "possessive",
    }
    for test in stimuli().values():
        for word, form in test.forms.items():
            where = f"{test.name}: {word} is {form}"
            assert form == pronouns.get(word, form), where
            assert not (form == "bare" and word in singular | plural), where
            assert form == "plural" or not singular & set(inflection.singulars(word)), where
        for word, text in sentences_of(test):
            assert text[0].isupper() or not text[0].isalpha()
            assert not re.search(r"\ba [aeio]", text), text
            assert not re.search(r"\ban [^aeiouhAEIOUH]", text), text
            if test.forms[word] == "plural":
                assert not re.search(r"\b(is|This|That|It)\b", text), text
    said = {
        text for test in ("weat-6", "weat-7", "weat-8") for _, text in sentences_of(stimuli()[test])
    }
    assert {
        "This is a man.",
        "These are equations.",
        "This is for him.",
        "Here he is.",
        "This is an office.",
        "This is an uncle.",
        "This is poetry.",
    } <= said
    wrong = {"This is man.", "This is equations.", "This is him.", "This is office."}
    assert not said & wrong


def test_forms_agree_with_the_sentences_of_seat(shared):
    """Where the published files put an article, so do we; their own oddities are named."""
    odd = {"management", "influenza"}  # 'a management', 'an influenza'
    for name, card in seat_files().items():
        shared(f"seat/{name}.jsonl")
        content = json.loads(shared(f"seat/{name}.jsonl").read_text())
        lines = [s for part in content.values() for s in part["examples"]]
        articled = {m[1] for s in lines if (m := re.fullmatch(r"(?:This|It) is an? (.*)\.", s))}
        test = stimuli().get(packaged_words(card.name))
        for word, form in test.forms.items():
            if word in articled - odd:
                assert form in ("singular", "person") or "religion" in name, f"{name}: {word}"


def packaged_words(name):
    return next(r["words"] for r in packaged("seat.json")["files"] if r["file"] == f"{name}.jsonl")


@pytest.mark.parametrize(
    ("word", "many"),
    [
        ("poppy", "poppies"),
        ("fly", "flies"),
        ("caress", "caresses"),
        ("crash", "crashes"),
        ("business", "businesses"),
        ("family", "families"),
        ("child", "children"),
        ("boy", "boys"),
        ("illness", "illnesses"),
        ("symphony", "symphonies"),
        ("white woman", "white women"),
        ("rose", "roses"),
        ("man", "men"),
        ("virus", "viruses"),
    ],
)
def test_plurals(word, many):
    assert inflection.plural(word) == many
    assert word in inflection.singulars(many)
    assert many in inflection.forms(word)
    assert word in inflection.forms(many)


def test_articles():
    assert contexts.article("ant") == "an"
    assert contexts.article("European American man") == "a"
    assert contexts.article("heir") == "an"
    assert contexts.article("rose") == "a"
    assert contexts.fill("This is a {word}.", "ant").text == "This is an ant."
    assert contexts.fill("{word} is here.", "roses") == Mention("Roses is here.", (0, 5))
    with pytest.raises(DataError, match="0 slots"):
        contexts.fill("This is.", "ant")


def test_templates_follow_the_form_and_mark_the_word():
    for name in ("weat-1", "husse-dis-term", "husse-c1-name"):
        test = stimuli()[name]
        for word, mentions in contexts.templates(test).items():
            assert len({m.text for m in mentions}) == len(mentions)
            for m in mentions:
                assert m.text[slice(*m.span)].lower() == word.lower()


def test_stored_and_given_contexts(tmp_path):
    path = tmp_path / "c.jsonl"
    row = {"stimulus": "rose", "sentence": "A rose is a rose.", "span": [2, 6]}
    path.write_text(json.dumps(row) + "\n")
    found = contexts.stored(path).of(stimuli()["weat-1"])
    assert found == {"rose": (Mention("A rose is a rose.", (2, 6)),)}
    path.write_text(json.dumps({"stimulus": "rose", "sentence": "A rose."}))
    with pytest.raises(DataError, match="row 1 is not a context"):
        contexts.stored(path)
    with pytest.raises(DataError, match="no context store"):
        contexts.stored(tmp_path / "nowhere")
    lines = ["This is a wheelchair user.", "He is a user.", "They are users.", "Nothing."]
    forms = {"user": "user", "users": "user", "a wheelchair user": "a wheelchair user"}
    used, met, lost = contexts.from_sentences({"f": lines}, {"f": forms})
    assert used == {"f": ("a wheelchair user", "user")}
    assert met["a wheelchair user"][0].span == (8, 25)
    assert [m.text[slice(*m.span)] for m in met["user"]] == ["user", "users"]
    assert lost == 1
