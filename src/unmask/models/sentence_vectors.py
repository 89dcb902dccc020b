"""Embed words in sentences: which rows a network is given, and which vectors are cached.

Each distinct sentence goes through the model once, for all poolings and all tests of a run. No
network is needed here: the caller computes the batches that are not cached.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from unmask.errors import DataError
from unmask.models.batches import Budget, Progress, batches
from unmask.models.output_cache import VectorOutputs, salt
from unmask.models.transformers.encodings import ENCODE
from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.queries import Encoded
from unmask.support.store import Store
from unmask.text.contexts import Mention, VectorRequest
from unmask.types import Floats

Request: TypeAlias = tuple[int, tuple[int, ...], int]  # number, places, layer
Batch: TypeAlias = tuple[list[tuple[int, ...]], list[list[Request]]]  # rows, what is asked of each
Compute: TypeAlias = Callable[[Sequence[Batch]], Iterator[Floats]]  # the vectors of some batches


def places_for(pool: str, row: Encoded, cls: int | None) -> tuple[int, ...]:
    """Return the places that a pooling averages over; `row.roles["word"]` are the word's pieces."""
    content, word = row.content, row.roles["word"]
    if pool == "cls":
        return (row.ids.index(cls) if cls in row.ids else 0,)
    by_pool: Mapping[str, tuple[int, ...]] = {
        "first": (0,),
        "last": content[-1:],
        "mean": content,
        "mean-all": tuple(range(len(row.ids))),
        "word-mean": word,
        "word-first": word[:1],
        "word-last": word[-1:],
        "after-word": (word[0] + 1,) if word else (),
    }
    return by_pool[pool]


@dataclass(frozen=True, slots=True)
class SentenceVectors:
    """Embed words with a function `compute`; `layer` counts from the embeddings or from the end.

    The embeddings are layer 0, the last layer is -1.
    """

    compute: Compute
    codec: TokenizerCodec
    limit: int
    layer: int = -1
    budget: Budget = Budget()
    cache: VectorOutputs | None = None
    progress: Progress = lambda rows, total: None

    @staticmethod
    def of(
        model: Any,
        compute: Compute,
        *,
        layer: int | None = None,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> "SentenceVectors":
        """The vectors of a model that `compute` gives; by default those of the last layer."""
        cache = None if store is None else VectorOutputs(store, salt(model.provenance, "vectors"))
        level, limit = -1 if layer is None else layer, model.abilities.limit
        used = budget or Budget()
        return SentenceVectors(compute, model.codec, limit, level, used, cache, progress)

    def has(self, words: Iterable[str]) -> set[str]:
        """Return the words whose pieces are not all unknown tokens."""
        unknown = self.codec.unknown
        return {w for w in words if not all(p == unknown for p in self.codec.pieces(w))}

    def embed(self, requests: Sequence[VectorRequest]) -> Floats:
        """Return one vector per request [n, d], NaN if its sentence exceeds the limit."""
        rows: dict[tuple[int, ...], int] = {}
        positions: list[list[Request]] = []
        cls = self.codec.tokenizer.cls_token_id
        encodings: dict[tuple[str, Mention], Encoded] = {}
        for number, want in enumerate(requests):
            key = (want.encode, want.mention)
            if key not in encodings:
                encodings[key] = ENCODE[want.encode](self.codec, want.mention)
            row = encodings[key]
            if len(row.ids) > self.limit:
                continue
            places = places_for(want.pool, row, cls)
            if not places and want.encode == "guo2021":
                continue  # the released code has no vector if it does not find the piece
            if not places:
                raise DataError(
                    f"no token of {want.mention.text!r} belongs to the word at "
                    f"{want.mention.span}; the tokenizer drops it."
                )
            index = rows.setdefault(row.ids, len(rows))
            if index == len(positions):
                positions.append([])
            layer = self.layer if want.layer is None else want.layer
            positions[index].append((number, places, layer))
        return self._run(list(rows), positions, len(requests))

    def _run(self, rows: list[tuple[int, ...]], positions: list[list[Request]], n: int) -> Floats:
        table = np.full((n, 1), np.nan)
        lengths = [len(r) for r in rows]
        groups = batches(lengths, [1] * len(rows), self.budget, 1)
        parts = [([rows[i] for i in g], [positions[i] for i in g]) for g in groups]
        for group, pooled in zip(groups, self._outputs(parts), strict=True):
            if table.shape[1] != pooled.shape[1]:  # OPT's last states are projected to another size
                table = np.full((n, pooled.shape[1]), np.nan)
            table[[number for i in group for number, _, _ in positions[i]]] = pooled
            self.progress(len(group), len(rows))
        return table

    def _outputs(self, parts: Sequence[Batch]) -> Iterator[Floats]:
        """Return the vectors of each batch, cached if all are known, else computed."""
        keys = [self._keys(part) for part in parts]
        recalled = [self.cache.recall(k) if self.cache else None for k in keys]
        missing = [p for p, hit in zip(parts, recalled, strict=True) if hit is None]
        new = self.compute(missing) if missing else iter(())
        for hit, part_keys in zip(recalled, keys, strict=True):
            vectors = next(new) if hit is None else hit
            if hit is None and self.cache:
                self.cache.note(part_keys, vectors)
            yield vectors

    def _keys(self, part: Batch) -> list[Any]:
        if self.cache is None:
            return []
        return [
            self.cache.key(row, places, layer)
            for row, questions in zip(*part, strict=True)
            for _, places, layer in questions
        ]
