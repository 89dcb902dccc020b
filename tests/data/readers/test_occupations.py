"""Tests of data/readers/occupations."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from conftest import shared_file, tiny
from unmask.api import evaluate
from unmask.data import cards, catalogue
from unmask.data.readers import occupations
from unmask.errors import DataError


def winobias(folder):
    pro = [
        "1 [The driver] thanked the clerk because [he] was kind.",
        "2 The driver thanked [the clerk] and paid [her] well.",
    ]
    anti = [pro[0].replace("[he]", "[she]"), pro[1].replace("[her]", "[him]")]
    for split in ("dev", "test"):
        for name, some in (("pro", pro), ("anti", anti)):
            (folder / f"{name}_stereotyped_type1.txt.{split}").write_text("\n".join(some) + "\n")
    return folder / "pro_stereotyped_type1.txt.test"


def test_winobias(tmp_path):
    data = occupations.read_winobias(winobias(tmp_path), "winobias-type1")
    assert [i.id for i in data.items] == ["dev/0", "dev/1", "test/0", "test/1"]
    item = data.items[0]
    assert item.texts["stereotype"].string == "The driver thanked the clerk because he was kind."
    assert item.texts["antistereotype"].string.endswith("because she was kind.")
    assert [(i.category, i.cluster) for i in data.items[:2]] == [
        ("male", "driver"),
        ("female", "clerk"),
    ]
    anti = tmp_path / "anti_stereotyped_type1.txt.test"
    said = anti.read_text()
    anti.write_text(said.replace("was kind", "was very kind"))
    data = occupations.read_winobias(tmp_path / "pro_stereotyped_type1.txt.test", "x")
    assert len(data.items) == 3
    assert data.about["left_out"]["more than the pronoun differs"] == 1
    anti.write_text(said.replace("[him]", "[her]"))
    data = occupations.read_winobias(tmp_path / "pro_stereotyped_type1.txt.test", "x")
    assert data.about["left_out"]["same sentence twice"] == 1
    for split in ("dev", "test"):
        (tmp_path / f"anti_stereotyped_type1.txt.{split}").write_text("A b.\nC d.\n")
    with pytest.raises(DataError, match="more than pronouns"):
        occupations.read_winobias(tmp_path / "pro_stereotyped_type1.txt.test", "x")
    (tmp_path / "anti_stereotyped_type1.txt.test").write_text("1 [A] saw [her].\n")
    with pytest.raises(DataError, match="parallel"):
        occupations.read_winobias(tmp_path / "pro_stereotyped_type1.txt.test", "x")
    (tmp_path / "anti_stereotyped_type1.txt.test").unlink()
    with pytest.raises(DataError, match="needs both files"):
        occupations.read_winobias(tmp_path / "pro_stereotyped_type1.txt.test", "x")


def test_winogender(tmp_path):
    lines = ["sentid\tsentence"]
    for job in ("clerk", "driver"):
        for answer in (0, 1):
            for gender, word in (("male", "he"), ("female", "she"), ("neutral", "they")):
                lines.append(
                    f"{job}.guest.{answer}.{gender}.txt\tThe {job} told the guest that {word} ran."
                )
    path = tmp_path / "all_sentences.tsv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"occupations-stats\.tsv is missing"):
        occupations.read_winogender(path)
    (tmp_path / "occupations-stats.tsv").write_text(
        "occupation\tbergsma_pct_female\tbls_pct_female\tbls_year\n"
        "clerk\t50\t72.5\t2015\ndriver\t10\t5.1\t2015\n"
    )
    data = occupations.read_winogender(path)
    said = {i.cluster: i.texts["stereotype"].string for i in data.items}
    assert said == {
        "clerk": "The clerk told the guest that she ran.",
        "driver": "The driver told the guest that he ran.",
    }
    assert data.about["left_out"] == {"neutral pronoun": 2, "pronoun means the participant": 6}


def bec(folder):
    rows = []
    for template in ("<person> is a <profession>.", "<person> works as a <profession>."):
        for job, side in (("clerk", "female"), ("driver", "male"), ("baker", "balanced")):
            for person, gender in (
                ("he", "male"),
                ("she", "female"),
                ("my uncle", "male"),
                ("my aunt", "female"),
            ):
                said = template.replace("<person>", person).replace("<profession>", job)
                rows.append(
                    {
                        "Sentence": said[0].upper() + said[1:],
                        "Sent_TM": "",
                        "Sent_AM": "",
                        "Sent_TAM": "",
                        "Template": template,
                        "Person": person,
                        "Gender": gender,
                        "Profession": job,
                        "Prof_Gender": side,
                    }
                )
    path = folder / "BEC-Pro_EN.tsv"
    pd.DataFrame(rows).to_csv(path, sep="\t")
    return path


def test_bec_pro_as_pairs_and_as_templates(tmp_path):
    path = bec(tmp_path)
    data = occupations.read_bec_pro(path)
    assert len(data.items) == 8
    assert data.about["left_out"] == {"balanced": 8}
    item = next(i for i in data.items if i.id == "0/clerk/he")
    assert [t.string for t in item.texts.values()] == ["She is a clerk.", "He is a clerk."]
    test = occupations.read_bec_pro_templates(path)
    assert len(test.items) == 4
    assert {i.group for i in test.items if i.cluster == "driver"} == {"A"}
    text = test.items[0].texts["x:my uncle"]
    assert text.string[slice(*text.spans["target"][0])] == "My uncle"
    with pytest.raises(DataError, match="two words per set, and the sets have 1 and 1"):
        evaluate(tiny("bert"), "lpbs", test)


def test_sets_by_hand_say_where_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"download crows_pairs_de\.csv from https://gitlab"):
        catalogue.sentences("crows-pairs-de")
    (tmp_path / "multilingual").mkdir()
    header = ",sent_more,sent_less,stereo_antistereo,bias_type\n"
    rows = "".join(f"{n},She is a maid.,He is a maid.,stereo,gender\n" for n in range(4))
    (tmp_path / "multilingual" / "crows_pairs_de.csv").write_text(header + rows)
    result = evaluate(tiny("bert"), "aul", "crows-pairs-de")
    assert result.provenance["data"]["as_pinned"] is None
    assert result.overall.n == 4


def test_word_tests_of_another_language_fill_from_the_users_copy(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    with pytest.raises(DataError, match="weathub"):
        catalogue.resolve("weathub-de")
    folder = tmp_path / "weathub" / "de_human"
    folder.mkdir(parents=True)
    sets = {
        "targ1": {"category": "Mathe", "examples": ["Algebra", "Zahl"]},
        "targ2": {"category": "Kunst", "examples": ["Tanz", "Lied"]},
        "attr1": {"category": "Mann", "examples": ["er", "Sohn"]},
        "attr2": {"category": "Frau", "examples": ["sie", "Tochter", "sie"]},
    }
    for name in ("weat1", "weat7"):
        (folder / f"{name}.json").write_text(json.dumps(sets))
    tests = catalogue.resolve("weathub-de")
    assert [t.name for t in tests] == ["weathub-de-weat1", "weathub-de-weat7"]
    assert tests[0].stimuli.attributes["Frau"] == ("sie", "Tochter")
    sets["attr2"]["examples"] = 3
    (folder / "weat7.json").write_text(json.dumps(sets))
    with pytest.raises(DataError, match="is not a word test"):
        catalogue.resolve("weathub-de")


def test_a_pinned_file_of_another_size_is_refused(tmp_path, monkeypatch):
    copies = tmp_path / "winogender"
    copies.mkdir()
    for name in ("all_sentences.tsv", "occupations-stats.tsv"):
        text = shared_file(f"field/winogender/{name}").read_text()
        (copies / name).write_text(text)
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    assert len(catalogue.sentences("winogender").items) == 120
    card = cards.sentence_sets()["winogender"]
    monkeypatch.setattr(catalogue, "sentence_sets", lambda: {"winogender": replace(card, items=7)})
    with pytest.raises(DataError, match="has 120 items instead of 7"):
        catalogue.sentences("winogender")
