"""Tests of data/cards."""

import unmask
from unmask.data.cards import seat_files, sentence_sets
from unmask.data.packaged import bundled_pairs
from unmask.data.wordsets import matching, stimuli


def test_every_data_set_is_complete():
    for card in [*sentence_sets().values(), *seat_files().values()]:
        unmask.check_data(card)
    for test in stimuli().values():
        unmask.check_data(test)
    unmask.check_data(bundled_pairs())


def test_facts_of_word_tests_are_columns():
    assert [t.name for t in matching(concept="C6", named="names", size="full")] == ["husse-c6-name"]
    for test in stimuli().values():
        parts = test.name.partition("@")[0].split("-")
        if parts[0] == "husse":
            assert test.concept.lower() == parts[1]
            assert test.named == f"{parts[2]}s"
            assert test.size == (parts[-1] if parts[-1] in ("reduced", "simplified") else "full")
