"""Tests of models/transformers/tokenizer."""

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from conftest import SORT, tiny
from unmask.data.packaged import bundled_pairs
from unmask.models.transformers import tokenizer as module
from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.types import Text


@pytest.mark.parametrize("family", list(SORT))
def test_tokens_are_those_of_the_tokenizer_itself(family):
    """Encoding in one batch through the backend equals the tokenizer's own call, one by one."""
    codec = tiny(family).codec
    strings = [t.string for i in bundled_pairs().items[::40] for t in i.texts.values()]
    strings += ["Ünïcode, twice  spaced", "a", "Word-by-word 's [MASK] <mask> 1,000!", "…"]
    for string in strings:
        plain = codec.tokenizer(string, return_special_tokens_mask=True)
        found = codec.encode_texts([Text(string)], [("", "", "")], start=False)[0]
        assert list(found.ids) == plain["input_ids"]
        special = {i for i, s in enumerate(plain["special_tokens_mask"]) if s}
        assert set(found.specials) == special
        assert list(found.content) == [i for i in range(len(found.ids)) if i not in special]
        assert list(found.words) == [-1 if w is None else w for w in plain.word_ids()]


def test_several_threads_write_what_one_does(monkeypatch):
    """More strings than one thread is given, in their order; each thread has a part."""
    codec = tiny("bert").codec
    strings = [f"Number {n} was late." for n in range(47)]
    alone = [codec.encode(string) for string in strings]
    asked = []
    encode_batch = type(codec.tokenizer.backend_tokenizer).encode_batch

    class Backend:
        def encode_batch(self, part, **options):
            asked.append(len(part))
            return encode_batch(codec.tokenizer.backend_tokenizer, part, **options)

    monkeypatch.setattr(module, "WORTHWHILE", 10)
    monkeypatch.setattr(module.os, "cpu_count", lambda: 16)
    found = module._encodings(Backend(), strings)
    assert sorted(asked) == [7, 10, 10, 10, 10]
    assert [tuple(one.ids) for one in found] == [one.ids for one in alone]


def test_a_vocabulary_of_all_bytes_has_no_unknown_word():
    """GPT-2's unknown token is its end token: text that spells it holds a special token."""
    raw = Tokenizer(models.BPE({"a": 0, "<e>": 1}, []))
    ends = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<e>")
    codec = TokenizerCodec(PreTrainedTokenizerFast(tokenizer_object=raw, **ends), "causal", "x")
    assert codec.unknown is None
    assert codec.reserved == {1}
    codec.tokenizer.convert_tokens_to_ids = None  # a kept tokenizer would have to be read for it
    assert codec.token("missing") == 1
