"""Which token plays which part: spans to places, alignment of two sentences."""

import difflib
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from unmask.queries import Encoded
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Span


class Alignment(NamedTuple):
    """Places of two id sequences that are equal, and those that differ, side by side."""

    same: tuple[tuple[int, ...], tuple[int, ...]]
    changed: tuple[tuple[int, ...], tuple[int, ...]]


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> Alignment:
    """Align two sequences of ids, or words, as Nangia et al. (2020) do: difflib's blocks."""
    if (quick := _substituted(first, second)) is not None:
        return quick
    shared: tuple[list[int], list[int]] = ([], [])
    changed: tuple[list[int], list[int]] = ([], [])
    matcher = difflib.SequenceMatcher(None, first, second)
    for tag, a, b, c, d in matcher.get_opcodes():
        into = shared if tag == "equal" else changed
        into[0].extend(range(a, b))
        into[1].extend(range(c, d))
    return Alignment((tuple(shared[0]), tuple(shared[1])), (tuple(changed[0]), tuple(changed[1])))


def _substituted(first: Sequence[Hashable], second: Sequence[Hashable]) -> Alignment | None:
    """The alignment of sequences in which one run of tokens replaces another, or None.

    Where no token of either run is in the other sequence, no matching block reaches over a run, so
    that difflib finds the beginning and the end that the two have in common, and this does at once.
    """
    a, b = len(first), len(second)
    start = _agree(first, second)
    end = min(_agree(first[::-1], second[::-1]), min(a, b) - start)
    run_a, run_b = first[start : a - end], second[start : b - end]
    # difflib takes frequent tokens of long sequences for junk.
    if (
        not run_a
        or not run_b
        or b >= 200
        or not {*run_a}.isdisjoint(second)
        or not {*run_b}.isdisjoint(first)
    ):
        return None
    before = tuple(range(start))
    return Alignment(
        ((*before, *range(a - end, a)), (*before, *range(b - end, b))),
        (tuple(range(start, a - end)), tuple(range(start, b - end))),
    )


def _agree(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The length of the common prefix of two sequences."""
    count = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        count += 1
    return count


def places(offsets: Sequence[Span], specials: frozenset[int], span: Span) -> tuple[int, ...]:
    """The places whose characters overlap `span`; `offsets[i]` are the characters of place i."""
    start, end = span
    indices = [i for i, (a, b) in enumerate(offsets) if a < end and b > start and a < b]
    return tuple([i for i in indices if i not in specials])


def all_places(
    offsets: Sequence[Span], specials: frozenset[int], spans: Sequence[Span]
) -> tuple[int, ...]:
    """The places of several spans together."""
    if len(spans) == 1:
        return places(offsets, specials, spans[0])
    return tuple(sorted({i for span in spans for i in places(offsets, specials, span)}))


def with_pair_roles(
    encoded: Mapping[str, Encoded], leading: str = STEREOTYPE
) -> dict[str, Encoded]:
    """Add the roles `shared`, `changed` and `aligned` to the sentences of a pair or triplet.

    A pair is aligned once, the `leading` sentence first: difflib is not symmetric, and two
    alignments in opposite orders may call different tokens shared. Anything else is aligned with
    the leading one. `aligned` keeps special tokens, which published slices count on.
    """
    first = encoded.get(leading)
    if first is None or len(encoded) < 2:
        return dict(encoded)
    opposite = ANTISTEREOTYPE if leading == STEREOTYPE else STEREOTYPE
    alignments = {k: align(first.ids, e.ids) for k, e in encoded.items() if k != leading}
    alignment = alignments.get(opposite) or next(iter(alignments.values()))
    members = {leading: _with_places(first, alignment.same[0], alignment.changed[0])}
    members |= {k: _with_places(encoded[k], f.same[1], f.changed[1]) for k, f in alignments.items()}
    return {k: members[k] for k in encoded}


def _with_places(sentence: Encoded, shared: tuple[int, ...], changed: tuple[int, ...]) -> Encoded:
    roles = {
        "aligned": shared,
        "shared": _plain(shared, sentence.specials),
        "changed": _plain(changed, sentence.specials),
    }
    # Three times as fast as `dataclasses.replace`, and there are many.
    merged = {**sentence.roles, **roles}
    words, focus, text = sentence.words, sentence.focus, sentence.text
    return Encoded(sentence.ids, sentence.specials, merged, words, focus, text, sentence.offsets)


def _plain(places: tuple[int, ...], specials: frozenset[int]) -> tuple[int, ...]:
    """The places that are not special tokens; most often only the first and last are, or none."""
    if specials.isdisjoint(places):
        return places
    if specials == {places[0], places[-1]}:
        return places[1:-1]
    return tuple(i for i in places if i not in specials)


def refilled(encoded: Encoded, role: str, ids: Sequence[int]) -> Encoded:
    """The sentence with the places of `role` replaced by `ids`; later places move along.

    The places of the role must be neighbours.
    """
    where = encoded.roles[role]
    start, end = where[0], where[-1] + 1
    shift = len(ids) - (end - start)

    def move(i: int) -> int:
        return i + shift if i >= end else i

    roles = {
        name: tuple(range(start, start + len(ids)))
        if name == role
        else tuple(move(i) for i in at if not start <= i < end)
        for name, at in encoded.roles.items()
    }
    return Encoded(
        ids=encoded.ids[:start] + tuple(ids) + encoded.ids[end:],
        specials=frozenset(move(i) for i in encoded.specials),
        roles=roles,
        focus=encoded.focus,
    )


def find_word(string: str, word: str, start: int = 0) -> Span | None:
    """The first whole-word occurrence of `word` from `start` on, whatever its case."""
    folded, folded_word = string.casefold(), word.casefold()
    if len(folded) != len(string):  # a few letters change length; then compare as written
        folded, folded_word = string, word
    while (at := folded.find(folded_word, start)) >= 0:
        end = at + len(folded_word)
        before = at == 0 or not folded[at - 1].isalnum()
        after = end == len(folded) or not folded[end].isalnum()
        if before and after:
            return at, end
        start = at + 1
    return None
