"""The one cache on disk: bytes under a namespace and a key, in one SQLite file.

Model outputs, vectors, model metadata, parsed data sets and query plans are all stored here. One
integrity rule: every value has a checksum, and a damaged value is treated as missing. One eviction
rule: if the file exceeds its limit, the least recently used values are deleted. SQLite with a
write-ahead log, so that several processes can share the file.
"""

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from unmask.errors import UnmaskError
from unmask.support.paths import cache_folder

Key: TypeAlias = bytes
# The namespaces, with their descriptions in `unmask cache`.
OUTPUTS, VECTORS, MODELS, DATA, PLANS = "outputs", "vectors", "models", "data", "plans"
NAMESPACES = {
    OUTPUTS: "model outputs",
    VECTORS: "vectors",
    MODELS: "model metadata",
    DATA: "parsed data sets",
    PLANS: "query plans",
}
FILE_NAME = "cache-1.sqlite"
DEFAULT_LIMIT = 2 * 2**30  # bytes, unless UNMASK_CACHE_SIZE says otherwise
SIZE_AFTER_TRIM = 0.8  # of the limit, after the least recently used values are deleted
WRITE_INTERVAL = 1.0  # seconds between two writes
DAY = 86_400
CHECKSUM = 8  # bytes before each value
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
# The exceptions that a damaged file raises: sqlite's own, and those about text that is not UTF-8.
BROKEN = (sqlite3.Error, UnicodeError, OverflowError, OSError)
TABLE = (
    "CREATE TABLE IF NOT EXISTS cached (namespace TEXT, key BLOB, used INTEGER, value BLOB, "
    "PRIMARY KEY (namespace, key)) WITHOUT ROWID"
)


def limit() -> int:
    """Return the maximum size of the cache, in bytes."""
    text = os.environ.get("UNMASK_CACHE_SIZE", "")
    if not text:
        return DEFAULT_LIMIT
    if not text.isdigit() or int(text) < 1:
        raise UnmaskError(f"UNMASK_CACHE_SIZE is {text!r}; give a number of bytes.")
    return int(text)


class Store:
    """The cache file.

    It is renamed if it is damaged or foreign, and `messages` reports it. If it cannot be written
    (a read-only disk), nothing is cached.
    """

    def __init__(self, path: Path) -> None:
        limit()  # an invalid limit is refused before anything is computed
        self.path = path
        self.messages: list[str] = []
        self._new: dict[tuple[str, Key], bytes] = {}
        self._used: set[tuple[str, Key]] = set()
        self._last = time.monotonic()
        self._lock = threading.Lock()
        try:
            self._file = self._opened()
        except BROKEN as error:
            self._file = self._replaced(error)

    def _opened(self) -> sqlite3.Connection | None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            file.execute("PRAGMA journal_mode=WAL")
        except (OSError, sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            self.messages.append(f"nothing is cached: {self.path} cannot be written ({error}).")
            return None
        file.execute("PRAGMA synchronous=OFF")  # a power cut may cost the cache, not more
        tables = file.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        if tables and ("cached",) not in tables:
            file.close()
            raise sqlite3.DatabaseError("it holds other tables")
        if not tables:
            file.execute(TABLE)
            file.commit()
        return file

    def _replaced(self, error: Exception) -> sqlite3.Connection | None:
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
            self.messages.append(f"nothing is cached ({again}).")
            return None

    def get(self, namespace: str, keys: Sequence[Key]) -> dict[Key, bytes]:
        """Return the values of those keys that are cached and undamaged."""
        with self._lock:
            values = {k: self._new[namespace, k] for k in keys if (namespace, k) in self._new}
            if self._file is not None:
                try:
                    values |= self._read(self._file, namespace, keys)
                except BROKEN as error:
                    self._file = self._replaced(error)
            self._used.update((namespace, k) for k in values)
            return values

    @staticmethod
    def _read(file: sqlite3.Connection, namespace: str, keys: Sequence[Key]) -> dict[Key, bytes]:
        values: dict[Key, bytes] = {}
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, value FROM cached WHERE namespace = ? AND key IN ({marks})"
            for key, value in file.execute(query, (namespace, *part)):
                body = value[CHECKSUM:]
                if _checksum(key, body) == value[:CHECKSUM]:
                    values[key] = body
        return values

    def put(self, namespace: str, values: Iterable[tuple[Key, bytes]]) -> None:
        """Add values; they are written to the file about once a second."""
        with self._lock:
            self._new.update(((namespace, key), value) for key, value in values)
        if time.monotonic() - self._last > WRITE_INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write new values to the file, and update when the others were last used."""
        with self._lock:
            self._last, seconds = time.monotonic(), int(time.time())
            if self._file is None:
                self._new.clear()
                return
            rows = [(*k, seconds, _checksum(k[1], v) + v) for k, v in self._new.items()]
            used = [(seconds, *k, seconds - DAY) for k in self._used - self._new.keys()]
            renew = "UPDATE cached SET used = ? WHERE namespace = ? AND key = ? AND used < ?"
            try:
                with self._file:
                    self._file.executemany("INSERT OR REPLACE INTO cached VALUES (?,?,?,?)", rows)
                    self._file.executemany(renew, used)
            except BROKEN as error:
                self._lost(error)
            self._new.clear()
            self._used.clear()

    def _lost(self, error: BaseException) -> None:
        """Continue without the file after an error: a full disk, a size limit, a damaged page."""
        self.messages.append(f"nothing more is cached ({error}).")
        file, self._file = self._file, None
        with suppress(*BROKEN):
            if file is not None:
                file.close()

    def _trim(self) -> None:
        """Delete the least recently used values if the file exceeds its limit."""
        if self._file is None or self.size() <= limit():
            return
        oldest = (
            "SELECT namespace, key FROM (SELECT namespace, key, sum(length(value) + 64) OVER "
            "(ORDER BY used, namespace, key) - length(value) AS before FROM cached) "
            "WHERE before < ?"
        )
        try:
            self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log counts twice
            excess = int(self.size() - SIZE_AFTER_TRIM * limit())
            with self._file:
                self._file.execute(
                    f"DELETE FROM cached WHERE (namespace, key) IN ({oldest})", (excess,)
                )
            self._file.execute("VACUUM")
        except BROKEN as error:
            self._lost(error)

    def size(self) -> int:
        """Return the size of the file and its log in bytes."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(p.stat().st_size for p in parts if p.exists())

    def usage(self, namespace: str) -> tuple[int, int]:
        """Return the number of values in a namespace, and their size in bytes."""
        self.flush()
        query = "SELECT count(*), coalesce(sum(length(value)), 0) FROM cached WHERE namespace = ?"
        if self._file is not None:
            try:
                count, size = self._file.execute(query, (namespace,)).fetchone()
                return int(count), int(size)
            except BROKEN as error:
                self._lost(error)
        return 0, 0

    def close(self) -> None:
        """Write pending values, trim the file, and close it."""
        self.flush()
        self._trim()
        if self._file is not None:
            with suppress(*BROKEN):
                self._file.close()
            self._file = None


def default_path() -> Path:
    """Return the path of the cache file."""
    return cache_folder() / FILE_NAME


@contextmanager
def opened(path: Path | None = None) -> Iterator[Store]:
    """Open the cache; write and close it at the end, even after an error."""
    store = Store(path or default_path())
    try:
        yield store
    finally:
        store.close()


def load(namespace: str, key: Key) -> bytes | None:
    """Return one cached value, or None if there is none."""
    if not default_path().exists():
        return None
    with opened() as store:
        return store.get(namespace, [key]).get(key)


def save(namespace: str, key: Key, value: bytes) -> None:
    """Cache one value."""
    with opened() as store:
        store.put(namespace, [(key, value)])


def is_empty(namespace: str) -> bool:
    """Whether nothing is cached in a namespace."""
    if not default_path().exists():
        return True
    with opened() as store:
        return not store.usage(namespace)[0]


def clear() -> int:
    """Delete the cache, and return its size in bytes."""
    path = default_path()
    size = 0
    for part in path.parent.glob(path.name + "*") if path.parent.is_dir() else ():
        size += part.stat().st_size
        part.unlink()
    return size


def digest(*parts: bytes) -> Key:
    """Return a 16-byte key for some bytes."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(len(part).to_bytes(4))
        hasher.update(part)
    return hasher.digest()


@cache
def code_digest() -> bytes:
    """A digest of unmask's code and of its libraries' versions, so that a change gives new keys."""
    hasher = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        hasher.update(path.read_bytes())
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            hasher.update(f"{name} {version(name)}".encode())
    return hasher.digest()


def _checksum(key: Key, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=CHECKSUM, key=key).digest()
