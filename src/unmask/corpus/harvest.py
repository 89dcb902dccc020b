"""Finding stimuli in a corpus and keeping a uniform sample of their sentences.

The sample is the bottom k by a keyed hash of the sentence: uniform over the distinct sentences,
the same whatever the order of files, the number of workers or a restart; and the bottom k of two
samples together is the sample of the union.
"""

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.corpus.readers import Broken, blocks, documents, is_json
from unmask.errors import DataError
from unmask.types import Stimuli

# Letters, digits, apostrophes and everything outside ASCII belong to words; all else is space.
_FOLD = bytes(
    c if chr(c).isalnum() or c == 0x27 or c >= 0x80 else 0x20 for c in bytes(range(256)).lower()
)
APART = 18  # words between the two stimuli of a double, at most
TOP = 1 << 64
_SPACE = b" \t\r\n\x1e"
_LEFT = _SPACE + b"\"')]"  # what the sentence before may leave


def _set(characters: bytes) -> NDArray[np.bool_]:
    table = np.zeros(256, dtype=bool)
    table[list(characters)] = True
    return table


_STOP, _GAP, _QUOTE, _LINE = (
    _set(b".!?\n\x1e"),
    _set(b" \t\r\n\x1e"),
    _set(b"\"')]"),
    _set(b"\n\x1e"),
)


class Found(NamedTuple):
    """A sentence with a stimulus at [start, end), in characters."""

    key: int
    sentence: str
    start: int
    end: int
    source: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to look for. `exact` stimuli (names) must match in letter case too."""

    stimuli: tuple[str, ...]
    exact: frozenset[str] = frozenset()
    doubles: Mapping[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    keep: int = 10_000
    longest: int = 600
    seed: int = 0


def plan_for(tests: Iterable[Stimuli], *, keep: int, seed: int = 0) -> Plan:
    """All stimuli of some word tests; names are matched in case, other words are not."""
    tests = list(tests)
    words = {w: test.meta.get("forms", {}).get(w, "") for test in tests
             for ws in test.sets.values() for w in ws}  # fmt: skip
    exact = frozenset(w for w, form in words.items() if form == "name")
    doubles = {
        t.name: (
            frozenset(w for ws in t.targets.values() for w in ws),
            frozenset(w for ws in t.attributes.values() for w in ws),
        )
        for t in tests
    }
    return Plan(tuple(sorted(words)), exact, doubles, keep=keep, seed=seed)


class Sample:
    """The sentences of least hash for each key, at most `keep`; memory is bounded by that."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.rows: dict[str, dict[int, Found]] = {}
        self.limit: dict[str, int] = {}

    def offer(self, name: str, found: Found) -> None:
        """Keep a sentence if it is among the least so far; one that is there already is not new."""
        if found.key >= self.limit.get(name, TOP):
            return
        rows = self.rows.setdefault(name, {})
        # Of the same sentence from two places the first by name stays, whatever came first.
        known = rows.get(found.key)
        if known is None or found.source < known.source:
            rows[found.key] = found
        if len(rows) >= 2 * self.keep:
            self._prune(name)

    def _prune(self, name: str) -> None:
        rows = self.rows[name]
        if len(rows) > self.keep:
            kept = heapq.nsmallest(self.keep, rows)
            self.rows[name] = {k: rows[k] for k in kept}
            self.limit[name] = kept[-1] + 1

    def merge(self, other: "Sample") -> None:
        """Take in another sample."""
        for name, rows in other.rows.items():
            for found in rows.values():
                self.offer(name, found)

    def result(self) -> dict[str, list[Found]]:
        """The sample: names in order, sentences by hash."""
        for name in self.rows:
            self._prune(name)
        return {n: [self.rows[n][k] for k in sorted(self.rows[n])] for n in sorted(self.rows)}


class Matcher:
    """All stimuli at once, whole words and phrases, with a compiled automaton."""

    def __init__(self, plan: Plan) -> None:
        try:
            from ahocorasick_rs import BytesAhoCorasick
        except ImportError as error:
            raise DataError("contexts need: pip install 'unmask[corpus]'.") from error
        self.plan = plan
        self._salt = plan.seed.to_bytes(8, "big")
        folded: dict[bytes, list[str]] = {}
        for word in plan.stimuli:
            folded.setdefault(self._pattern(word), []).append(word)
        self._words = [
            [(w, w.encode() if w in plan.exact else None) for w in words]
            for words in folded.values()
        ]
        self._as_target: dict[str, list[str]] = {}
        for test, (targets, _) in plan.doubles.items():
            for word in targets:
                self._as_target.setdefault(word, []).append(test)
        self._automaton = BytesAhoCorasick(list(folded))

    @staticmethod
    def _pattern(word: str) -> bytes:
        return b" " + word.encode().lower().translate(_FOLD) + b" "

    def search(self, text: bytes, source: str, into: Sample, doubles: Sample) -> None:
        """Offer every sentence of `text` that holds a stimulus.

        Matches come in the order of their ends, so those of one sentence stand together.
        """
        folded = (b" " + text + b" ").lower().translate(_FOLD)
        hits = self._automaton.find_matches_as_indexes(folded, overlapping=True)
        if not hits:
            return
        ends = sentence_ends(text)
        # A match at [start, end) of the padded text is [start, end - 2) of the text itself.
        number = np.searchsorted(ends, np.array([h[2] for h in hits]) - 2, side="left").tolist()
        bounds = [0, *ends.tolist()]
        last, line, limit = -1, None, into.limit
        seen: dict[str, tuple[int, int]] = {}
        # The innermost loop of the whole build: written flat, a call costs as much as the work.
        for n, (which, start, end) in zip(number, hits, strict=True):
            if n != last:
                if len(seen) > 1:
                    self._doubles(line, seen, source, doubles)
                last, seen = n, {}
                line = self._line(text[bounds[n] : bounds[n + 1]], bounds[n])
            if line is None:
                continue
            a, b = start - line.offset, end - 2 - line.offset
            if a < 0 or b > len(line.bare):
                continue  # a phrase across the end of a sentence
            for word, exact in self._words[which]:
                if exact is not None and line.bare[a:b] != exact:
                    continue
                seen[word] = (a, b)
                if word not in limit or line.key < limit[word]:
                    into.offer(word, line.found(a, b, source))
        if len(seen) > 1:
            self._doubles(line, seen, source, doubles)

    def _line(self, raw: bytes, begin: int) -> "_Line | None":
        """A sentence ready to be offered, or nothing if it is empty or too long."""
        left = raw.lstrip(_LEFT)
        bare = left.rstrip(_SPACE)
        if not bare or len(bare) > self.plan.longest:
            return None
        digest = blake2b(bare, digest_size=8, key=self._salt).digest()
        return _Line(bare, begin + len(raw) - len(left), int.from_bytes(digest, "big"))

    def _doubles(
        self,
        line: "_Line | None",
        seen: Mapping[str, tuple[int, int]],
        source: str,
        into: Sample,
    ) -> None:
        """A target and an attribute of one test in one sentence, at most 18 words apart."""
        if line is None:
            return
        for target in seen:
            for test in self._as_target.get(target, ()):
                for attribute in seen.keys() & self.plan.doubles[test][1]:
                    name = f"{test}\t{target}\t{attribute}"
                    if line.key >= into.limit.get(name, TOP):
                        continue
                    (_, b), (c, _) = sorted((seen[target], seen[attribute]))
                    if b <= c and len(line.bare[b:c].split()) <= APART:
                        into.offer(name, line.found(*seen[target], source))


class _Line:
    """A sentence in bytes with its hash; decoded when first needed."""

    __slots__ = ("bare", "key", "offset", "text")

    def __init__(self, bare: bytes, offset: int, key: int) -> None:
        self.bare, self.offset, self.key, self.text = bare, offset, key, ""

    def found(self, a: int, b: int, source: str) -> Found:
        """The sentence with the bytes [a, b) as a span of characters."""
        self.text = self.text or self.bare.decode("utf-8", "replace")
        if len(self.text) != len(self.bare):
            a, b = (len(self.bare[:i].decode("utf-8", "replace")) for i in (a, b))
        return Found(self.key, self.text, a, b, source)


def sentence_ends(text: bytes) -> NDArray[np.int64]:
    """Where sentences end: behind . ! or ? before a space (a quote may stand between), at lines."""
    codes = np.frombuffer(text + b"  ", np.uint8)
    at = np.flatnonzero(_STOP[codes[:-2]])
    one, two = codes[at + 1], codes[at + 2]
    ends = _LINE[codes[at]] | _GAP[one] | (_QUOTE[one] & _GAP[two])
    found = at[ends] + 1
    return found if len(found) and found[-1] == len(text) else np.append(found, len(text))


def harvest(
    path: Path, plan: Plan, progress: Callable[[int], None] = lambda done: None
) -> tuple[Sample, Sample, str]:
    """The samples of one file (singles and doubles), and what was wrong with it, if anything."""
    matcher = Matcher(plan)
    singles, doubles = Sample(plan.keep), Sample(max(1, plan.keep // 100))
    json_lines = is_json(path)
    try:
        for block in blocks(path, progress):
            matcher.search(documents(block, json_lines), path.name, singles, doubles)
    except Broken as error:
        return singles, doubles, str(error)
    return singles, doubles, ""


def window(found: Found, words: int) -> tuple[str, int, int]:
    """Cut a sentence to so many words on each side of the stimulus (4 gives 4 + 1 + 4)."""
    before, inside, after = (
        found.sentence[: found.start],
        found.sentence[found.start : found.end],
        found.sentence[found.end :],
    )
    left = re.findall(r"\S+\s*", before)[-words:] if words else []
    right = re.findall(r"\s*\S+", after)[:words] if words else []
    # What is glued to the stimulus (a quote, a comma) is no word of its own.
    head = "".join(left)
    text = head + inside + "".join(right)
    return text, len(head), len(head) + len(inside)


def expand(patterns: Sequence[str]) -> list[Path]:
    """Files of some paths and glob patterns, in order."""
    found: list[Path] = []
    for pattern in patterns:
        path = Path(pattern)
        some = [path] if path.is_file() else _glob(path)
        if not some:
            raise DataError(f"no file is named {pattern!r}; give a path or a pattern in quotes.")
        found += some
    return sorted(set(found))


def _glob(path: Path) -> list[Path]:
    root = Path(path.anchor) if path.is_absolute() else Path()
    pattern = str(path.relative_to(path.anchor)) if path.is_absolute() else str(path)
    return [p for p in root.glob(pattern) if p.is_file()]


def rows(sample: Mapping[str, list[Found]], words: int | None) -> Iterator[dict[str, Any]]:
    """The sample as the rows of a store."""
    for name, items in sample.items():
        for found in items:
            cut = (
                (found.sentence, found.start, found.end) if words is None else window(found, words)
            )
            yield {
                "stimulus": name,
                "sentence": cut[0],
                "start": cut[1],
                "end": cut[2],
                "source": found.source,
                "hash": found.key,
            }
