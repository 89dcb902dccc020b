"""Sentences as tokens: each frame with slots of fixed length, and the weights of the fillings.

Text is sampled from these patterns, and the oracle sums over them.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmask.lab.world import SHARES, Frame, Topic, World, phrase
from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.types import Floats

Rows: TypeAlias = NDArray[np.int64]
Pieces: TypeAlias = Callable[[str], tuple[int, ...]]
OPEN = -1  # a place of a pattern that a slot fills


@dataclass(frozen=True, slots=True)
class Filling:
    """The words that may fill a slot: their pieces [words, k], where they begin in the row."""

    start: int
    pieces: Rows

    def fits(self, row: Rows, visible: Any) -> Any:
        """Return which words agree with the visible tokens of a row."""
        place = slice(self.start, self.start + self.pieces.shape[1])
        return ((self.pieces == row[place]) | ~visible[place]).all(1)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A frame with slots of fixed length: its tokens, and the weight of each pair of fillings.

    `weights` is [group words, attribute words]; a slot that the frame lacks has one empty word.
    """

    tokens: Rows
    fillings: tuple[Filling | None, Filling | None]
    weights: Floats


def patterns(world: World, codec: TokenizerCodec, parts: Iterable[str]) -> list[Pattern]:
    """The sentences of some parts of a world, with weights that sum to one."""
    sentences = []
    pieces = cache(codec.pieces)  # a tokenizer is slow on single words
    part_frames = [f for part in parts for f in world.frames[part]]
    for name, topic in world.topics.items():
        frames = [f for f in part_frames if f.topic == name]
        for frame in frames:
            sentences += _of_frame(frame, topic, SHARES[name] / len(frames), pieces, codec)
    return sentences


def _of_frame(
    frame: Frame, topic: Topic, share: float, pieces: Pieces, codec: TokenizerCodec
) -> list[Pattern]:
    has_group, has_attribute = "{g}" in frame.core, "{a}" in frame.core
    groups = _by_pieces(_group_words(topic), pieces) if has_group else {("", 0): ((), ())}
    attributes = (
        _by_pieces([("", w, k) for k, w in enumerate(topic.attributes)], pieces)
        if has_attribute
        else {("", 0): ((), ())}
    )
    sentences = []
    for ((form, n), (gs, gp)), ((_, m), (ks, kp)) in itertools.product(
        groups.items(), attributes.items()
    ):
        weights = _weights(topic, form, gs, ks, has_group, has_attribute) * share
        tokens, fillings = _tokens(frame, form, (n, m), (gp, kp), pieces)
        ends = codec.tokenizer.cls_token_id, codec.tokenizer.sep_token_id
        row = np.array([ends[0], *tokens, ends[1]], np.int64)
        sentences.append(Pattern(row, fillings, weights))
    return sentences


def _group_words(topic: Topic) -> list[tuple[str, str, int]]:
    return [
        (form, w, g)
        for form in topic.forms
        for g, by_form in enumerate(topic.members)
        for w in by_form[form]
    ]


def _by_pieces(groups: Any, pieces: Pieces) -> Any:
    """Words (form, word, number) by form and number of pieces, with their pieces."""
    entries: dict[tuple[str, int], tuple[list[Any], list[Any]]] = {}
    for form, word, number in groups:
        ids = pieces(word)
        entry = entries.setdefault((form, len(ids)), ([], []))
        entry[0].append((word, number))
        entry[1].append(ids)
    return entries


def _weights(
    topic: Topic, form: str, gs: Any, ks: Any, has_group: bool, has_attribute: bool
) -> Floats:
    part = (
        np.stack([topic.joint[g] * topic.members[g][form][w] for w, g in gs])
        if has_group
        else (topic.joint.sum(0, keepdims=True))
    )
    part = part * (topic.forms[form] if has_group else 1.0)
    return part[:, [k for _, k in ks]] if has_attribute else part.sum(1, keepdims=True)


def _tokens(
    frame: Frame, form: str, sizes: tuple[int, int], words: Any, pieces: Pieces
) -> tuple[list[int], tuple[Filling | None, Filling | None]]:
    """The tokens of a frame, open at its slots, and what may fill them."""
    marks = ("{g}", "{a}")
    row: list[int] = []
    fillings: list[Filling | None] = [None, None]
    for word in frame.filled(phrase(form, marks[0]), marks[1]).split():
        if word in marks:
            mark = marks.index(word)
            fillings[mark] = Filling(len(row) + 1, np.array(words[mark], np.int64))
            row += [OPEN] * sizes[mark]
        else:
            row += pieces(word)
    return row, (fillings[0], fillings[1])
