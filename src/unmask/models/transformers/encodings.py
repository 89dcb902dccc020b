"""Encodings of a sentence with a word: the usual one, and those of published code."""

from collections.abc import Callable, Iterable, Mapping

from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.queries import Encoded
from unmask.text.contexts import Mention
from unmask.types import Text

WINDOW = 9  # words that Guo and Caliskan's release keeps of a sentence


def usual(codec: TokenizerCodec, mention: Mention) -> Encoded:
    """The sentence as the tokenizer gives it, special tokens and all."""
    return codec.encode_text(Text(mention.text, {"word": (mention.span,)}), start=False)


def no_specials(codec: TokenizerCodec, mention: Mention) -> Encoded:
    """The sentence without special tokens (May et al.'s release)."""
    return _keep(usual(codec, mention), lambda i, row: i not in row.specials)


def tan2019(codec: TokenizerCodec, mention: Mention) -> Encoded:
    """Tan and Celis' release: the last character is cut, words are tokenised separately, no [SEP].

    GPT-2's words come without their leading spaces, and a padding token (id 0) follows.
    """
    text, (start, end) = mention.text[:-1], mention.span
    ids: list[int] = []
    word: list[int] = []
    if codec.kind != "causal" and codec.tokenizer.cls_token_id is not None:
        ids.append(codec.tokenizer.cls_token_id)
    first, at = len(ids), 0
    for part in text.split(" "):
        pieces = codec.pieces(part)
        inside = at < end and at + len(part) > start
        if inside:
            word = list(range(len(ids), len(ids) + len(pieces)))  # the last component counts
        ids += pieces
        at += len(part) + 1
    if codec.kind == "causal":
        ids.append(0)
    return Encoded(tuple(ids), frozenset(range(first)), {"word": tuple(word)})


def husse2022(codec: TokenizerCodec, mention: Mention) -> Encoded:
    """Husse and Spitz's release: the final character is cut, and places are counted in words.

    A word of one piece is read at its number among the words, even if earlier words have several
    pieces. A phrase is read at as many places, counted from the number of its first word. Only a
    single word of several pieces is found by its pieces. A hyphenated word is taken for three words
    (short, -, term): its own pieces, as many as the word two positions later has, and one for the
    hyphen.
    """
    text, (start, end) = mention.text[:-1], mention.span
    row = codec.encode_text(Text(text), start=False) if text.strip() else usual(codec, mention)
    word, tokens = mention.text[start:end], text.split()
    pieces = [w for w in row.words if w >= 0]
    before = next((i for i in range(len(row.ids)) if i not in row.specials), 0)
    number = _number(word.split(), tokens)
    if number is None:  # glued to a mark: the release stops there
        return _cut_end(codec, mention)
    indices = [i for i, w in enumerate(pieces) if w == number]
    offsets: Iterable[int]
    if " " in word:
        offsets = range(number, number + len(word.split()))
    elif "-" in word and indices:
        offsets = range(indices[0], indices[0] + len(indices) + pieces.count(number + 2) + 1)
    else:
        offsets = indices if len(indices) > 1 else [number]
    places = tuple(before + i for i in offsets if before + i < len(row.ids))
    return Encoded(row.ids, row.specials, {"word": places})


def _number(word: list[str], tokens: list[str]) -> int | None:
    """Return the number of the word's last token, or of the first token that begins a phrase."""
    if word[0] not in tokens:
        return None
    if len(word) > 1:
        return tokens.index(word[0])
    return len(tokens) - 1 - tokens[::-1].index(word[0])


def _cut_end(codec: TokenizerCodec, mention: Mention) -> Encoded:
    end = min(mention.span[1], len(mention.text) - 1)
    if end <= mention.span[0]:
        return usual(codec, mention)
    return usual(codec, Mention(mention.text[:-1], (mention.span[0], end)))


def guo2021(codec: TokenizerCodec, mention: Mention) -> Encoded:
    """Guo and Caliskan's release: nine words, no special tokens, the last piece's first place.

    Of a longer sentence the first or the last nine words remain, or four on each side of the word's
    first occurrence. The word is read at the first place that has the id of its last piece. Causal
    models get a leading space.
    """
    start, end = mention.span
    space = " " if codec.kind == "causal" else ""
    ids = codec.pieces(space + _nine(mention))
    last = codec.pieces(space + mention.text[start:end])[-1:]
    places = tuple(i for i, token in enumerate(ids) if (token,) == last)[:1]
    return Encoded(ids, frozenset(), {"word": places})


def _nine(mention: Mention) -> str:
    words = mention.text.split()
    if len(words) < WINDOW:
        return mention.text
    word = mention.text[slice(*mention.span)]
    # The release fails if a comma is attached to the word: here the word's own place is used.
    at = words.index(word) if word in words else len(mention.text[: mention.span[0]].split())
    if at < 4:
        return " ".join(words[:WINDOW])
    if len(words) - at - 1 < 4:
        return " ".join(words[-WINDOW:])
    return " ".join(words[at - 4 : at + 4])


def _keep(row: Encoded, keep: Callable[[int, Encoded], bool]) -> Encoded:
    indices = [i for i in range(len(row.ids)) if keep(i, row)]
    new = {old: i for i, old in enumerate(indices)}
    roles = {k: tuple(new[i] for i in at if i in new) for k, at in row.roles.items()}
    return Encoded(tuple(row.ids[i] for i in indices), frozenset(), roles)


ENCODE: Mapping[str, Callable[[TokenizerCodec, Mention], Encoded]] = {
    "usual": usual,
    "no-specials": no_specials,
    "tan2019": tan2019,
    "husse2022": husse2022,
    "guo2021": guo2021,
}
