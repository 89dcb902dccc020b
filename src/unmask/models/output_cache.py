"""One cache of model outputs for all commands: an interrupted run resumes, nothing is recomputed.

SQLite with a write-ahead log, so that several processes can share it. Log-probabilities are cached
by row: the key covers the model (weights, config, tokenizer, dtype, stream) and the row's tokens,
the value holds one record for each place and gold token that was queried. Vectors are cached by
sentence, places and layer.
"""

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmask.errors import UnmaskError
from unmask.models.unique_rows import UniqueRows
from unmask.queries import Ints
from unmask.support.paths import cache_folder
from unmask.types import Floats

FILE_NAME = "answers-1.sqlite"
MAGIC = "unmask answers 1"
DEFAULT_LIMIT = 2 * 2**30  # bytes, unless UNMASK_CACHE_SIZE says otherwise
SIZE_AFTER_TRIM = 0.8  # of the limit, after the least recently used rows are deleted
WRITE_INTERVAL = 1.0  # seconds between two writes
DAY = 86_400
RECORD = np.dtype([("place", "<i4"), ("gold", "<i4"), ("value", "<f8", (3,))])
Key: TypeAlias = bytes


def limit() -> int:
    """Return the maximum size of the cache, in bytes."""
    text = os.environ.get("UNMASK_CACHE_SIZE", "")
    if not text:
        return DEFAULT_LIMIT
    if not text.isdigit() or int(text) < 1:
        raise UnmaskError(f"UNMASK_CACHE_SIZE is {text!r}; give a number of bytes.")
    return int(text)


# The exceptions that a damaged file raises: sqlite's own, and those about text that is not UTF-8.
BROKEN = (sqlite3.Error, UnicodeError, OverflowError, OSError)


class Store:
    """The cache file: keys to bytes, the least recently used deleted first.

    The file is renamed if it is damaged or foreign, and `messages` reports it. If it cannot be
    written (a read-only disk), nothing is cached.
    """

    def __init__(self, path: Path) -> None:
        limit()  # an invalid limit is refused before anything is computed
        self.path = path
        self.messages: list[str] = []
        self._new: dict[Key, bytes] = {}
        self._used: set[Key] = set()
        self._last = time.monotonic()
        self._lock = threading.Lock()
        try:
            self._file = self._opened()
        except BROKEN as error:
            self._file = self._anew(error)

    def _opened(self) -> sqlite3.Connection | None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            file.execute("PRAGMA journal_mode=WAL")
        except (OSError, sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            self.messages.append(
                f"model outputs are not cached: {self.path} cannot be written ({error})."
            )
            return None
        file.execute("PRAGMA synchronous=NORMAL")
        kind = file.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        if kind and ("answers",) not in kind:
            file.close()
            raise sqlite3.DatabaseError("it holds other tables")
        file.execute(
            "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, used INTEGER, value BLOB) "
            "WITHOUT ROWID"
        )
        file.commit()
        return file

    def _anew(self, error: Exception) -> sqlite3.Connection | None:
        """Rename a file that is not a valid cache, and open a new one."""
        aside = self.path.with_name(f"{self.path.name}.{int(time.time())}.aside")
        for ending in ("", "-wal", "-shm"):
            part = self.path.with_name(self.path.name + ending)
            if part.exists():
                part.replace(aside.with_name(aside.name + ending))
        self.messages.append(
            f"{self.path} is not a complete cache ({error}); it was renamed to {aside.name}."
        )
        try:
            return self._opened()
        except BROKEN as again:
            self.messages.append(f"model outputs are not cached ({again}).")
            return None

    def get(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        """Return the values of those keys that are cached."""
        with self._lock:
            values = {k: self._new[k] for k in keys if k in self._new}
            if self._file is None:
                return values
            try:
                for start in range(0, len(keys), 500):
                    part = keys[start : start + 500]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT key, value FROM answers WHERE key IN ({marks})"
                    values |= dict(self._file.execute(query, part).fetchall())
            except BROKEN as error:
                self._file = self._anew(error)
            self._used |= values.keys()
            return values

    def put(self, records: Iterable[tuple[Key, bytes]]) -> None:
        """Add values; they are written to the file about once a second."""
        with self._lock:
            self._new.update(records)
        if time.monotonic() - self._last > WRITE_INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write new values to the file, and update when the others were last used."""
        with self._lock:
            self._last, seconds = time.monotonic(), int(time.time())
            if self._file is None:
                self._new.clear()
                return
            rows = [(k, seconds, v) for k, v in self._new.items()]
            used = [(seconds, k, seconds - DAY) for k in self._used - self._new.keys()]
            try:
                with self._file:
                    self._file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows)
                    self._file.executemany(
                        "UPDATE answers SET used = ? WHERE key = ? AND used < ?", used
                    )
            except BROKEN as error:
                self._lost(error)
            self._new.clear()
            self._used.clear()

    def _lost(self, error: BaseException) -> None:
        """Continue without the file after an error: a full disk, a size limit, a damaged page."""
        self.messages.append(f"model outputs are no longer cached ({error}).")
        file, self._file = self._file, None
        with suppress(*BROKEN):
            if file is not None:
                file.close()

    def trim(self) -> None:
        """Delete the least recently used rows if the file exceeds its limit."""
        self.flush()
        if self._file is None or self.size() <= limit():
            return
        try:
            self._trim(self._file)
        except BROKEN as error:
            self._lost(error)

    def _trim(self, file: sqlite3.Connection) -> None:
        with file:
            share = 1 - SIZE_AFTER_TRIM * limit() / self.size()
            count = file.execute("SELECT count(*) FROM answers").fetchone()[0]
            gone = int(count * share) + 1
            file.execute(
                "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY used LIMIT ?)",
                (gone,),
            )
        file.execute("VACUUM")

    def size(self) -> int:
        """Return the size of the file and its log in bytes."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(p.stat().st_size for p in parts if p.exists())

    def count(self) -> int:
        """Return the number of cached rows."""
        self.flush()
        if self._file is None:
            return 0
        try:
            return int(self._file.execute("SELECT count(*) FROM answers").fetchone()[0])
        except BROKEN as error:
            self._lost(error)
            return 0

    def close(self) -> None:
        """Write pending values, trim the file, and close it."""
        self.trim()
        if self._file is not None:
            with suppress(*BROKEN):
                self._file.close()
            self._file = None


@contextmanager
def opened(path: Path | None = None) -> Iterator[Store]:
    """Open the cache; write and close it at the end, even after an error."""
    store = Store(path or cache_folder() / FILE_NAME)
    try:
        yield store
    finally:
        store.close()


def clear(path: Path | None = None) -> int:
    """Delete the cache, and return its size in bytes."""
    path = path or cache_folder() / FILE_NAME
    size = 0
    for part in path.parent.glob(path.name + "*") if path.parent.is_dir() else ():
        size += part.stat().st_size
        part.unlink()
    return size


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
        values = self.store.get(keys)
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
        values = self.store.get(keys)
        start, records = 0, []
        for r, key in zip(group.tolist(), keys, strict=True):
            digests = _questions_of(unique, r)
            records_of_row = np.empty(len(digests), RECORD)
            records_of_row["place"], records_of_row["gold"] = digests.T
            records_of_row["value"] = answer[:, start : start + len(digests)].T
            start += len(digests)
            records.append((key, with_checksum(_merged(values.get(key), records_of_row).tobytes())))
        self.store.put(records)


class VectorOutputs:
    """The cached vectors of one model, by tokens, places and layer."""

    def __init__(self, store: Store, salt: str) -> None:
        self.store, self.salt = store, hashlib.blake2b(salt.encode(), digest_size=16).digest()

    def key(self, row: tuple[int, ...], places: tuple[int, ...], layer: int) -> Key:
        """The key of one vector."""
        return digest(self.salt, repr((row, places, layer)).encode())

    def recall(self, keys: Sequence[Key]) -> Floats | None:
        """Return the vectors [n, d] for some keys, or None if one is missing."""
        values = self.store.get(list(dict.fromkeys(keys)))
        bodies = [unsealed(values[k]) if k in values else None for k in keys]
        if any(v is None for v in bodies):
            return None
        widths = (np.float32, np.float64)
        vectors = [np.frombuffer(v[1:], widths[v[0]]) for v in bodies if v is not None]
        same_width = len({len(v) for v in vectors}) == 1
        return np.stack(vectors).astype(float) if same_width else None

    def note(self, keys: Sequence[Key], vectors: Floats) -> None:
        """Cache vectors, as float32 if that is exact."""
        short = vectors.astype(np.float32)
        double = not np.array_equal(short, vectors)
        stored = vectors if double else short
        head = bytes([double])
        self.store.put(
            (k, with_checksum(head + v.tobytes())) for k, v in zip(keys, stored, strict=True)
        )


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


def with_checksum(body: bytes) -> bytes:
    """Prefix bytes with their digest."""
    return hashlib.blake2b(body, digest_size=8).digest() + body


def unsealed(value: bytes) -> bytes | None:
    """Return the bytes after their digest, or None if they are damaged."""
    body = value[8:]
    return body if hashlib.blake2b(body, digest_size=8).digest() == value[:8] else None


def _read(value: bytes) -> NDArray[Any] | None:
    """Return the records of a cached value, or None if it is damaged."""
    body = unsealed(value)
    if body is None or len(body) % RECORD.itemsize:
        return None
    return np.frombuffer(body, RECORD)


def digest(*parts: bytes) -> Key:
    """Return a 16-byte key for some bytes."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(len(part).to_bytes(4))
        hasher.update(part)
    return hasher.digest()
