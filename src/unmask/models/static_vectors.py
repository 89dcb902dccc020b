"""Static word vectors: GloVe text, word2vec text and binary."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from unmask.errors import ModelError, NotApplicable
from unmask.models.batches import Budget, budget_for
from unmask.models.protocol import Abilities
from unmask.text.contexts import VectorRequest
from unmask.types import Floats, Kind

SUFFIXES = {".txt", ".vec", ".bin", ".glove"}


@dataclass(frozen=True, slots=True)
class StaticVectors:
    """A file of word vectors. Only the requested words are read, so its size does not matter."""

    path: Path
    name: str
    dimensions: int
    binary: bool
    header: bool
    uncased: bool = False
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind: Kind = "static"
    family: str = "static"

    @property
    def abilities(self) -> Abilities:
        """Word vectors without layers."""
        note = "the vectors have no capitals: words are looked up in lower case."
        return Abilities(pools=("word-mean",), remarks=(note,) * self.uncased)

    @property
    def codec(self) -> NoReturn:
        """Refused: there is no tokenizer, words are looked up whole."""
        raise NotApplicable(f"{self.name!r} has vectors and no tokens; use 'weat'.")

    def finer(self) -> "list[StaticVectors]":
        """No finer precision is available."""
        return []

    def close(self) -> None:
        """Do nothing: no file is held open."""

    def vectors(self, **_: Any) -> "StaticVectors":
        """Return itself: vectors are looked up."""
        return self

    def budget(self, tokens: int | str) -> Budget:
        """It runs on the CPU."""
        return budget_for(tokens, None)

    def engine(self, stream: str = "own", **_: Any) -> NoReturn:
        """Refused: vectors answer no questions."""
        raise NotApplicable(f"{self.name!r} has vectors and no probabilities; use 'weat'.")

    def lookup(self, words: Iterable[str]) -> dict[str, Floats]:
        """Return the vectors of those words that the file has.

        If the file has no capitals at all (GloVe 6B), words are looked up in lower case.
        """
        missing = set(words)
        forms = {w.lower() for w in missing} if self.uncased else missing
        vectors: dict[str, Floats] = {}
        entries = self._binary(forms) if self.binary else self._text(forms)
        for word, vector in entries:
            vectors.setdefault(word, vector)
            if len(vectors) == len(forms):
                break
        key = str.lower if self.uncased else str
        return {w: vectors[key(w)] for w in missing if key(w) in vectors}

    def words(self) -> Iterator[str]:
        """All words of the file, in its order."""
        if self.binary:
            yield from (word for word, _ in self._binary(None))
            return
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file):
                if number or not self.header:
                    yield line.rsplit(" ", self.dimensions)[0]

    def has(self, words: Iterable[str]) -> set[str]:
        """The words that the file has."""
        return set(self.lookup(words))

    def embed(self, requests: Sequence[VectorRequest]) -> Floats:
        """Return one vector per request; all words must be in the file (see `has`)."""
        words = [w.mention.text[slice(*w.mention.span)] for w in requests]
        vectors = self.lookup(words)
        return np.stack([vectors[w] for w in words])

    def _text(self, words: set[str]) -> Iterator[tuple[str, Floats]]:
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file):
                if number == 0 and self.header:
                    continue
                # Some words of GloVe 840B contain spaces: the numbers are counted from the end.
                parts = line.rstrip("\n").rsplit(" ", self.dimensions)
                if parts[0] in words:
                    yield parts[0], self._vector(parts[1:], number + 1)

    def _vector(self, parts: list[str], line: int) -> Floats:
        try:
            vector = np.array(parts, float)
        except ValueError:
            vector = np.full(self.dimensions, np.nan)
        if len(vector) != self.dimensions or not np.isfinite(vector).all():
            raise ModelError(
                f"{self.name!r}, line {line} does not have {self.dimensions} finite numbers; fix "
                "the file or fetch it again."
            )
        return vector

    def _binary(self, words: set[str] | None) -> Iterator[tuple[str, Floats]]:
        size = 4 * self.dimensions
        with self.path.open("rb") as file:
            count = int(file.readline().split()[0])
            data = np.memmap(self.path, np.uint8, "r", offset=file.tell())
        raw, at = memoryview(data), 0  # type: ignore[arg-type]
        for _ in range(count):
            end = at
            while end < len(raw) and raw[end] != 32:  # the word ends at a space
                end += 1
            if end + 1 + size > len(raw):
                raise ModelError(
                    f"{self.name!r} ends before its {count} words do; fetch the file again."
                )
            word = bytes(raw[at:end]).decode("utf-8", "replace").lstrip("\n")
            if words is None or word in words:
                yield word, np.frombuffer(raw, "<f4", self.dimensions, end + 1).astype(float)
            at = end + 1 + size


def load_static(name: str) -> StaticVectors:
    """Open a vectors file, and check whether all its words are in lower case."""
    opened = open_static(name)
    return replace(opened, uncased=not any(w != w.lower() for w in opened.words()))


def open_static(name: str) -> StaticVectors:
    """Open a vectors file, and detect its format from its first bytes."""
    path = Path(name)
    if not path.is_file():
        raise ModelError(f"there is no vectors file {name!r}; give GloVe or word2vec vectors.")
    with path.open("rb") as file:
        first, second = file.readline(), file.readline(1 << 16)
    head = first.split()
    header = len(head) == 2 and all(p.isdigit() for p in head)
    if header:
        dimensions = int(head[1])
        binary = len(second.rstrip(b"\n").split(b" ")) < dimensions + 1
    else:
        dimensions, binary = len(head) - 1, False
    if dimensions < 2 or not (header or _numbers(head[1:])):
        raise ModelError(
            f"{name!r} is not a vectors file: a line should hold a word and its numbers, or the "
            "first line the number of words and of dimensions."
        )
    digest = hashlib.blake2b(first + second, digest_size=16).hexdigest()
    provenance = {
        "kind": "static",
        "architecture": "word2vec binary" if binary else "text vectors",
        "weights": f"{digest}-{path.stat().st_size}",
        "dtype": "float32" if binary else "text",
        "dimensions": dimensions,
    }
    return StaticVectors(path, name, dimensions, binary, header, provenance=provenance)


def _numbers(parts: list[bytes]) -> bool:
    try:
        [float(p) for p in parts[-2:]]
    except ValueError:
        return False
    return True
