"""A world's vocabulary and text: word pieces, and sentences drawn by its probabilities."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from unmask.lab import words
from unmask.lab.patterns import Pattern, Rows, patterns
from unmask.lab.world import SHARES, Frame, Plant, Topic, World, phrase
from unmask.models.transformers.tokenizer import TokenizerCodec

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIZE = 320  # of the vocabulary: the same in every world, so that models can be stacked
PIECED = 3  # every third name and attribute word is of two pieces
LONGEST = 32


def split_words(seed: int) -> dict[str, tuple[str, str]]:
    """Return the words that are split into two pieces in the world of a seed."""
    rng = np.random.default_rng([79, seed])
    pool = (*words.NAMES[0], *words.NAMES[1], *words.OCCUPATIONS, *words.TRAITS, *words.TOPICS)
    long = sorted(w for w in pool if len(w) > 4)
    pieced = rng.permutation(long)[: len(long) // PIECED]
    cut = {str(w): (len(w) + 1) // 2 for w in pieced}
    split = {w: (w[:n], "##" + w[n:]) for w, n in cut.items()}
    # A tokenizer takes the longest beginning it knows: of "markets" that is "market", the place.
    lexicon = (_named() - split.keys()) | {*literals()} | {stem for stem, _ in split.values()}
    return {
        w: pieces
        for w, pieces in split.items()
        if not any(w.startswith(k) and len(k) > len(pieces[0]) for k in lexicon)
    }


def _named() -> set[str]:
    """Return all words that fill slots."""
    pools = (words.NAMES, words.TERMS, words.PRONOUNS, words.KINDS)
    named = {w for pool in pools for side in pool for w in side}
    named |= {*words.OCCUPATIONS, *words.TRAITS, *words.TOPICS, *words.PLACES}
    return named | {*words.FLOWERS, *words.INSECTS, *words.PLEASANT, *words.UNPLEASANT}


def literals() -> list[str]:
    """The words of frames, which are the same in every world."""
    parts = (*words.OPENERS, *words.CLOSERS, *(c for cs in words.CORES.values() for c in cs))
    words_found = {w for part in parts for w in part.split() if not w.startswith("{")}
    return sorted(words_found | {*words.TEMPLATES})


CONTENT = len(SPECIALS) + len(literals())  # the first id that is not a word of frames


def vocabulary(seed: int) -> list[str]:
    """Special tokens, words of frames, words of slots or their pieces, and filler."""
    pieces = split_words(seed)
    full_words = (_named() - pieces.keys()) | {p for pair in pieces.values() for p in pair}
    tokens = [*SPECIALS, *literals(), *sorted(full_words - {*literals()})]
    if len(tokens) > SIZE:
        raise ValueError(f"the lab's vocabulary needs {len(tokens) - SIZE} more places")
    return [*tokens, *(f"[unused{k}]" for k in range(SIZE - len(tokens)))]


def tokenizer_of(seed: int) -> Any:
    """The world's tokenizer, lower case, with specials around a sentence as in BERT."""
    ids = {w: i for i, w in enumerate(vocabulary(seed))}
    raw = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer(lowercase=True)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.decoder = decoders.WordPiece()
    cls, sep = "[CLS]", "[SEP]"
    raw.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B {sep}",
        special_tokens=[(cls, ids[cls]), (sep, ids[sep])],
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    special = {f"{n}_token": s for n, s in zip(names, SPECIALS, strict=True)}
    return PreTrainedTokenizerFast(tokenizer_object=raw, model_max_length=LONGEST, **special)


def sentences(world: World, count: int, rng: Any, part: str = "train") -> Iterator[str]:
    """Sentences drawn from the frames of a part, by the world's probabilities."""
    for drawn in draws(world, count, rng, part):
        yield drawn[0].filled(phrase(drawn[1], drawn[2]), drawn[3])


def draws(
    world: World, count: int, rng: Any, part: str = "train"
) -> Iterator[tuple[Frame, str, str, str, int]]:
    """Yield the content of sentences in random order: frame, form, group word, attribute, group."""
    shares = np.array([SHARES[name] for name in world.topics])
    topics = rng.choice(len(shares), count, p=shares / shares.sum())
    pending = {
        name: _of_topic(world, t, int((topics == k).sum()), rng, part)
        for k, (name, t) in enumerate(world.topics.items())
    }
    names = list(world.topics)
    for k in topics:
        yield next(pending[names[k]])


def _of_topic(
    world: World, topic: Topic, count: int, rng: Any, part: str
) -> Iterator[tuple[Frame, str, str, str, int]]:
    frames = [f for f in world.frames[part] if f.topic == topic.name]
    frame_index = rng.integers(len(frames), size=count)
    cells = rng.choice(topic.joint.size, count, p=topic.joint.ravel() / topic.joint.sum())
    groups, attributes = np.divmod(cells, topic.joint.shape[1])
    forms = list(topic.forms)
    form = rng.choice(len(forms), count, p=list(topic.forms.values()))
    uniform = rng.random(count)
    tables = _cumulative(topic)
    for f, g, k, n, u in zip(frame_index, groups, attributes, form, uniform, strict=True):
        members, edges = tables[g, forms[n]]
        member = members[min(int(np.searchsorted(edges, u)), len(members) - 1)]
        yield frames[f], forms[n], member, topic.attributes[k], int(g)


def _cumulative(topic: Topic) -> Mapping[tuple[int, str], tuple[list[str], Any]]:
    return {
        (g, form): (list(ws), np.cumsum(list(ws.values())))
        for g, by_form in enumerate(topic.members)
        for form, ws in by_form.items()
    }


def corpus(plant: Plant, count: int, draw: int = 0) -> dict[int, Rows]:
    """Return token rows to train on, by length; `draw` selects another sample of the same world.

    They have the same distribution as `sentences`, but are drawn as tokens: a hundred times faster.
    """
    world = World(plant)
    pool = patterns(world, TokenizerCodec(tokenizer_of(plant.seed), "masked", "lab"), ("train",))
    rng = np.random.default_rng([80, plant.seed, draw])
    shares = np.array([p.weights.sum() for p in pool])
    by_length: dict[int, list[Rows]] = {}
    for pattern, n in zip(pool, rng.multinomial(count, shares / shares.sum()), strict=True):
        if n:
            by_length.setdefault(len(pattern.tokens), []).append(_filled(pattern, int(n), rng))
    return {n: np.concatenate(rows) for n, rows in sorted(by_length.items())}


def _filled(pattern: Pattern, count: int, rng: Any) -> Rows:
    """Some rows of a pattern, its slots filled by their weights."""
    edges = np.cumsum(pattern.weights.ravel())
    cells = np.searchsorted(edges, rng.random(count) * edges[-1], side="right")
    cell_index = np.divmod(np.minimum(cells, len(edges) - 1), pattern.weights.shape[1])
    rows = np.tile(pattern.tokens, (count, 1))
    for filling, index in zip(pattern.fillings, cell_index, strict=True):
        if filling is not None:
            end = filling.start + filling.pieces.shape[1]
            rows[:, filling.start : end] = filling.pieces[index]
    return rows
