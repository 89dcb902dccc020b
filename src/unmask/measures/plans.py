"""Plans: from a tokenised sentence to the queries that a measure asks.

A plan is a function `(sentence, codec) -> queries`. Most need only the sentence; those that
reproduce published code may also ask the codec how that code would have tokenised a word.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from unmask.text.roles import refilled
from unmask.types import NOTHING, Codec, Encoded, Hidden, Query

IS_NEXT = 0  # the class of BERT's next-sentence head for a pair that belongs together
Plan: TypeAlias = Callable[[Encoded, Codec], list[Query]]


def _ask(sentence: Encoded, places: Iterable[int], hidden: Callable[[int], Hidden]) -> list[Query]:
    ids = sentence.ids
    return [Query(ids, hidden(i), i, ids[i]) for i in places]


# ---------------------------------------------------------------- one sentence, masked


def each_content(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide each content token in turn."""
    return _ask(sentence, sentence.content, lambda i: frozenset((i,)))


def each_shared(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide each token that the two sentences share in turn."""
    return _ask(sentence, sentence.roles["shared"], lambda i: frozenset((i,)))


def each_changed(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide each token in which the two sentences differ in turn."""
    return _ask(sentence, sentence.roles["changed"], lambda i: frozenset((i,)))


def all_changed(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide all tokens in which the two sentences differ at once."""
    hidden = frozenset(sentence.roles["changed"])
    return _ask(sentence, sentence.roles["changed"], lambda i: hidden)


def all_changed_crossed(sentence: Encoded, codec: Codec) -> list[Query]:
    """As `all_changed`, but every hidden token asked for at every hidden place."""
    changed = sentence.roles["changed"]
    hidden = frozenset(changed)
    return [Query(sentence.ids, hidden, i, sentence.ids[j]) for i in changed for j in changed]


def nothing(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide nothing; ask for each content token in plain sight."""
    return _ask(sentence, sentence.content, lambda i: NOTHING)


def everything(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide all content tokens at once."""
    hidden = frozenset(sentence.content)
    return _ask(sentence, sentence.content, lambda i: hidden)


def within_word(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide each content token and the later pieces of its word."""
    words = sentence.words

    def hidden(i: int) -> Hidden:
        later = (j for j in sentence.content if j > i and words[j] == words[i])
        return frozenset((i, *later))

    return _ask(sentence, sentence.content, hidden)


def inner_places(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide nothing; ask for the places 1 to T - 2, whatever stands there."""
    return _ask(sentence, range(1, len(sentence.ids) - 1), lambda i: NOTHING)


def inner_aligned(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide each aligned place in turn, less the first and the last, whatever stands there."""
    return _ask(sentence, sentence.roles["aligned"][1:-1], lambda i: frozenset((i,)))


# ---------------------------------------------------------------- left to right


def left_to_right(sentence: Encoded, codec: Codec) -> list[Query]:
    """Each content token given those before it (the first only if something stands before it)."""
    return _from(sentence, (i for i in sentence.content if i > 0))


def _from(sentence: Encoded, places: Iterable[int]) -> list[Query]:
    return _ask(sentence, places, lambda i: range(i, len(sentence.ids)))


# ---------------------------------------------------------------- a sentence after its context


def each_of_continuation(sentence: Encoded, codec: Codec) -> list[Query]:
    """Hide each token of the continuation in turn, the context in sight."""
    return _ask(sentence, sentence.roles["continuation"], lambda i: frozenset((i,)))


def continuation_left_to_right(sentence: Encoded, codec: Codec) -> list[Query]:
    """Each token of the continuation given all before it."""
    return _from(sentence, sentence.roles["continuation"])


def is_next(sentence: Encoded, codec: Codec) -> list[Query]:
    """One question for the next-sentence head: does the second segment follow the first?

    `at` is where the second segment starts; class 0 of the head says yes.
    """
    return [Query(sentence.ids, NOTHING, sentence.roles["second"][0], IS_NEXT)]


# ---------------------------------------------------------------- a fill word, piece by piece


def reveal_fill(sentence: Encoded, codec: Codec) -> list[Query]:
    """One hidden place for the fill word: piece k asked for after pieces 0 to k - 1."""
    pieces = [sentence.ids[i] for i in sentence.roles["fill"]]
    queries = []
    for k in range(len(pieces)):
        shown = refilled(sentence, "fill", pieces[: k + 1])
        at = shown.roles["fill"][-1]
        queries.append(Query(shown.ids, frozenset((at,)), at, pieces[k]))
    return queries


def reveal_retokenised(sentence: Encoded, codec: Codec) -> list[Query]:
    """As `reveal_fill`, by the route of Nadeem et al.'s release: through text.

    The word is tokenised alone, without a leading space; the first k pieces are decoded, the
    mask token is glued to them, and the whole sentence is tokenised anew.
    """
    before, word, after = sentence.focus
    pieces = codec.pieces(word)
    queries = []
    for k, gold in enumerate(pieces):
        again = codec.encode(before + codec.decode(pieces[:k]) + codec.mask + after)
        at = again.ids.index(codec.token(codec.mask))
        row = again.ids[:at] + (gold,) + again.ids[at + 1 :]
        queries.append(Query(row, frozenset((at,)), at, gold))
    return queries


# ---------------------------------------------------------------- target and attribute


def target(sentence: Encoded, codec: Codec) -> list[Query]:
    """The target's pieces left to right, with the attribute in sight."""
    return _target(sentence, ())


def target_alone(sentence: Encoded, codec: Codec) -> list[Query]:
    """The target's pieces left to right, with the attribute hidden: the prior."""
    return _target(sentence, sentence.roles["attribute"])


def _target(sentence: Encoded, besides: tuple[int, ...]) -> list[Query]:
    where = sentence.roles["target"]
    return [
        Query(sentence.ids, frozenset(where[k:]) | frozenset(besides), i, sentence.ids[i])
        for k, i in enumerate(where)
    ]


def causal_joint(sentence: Encoded, codec: Codec) -> list[Query]:
    """From the target's first to the attribute's last piece; only the target if it is last.

    By Bayes, p(x | a) / p(x) = p(a | x) / p(a), and p(a) cancels between two targets, so with
    `causal_prior` this is LPBS exactly where the target comes first.
    """
    x, a = sentence.roles["target"], sentence.roles["attribute"]
    stop = a[-1] + 1 if x[0] < a[0] else x[-1] + 1
    return _from(sentence, range(x[0], stop))


def causal_prior(sentence: Encoded, codec: Codec) -> list[Query]:
    """From the target's first piece to just before the attribute; nothing if the target is last.

    With the attribute first no prior can be asked of a left-to-right model. It is the same for
    all attributes of a template, so it shifts the scores of both attribute sets alike.
    """
    x, a = sentence.roles["target"], sentence.roles["attribute"]
    return _from(sentence, range(x[0], a[0])) if x[0] < a[0] else []


def _one_mask(sentence: Encoded, golds: Iterable[int]) -> list[Query]:
    one = refilled(sentence, "target", (0,))
    at = one.roles["target"][0]
    return [Query(one.ids, frozenset((at,)), at, g) for g in golds]


def _two_masks(sentence: Encoded, golds: Iterable[int], place: str) -> list[Query]:
    """Target and attribute one mask each; the answer read at `place`."""
    both = refilled(refilled(sentence, "target", (0,)), "attribute", (0,))
    t, a = both.roles["target"][0], both.roles["attribute"][0]
    at = {"target": t, "last": max(t, a), "before last": max(t, a) - 1}[place]
    return [Query(both.ids, frozenset((t, a)), at, g) for g in golds]


def _first_piece(sentence: Encoded, codec: Codec) -> tuple[int, ...]:
    return codec.pieces(_word(sentence))[:1]


def _distinct_pieces(sentence: Encoded, codec: Codec) -> tuple[int, ...]:
    return tuple(sorted(set(codec.pieces(_word(sentence)))))


def _word(sentence: Encoded) -> str:
    return sentence.focus[1]


def target_first_piece(sentence: Encoded, codec: Codec) -> list[Query]:
    """One mask for the target, represented by its first piece (Kurita's release)."""
    return _one_mask(sentence, _first_piece(sentence, codec))


def prior_before_last(sentence: Encoded, codec: Codec) -> list[Query]:
    """Kurita's prior: read at the token before the last mask."""
    return _two_masks(sentence, _first_piece(sentence, codec), "before last")


def target_bare_token(sentence: Encoded, codec: Codec) -> list[Query]:
    """One mask for the target, looked up in the vocabulary as it is spelt (Thys' notebooks)."""
    return _one_mask(sentence, (codec.token(_word(sentence)),))


def prior_at_last(sentence: Encoded, codec: Codec) -> list[Query]:
    """Thys' prior: read at the last mask, which is the attribute's."""
    return _two_masks(sentence, (codec.token(_word(sentence)),), "last")


def target_distinct_pieces(sentence: Encoded, codec: Codec) -> list[Query]:
    """One mask for the target; each of its distinct pieces asked for there (Husse and Spitz)."""
    return _one_mask(sentence, _distinct_pieces(sentence, codec))


def prior_distinct_pieces(sentence: Encoded, codec: Codec) -> list[Query]:
    """Husse and Spitz's prior: the distinct pieces at the target's mask."""
    return _two_masks(sentence, _distinct_pieces(sentence, codec), "target")
