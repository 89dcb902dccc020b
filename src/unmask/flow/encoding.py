"""Items to tokens: the sentences as a measure needs them, and why some cannot be queried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from string import punctuation as string_marks

import numpy as np

from unmask.flow.chat_questions import as_replies, encode_questions
from unmask.measures.likelihood import Likelihood
from unmask.measures.plans import BLANK
from unmask.measures.question import Question
from unmask.measures.reduce import as_written
from unmask.models.protocol import Model
from unmask.queries import Codec, Encoded, Ints, sums
from unmask.text.roles import with_pair_roles
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Text

_NO_PUNCTUATION = str.maketrans("", "", string_marks)


@dataclass(frozen=True, slots=True)
class EncodedItems:
    """Items in tokens: the sentences of each by label, and the obstacle to querying it, if any.

    `oddities` are reasons why an item should not be queried: special tokens as text, unknown words.
    `unknown` of the `tokens` content tokens are not known to the tokenizer.
    """

    sentences: list[dict[str, Encoded]]
    obstacles: list[str]
    oddities: list[str]
    unknown: int
    tokens: int


def encode_items(model: Model, measure: Likelihood, items: Sequence[Contrast]) -> EncodedItems:
    """The sentences of some items as the measure wants them, and their obstacles."""
    if measure.question is not None:
        return _read_questions(model, measure.question, items)
    sentences = encode(model, measure, items)
    flat = _Flat([e for by_label in sentences for e in by_label.values()], model.codec)
    counts = np.array([len(by_label) for by_label in sentences], np.int64)
    starts = np.cumsum(counts) - counts
    long = np.maximum.reduceat(flat.lengths, starts) > model.abilities.limit
    odd = np.logical_or.reduceat(flat.odd, starts)
    obstacles, oddities = [""] * len(items), [""] * len(items)
    for i in np.flatnonzero(odd).tolist() if measure.segments == 1 else ():
        oddities[i] = _strange(sentences[i], model.codec)
    refused = model.codec.refused
    if refused:
        for i, by_label in enumerate(sentences):
            reasons = [refused.get(e.text.string) for e in by_label.values() if e.text is not None]
            obstacles[i] = next(filter(None, reasons), obstacles[i])
    for i in np.flatnonzero(long).tolist():
        obstacles[i] = f"longer than the model's {model.abilities.limit} tokens"
    return EncodedItems(sentences, obstacles, oddities, flat.unknown, flat.tokens)


def _read_questions(model: Model, question: Question, items: Sequence[Contrast]) -> EncodedItems:
    """Items as questions; one whose text holds a special token as text is not asked."""
    sentences = encode_questions(model, question, items)
    limit, codec = model.abilities.limit, model.codec
    marks = [m for m in codec.spelt(sorted(codec.reserved)) if len(m) > 1]
    obstacles, tokens = [], 0
    for item, by_label in zip(items, sentences, strict=True):
        length = max(len(e.ids) for e in by_label.values())
        tokens += length
        text = "\n".join([*(t.string for t in item.texts.values()), str(item.meta.get("context"))])
        odd = "it holds a special token as text" if any(m in text for m in marks) else ""
        obstacles.append(f"longer than the model's {limit} tokens" if length >= limit else odd)
    return EncodedItems(sentences, obstacles, [""] * len(items), 0, tokens)


class _Flat:
    """The tokens of many sentences in one buffer.

    `lengths` [sentences]; `odd`: those that need a closer look, since they hold an unknown word, a
    special token as text, or nothing. Most hold just the specials they begin and end with.
    """

    def __init__(self, sentences: Sequence[Encoded], codec: Codec) -> None:
        self.lengths: Ints = np.array([len(e.ids) for e in sentences], np.int64)
        specials = np.array([len(e.specials) for e in sentences], np.int64)
        ids = np.fromiter(chain.from_iterable(e.ids for e in sentences), np.int64)
        # Its own specials are not text, even where one is the unknown token (GPT-2's start).
        starts = np.repeat(np.cumsum(self.lengths) - self.lengths, specials)
        at = np.fromiter(chain.from_iterable(e.specials for e in sentences), np.int64) + starts
        text = np.ones(len(ids), bool)
        text[at] = False
        lost = text & (ids == (-1 if codec.unknown is None else codec.unknown))
        strange = lost | (text & np.isin(ids, list(codec.reserved)))
        self.odd = (sums(strange.astype(np.int64), self.lengths) > 0) | (self.lengths == specials)
        self.tokens = int((self.lengths - specials).sum())
        self.unknown = int(lost.sum())


def encode(
    model: Model, measure: Likelihood, items: Sequence[Contrast]
) -> list[dict[str, Encoded]]:
    """The sentences of each item as the measure wants them, with roles; tokenised together."""
    if measure.segments == 2:
        return [_encode_two(model, measure, item) for item in items]
    texts = [
        (_as_written_by(model, measure, text, item), item)
        for item in items
        for text in item.texts.values()
    ]
    focuses = [_focus(text, item) for text, item in texts]
    encoded = iter(model.codec.encode_texts([text for text, _ in texts], focuses))
    with_roles = [
        with_pair_roles({label: next(encoded) for label in item.texts}, _first(measure, item))
        for item in items
    ]
    return as_replies(model, measure.request, with_roles) if measure.request else with_roles


def _first(measure: Likelihood, item: Contrast) -> str:
    """The sentence that comes first in the alignment."""
    behind = measure.aligned == "file" and item.meta.get("direction") == "antistereo"
    return ANTISTEREOTYPE if behind else STEREOTYPE


def _as_written_by(model: Model, measure: Likelihood, label_text: Text, item: Contrast) -> Text:
    """A sentence as the measure writes it; spans that it cut off are lost."""
    text = _filled(label_text, item) if measure.fills else label_text
    if measure.text is as_written:
        return text
    string = measure.text(text.string, model.family)
    spans = {k: tuple(s for s in v if s[1] <= len(string)) for k, v in text.spans.items()}
    return Text(string, spans)


def _encode_two(model: Model, measure: Likelihood, item: Contrast) -> dict[str, Encoded]:
    """The sentences of an item as two segments each."""
    encodings = {}
    for label, label_text in item.texts.items():
        text = _as_written_by(model, measure, label_text, item)
        (a, b), (c, d) = text.spans["context"][0], text.spans["continuation"][0]
        encodings[label] = model.codec.encode_two(text.string[a:b], text.string[c:d])
    return encodings


def _filled(text: Text, item: Contrast) -> Text:
    """The item's context with the fill word of a sentence at BLANK, its place under `fill`.

    StereoSet's sentences are lower-cased in part; its contexts are as they were written.
    """
    context, spans = item.meta.get("context"), text.spans.get("fill")
    if not context or BLANK not in context or not spans:
        return text
    word = text.string[slice(*spans[0])]
    parts = context.split(BLANK)
    string, places = parts[0], []
    for part in parts[1:]:
        places.append((len(string), len(string) + len(word)))
        string += word + part
    return Text(string, {**text.spans, "fill": tuple(places), "word": tuple(places)})


def _focus(text: Text, item: Contrast) -> tuple[str, str, str]:
    """The text before, of and after the word that the item is about.

    For a context with BLANK the word is what published code takes for the fill: all its
    punctuation is removed.
    """
    for role in ("word", "target"):
        if spans := text.spans.get(role):
            start, end = spans[0]
            word = text.string[start:end]
            if context := item.meta.get("context"):
                before, _, after = context.partition(BLANK)
                return before, word.translate(_NO_PUNCTUATION), after
            return text.string[:start], word, text.string[end:]
    return "", "", ""


# The roles that tell the sentences of an item apart, where they have them.
_TELLING = ("changed", "target", "attribute", "continuation")


def _strange(encoded: Mapping[str, Encoded], codec: Codec) -> str:
    """Why the model does not see the text of an item as written; empty if it does."""
    if any(e.ids[i] in codec.reserved for e in encoded.values() for i in e.content):
        return "it holds a special token, such as a mask, as text"
    unknown = codec.unknown
    if unknown is None:
        return ""
    rows = {e.ids for e in encoded.values()}
    strings = {e.text.string for e in encoded.values() if e.text is not None}
    if len(rows) < len(strings) and any(unknown in row for row in rows):
        return "the tokenizer does not know the words in which its sentences differ"
    for role in _TELLING:
        pieces = [e.ids[i] for e in encoded.values() for i in e.roles.get(role, ())]
        if pieces and all(token == unknown for token in pieces):
            return f"the tokenizer knows none of its {role} words"
    if all(e.ids[i] == unknown for e in encoded.values() for i in e.content):
        return "the tokenizer knows none of its words"
    return ""
