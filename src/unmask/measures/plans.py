"""Plans: from a tokenised sentence to the queries that a measure asks.

A plan is a function `(sentence, codec) -> queries`: a `RowQueries` has all places of one row of
tokens, a `Query` a single one; a plan may give either. Most need only the sentence; those
that reproduce published code may also ask the codec how that code would have tokenised a word.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from unmask.queries import (
    EACH,
    LATER,
    NOTHING,
    Codec,
    Encoded,
    Hidden,
    HiddenSets,
    Query,
    RowQueries,
)
from unmask.text.function_words import content_words
from unmask.text.roles import all_places, refilled

BLANK = "BLANK"  # StereoSet's slot
TOP = 3  # fills that DisCo looks at
IS_NEXT = 0  # the class of BERT's next-sentence head for a pair that belongs together
Plan: TypeAlias = Callable[[Encoded, Codec], Sequence[RowQueries | Query]]


def _ask(sentence: Encoded, places: Iterable[int], *hidden: Hidden) -> list[RowQueries]:
    """Ask for the tokens at some places; without hidden sets each place is hidden alone."""
    return _ask_without(sentence, places, hidden or EACH)


def _ask_without(sentence: Encoded, places: Iterable[int], hidden: HiddenSets) -> list[RowQueries]:
    """Ask for the tokens at some places, each with its own hidden places."""
    ids, at = sentence.ids, tuple(places)
    return [RowQueries(ids, at, tuple([ids[i] for i in at]), hidden)] if at else []


# ---------------------------------------------------------------- one sentence, masked


def each_content(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide each content token in turn."""
    return _ask(sentence, sentence.content)


def each_shared(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide each token that the two sentences share in turn."""
    return _ask(sentence, sentence.roles["shared"])


def shared_content(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide together the content words that both sentences share, else all tokens that they share.

    The difference and the function words stay visible. The number of hidden places is then small
    enough for a masked model.
    """
    assert sentence.text is not None
    spans = content_words(sentence.text.string)
    shared = sentence.roles["shared"]
    content = {*all_places(sentence.offsets, sentence.specials, spans)}
    at = tuple(i for i in shared if i in content) or shared
    return _ask(sentence, at, frozenset(at))


def reply(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Ask for the label's tokens at the start of the reply to each request."""
    return [
        RowQueries((*row, ids[0]), (len(row),) * len(ids), ids, LATER)
        for row, ids in sentence.prompts
    ]


def each_changed(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide each token in which the two sentences differ in turn."""
    return _ask(sentence, sentence.roles["changed"])


def all_changed(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide all tokens in which the two sentences differ at once."""
    hidden = frozenset(sentence.roles["changed"])
    return _ask(sentence, sentence.roles["changed"], hidden)


def all_changed_crossed(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """As `all_changed`, but every hidden token asked for at every hidden place."""
    changed = sentence.roles["changed"]
    crossed = [(i, sentence.ids[j]) for i in changed for j in changed]
    if not crossed:
        return []
    at, gold = zip(*crossed, strict=True)
    return [RowQueries(sentence.ids, at, gold, (frozenset(changed),))]


def nothing(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide nothing; ask for each content token in plain sight."""
    return _ask(sentence, sentence.content, NOTHING)


def every_place(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide nothing; ask for each token in plain sight, special tokens too."""
    return _ask(sentence, range(len(sentence.ids)), NOTHING)


def shuffled(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Content tokens in random order, nothing hidden; each token asked for at its new place.

    Special tokens stay, and are asked for too. The same order on every call; queries are in the
    order of the sentence as it was, as those of `every_place`.
    """
    content = sentence.content
    moved = list(content)
    random.Random(repr(sentence.ids)).shuffle(moved)
    row, at = list(sentence.ids), list(range(len(sentence.ids)))
    for old, new in zip(content, moved, strict=True):
        row[new], at[old] = sentence.ids[old], new
    return [RowQueries(tuple(row), tuple(at), sentence.ids, (NOTHING,))] if at else []


def all_fill(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide all tokens of the word that fills the blank at once."""
    return _ask(sentence, sentence.roles["fill"], frozenset(sentence.roles["fill"]))


def trait_at_once(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide all tokens of the trait at once."""
    return _ask(sentence, sentence.roles["trait"], frozenset(sentence.roles["trait"]))


def trait_left_to_right(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The trait's tokens, each given all that precedes it; nothing if the group is behind."""
    trait, changed = sentence.roles["trait"], sentence.roles["changed"]
    return [] if changed and trait[-1] < changed[0] else _from(sentence, trait)


def everything(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide all content tokens at once."""
    hidden = frozenset(sentence.content)
    return _ask(sentence, sentence.content, hidden)


def within_word(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide each content token and the later pieces of its word."""
    words = sentence.words

    def hidden(i: int) -> Hidden:
        following = (j for j in sentence.content if j > i and words[j] == words[i])
        return frozenset((i, *following))

    return _ask(sentence, sentence.content, *map(hidden, sentence.content))


def inner_places(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide nothing; ask for the places 1 to T - 2, whatever is there."""
    return _ask(sentence, range(1, len(sentence.ids) - 1), NOTHING)


def inner_aligned(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide each aligned place in turn, less the first and the last, whatever is there."""
    return _ask(sentence, sentence.roles["aligned"][1:-1])


# ---------------------------------------------------------------- left to right


def left_to_right(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Each content token given those before it (the first only if something precedes it)."""
    return _from(sentence, (i for i in sentence.content if i > 0))


def _from(sentence: Encoded, places: Iterable[int]) -> list[RowQueries]:
    return _ask_without(sentence, places, LATER)


def shared_left_to_right(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Each shared token given all before it; nothing if all of them precede the difference.

    A left-to-right model has not seen the difference there, so the tokens would be a false tie.
    Without a start token, the first shared token has nothing before it in one of the sentences, and
    is left out in both.
    """
    shared, changed = (sentence.roles[role] for role in ("shared", "changed"))
    shared = shared if 0 in sentence.specials else shared[1:]
    if not shared or (changed and shared[-1] < changed[0]):
        return []
    return _from(sentence, shared)


def aligned_left_to_right(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Each aligned place but the first given all before it, whatever is there."""
    return _from(sentence, (i for i in sentence.roles["aligned"][1:] if i > 0))


def left_to_right_apart(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """As `left_to_right`, computed as published code does for GPT-2.

    The first token is queried after the start token alone; the others in the sentence without the
    start token.
    """
    if 0 not in sentence.specials:
        return left_to_right(sentence, codec)
    ids = sentence.ids[1:]
    targets = tuple(i - 1 for i in sentence.content if i > 1)
    first = RowQueries(sentence.ids[:2], (1,), sentence.ids[1:2], LATER)
    if not targets:
        return [first]
    return [first, RowQueries(ids, targets, tuple(ids[i] for i in targets), LATER)]


def without_start(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Each content token but the first given those before it, in the sentence without specials."""
    ids = tuple(sentence.ids[i] for i in sentence.content)
    at = tuple(range(1, len(ids)))
    return [RowQueries(ids, at, ids[1:], LATER)] if at else []


def changed_left_to_right(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The tokens in which two sentences differ given all before them, as far as it is there."""
    changed, shared = sentence.roles["changed"], sentence.roles["shared"]
    before = sum(i < changed[0] for i in shared) if changed else 0
    return _from(sentence, changed) if before > len(shared) - before else []


def changed_as_tokenised(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """As `changed_left_to_right`, with a start token only where the tokenizer adds one itself."""
    if codec.adds_start:
        return changed_left_to_right(sentence, codec)
    content = sentence.content
    ids = tuple(sentence.ids[i] for i in content)
    at = tuple(content.index(i) for q in changed_left_to_right(sentence, codec) for i in q.at)
    return [RowQueries(ids, at, tuple(ids[i] for i in at), LATER)] if at and at[0] > 0 else []


# ---------------------------------------------------------------- a sentence after its context


def each_of_continuation(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Hide each token of the continuation in turn, the context in sight."""
    return _ask(sentence, sentence.roles["continuation"])


def continuation_left_to_right(sentence: Encoded, codec: Codec) -> list[RowQueries]:
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
        prefix = refilled(sentence, "fill", pieces[: k + 1])
        at = prefix.roles["fill"][-1]
        queries.append(Query(prefix.ids, frozenset((at,)), at, pieces[k]))
    return queries


def reveal_retokenised(sentence: Encoded, codec: Codec) -> list[Query]:
    """As `reveal_fill`, by the route of Nadeem et al.'s release: through text.

    The word is tokenised alone, without a leading space; the first k pieces are decoded, the
    mask token is glued to them, they replace every BLANK, and the whole sentence is tokenised
    again; the answer is read at the first mask.
    """
    return _retokenised(sentence, codec, codec.encode)


def reveal_after_paragraph(sentence: Encoded, codec: Codec) -> list[Query]:
    """As `reveal_retokenised`, behind the long paragraph that the release gives to XLNet."""
    return _retokenised(sentence, codec, codec.encode_after_paragraph)


def _retokenised(sentence: Encoded, codec: Codec, encode: Callable[[str], Encoded]) -> list[Query]:
    before, word, after = sentence.focus
    pieces = codec.pieces(word)
    queries = []
    for k, gold in enumerate(pieces):
        prefix = codec.decode(pieces[:k]) + codec.mask
        retokenised = encode(before + prefix + after.replace(BLANK, prefix))
        at = retokenised.ids.index(codec.token(codec.mask))
        row = retokenised.ids[:at] + (gold,) + retokenised.ids[at + 1 :]
        queries.append(Query(row, frozenset((at,)), at, gold))
    return queries


# ---------------------------------------------------------------- target and attribute


def target(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The target's pieces left to right, with the attribute in sight."""
    return _target(sentence, ())


def target_alone(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The target's pieces left to right, with the attribute hidden: the prior."""
    return _target(sentence, sentence.roles["attribute"])


def _target(sentence: Encoded, besides: tuple[int, ...]) -> list[RowQueries]:
    where = sentence.roles["target"]
    return _ask(sentence, where, *(frozenset((*where[k:], *besides)) for k in range(len(where))))


def target_at_once(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The target's pieces, each at its own place, all hidden together."""
    where = sentence.roles["target"]
    return _ask(sentence, where, frozenset(where))


def target_at_once_alone(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The same with the attribute hidden as well: the prior."""
    where = sentence.roles["target"]
    return _ask(sentence, where, frozenset((*where, *sentence.roles["attribute"])))


def blank_top(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The three likeliest tokens for the blank, which is one hidden place."""
    refill = refilled(sentence, "fill", (0,))
    at = refill.roles["fill"][0]
    return [RowQueries(refill.ids, (at,) * TOP, tuple(range(TOP)), (frozenset((at,)),))]


def causal_joint(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """From the target's first to the attribute's last piece; only the target if it is last.

    By Bayes, p(x | a) / p(x) = p(a | x) / p(a), and p(a) cancels between two targets, so with
    `causal_prior` this is LPBS exactly where the target comes first.
    """
    x, a = sentence.roles["target"], sentence.roles["attribute"]
    stop = a[-1] + 1 if x[0] < a[0] else x[-1] + 1
    return _from(sentence, range(x[0], stop))


def causal_joint_first(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """As `causal_joint` if the target comes first; nothing if it is last.

    A prior is then not available, and without one the frequency of the target would count.
    """
    first = sentence.roles["target"][0] < sentence.roles["attribute"][0]
    return causal_joint(sentence, codec) if first else []


def causal_prior(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """From the target's first piece to just before the attribute; nothing if the target is last.

    If the attribute is first, a left-to-right model gives no prior. The prior is the same for all
    attributes of a template, so it shifts the scores of both attribute sets alike.
    """
    x, a = sentence.roles["target"], sentence.roles["attribute"]
    return _from(sentence, range(x[0], a[0])) if x[0] < a[0] else []


def _one_mask(sentence: Encoded, golds: Iterable[int]) -> list[Query]:
    refill = refilled(sentence, "target", (0,))
    at = refill.roles["target"][0]
    return [Query(refill.ids, frozenset((at,)), at, g) for g in golds]


def _two_masks(sentence: Encoded, golds: Iterable[int], place: str) -> list[Query]:
    """Target and attribute one mask each; the answer read at `place`."""
    both = refilled(refilled(sentence, "target", (0,)), "attribute", (0,))
    t, a = both.roles["target"][0], both.roles["attribute"][0]
    at = {"target": t, "before last": max(t, a) - 1}[place]
    return [Query(both.ids, frozenset((t, a)), at, g) for g in golds]


def _first_piece(sentence: Encoded, codec: Codec) -> tuple[int, ...]:
    return codec.pieces(_word(sentence))[:1]


def _distinct_pieces(sentence: Encoded, codec: Codec) -> tuple[int, ...]:
    """Lower-case the target as the release does, whatever the model's case."""
    return tuple(sorted(set(codec.pieces(_word(sentence).lower()))))


SINGULAR = "attribute="  # role of a span that marks a plural, followed by its singular


def crossed_target(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Every piece of the target at each of its places, from the first mask on (Ahn and Oh)."""
    return _crossed(sentence, codec, ())


def crossed_prior(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The same with the attribute hidden; behind it, from the row's second mask on."""
    return _crossed(sentence, codec, ("attribute",))


def _crossed(sentence: Encoded, codec: Codec, besides: tuple[str, ...]) -> list[RowQueries]:
    assert sentence.text is not None
    text, pieces = sentence.text, codec.pieces(_word(sentence).lower())
    hidden = [("target", len(pieces))]
    if besides:  # masks are counted by the singular, also where the sentence has the plural
        start, end = text.spans["attribute"][0]
        singular = (name.partition("=")[2] for name in text.spans if name.startswith(SINGULAR))
        attribute = next(singular, text.string[start:end])
        hidden += [(role, len(codec.pieces(attribute))) for role in besides]
    string = text.string
    for role, count in sorted(hidden, key=lambda h: -text.spans[h[0]][0][0]):
        left, right = text.spans[role][0]
        string = string[:left] + " ".join([codec.mask] * count) + string[right:]
    row, mask = codec.encode(string).ids, codec.token(codec.mask)
    masks = [i for i, token in enumerate(row) if token == mask]
    behind = besides and text.spans["target"][0] > text.spans["attribute"][0]
    first = masks[1 if behind else 0]
    at = [i for i in range(first, first + len(pieces)) if i < len(row)]
    queries = [(i, piece) for i in at for piece in pieces]
    places, golds = zip(*queries, strict=True)
    return [RowQueries(row, places, golds, (frozenset(masks),))]


PADDED_TO = 16  # the power of two from the 13 words of BEC-Pro's longest sentence


def padded_target(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """Bartl et al.'s row: the target hidden, and the row filled up with masks."""
    return _padded(sentence, codec, ("target",))


def padded_prior(sentence: Encoded, codec: Codec) -> list[RowQueries]:
    """The same with every word of the attribute hidden; read at the row's first mask."""
    return _padded(sentence, codec, ("target", "attribute"))


def _padded(sentence: Encoded, codec: Codec, roles: tuple[str, ...]) -> list[RowQueries]:
    """The first mask of the row with both hidden gives the place, the full sentence the tokens."""
    assert sentence.text is not None
    spans, string = sentence.text.spans, sentence.text.string
    mask = codec.token(codec.mask)

    def row(hidden: Iterable[str]) -> tuple[int, ...]:
        text = string
        for start, end in sorted((spans[r][0] for r in hidden), reverse=True):
            words = len(text[start:end].split())
            text = text[:start] + " ".join([codec.mask] * words) + text[end:]
        ids = codec.encode(text).ids
        return (*ids, *[mask] * (PADDED_TO - len(ids)))[:PADDED_TO]

    full, target_hidden, both = row(()), row(roles), row(("target", "attribute"))
    at = both.index(mask)
    hidden = frozenset(i for i, token in enumerate(target_hidden) if token == mask)
    return [RowQueries(target_hidden, (at,), (full[at],), (hidden,))]


def _word(sentence: Encoded) -> str:
    return sentence.focus[1]


def target_first_piece(sentence: Encoded, codec: Codec) -> list[Query]:
    """One mask for the target, represented by its first piece (Kurita's release)."""
    return _one_mask(sentence, _first_piece(sentence, codec))


def prior_before_last(sentence: Encoded, codec: Codec) -> list[Query]:
    """Kurita's prior: read at the token before the last mask."""
    return _two_masks(sentence, _first_piece(sentence, codec), "before last")


def target_bare_token(sentence: Encoded, codec: Codec) -> list[Query]:
    """One mask for the target, looked up in the vocabulary as it is spelt (Thys' notebooks).

    The masked sentence is tokenised again, which leaves a lone space marker behind XLNet's mask.
    """
    row, masks = _masked_text(sentence, codec, ("target",))
    return [Query(row, frozenset(masks), masks[0], codec.token(_word(sentence)))]


def prior_at_last(sentence: Encoded, codec: Codec) -> list[Query]:
    """Thys' prior: read at the last mask, which is the attribute's."""
    row, masks = _masked_text(sentence, codec, ("target", "attribute"))
    return [Query(row, frozenset(masks), masks[-1], codec.token(_word(sentence)))]


def _masked_text(
    sentence: Encoded, codec: Codec, roles: tuple[str, ...]
) -> tuple[tuple[int, ...], list[int]]:
    """Write a mask token for each role, tokenise again, and return the ids and the mask places."""
    assert sentence.text is not None
    string = sentence.text.string
    spans = sorted(sentence.text.spans[role][0] for role in roles)
    for start, end in reversed(spans):
        string = string[:start] + codec.mask + string[end:]
    ids = codec.encode(string).ids
    mask = codec.token(codec.mask)
    return ids, [i for i, token in enumerate(ids) if token == mask]


def target_distinct_pieces(sentence: Encoded, codec: Codec) -> list[Query]:
    """One mask for the target; each of its distinct pieces asked for there (Husse and Spitz)."""
    return _one_mask(sentence, _distinct_pieces(sentence, codec))


def prior_distinct_pieces(sentence: Encoded, codec: Codec) -> list[Query]:
    """Husse and Spitz's prior: the distinct pieces at the target's mask."""
    return _two_masks(sentence, _distinct_pieces(sentence, codec), "target")


# Plans that query tokens in plain sight: the model can copy them.
IN_SIGHT: frozenset[Plan] = frozenset({nothing, every_place, inner_places, shuffled})
