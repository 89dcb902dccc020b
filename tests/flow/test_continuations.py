"""Tests of flow/continuations."""

import json
import re
from dataclasses import replace

import pytest
import torch
import transformers

from conftest import made_tokenizer, make_net, tiny
from data_lines import inter
from unmask.api import evaluate
from unmask.data import controls
from unmask.data.readers import stereoset
from unmask.errors import DataError, NotApplicable
from unmask.flow.external_scores import score_file
from unmask.models.transformers.next_sentence import NextSentence


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
