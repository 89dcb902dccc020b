"""A transformers tokenizer with the interface that plans need."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any

from unmask.errors import ModelError, NotApplicable
from unmask.models.transformers.chat import ChatFrame, frame_of, label_ids
from unmask.queries import Encoded
from unmask.text.roles import all_places
from unmask.types import Kind, Text

THREADS = 8
WORTHWHILE = 200  # strings that make a thread worthwhile


class TokenizerCodec:
    """A transformers tokenizer behind the `Codec` protocol.

    Places are found through the tokenizer's own offset mapping, never by searching ids. Causal
    models get their start token, so that the first word is predicted too. `unknown` is the id of
    the unknown token, if there is one; `reserved` are those of the other special tokens, which
    text should not hold.
    """

    def __init__(self, tokenizer: Any, kind: Kind, name: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(
                f"the tokenizer of {name!r} gives no character offsets; install or convert to a "
                "fast tokenizer (a folder with tokenizer.json)."
            )
        self.tokenizer, self.kind, self.name = tokenizer, kind, name
        self.refused: Mapping[str, str] = {}  # a tokenizer refuses nothing
        # Read once: a tokenizer looks these up at every access.
        self.stand_in = tokenizer.unk_token_id  # for a token that is asked for by its name
        self.unknown = _unknown_token(tokenizer)
        self.reserved = frozenset(map(int, tokenizer.all_special_ids)) - {self.unknown}
        self.start = _start_token(tokenizer) if kind == "causal" else None
        first = tokenizer.backend_tokenizer.encode("a").ids[:1]
        self.adds_start = self.start is not None and first == [self.start]

    def encode(self, string: str) -> Encoded:
        """Ids with specials."""
        return self.encode_text(Text(string))

    def encode_text(
        self, text: Text, focus: tuple[str, str, str] = ("", "", ""), start: bool = True
    ) -> Encoded:
        """Ids, specials, word numbers, and a role for each of the text's spans.

        `start`: put a causal model's start token first, even if its tokenizer does not.
        """
        return self.encode_texts([text], [focus], start)[0]

    def encode_texts(
        self, texts: Sequence[Text], focuses: Sequence[tuple[str, str, str]], start: bool = True
    ) -> list[Encoded]:
        """As `encode_text`, many at once."""
        if not texts:
            return []
        backend = self.tokenizer.backend_tokenizer
        backend.no_truncation()  # lengths are checked elsewhere
        backend.no_padding()
        encodings = _encodings(backend, [text.string for text in texts])
        return [
            self._encoded(encoding, text, focus, start)
            for encoding, text, focus in zip(encodings, texts, focuses, strict=True)
        ]

    def _encoded(
        self, encoding: Any, text: Text, focus: tuple[str, str, str], start: bool
    ) -> Encoded:
        ids, special = encoding.ids, encoding.special_tokens_mask
        words = [-1 if w is None else w for w in encoding.word_ids]
        offsets = encoding.offsets
        if start and self.start is not None and (not ids or ids[0] != self.start):
            ids, offsets = [self.start, *ids], [(0, 0), *offsets]
            special, words = [1, *special], [-1, *words]
        specials = frozenset([i for i, s in enumerate(special) if s])
        roles: dict[str, tuple[int, ...]] = {}
        last: Any = None
        covered: tuple[int, ...] = ()
        for name, spans in text.spans.items():
            if spans != last:  # names often mark the same spans
                last, covered = spans, all_places(offsets, specials, spans)
            roles[name] = covered
        return Encoded(tuple(ids), specials, roles, tuple(words), focus, text, tuple(offsets))

    def encode_two(self, first: str, second: str) -> Encoded:
        """Ids of two segments as the next-sentence head was trained on them.

        The role `second` holds the second segment with the special token that ends it.
        """
        batch = self.tokenizer(first, second, return_special_tokens_mask=True, verbose=False)
        types = batch.get("token_type_ids") or [0] * len(batch["input_ids"])
        where = tuple(i for i, t in enumerate(types) if t == 1)
        if not where:
            raise NotApplicable(
                f"the tokenizer of {self.name!r} does not tell two segments apart, so it has no "
                "next-sentence head; use 'cat-continue'."
            )
        special = frozenset(i for i, s in enumerate(batch["special_tokens_mask"]) if s)
        return Encoded(tuple(batch["input_ids"]), special, {"second": where})

    def encode_after_paragraph(self, string: str) -> Encoded:
        """Return the ids of a string after the paragraph that transformers itself gives to XLNet.

        It is the paragraph in Nadeem et al.'s release, up to its `<eod>`.
        """
        from transformers.pipelines.text_generation import TextGenerationPipeline

        paragraph = TextGenerationPipeline.XL_PREFIX.partition("<eod>")[0] + "<eod>"
        batch = self.tokenizer(
            " ".join(paragraph.split()), string, return_special_tokens_mask=True, verbose=False
        )
        special = frozenset(i for i, s in enumerate(batch["special_tokens_mask"]) if s)
        return Encoded(tuple(batch["input_ids"]), special)

    def segments(self, ids: Any) -> dict[str, Any]:
        """Extra inputs of XLNet: segment 0, 1 behind the first <sep>, and 2 for <cls>."""
        if self.kind != "permutation":
            return {}
        seps = (ids == self.tokenizer.sep_token_id).long()
        types = (seps.cumsum(1) - seps).clamp(max=1)
        types[ids == self.tokenizer.cls_token_id] = 2
        return {"token_type_ids": types}

    def pieces(self, word: str) -> tuple[int, ...]:
        """The ids of a word on its own."""
        backend = self.tokenizer.backend_tokenizer
        backend.no_truncation()
        backend.no_padding()
        return tuple(backend.encode(word, add_special_tokens=False).ids)

    def token(self, word: str) -> int:
        """Return the id of the token with exactly this spelling, or the unknown token's."""
        token_id = self.tokenizer.backend_tokenizer.token_to_id(word)
        token_id = self.stand_in if token_id is None else token_id
        return int(self.tokenizer.convert_tokens_to_ids(word) if token_id is None else token_id)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids."""
        return str(self.tokenizer.decode(list(ids)))

    def spelt(self, ids: Iterable[int]) -> list[str]:
        """Each token as the vocabulary spells it."""
        return [str(self.tokenizer.backend_tokenizer.id_to_token(int(i))) for i in ids]

    @cached_property
    def chat(self) -> ChatFrame:
        """The text before and after a message to a chat model."""
        return frame_of(self.tokenizer, self.name)

    def chat_prompts(self, messages: Sequence[str]) -> list[tuple[int, ...]]:
        """The ids of the prompt of each message, up to where the reply begins."""
        backend, frame = self.tokenizer.backend_tokenizer, self.chat
        backend.no_truncation()
        backend.no_padding()
        texts = [frame.text(m) for m in messages]
        plain = frame.form == "plain"
        rows = [tuple(encoding.ids) for encoding in _encodings(backend, texts, special=plain)]
        if not plain:
            return rows
        start = self.start
        return [r if start is None or r[:1] == (start,) else (start, *r) for r in rows]

    def label_ids(self, labels: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The tokens that a reply of just this label may begin with."""
        ids = label_ids(self.tokenizer.backend_tokenizer, labels, self.unknown)
        if not all(ids.values()):
            raise NotApplicable(
                f"the vocabulary of {self.name!r} has no tokens for {', '.join(labels)}; such a "
                "model cannot be asked to choose a letter."
            )
        return ids

    @property
    def mask(self) -> str:
        """The mask token as text."""
        return str(self.tokenizer.mask_token)

    @property
    def mask_id(self) -> int:
        """The mask token's id; a tokenizer without one is refused."""
        if self.tokenizer.mask_token_id is None:
            raise NotApplicable(
                f"the tokenizer of {self.name!r} has no mask token, so no token can be "
                "masked; use measures for causal models ('ll', 'cat', 'lpbs')."
            )
        return int(self.tokenizer.mask_token_id)

    @property
    def pad_id(self) -> int:
        """The id to pad with; any id does, since padding is never attended to."""
        return int(self.tokenizer.pad_token_id or 0)


def _encodings(backend: Any, strings: list[str], special: bool = True) -> list[Any]:
    """Tokenise many strings with threads of our own.

    The tokenizer's own threads are off: they would not survive a later fork of the process.
    """
    size = max(-(-len(strings) // min(os.cpu_count() or 1, THREADS)), WORTHWHILE)
    parts = [strings[i : i + size] for i in range(0, len(strings), size)]
    encode = partial(backend.encode_batch, add_special_tokens=special)
    if len(parts) < 2:
        return list(encode(strings))
    with ThreadPoolExecutor(len(parts)) as threads:
        return [encoding for part in threads.map(encode, parts) for encoding in part]


def _unknown_token(tokenizer: Any) -> int | None:
    """Return the id of the unknown token, or None if every word can be tokenised.

    GPT-2's vocabulary covers every byte: its unknown token is really its start and end token.
    """
    number, model = tokenizer.unk_token_id, tokenizer.backend_tokenizer.model
    lacks_none = type(model).__name__ == "BPE" and not model.unk_token
    return None if number is None or lacks_none else int(number)


def _start_token(tokenizer: Any) -> int | None:
    """Return the token before a causal model's first word: a start token, or GPT-2's end token."""
    for name in ("bos_token_id", "eos_token_id"):
        if (token := getattr(tokenizer, name, None)) is not None:
            return int(token)
    return None


def describe(tokenizer: Any) -> Mapping[str, Any]:
    """What a result records of a tokenizer."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    content = backend.to_str() if backend is not None else repr(sorted(tokenizer.get_vocab()))
    return {
        "class": type(tokenizer).__name__,
        "vocabulary": len(tokenizer),
        "hash": hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest(),
    }
