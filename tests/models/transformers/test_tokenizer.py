"""Tests of models/transformers/tokenizer."""

import pytest

from conftest import SORT, tiny
from unmask.data.packaged import bundled_pairs
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
