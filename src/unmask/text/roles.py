"""Which token plays which part: spans to places, alignment of two sentences."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Encoded, Span


class Alignment(NamedTuple):
    """Places of two id sequences that are equal, and those that differ, side by side."""

    same: tuple[tuple[int, ...], tuple[int, ...]]
    changed: tuple[tuple[int, ...], tuple[int, ...]]


def align(first: Sequence[int], second: Sequence[int]) -> Alignment:
    """Align two id sequences as Nangia et al. (2020) do: the matching blocks of difflib."""
    same: tuple[list[int], list[int]] = ([], [])
    changed: tuple[list[int], list[int]] = ([], [])
    matcher = difflib.SequenceMatcher(None, list(map(str, first)), list(map(str, second)))
    for tag, a, b, c, d in matcher.get_opcodes():
        into = same if tag == "equal" else changed
        into[0].extend(range(a, b))
        into[1].extend(range(c, d))
    return Alignment((tuple(same[0]), tuple(same[1])), (tuple(changed[0]), tuple(changed[1])))


def places(offsets: Sequence[Span], specials: frozenset[int], span: Span) -> tuple[int, ...]:
    """The places whose characters overlap `span`; `offsets[i]` are the characters of place i."""
    start, end = span
    return tuple(
        i
        for i, (a, b) in enumerate(offsets)
        if i not in specials and a < b and a < end and b > start
    )


def with_pair_roles(encoded: Mapping[str, Encoded]) -> dict[str, Encoded]:
    """Add the roles `shared`, `changed` and `aligned` to the sentences of a pair or triplet.

    Each sentence is aligned with its opposite (stereotype with antistereotype; anything else
    with the stereotype). `aligned` keeps special tokens, which published slices count on.
    """
    out = {}
    for label, sentence in encoded.items():
        other = encoded.get(ANTISTEREOTYPE if label == STEREOTYPE else STEREOTYPE)
        if other is None:
            out[label] = sentence
            continue
        found = align(sentence.ids, other.ids)
        keep = sentence.specials
        roles = {
            "aligned": found.same[0],
            "shared": tuple(i for i in found.same[0] if i not in keep),
            "changed": tuple(i for i in found.changed[0] if i not in keep),
        }
        out[label] = replace(sentence, roles={**sentence.roles, **roles})
    return out


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
    folded, wanted = string.casefold(), word.casefold()
    if len(folded) != len(string):  # a few letters change length; then compare as written
        folded, wanted = string, word
    while (at := folded.find(wanted, start)) >= 0:
        end = at + len(wanted)
        before = at == 0 or not folded[at - 1].isalnum()
        after = end == len(folded) or not folded[end].isalnum()
        if before and after:
            return at, end
        start = at + 1
    return None
