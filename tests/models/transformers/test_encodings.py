"""Tests of models/transformers/encodings."""

import pytest
import torch

from conftest import tiny
from unmask.api import evaluate
from unmask.errors import NotApplicable
from unmask.models.batches import Budget
from unmask.models.transformers import encodings
from unmask.text.contexts import Mention, VectorRequest
from unmask.types import Stimuli

SENTENCES = [
    Mention("The nurse met a person who is deaf.", (14, 34)),
    Mention("The captain said that the captain was tired", (26, 33)),  # occurs twice
    Mention("They were all tired", (14, 19)),  # at the end
    Mention("housekeeper", (0, 11)),
    Mention("An emotional librarian was late because she had missed it.", (3, 12)),
]


@pytest.mark.parametrize("family", ["bert", "gpt2", "albert", "xlnet", "modernbert", "opt"])
@pytest.mark.parametrize("pool", ["cls", "last", "mean", "word-mean", "word-first", "word-last"])
def test_poolings_equal_a_plain_loop(family, pool):
    """One sentence at a time, characters to tokens by hand through the offsets."""
    model = tiny(family)
    tokenizer = model.codec.tokenizer
    found = model.vectors(budget=Budget(tokens=60)).embed(
        [VectorRequest(m, pool) for m in SENTENCES]
    )
    for mention, vector in zip(SENTENCES, found, strict=True):
        batch = tokenizer(mention.text, return_offsets_mapping=True)
        ids, offsets = batch["input_ids"], batch["offset_mapping"]
        special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
        content = [i for i, t in enumerate(ids) if t not in special]
        start, end = mention.span
        word = [i for i in content if offsets[i][0] < end and offsets[i][1] > start]
        cls = ids.index(tokenizer.cls_token_id) if tokenizer.cls_token_id in ids else 0
        places = {
            "cls": [cls],
            "last": content[-1:],
            "mean": content,
            "word-mean": word,
            "word-first": word[:1],
            "word-last": word[-1:],
        }[pool]
        with torch.no_grad():
            types = {}
            if family == "xlnet":  # <cls> stands last and is of segment 2
                types = {"token_type_ids": torch.tensor([[*[0] * (len(ids) - 1), 2]])}
            states = model.net.base_model(input_ids=torch.tensor([ids]), **types)[0][0]
        expected = states[places].mean(0).double().numpy()
        close = 1e-5 if family in ("xlnet", "modernbert") else 1e-10
        assert vector == pytest.approx(expected, abs=close)


def test_layers_and_each_sentence_once():
    model = tiny("bert")
    wanted = [VectorRequest(m, p) for m in SENTENCES for p in ("cls", "word-mean", "mean")]
    runs = []
    handle = model.net.base_model.register_forward_hook(
        lambda module, args, kwargs, out: runs.append(kwargs["input_ids"].shape[0]),
        with_kwargs=True,
    )
    model.vectors().embed(wanted)
    handle.remove()
    assert sum(runs) == len(SENTENCES)
    first = model.vectors(layer=0).embed(wanted[:1])
    ids = torch.tensor([model.codec.tokenizer(SENTENCES[0].text)["input_ids"]])
    with torch.no_grad():
        embedded = model.net.base_model.embeddings(ids)[0, 0].numpy()
    assert first[0] == pytest.approx(embedded)
    with pytest.raises(NotApplicable, match="no layer 9; it has -3 to 2"):
        evaluate(model, "w-seat", SMALL, layer=9)


def test_published_encodings():
    model = tiny("bert")
    tok = model.codec.tokenizer
    mention = Mention("This is a nurse.", (10, 15))
    ids = tok(mention.text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        bare = model.net.base_model(input_ids=torch.tensor([ids]))[0][0]
    found = model.vectors().embed([VectorRequest(mention, "first", "no-specials")])
    assert found[0] == pytest.approx(bare[0].numpy(), abs=1e-10)
    pieces = [p for w in mention.text[:-1].split(" ") for p in model.codec.pieces(w)]
    row = [tok.cls_token_id, *pieces]  # no [SEP], no period
    at = len(row) - len(model.codec.pieces("nurse"))
    with torch.no_grad():
        states = model.net.base_model(input_ids=torch.tensor([row]))[0][0]
    found = model.vectors().embed([VectorRequest(mention, "word-first", "tan2019")])
    assert found[0] == pytest.approx(states[at].numpy(), abs=1e-10)
    gpt = tiny("gpt2")
    pieces = [p for w in mention.text[:-1].split(" ") for p in gpt.codec.pieces(w)]
    at = len(pieces) - len(gpt.codec.pieces("nurse"))
    with torch.no_grad():
        states = gpt.net.base_model(input_ids=torch.tensor([[*pieces, 0]]))[0][0]
    found = gpt.vectors().embed([VectorRequest(mention, "after-word", "tan2019")])
    assert found[0] == pytest.approx(states[at + 1].numpy(), abs=1e-10)  # one place too late


SMALL = Stimuli(
    "small",
    {"x": ("nurse", "maid", "dancer"), "y": ("judge", "captain", "banker")},
    {"a": ("gentle", "kind"), "b": ("strong", "brave", "clever")},
    forms=dict.fromkeys(("nurse", "maid", "dancer", "judge", "captain", "banker"), "singular"),
)


def test_published_readings_of_words():
    """husse2022 counts places in words; guo2021 keeps nine words and finds the last piece."""
    model = tiny("bert")
    codec = model.codec
    # "housekeeper" has several pieces, so that a later word's number is not its place
    row = encodings.husse2022(codec, Mention("The housekeeper is tired.", (19, 24)))
    assert row.roles["word"] == (4,)
    usual = encodings.usual(codec, Mention("The housekeeper is tired", (19, 24)))
    assert usual.roles["word"][0] > 4
    assert row.ids == usual.ids
    own = encodings.husse2022(codec, Mention("The housekeeper is tired.", (4, 15)))
    assert (
        own.roles["word"]
        == encodings.usual(codec, Mention("The housekeeper is", (4, 15))).roles["word"]
    )
    two = encodings.husse2022(codec, Mention("This is a tired nurse.", (10, 21)))
    assert two.roles["word"] == (4, 5)  # as many places as words, from the first one's number
    text = "one two three four five six the nurse said that it was late"
    near = encodings.guo2021(codec, Mention(text, (32, 37)))
    kept = codec.pieces("four five six the nurse said that it")  # four before, three behind
    assert near.ids == kept
    assert near.ids[near.roles["word"][0]] == codec.pieces("nurse")[-1]
    assert not near.specials
    early = encodings.guo2021(codec, Mention(text, (0, 3)))
    assert early.ids == codec.pieces(" ".join(text.split()[:9]))
