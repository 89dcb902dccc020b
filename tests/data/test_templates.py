"""Tests of data/templates."""

from unmask.data import templates
from unmask.data.wordsets import stimuli


def test_lpbs_templates_from_word_sets():
    data = templates.from_stimuli(stimuli()["husse-c6-name"])
    texts = {t.string for i in data.items for t in i.texts.values()}
    assert "John likes the office." in texts
    assert templates.has_templates(stimuli()["husse-occ-term"])
    assert not templates.has_templates(stimuli()["weat-1"])
