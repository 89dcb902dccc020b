"""One cache of answers for all commands: a killed run goes on, and nothing is computed twice.

SQLite with a write-ahead log, so that several processes may share it. Answers are kept by row: the
key names the model (weights, config, tokenizer, dtype, stream) and the tokens of the row, the value
has an answer for each place and gold token that was asked about. Vectors are kept by sentence,
places and layer.
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
SIZE_AFTER_TRIM = 0.8  # of the limit, after the oldest rows have left
WRITE_INTERVAL = 1.0  # seconds between two writes
DAY = 86_400
RECORD = np.dtype([("place", "<i4"), ("gold", "<i4"), ("value", "<f8", (3,))])
Key: TypeAlias = bytes


def limit() -> int:
    """The size that the cache is kept under, in bytes."""
    given = os.environ.get("UNMASK_CACHE_SIZE", "")
    if not given:
        return DEFAULT_LIMIT
    if not given.isdigit() or int(given) < 1:
        raise UnmaskError(f"UNMASK_CACHE_SIZE is {given!r}; give a number of bytes.")
    return int(given)


# What a damaged file makes sqlite raise: its own errors, and text that is not UTF-8.
BROKEN = (sqlite3.Error, UnicodeError, OverflowError, OSError)


class Store:
    """The file: keys to bytes, least recently used first to leave.

    A damaged or foreign file is set aside, and `messages` says so; one that cannot be written (a
    read-only disk) leaves the store empty.
    """

    def __init__(self, path: Path) -> None:
        limit()  # a size that is none is found before anything is computed
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
        """Set a file aside that is not an answer cache, and begin another."""
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
        """What is known of some keys."""
        with self._lock:
            values = {k: self._new[k] for k in keys if k in self._new}
            if self._file is None:
                return values
            try:
                for start in range(0, len(keys), 500):
                    part = keys[start : start + 500]
                    marks = ",".join("?" * len(part))
                    asked = f"SELECT key, value FROM answers WHERE key IN ({marks})"
                    values |= dict(self._file.execute(asked, part).fetchall())
            except BROKEN as error:
                self._file = self._anew(error)
            self._used |= values.keys()
            return values

    def put(self, records: Iterable[tuple[Key, bytes]]) -> None:
        """Keep some values; they are written every second."""
        with self._lock:
            self._new.update(records)
        if time.monotonic() - self._last > WRITE_INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write what is new, and when what was used."""
        with self._lock:
            self._last, now = time.monotonic(), int(time.time())
            if self._file is None:
                self._new.clear()
                return
            rows = [(k, now, v) for k, v in self._new.items()]
            used = [(now, k, now - DAY) for k in self._used - self._new.keys()]
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
        """Go on without the file: a full disk, a limit of its size, a damaged page."""
        self.messages.append(f"model outputs are no longer cached ({error}).")
        file, self._file = self._file, None
        with suppress(*BROKEN):
            if file is not None:
                file.close()

    def trim(self) -> None:
        """Let the least recently used leave where the file is too large."""
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
        """Bytes of the file and its log."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(p.stat().st_size for p in parts if p.exists())

    def count(self) -> int:
        """Rows that are kept."""
        self.flush()
        if self._file is None:
            return 0
        try:
            return int(self._file.execute("SELECT count(*) FROM answers").fetchone()[0])
        except BROKEN as error:
            self._lost(error)
            return 0

    def close(self) -> None:
        """Write what is left, and let go of the file."""
        self.trim()
        if self._file is not None:
            with suppress(*BROKEN):
                self._file.close()
            self._file = None


@contextmanager
def opened(path: Path | None = None) -> Iterator[Store]:
    """The store, written and closed at the end whatever happens."""
    store = Store(path or cache_folder() / FILE_NAME)
    try:
        yield store
    finally:
        store.close()


def clear(path: Path | None = None) -> int:
    """Remove the store; returns the bytes that it had."""
    path = path or cache_folder() / FILE_NAME
    size = 0
    for part in path.parent.glob(path.name + "*") if path.parent.is_dir() else ():
        size += part.stat().st_size
        part.unlink()
    return size


ROUNDED = 5  # raised when an answer changes: fast paths that round differently, ties as misses


def salt(provenance: Mapping[str, Any], stream: str) -> str:
    """All that decides an answer: the streams of a permutation model differ, too."""
    names = (
        "weights",
        "config",
        "tokenizer",
        "dtype",
        *(("path",) if "path" in provenance else ()),
    )
    return repr([ROUNDED, stream, *(provenance.get(k) for k in names)])


def answers_of(
    store: Store | None, provenance: Mapping[str, Any], stream: str
) -> "CachedAnswers | None":
    """A model's answers in a store, on a CPU only: a GPU gives them faster than a file does."""
    on_cpu = store is not None and str(provenance["device"]) == "cpu"
    return CachedAnswers(store, salt(provenance, stream)) if store is not None and on_cpu else None


class CachedAnswers:
    """The answers of one model in the store; `salt` names all that decides them."""

    def __init__(self, store: Store, salt: str) -> None:
        self.store, self.salt = store, hashlib.blake2b(salt.encode(), digest_size=16).digest()

    def _keys(self, asked: UniqueRows, group: Ints, weighted: bool) -> list[Key]:
        """Attention weights come with another way of computing: those answers are kept apart."""
        tokens = asked.tokens
        bounds = zip(asked.starts[group].tolist(), asked.starts[group + 1].tolist(), strict=True)
        hidden = asked.hidden
        extra = [b"" if hidden is None else repr(hidden[r]).encode() for r in group.tolist()]
        return [
            digest(self.salt, bytes([weighted]), tokens[a:b].tobytes(), e)
            for (a, b), e in zip(bounds, extra, strict=True)
        ]

    def recall(self, asked: UniqueRows, group: Ints, weighted: bool) -> Floats | None:
        """The answers to all questions about some rows [3, questions], or None if one is missing.

        All or nothing: a batch that is run again is the batch that it was, and its numbers are
        the same to the last bit.
        """
        keys = self._keys(asked, group, weighted)
        values = self.store.get(keys)
        if len(values) < len(set(keys)):
            return None
        parts = []
        for r, key in zip(group.tolist(), keys, strict=True):
            answers = _looked_up(_wanted(asked, r), values[key])
            if answers is None:
                return None
            parts.append(answers)
        return np.concatenate(parts, axis=1)

    def note(self, asked: UniqueRows, group: Ints, weighted: bool, answer: Floats) -> None:
        """Keep the answers to all questions about some rows, beside those known before."""
        keys = self._keys(asked, group, weighted)
        values = self.store.get(keys)
        start, records = 0, []
        for r, key in zip(group.tolist(), keys, strict=True):
            wanted = _wanted(asked, r)
            records_of_row = np.empty(len(wanted), RECORD)
            records_of_row["place"], records_of_row["gold"] = wanted.T
            records_of_row["value"] = answer[:, start : start + len(wanted)].T
            start += len(wanted)
            records.append((key, sealed(_merged(values.get(key), records_of_row).tobytes())))
        self.store.put(records)


class VectorAnswers:
    """The vectors of one model in the store, by tokens, places and layer."""

    def __init__(self, store: Store, salt: str) -> None:
        self.store, self.salt = store, hashlib.blake2b(salt.encode(), digest_size=16).digest()

    def key(self, row: tuple[int, ...], places: tuple[int, ...], layer: int) -> Key:
        """The key of one vector."""
        return digest(self.salt, repr((row, places, layer)).encode())

    def recall(self, keys: Sequence[Key]) -> Floats | None:
        """The vectors [n, d] of some keys, or None if one is missing."""
        values = self.store.get(list(dict.fromkeys(keys)))
        bodies = [unsealed(values[k]) if k in values else None for k in keys]
        if any(v is None for v in bodies):
            return None
        widths = (np.float32, np.float64)
        vectors = [np.frombuffer(v[1:], widths[v[0]]) for v in bodies if v is not None]
        same = len({len(v) for v in vectors}) == 1
        return np.stack(vectors).astype(float) if same else None

    def note(self, keys: Sequence[Key], vectors: Floats) -> None:
        """Keep some vectors; in float32 where that loses nothing."""
        short = vectors.astype(np.float32)
        wide = not np.array_equal(short, vectors)
        stored = vectors if wide else short
        head = bytes([wide])
        self.store.put((k, sealed(head + v.tobytes())) for k, v in zip(keys, stored, strict=True))


def _wanted(asked: UniqueRows, row: int) -> NDArray[np.int64]:
    """Place and gold token of each question about a row [questions, 2]."""
    numbers = asked.order[asked.first[row] : asked.first[row + 1]]
    return np.column_stack([asked.places[asked.slot[numbers]], asked.gold[numbers]])


def _looked_up(wanted: NDArray[np.int64], value: bytes) -> Floats | None:
    """The answers [3, questions] to what is wanted of a row, or None if one is missing."""
    records = _read(value)
    if records is None:
        return None
    place = {
        (p, g): i for i, (p, g) in enumerate(zip(records["place"], records["gold"], strict=True))
    }
    at = [place.get((p, g), -1) for p, g in wanted.tolist()]
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


def sealed(body: bytes) -> bytes:
    """Bytes with a digest of theirs in front."""
    return hashlib.blake2b(body, digest_size=8).digest() + body


def unsealed(value: bytes) -> bytes | None:
    """The bytes behind their digest; None where they were damaged."""
    body = value[8:]
    return body if hashlib.blake2b(body, digest_size=8).digest() == value[:8] else None


def _read(value: bytes) -> NDArray[Any] | None:
    """The records of a value; None where they were damaged."""
    body = unsealed(value)
    if body is None or len(body) % RECORD.itemsize:
        return None
    return np.frombuffer(body, RECORD)


def digest(*parts: bytes) -> Key:
    """A key of 16 bytes."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(len(part).to_bytes(4))
        hasher.update(part)
    return hasher.digest()
