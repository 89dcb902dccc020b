"""Find the words of word tests in a corpus, by compiled matching and columnar processing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pandas.util import hash_array

from unmask.corpus.readers import LARGEST_FILE, DamagedFile, blocks, documents, is_json
from unmask.corpus.sample import SCHEMA, Sample
from unmask.errors import DataError
from unmask.text.contexts import window
from unmask.types import Stimuli

# Letters, digits, apostrophes and everything outside ASCII belong to words; all else is space.
FOLD = bytes(
    c if chr(c).isalnum() or c == 0x27 or c >= 0x80 else 0x20 for c in bytes(range(256)).lower()
)
APART = 18  # words between the two stimuli of a double, at most


def _set(characters: bytes) -> NDArray[np.bool_]:
    table = np.zeros(256, dtype=bool)
    table[list(characters)] = True
    return table


_STOP = _set(b".!?\n\x1e").tobytes()
_GAP, _QUOTE, _LINE = (
    _set(b" \t\r\n\x1e"),
    _set(b"\"')]"),
    _set(b"\n\x1e"),
)
_LOOSE = _GAP | _QUOTE  # what may remain at the start of a sentence from the one before


@dataclass(frozen=True, slots=True)
class Plan:
    """What to search for. `exact` stimuli (names) must match in letter case.

    `most` bounds the unpacked size of one file in bytes.
    """

    stimuli: tuple[str, ...]
    exact: frozenset[str] = frozenset()
    doubles: Mapping[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    keep: int = 10_000
    longest: int = 600
    seed: int = 0
    most: int = LARGEST_FILE

    @property
    def keep_doubles(self) -> int:
        """The number of sentences to keep for each pair of target and attribute."""
        return max(1, self.keep // 100)


def plan_for(
    tests: Iterable[Stimuli], *, keep: int, seed: int = 0, most: int = LARGEST_FILE
) -> Plan:
    """All stimuli of some word tests; names are matched in case, other words are not."""
    tests = list(tests)
    words = {w: test.forms.get(w, "") for test in tests for ws in test.sets.values() for w in ws}
    exact = frozenset(w for w, form in words.items() if form == "name")
    doubles = {
        t.name: (
            frozenset(w for ws in t.targets.values() for w in ws),
            frozenset(w for ws in t.attributes.values() for w in ws),
        )
        for t in tests
    }
    return Plan(tuple(sorted(words)), exact, doubles, keep=keep, seed=seed, most=most)


class _Hits(NamedTuple):
    """Matches by column: word, sentence, and the span in bytes of that sentence."""

    word: NDArray[np.int64]
    sentence: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def where(self, good: NDArray[np.bool_]) -> "_Hits":
        """Return the selected matches."""
        return _Hits(*(column[good] for column in self))


class _Lines(NamedTuple):
    """The sentences of a text that hold a match: bytes, where each starts, and their hashes."""

    bare: list[bytes]
    offset: NDArray[np.int64]
    key: NDArray[np.uint64]


class Matcher:
    """All stimuli at once, whole words and phrases, with a compiled automaton."""

    def __init__(self, plan: Plan) -> None:
        try:
            from ahocorasick_rs import BytesAhoCorasick, Implementation
        except ImportError as error:
            raise DataError("contexts need more packages: pip install 'unmask[corpus]'.") from error
        self.plan = plan
        self._salt = f"{plan.seed % 10**16:016d}"
        folded: dict[bytes, list[int]] = {}
        for number, word in enumerate(plan.stimuli):
            folded.setdefault(self._pattern(word), []).append(number)
        # Patterns in order; `Rose` and `rose` are one pattern and two words.
        self._words = np.array([n for numbers in folded.values() for n in numbers])
        self._counts = np.array([len(numbers) for numbers in folded.values()])
        self._starts = np.cumsum(self._counts) - self._counts
        self._exact = np.array([w in plan.exact for w in plan.stimuli])
        self._bytes = [w.encode() for w in plan.stimuli]
        self._tests = [
            tuple(np.array([w in side for w in plan.stimuli]) for side in sides)
            for sides in plan.doubles.values()
        ]
        self._automaton = BytesAhoCorasick(list(folded), implementation=Implementation.DFA)

    @staticmethod
    def _pattern(word: str) -> bytes:
        return b" " + word.encode().lower().translate(FOLD) + b" "

    def search(self, text: bytes, source: str, into: Sample, doubles: Sample) -> None:
        """Offer every sentence of `text` that holds a stimulus, and every double."""
        folded = (b" " + text + b" ").lower().translate(FOLD)
        matches = self._automaton.find_matches_as_indexes(folded, overlapping=True)
        if not matches:
            return
        lines, hits = self._placed(text, np.array(matches, np.int64))
        if not len(hits.word):
            return
        sentences = pa.array(lines.bare, pa.binary())
        numbers = into.numbers(self.plan.stimuli)
        _offer(into, numbers[hits.word], hits, lines, sentences, source)
        for test, names in enumerate(self.plan.doubles):
            self._doubles(test, names, hits, (lines, sentences), source, doubles)

    def _placed(self, text: bytes, matches: NDArray[np.int64]) -> tuple[_Lines, _Hits]:
        """Turn matches [pattern, start, end) in the padded text into words in sentences."""
        ends = sentence_ends(text)
        bounds = np.concatenate([[0], ends])
        # A match at [start, end) of the padded text is [start, end - 2) of the text itself.
        in_sentence = np.searchsorted(ends, matches[:, 2] - 2, side="left")
        distinct, line = np.unique(in_sentence, return_inverse=True)
        lines = self._lines(text, bounds[distinct], bounds[distinct + 1])
        times = self._counts[matches[:, 0]]
        index = np.repeat(np.arange(len(matches)), times)
        nth = np.arange(len(index)) - np.repeat(np.cumsum(times) - times, times)
        word = self._words[self._starts[matches[index, 0]] + nth]
        offset, length = lines.offset[line[index]], np.array([len(b) for b in lines.bare])
        start, end = matches[index, 1] - offset, matches[index, 2] - 2 - offset
        # Longer than the plan allows, or a phrase across the end of a sentence.
        good = (start >= 0) & (end <= length[line[index]]) & (length[line[index]] > 0)
        hits = _Hits(word, line[index], start, end).where(good)
        cased = np.flatnonzero(self._exact[hits.word])
        good = np.ones(len(hits.word), bool)
        good[cased] = [
            lines.bare[n][a:b] == self._bytes[w]
            for w, n, a, b in zip(*(c[cased].tolist() for c in hits), strict=True)
        ]
        return lines, hits.where(good)

    def _lines(self, text: bytes, start: NDArray[Any], stop: NDArray[Any]) -> _Lines:
        """Return sentences without surrounding spaces, each with its hash; empty if too long."""
        codes = np.frombuffer(text, np.uint8)
        start, stop = start.copy(), stop.copy()
        while (loose := _LOOSE[codes[np.minimum(start, len(codes) - 1)]] & (start < stop)).any():
            start += loose
        while (loose := _GAP[codes[stop - 1]] & (start < stop)).any():
            stop -= loose
        stop = np.where(stop - start <= self.plan.longest, stop, start)
        bare = [text[a:b] for a, b in zip(start.tolist(), stop.tolist(), strict=True)]
        lines = np.empty(len(bare), object)
        lines[:] = bare
        # SipHash under a key: fast enough for every sentence that holds a stimulus.
        return _Lines(bare, start, hash_array(lines, hash_key=self._salt, categorize=False))

    def _doubles(
        self,
        test: int,
        name: str,
        hits: _Hits,
        harvested: tuple[_Lines, pa.Array],
        source: str,
        into: Sample,
    ) -> None:
        """A target and an attribute of one test in one sentence, at most 18 words apart."""
        targets, attributes = self._tests[test]
        lines, sentences = harvested
        hit = np.flatnonzero(targets[hits.word] | attributes[hits.word])
        pairs = []
        for step in range(1, len(hit)):
            first, second = hit[:-step], hit[step:]
            same_sentence = hits.sentence[first] == hits.sentence[second]
            if not same_sentence.any():
                break  # matches are sorted by sentence: no pair is further apart
            pairs += [
                np.stack([first[same_sentence], second[same_sentence]]),
                np.stack([second[same_sentence], first[same_sentence]]),
            ]
        if not pairs:
            return
        target, attribute = np.concatenate(pairs, axis=1)
        fits = targets[hits.word[target]] & attributes[hits.word[attribute]]
        fits &= hits.word[target] != hits.word[attribute]
        target, attribute = target[fits], attribute[fits]
        left = np.where(hits.start[target] < hits.start[attribute], target, attribute)
        right = np.where(left == target, attribute, target)
        gaps = zip(
            hits.sentence[left].tolist(),
            hits.end[left].tolist(),
            hits.start[right].tolist(),
            strict=True,
        )
        overlapping = np.array(
            [b <= c and len(lines.bare[n][b:c].split()) <= APART for n, b, c in gaps], dtype=bool
        )
        target, attribute = target[overlapping], attribute[overlapping]
        words = self.plan.stimuli
        both = zip(hits.word[target].tolist(), hits.word[attribute].tolist(), strict=True)
        names = [f"{name}\t{words[t]}\t{words[a]}" for t, a in both]
        matches = _Hits(*(c[target] for c in hits))
        _offer(into, into.numbers(names), matches, lines, sentences, source)


def _offer(
    into: Sample,
    name: NDArray[np.int64],
    hits: _Hits,
    lines: _Lines,
    sentences: pa.Array,
    source: str,
) -> None:
    """Offer rows to a sample; only those that it may keep are cut out of the text."""
    key = lines.key[hits.sentence]
    good = key <= into.limit[name]
    hits, name, key = hits.where(good), name[good], key[good]
    with_hits = sentences.take(pa.array(hits.sentence))
    start, end, with_hits = _characters(hits.start, hits.end, with_hits)
    into.offer(name, key, (start, end), with_hits, np.full(len(name), into.source(source)))


def _characters(
    start: NDArray[np.int64], end: NDArray[np.int64], sentences: pa.Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Array]:
    """Spans of bytes as spans of characters, and the sentences as text."""
    try:
        text = sentences.cast(pa.string())
        not_ascii = np.flatnonzero(
            pc.utf8_length(text).to_numpy() != pc.binary_length(text).to_numpy()
        )
        if not len(not_ascii):
            return start, end, text
        raw = dict(
            zip(not_ascii.tolist(), sentences.take(pa.array(not_ascii)).to_pylist(), strict=True)
        )
    except pa.ArrowInvalid:  # not UTF-8
        raw = dict(enumerate(sentences.to_pylist()))
        text = pa.array([r.decode("utf-8", "replace") for r in raw.values()], pa.string())
    start, end = start.copy(), end.copy()
    for i, line in raw.items():
        start[i] = len(line[: start[i]].decode("utf-8", "replace"))
        end[i] = len(line[: end[i]].decode("utf-8", "replace"))
    return start, end, text


def sentence_ends(text: bytes) -> NDArray[np.int64]:
    """Return where sentences end: after . ! or ? (and a quote) before a space, and at line ends."""
    codes = np.frombuffer(text + b"  ", np.uint8)
    # `translate` looks bytes up several times faster than an index does.
    at = np.flatnonzero(np.frombuffer(text.translate(_STOP), bool))
    first, second = codes[at + 1], codes[at + 2]
    ends = _LINE[codes[at]] | _GAP[first] | (_QUOTE[first] & _GAP[second])
    positions = at[ends] + 1
    return (
        positions
        if len(positions) and positions[-1] == len(text)
        else np.append(positions, len(text))
    )


def harvest(
    path: Path, plan: Plan, progress: Callable[[int], None] = lambda done: None
) -> tuple[Sample, Sample, str]:
    """Return the samples of one file (singles and doubles), and its error message, if any."""
    matcher = Matcher(plan)
    singles, doubles = Sample(plan.keep), Sample(plan.keep_doubles)
    json_lines = is_json(path)
    try:
        for block in blocks(path, progress, plan.most):
            matcher.search(documents(block, json_lines), path.name, singles, doubles)
    except DamagedFile as error:
        return singles, doubles, str(error)
    return singles, doubles, ""


def cut(table: pa.Table, words: int) -> pa.Table:
    """A store's table with every sentence cut to its window."""
    columns = (table[c].to_pylist() for c in ("sentence", "start", "end"))
    rows = [window(text, start, end, words) for text, start, end in zip(*columns, strict=True)]
    sentence, start, end = zip(*rows, strict=True) if rows else ((), (), ())
    fields = {c: table[c] for c in SCHEMA.names}
    return pa.table(fields | {"sentence": sentence, "start": start, "end": end}).cast(SCHEMA)


def expand(patterns: Sequence[str]) -> list[Path]:
    """Files of some paths and glob patterns, in order."""
    paths: list[Path] = []
    for pattern in patterns:
        path = Path(pattern)
        files = [path] if path.is_file() else _glob(path)
        if not files:
            raise DataError(f"no file matches {pattern!r}; give a path or a pattern in quotes.")
        paths += files
    return sorted(set(paths))


def _glob(path: Path) -> list[Path]:
    root = Path(path.anchor) if path.is_absolute() else Path()
    pattern = str(path.relative_to(path.anchor)) if path.is_absolute() else str(path)
    try:
        return [p for p in root.glob(pattern) if p.is_file()]
    except (ValueError, IndexError, NotImplementedError, OSError):  # no pattern at all
        return []
