"""Cached outputs of a model: an interrupted run resumes, and nothing is computed twice.

Log-probabilities are cached by row: the key covers the model (weights, config, tokenizer, dtype,
stream) and the row's tokens, the value holds one record for each place and gold token that was
queried. Vectors are cached by sentence, places and layer.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.models.unique_rows import UniqueRows
from unmask.queries import Ints
from unmask.support.store import OUTPUTS, VECTORS, Key, Store, digest
from unmask.types import Floats

RECORD = np.dtype([("place", "<i4"), ("gold", "<i4"), ("value", "<f8", (3,))])
ROUNDED = 5  # increase when results change: fast paths that round differently, ties as misses


def salt(provenance: Mapping[str, Any], stream: str) -> str:
    """Return all that determines a model's outputs, as text; the stream matters, too."""
    names = (
        "weights",
        "config",
        "tokenizer",
        "dtype",
        *(("path",) if "path" in provenance else ()),
    )
    return repr([ROUNDED, stream, *(provenance.get(k) for k in names)])


def outputs_of(
    store: Store | None, provenance: Mapping[str, Any], stream: str
) -> "CachedOutputs | None":
    """Return the cached outputs of a model, or None on a GPU: there recomputing is faster."""
    on_cpu = store is not None and str(provenance["device"]) == "cpu"
    return CachedOutputs(store, salt(provenance, stream)) if store is not None and on_cpu else None


class CachedOutputs:
    """The cached outputs of one model; `salt` identifies all that determines them."""

    def __init__(self, store: Store, salt: str) -> None:
        self.store, self.salt = store, hashlib.blake2b(salt.encode(), digest_size=16).digest()

    def _keys(self, unique: UniqueRows, group: Ints, weighted: bool) -> list[Key]:
        """Return one key per row; outputs with attention weights have keys of their own."""
        tokens = unique.tokens
        bounds = zip(unique.starts[group].tolist(), unique.starts[group + 1].tolist(), strict=True)
        hidden = unique.hidden
        extra = [b"" if hidden is None else repr(hidden[r]).encode() for r in group.tolist()]
        return [
            digest(self.salt, bytes([weighted]), tokens[a:b].tobytes(), e)
            for (a, b), e in zip(bounds, extra, strict=True)
        ]

    def recall(self, unique: UniqueRows, group: Ints, weighted: bool) -> Floats | None:
        """Return all cached values for some rows [3, questions], or None if one is missing.

        All or nothing: a batch that is recomputed is then the same batch, and its numbers are the
        same to the last bit.
        """
        keys = self._keys(unique, group, weighted)
        values = self.store.get(OUTPUTS, keys)
        if len(values) < len(set(keys)):
            return None
        parts = []
        for r, key in zip(group.tolist(), keys, strict=True):
            answers = _looked_up(_questions_of(unique, r), values[key])
            if answers is None:
                return None
            parts.append(answers)
        return np.concatenate(parts, axis=1)

    def note(self, unique: UniqueRows, group: Ints, weighted: bool, answer: Floats) -> None:
        """Cache the values for all questions about some rows; earlier values remain."""
        keys = self._keys(unique, group, weighted)
        values = self.store.get(OUTPUTS, keys)
        start, records = 0, []
        for r, key in zip(group.tolist(), keys, strict=True):
            digests = _questions_of(unique, r)
            records_of_row = np.empty(len(digests), RECORD)
            records_of_row["place"], records_of_row["gold"] = digests.T
            records_of_row["value"] = answer[:, start : start + len(digests)].T
            start += len(digests)
            records.append((key, _merged(values.get(key), records_of_row).tobytes()))
        self.store.put(OUTPUTS, records)


class VectorOutputs:
    """The cached vectors of one model, by tokens, places and layer."""

    def __init__(self, store: Store, salt: str) -> None:
        self.store, self.salt = store, hashlib.blake2b(salt.encode(), digest_size=16).digest()

    def key(self, row: tuple[int, ...], places: tuple[int, ...], layer: int) -> Key:
        """The key of one vector."""
        return digest(self.salt, repr((row, places, layer)).encode())

    def recall(self, keys: Sequence[Key]) -> Floats | None:
        """Return the vectors [n, d] for some keys, or None if one is missing."""
        values = self.store.get(VECTORS, list(dict.fromkeys(keys)))
        if not values.keys() >= set(keys):
            return None
        widths = (np.float32, np.float64)
        vectors = [np.frombuffer(values[k][1:], widths[values[k][0]]) for k in keys]
        same_width = len({len(v) for v in vectors}) == 1
        return np.stack(vectors).astype(float) if same_width else None

    def note(self, keys: Sequence[Key], vectors: Floats) -> None:
        """Cache vectors, as float32 if that is exact."""
        short = vectors.astype(np.float32)
        double = not np.array_equal(short, vectors)
        values = [bytes([double]) + v.tobytes() for v in (vectors if double else short)]
        self.store.put(VECTORS, zip(keys, values, strict=True))


def _questions_of(unique: UniqueRows, row: int) -> NDArray[np.int64]:
    """Return the place and gold token of each question about a row [questions, 2]."""
    numbers = unique.order[unique.first[row] : unique.first[row + 1]]
    return np.column_stack([unique.places[unique.slot[numbers]], unique.gold[numbers]])


def _looked_up(digests: NDArray[np.int64], value: bytes) -> Floats | None:
    """Return the cached values [3, questions] for the wanted pairs, or None if one is missing."""
    records = _read(value)
    if records is None:
        return None
    place = {
        (p, g): i for i, (p, g) in enumerate(zip(records["place"], records["gold"], strict=True))
    }
    at = [place.get((p, g), -1) for p, g in digests.tolist()]
    if min(at) < 0:
        return None
    return np.asarray(records["value"][at].T)


def _merged(before: bytes | None, new_records: NDArray[Any]) -> NDArray[Any]:
    records = _read(before) if before is not None else None
    if records is None:
        return new_records
    new = set(zip(new_records["place"].tolist(), new_records["gold"].tolist(), strict=True))
    mask = [
        k not in new for k in zip(records["place"].tolist(), records["gold"].tolist(), strict=True)
    ]
    return np.concatenate([records[mask], new_records])


def _read(body: bytes) -> NDArray[Any] | None:
    """Return the records of a cached value, or None if it has another form."""
    return None if len(body) % RECORD.itemsize else np.frombuffer(body, RECORD)
