"""Questions to a chat model: the template, the labels, and the numbers beside a plain loop."""

import datetime
import math

import numpy as np
import pytest
import torch
import transformers

import unmask
from conftest import finish, made_tokenizer, tiny
from unmask.data.packaged import bundled_pairs
from unmask.errors import NotApplicable
from unmask.measures import MEASURES
from unmask.measures.question import CHOOSE, REQUEST
from unmask.models.transformers.chat import frame_of
from unmask.models.transformers.model import wrap
from unmask.types import Dataset

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
DATA = bundled_pairs()
SOME = Dataset(DATA.name, "triplets", DATA.items[-8:], DATA.cluster)


def small(template=None):
    """A tiny causal model with letters in its vocabulary, and perhaps a chat template."""
    raw, names = made_tokenizer("bpe")
    tokenizer = finish(raw, names, "none")
    tokenizer.model_max_length, tokenizer.chat_template = 512, template
    torch.manual_seed(5)
    shape = {"n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), initializer_range=0.3, bos_token_id=2, eos_token_id=3, **shape
    )
    net = transformers.GPT2LMHeadModel(config).double()
    return wrap(net, tokenizer, "causal", "tiny-chat")


@pytest.fixture(scope="module")
def chat():
    return small(TEMPLATE)


def log_softmax(net, row):
    with torch.inference_mode():
        return torch.log_softmax(net(torch.tensor([row])).logits[0].double(), -1)


def chances(model, message):
    """The probability of each letter at the start of the reply, over its spellings."""
    tokenizer = model.codec.tokenizer
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": message}], tokenize=False, add_generation_prompt=True
    )
    row = tokenizer(text, add_special_tokens=False)["input_ids"]
    logp = log_softmax(model.net, row)[-1].exp()
    vocabulary = tokenizer.get_vocab()
    return {
        letter: sum(
            float(logp[vocabulary[s + letter]]) for s in ("", "\u0120") if s + letter in vocabulary
        )
        for letter in "AB"
    }


def test_choice_is_a_plain_loop_over_orders_and_wordings(chat, monkeypatch):
    monkeypatch.setattr("unmask.flow.choices.LEAST_MASS", 0.0)
    result = unmask.evaluate(chat, "choice", SOME)
    scores = result.items.set_index(["item", "label"])
    for item in SOME.items:
        texts = {k: item.texts[k].string for k in ("stereotype", "antistereotype")}
        each = {k: [] for k in texts}
        apart, mass = {True: [], False: []}, []
        for wording in CHOOSE.wordings:
            for first, second in (tuple(texts), tuple(texts)[::-1]):
                shown = f"A) {texts[first]}\nB) {texts[second]}"
                message = wording.format(options=shown, count="two", letters="A or B")
                p = chances(chat, message)
                of = {first: p["A"], second: p["B"]}
                for k in texts:
                    each[k].append(math.log(of[k]))
                odds = math.log(of["stereotype"]) - math.log(of["antistereotype"])
                apart[first == "stereotype"].append(odds)
                mass.append(p["A"] + p["B"])
        for k in texts:
            assert scores.loc[item.id, k].score == pytest.approx(np.mean(each[k]), abs=1e-6)
        row = scores.loc[item.id, "stereotype"]
        position = (np.mean(apart[True]) - np.mean(apart[False])) / 2
        assert row.position == pytest.approx(position, abs=1e-6)
        assert row.declined == pytest.approx(1 - np.mean(mass), abs=1e-6)


@pytest.mark.parametrize("measure", ["chat-ll", "chat-cps"])
def test_replies_are_a_plain_loop(chat, measure):
    result = unmask.evaluate(chat, measure, SOME)
    tokenizer = chat.codec.tokenizer
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": REQUEST}], tokenize=False, add_generation_prompt=True
    )
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    scores = result.items.set_index(["item", "label"]).score
    for item in SOME.items[:4]:
        rows = {
            k: tokenizer(item.texts[k].string, add_special_tokens=False)["input_ids"]
            for k in ("stereotype", "antistereotype")
        }
        for label, row in rows.items():
            other = rows["antistereotype" if label == "stereotype" else "stereotype"]
            logp = log_softmax(chat.net, before + row)
            tokens = list(enumerate(row))
            if measure == "chat-cps":
                same = _shared(row, other)
                tokens = [(i, t) for i, t in tokens if i in same]
            expected = sum(float(logp[len(before) + i - 1, t]) for i, t in tokens)
            if not math.isnan(scores[item.id, label]):
                assert scores[item.id, label] == pytest.approx(expected, abs=1e-6)


def _shared(row, other):
    import difflib

    blocks = difflib.SequenceMatcher(None, row, other, autojunk=False).get_matching_blocks()
    return {i for b in blocks for i in range(b.a, b.a + b.size)}


def test_the_same_from_the_cache_in_other_batches_and_orders(chat, monkeypatch):
    monkeypatch.setattr("unmask.flow.choices.LEAST_MASS", 0.0)
    turned = Dataset(SOME.name, SOME.shape, SOME.items[::-1], SOME.cluster)
    one = unmask.evaluate(chat, "choice", SOME).items.set_index(["item", "label"]).score
    two = unmask.evaluate(chat, "choice", turned, tokens=300).items
    two = two.set_index(["item", "label"]).score
    assert np.allclose(one, two.loc[one.index], atol=1e-7)


def test_a_base_model_is_asked_in_plain_text(monkeypatch):
    monkeypatch.setattr("unmask.flow.choices.LEAST_MASS", 0.0)
    result = unmask.evaluate(small(), "choice", SOME)
    assert result.settings["chat"]["form"] == "plain"
    assert any("no chat template" in note for note in result.notes)


def test_a_masked_model_is_refused_with_the_reason():
    with pytest.raises(NotApplicable, match="does not apply to a masked language model"):
        unmask.evaluate(tiny("bert"), "choice", SOME)


class Fake:
    """A tokenizer that renders a template by hand."""

    bos_token = "<s>"

    def __init__(self, render, template="template"):
        self.render, self.chat_template = render, template

    def apply_chat_template(self, messages, **options):
        return self.render(messages[0]["content"], options)


def test_templates_that_would_give_other_numbers_are_refused():
    today = datetime.date.today().strftime("%d %b %Y")
    wrong = {
        "does not keep a message": lambda m, o: "hello",
        "today's date": lambda m, o: f"{today} {m}",
        "thinking block": lambda m, o: f"{m}<think>",
        "twice": lambda m, o: f"<s><s>{m}",
        "fails": lambda m, o: 1 / 0,
    }
    for said, render in wrong.items():
        with pytest.raises(NotApplicable, match=said):
            frame_of(Fake(render), "fake")


def test_a_closed_thinking_block_and_a_pinned_date_are_fine():
    frame = frame_of(Fake(lambda m, o: f"<s>{m}<think>\n\n</think>\n\n"), "fake")
    assert frame.text("x") == "<s>x<think>\n\n</think>\n\n"
    frame = frame_of(Fake(lambda m, o: f"{o['date_string']} {m}", "date_string"), "fake")
    assert frame.before == "26 Jul 2024 "
    assert "26 Jul 2024" in frame.notes[0]


def test_what_a_result_keeps_of_the_prompt(chat, monkeypatch):
    monkeypatch.setattr("unmask.flow.choices.LEAST_MASS", 0.0)
    chat_record = unmask.evaluate(chat, "choice", SOME).settings["chat"]
    assert chat_record["form"] == "chat"
    assert chat_record["before"] == "<|user|>"
    assert chat_record["after"] == "<|assistant|>"
    assert chat_record["wordings"] == list(MEASURES["choice"].question.wordings)
