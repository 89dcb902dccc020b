"""Items as questions to a chat model, and sentences as its replies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unmask.errors import NotApplicable
from unmask.measures.likelihood import Likelihood
from unmask.measures.question import LETTERS, Question
from unmask.models.protocol import Model
from unmask.queries import ChatCodec, Encoded
from unmask.types import ABSTAIN, ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Contrast, Dataset, Text


def as_options(data: Dataset, measure: Likelihood) -> Dataset:
    """The data with the texts that the question of a measure shows, and no others."""
    question = measure.question
    if question is None or data.shape == "answers":
        return data
    labels = [STEREOTYPE, ANTISTEREOTYPE, *([UNRELATED] if question.unrelated else [])]
    more = {ABSTAIN: Text(question.abstain)} if question.abstain else {}
    items = tuple(
        replace(item, texts={**{k: item.texts[k] for k in labels}, **more}) for item in data.items
    )
    return replace(data, shape=data.shape if question.unrelated else "pairs", items=items)


def encode_questions(
    model: Model, question: Question, items: Sequence[Contrast]
) -> list[dict[str, Encoded]]:
    """Each text of an item with the requests that ask for it, and the tokens of its letter."""
    codec = _chat_codec(model)
    prompts = [_prompts(question, item) for item in items]
    rows = iter(codec.chat_prompts([p.text for requests in prompts for p in requests]))
    ids = codec.label_ids(LETTERS[: max(len(item.texts) for item in items)])
    encodings = []
    for item, requests in zip(items, prompts, strict=True):
        requests_made = [(next(rows), prompt.labels) for prompt in requests]
        longest = max((row for row, _ in requests_made), key=len)
        encodings.append(
            {
                label: Encoded(
                    longest,
                    frozenset(),
                    text=text,
                    prompts=tuple((row, ids[letters[label]]) for row, letters in requests_made),
                )
                for label, text in item.texts.items()
            }
        )
    return encodings


def _prompts(question: Question, item: Contrast) -> list[Any]:
    texts = {k: t.string for k, t in item.texts.items()}
    order = item.meta.get("order")  # of the answers in their file
    in_order = {k: texts[k] for k in order} if order else texts
    facts = (str(item.meta.get("context", "")), str(item.meta.get("question", "")))
    return list(question.prompts(in_order, *facts))


def as_replies(
    model: Model, request: str, encoded: Sequence[Mapping[str, Encoded]]
) -> list[dict[str, Encoded]]:
    """Sentences as replies to a request: the prompt comes before each, and is not scored.

    Prompt and reply are encoded apart, so that no token reaches over the border.
    """
    codec = _chat_codec(model)
    (prompt,) = codec.chat_prompts([request])
    return [{k: _behind(prompt, e) for k, e in by_label.items()} for by_label in encoded]


def _behind(prompt: tuple[int, ...], sentence: Encoded) -> Encoded:
    """A sentence behind a prompt, without the special tokens at its own ends."""
    first = sentence.content[0] if sentence.content else 0
    last = sentence.content[-1] + 1 if sentence.content else 0
    shift = len(prompt) - first
    roles = {k: tuple(i + shift for i in places) for k, places in sentence.roles.items()}
    inner = frozenset(i + shift for i in sentence.specials if first <= i < last)
    return Encoded(
        (*prompt, *sentence.ids[first:last]),
        frozenset(range(len(prompt))) | inner,
        roles,
        (*(-1,) * len(prompt), *sentence.words[first:last]),
        sentence.focus,
        sentence.text,
        (*((0, 0),) * len(prompt), *sentence.offsets[first:last]),
    )


def _chat_codec(model: Model) -> ChatCodec:
    codec: Any = model.codec
    if not isinstance(codec, ChatCodec):
        raise NotApplicable(
            f"{model.name!r} cannot answer questions: its tokenizer builds no prompts; use 'll'."
        )
    return codec
