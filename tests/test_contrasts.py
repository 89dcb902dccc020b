"""Sets that the development data lacks, on made files of the same format; the bundled pairs."""

import json
import re
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
import torch
import transformers

from conftest import made_tokenizer, make_net, tiny
from test_data import CROWS
from unmask.api import evaluate
from unmask.data import catalogue, controls, defects
from unmask.data.packaged import bundled_pairs
from unmask.data.readers import occupations, stereoset
from unmask.errors import DataError, NotApplicable
from unmask.flow.external_scores import score_file
from unmask.models.transformers.next_sentence import NextSentence

# ---------------------------------------------------------------- the package's own pairs


def test_the_bundled_pairs_cover_the_nine_types():
    data = bundled_pairs()
    counts = Counter(i.category for i in data.items)
    assert set(counts) == set(CROWS)
    assert len(data.items) >= 180
    assert min(counts.values()) >= 15
    assert len({i.id for i in data.items}) == len(data.items)


def test_the_bundled_pairs_differ_in_one_place_and_are_grammatical():
    data = defects.flagged(bundled_pairs())
    assert not [i.id for i in data.items if i.meta["flags"]]
    for item in data.items:
        for text in item.texts.values():
            ((a, b),) = text.spans["fill"]
            rest = text.string[:a] + text.string[b:]
            assert rest == item.meta["context"].replace("BLANK", "")
            assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiouh]", text.string), text.string
            assert re.fullmatch(r"[A-Z].*\.", text.string)


# ---------------------------------------------------------------- StereoSet, between sentences


def inter(folder, count=4):
    """Contexts with their continuations; no two contexts alike."""
    rows = []
    jobs = ("captain", "nurse", "teacher", "soldier", "judge", "farmer")
    for n in range(count):
        said = {
            "stereotype": f"She was tired of the {jobs[n]}.",
            "anti-stereotype": "He sat down at once.",
            "unrelated": "The window ran.",
        }
        rows.append(
            {
                "id": f"item{n}",
                "bias_type": ("gender", "race")[n % 2],
                "target": f"t{n % 3}",
                "context": f"The {jobs[n]} came in.",
                "sentences": [
                    {
                        "id": f"s{n}{g}",
                        "gold_label": g,
                        "sentence": s,
                        "labels": [{"label": g, "human_id": "x"}] * 5,
                    }
                    for g, s in said.items()
                ],
            }
        )
    path = folder / "dev.json"
    path.write_text(json.dumps({"version": "1.0", "data": {"intersentence": rows}}))
    return path


def test_continuations_are_read(tmp_path):
    data = stereoset.read_intersentence(inter(tmp_path))
    assert data.shape == "continuations"
    text = data.items[0].texts["stereotype"]
    parts = {k: text.string[slice(*s[0])] for k, s in text.spans.items()}
    assert parts == {
        "context": "The captain came in.",
        "continuation": "She was tired of the captain.",
    }
    assert data.items[3].cluster == "t0"
    with pytest.raises(DataError, match="intrasentence part"):
        stereoset.read_intrasentence(tmp_path / "dev.json")
    (tmp_path / "half.json").write_text('{"data": {"intrasentence": [], "intersentence": []}}')
    with pytest.raises(DataError, match="no intersentence items"):
        stereoset.read_intersentence(tmp_path / "half.json")


def test_continuations_score_as_a_plain_loop(tmp_path):
    """Causal: the mean of log p over the continuation; masked: one hidden token at a time."""
    data = stereoset.read_intersentence(inter(tmp_path))
    for family in ("gpt2", "bert"):
        model = tiny(family)
        result = evaluate(model, "cat-continue", data)
        assert {"lms", "icat"} <= set(result.extras)
        for row in result.items.itertuples():
            text = next(i for i in data.items if i.id == row.item).texts[row.label]
            encoded = model.codec.encode_text(text)
            where, values = encoded.roles["continuation"], []
            for place in where:
                ids = torch.tensor([encoded.ids])
                if family == "bert":
                    ids[0, place] = model.codec.mask_id
                with torch.no_grad():
                    logp = model.net(ids).logits[0].log_softmax(-1)
                at = place if family == "bert" else place - 1
                values.append(float(logp[at, encoded.ids[place]]))
            assert row.score == pytest.approx(torch.tensor(values).mean().exp().item(), rel=1e-5)
            words = re.findall(r"\w+|[^\w\s]", text.string[slice(*text.spans["continuation"][0])])
            assert len(where) >= len(words)


@pytest.fixture(scope="module")
def nsp_folder(tmp_path_factory):
    """A tiny BERT with both heads, saved as published checkpoints are."""
    folder = tmp_path_factory.mktemp("nsp")
    raw, _ = made_tokenizer("wordpiece")
    tokenizer = transformers.BertTokenizer(vocab=raw.get_vocab())
    config = make_net("bert", len(tokenizer), 0).config
    torch.manual_seed(1)
    net = transformers.BertForPreTraining(config)
    torch.nn.init.normal_(net.cls.seq_relationship.weight, std=2.0)
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_next_sentence_head_is_read_as_published(nsp_folder, tmp_path):
    data = stereoset.read_intersentence(inter(tmp_path, 6))
    result = evaluate(str(nsp_folder), "cat-nsp", data, tokens=40)
    net = transformers.BertForPreTraining.from_pretrained(nsp_folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(nsp_folder)
    assert result.accuracy is None
    for row in result.items.itertuples():
        text = next(i for i in data.items if i.id == row.item).texts[row.label]
        first, second = (text.string[slice(*text.spans[k][0])] for k in ("context", "continuation"))
        with torch.no_grad():
            out = net(**tokenizer(first, second, return_tensors="pt"))
        assert row.score == pytest.approx(
            float(out.seq_relationship_logits.softmax(-1)[0, 0]), rel=1e-5
        )
    assert result.items.score.nunique() > 6


def test_controls_of_continuations(tmp_path, nsp_folder):
    data = stereoset.read_intersentence(inter(tmp_path))
    mixed = controls.controlled(data, "shuffled").items[0].texts["stereotype"]
    plain = data.items[0].texts["stereotype"]
    a, b = plain.spans["continuation"][0]
    assert mixed.string[:a] == plain.string[:a]
    assert sorted(mixed.string[a:b].split()) == sorted(plain.string[a:b].split())
    assert evaluate(str(nsp_folder), "cat-nsp", controls.controlled(data, "shuffled")).overall.n
    other = controls.controlled(data, "unrelated")
    assert evaluate(tiny("bert"), "cat-continue", other).overall.n == 4


def test_continuations_that_do_not_fit_are_said(tmp_path, nsp_folder):
    data = stereoset.read_intersentence(inter(tmp_path))
    long = tuple(
        replace(i, texts={k: stereoset._after("tired " * 300, "He ran.") for k in i.texts})
        for i in data.items
    )
    with pytest.raises(DataError, match="longer than the model"):
        evaluate(str(nsp_folder), "cat-nsp", replace(data, items=long))
    assert NextSentence(None, 0).ask([], []).rows == 0


def test_a_model_without_the_head_is_told_what_to_use(tmp_path, nsp_folder):
    data = stereoset.read_intersentence(inter(tmp_path))
    with pytest.raises(NotApplicable, match="cat-continue"):
        evaluate("bundled", "cat-nsp", data)
    with pytest.raises(NotApplicable, match="cat-continue"):
        evaluate(tiny("roberta"), "cat-nsp", data)
    with pytest.raises(NotApplicable, match="cat-continue, cat-nsp"):
        evaluate(tiny("bert"), "aul", data)


def test_own_scores_of_continuations(tmp_path, monkeypatch):
    (tmp_path / "stereoset").mkdir()
    inter(tmp_path / "stereoset")
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    scores = {"stereotype": 0.9, "anti-stereotype": 0.5, "unrelated": 0.1}
    rows = [{"id": f"s{n}{g}", "score": s} for n in range(4) for g, s in scores.items()]
    (tmp_path / "p.json").write_text(json.dumps({"intersentence": rows}))
    found = score_file(tmp_path / "p.json", "stereoset-intersentence")
    assert (found.overall.value, found.extras["lms"].value) == (100.0, 100.0)


# ---------------------------------------------------------------- WinoBias, Winogender, BEC-Pro


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
    assert {i.side for i in test.items if i.cluster == "driver"} == {"A"}
    text = test.items[0].texts["x:my uncle"]
    assert text.string[slice(*text.spans["target"][0])] == "My uncle"
    with pytest.raises(DataError, match="two words a side; here are 1 and 1"):
        evaluate(tiny("bert"), "lpbs", test)


def test_sets_by_hand_say_where_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"download .*all_sentences\.tsv and occupations-stats"):
        catalogue.sentences("winogender")
    (tmp_path / "winobias").mkdir()
    winobias(tmp_path / "winobias")
    result = evaluate(tiny("bert"), "aul", "winobias-type1")
    assert result.provenance["data"]["as_pinned"] is None
    assert result.overall.n == 4


# ---------------------------------------------------------------- users' files


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_users_file_in_every_form(tmp_path, suffix):
    frame = pd.DataFrame(
        {
            "stereotype": ["She was late.", "A, b."],
            "antistereotype": ["He was late.", "A, c."],
            "category": ["x", "y"],
        }
    )
    path = tmp_path / f"mine{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    data = catalogue.sentences(str(path))
    assert [i.texts["antistereotype"].string for i in data.items] == ["He was late.", "A, c."]
    assert [i.category for i in data.items] == ["x", "y"]


def test_quotes_in_a_tsv_and_odd_line_ends(tmp_path):
    path = tmp_path / "q.tsv"
    path.write_text('stereotype\tantistereotype\n"Yes," she said.\t"Yes," he said.\nA.\tB.\n')
    data = catalogue.sentences(str(path))
    assert data.items[0].texts["stereotype"].string == '"Yes," she said.'
    assert len(data.items) == 2
    path.write_text("stereotype\tantistereotype\nShe ran.\n")
    with pytest.raises(DataError, match="line 2 has 1 fields and the header 2"):
        catalogue.sentences(str(path))
    lines = tmp_path / "l.jsonl"
    row = {"stereotype": "She\u2028ran.", "antistereotype": "He ran."}
    lines.write_text(json.dumps(row, ensure_ascii=False) + "\n")
    assert len(catalogue.sentences(str(lines)).items) == 1


def test_a_broken_parquet_file_is_one_sentence(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(DataError, match="not a parquet file"):
        catalogue.sentences(str(path))
