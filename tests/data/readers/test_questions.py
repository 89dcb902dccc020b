"""Tests of data/readers/questions: UnQover."""

import pytest

from unmask.data.readers.questions import read_unqover
from unmask.errors import DataError


def files(tmp_path, template="[subj1] met [subj2].\t[mask] [p_act].\t[mask] [p_act:neg]."):
    parts = {
        "slots": f"# a remark\n{template}\n",
        "acts": "[p_act] rude | swore\n[p_act] rude | lied\n"
        "[p_act:neg] rude | sang\n[p_act:neg] rude | prayed\n",
        "subjects": "[subj] Ann\n[subj] Bob\n[subj] Eve\n",
        "men": "[subj] male | Bob\n[subj] male | Joe\n",
    }
    for name, text in parts.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in parts}


def test_two_subjects_in_both_orders_and_both_questions(tmp_path):
    at = files(tmp_path)
    data = read_unqover(at["slots"], at["acts"], at["subjects"], name="made")
    assert len(data.items) == 3 * 2
    texts = data.items[0].texts
    assert set(texts) == {f"{w}|{o}|{s}" for w in ("Ann", "Bob") for o in "12" for s in "qn"}
    assert texts["Ann|1|q"].string == "Ann met Bob. Ann swore."
    assert texts["Bob|2|n"].string == "Bob met Ann. Bob sang."
    ((start, end),) = texts["Bob|1|q"].spans["target"]
    assert texts["Bob|1|q"].string[start:end] == "Bob"
    assert start > 8


def test_two_lists_meet_across(tmp_path):
    at = files(tmp_path)
    data = read_unqover(at["slots"], at["acts"], at["men"], at["subjects"], name="made", most=2)
    assert {i.group_pair for i in data.items} == {"Bob/Ann", "Bob/Bob", "Joe/Ann", "Joe/Bob"}


def test_a_line_that_is_no_template_is_refused(tmp_path):
    at = files(tmp_path, "[subj1] met [subj2].")
    with pytest.raises(DataError, match="is not a context with two questions"):
        read_unqover(at["slots"], at["acts"], at["subjects"], name="made")
