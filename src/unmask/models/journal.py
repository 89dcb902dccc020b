"""Answers kept on disk while a run goes on, so that a killed run goes on where it stopped."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unmask.types import Floats

MAGIC = b"unmask answers 2\n"
HEAD = 16 + 16 + 8  # key, digest, size


class Journal:
    """Batches answered before, found again by a hash of their rows, places and tokens.

    `salt` names the weights, config, tokenizer and dtype. Answers are appended to one file, each
    as key, digest, length and values. A record that was cut short or damaged ends the reading:
    it and what follows are dropped and asked for again. A file of another form is begun anew.
    """

    def __init__(self, path: Path, salt: str) -> None:
        self.path, self.salt = path, salt
        self._known: dict[bytes, Floats] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes() if path.exists() else b""
        whole = self._read(data) if data.startswith(MAGIC) else 0
        with path.open("ab") as file:
            file.truncate(whole)
            if not whole:
                file.write(MAGIC)

    def _read(self, data: bytes) -> int:
        """Take in the records that are whole; returns where they end."""
        at = len(MAGIC)
        while at + HEAD <= len(data):
            key, digest = data[at : at + 16], data[at + 16 : at + 32]
            size = int.from_bytes(data[at + 32 : at + HEAD])
            body = data[at + HEAD : at + HEAD + size]
            if len(body) < size or _digest(key + body) != digest:
                break
            self._known[key] = np.load(io.BytesIO(body), allow_pickle=False)
            at += HEAD + size
        return at

    def _key(self, rows: Sequence[Any], weighted: bool) -> bytes:
        return _digest(repr((self.salt, weighted, rows)).encode())

    def recall(self, rows: Sequence[Any], weighted: bool) -> Floats | None:
        """The answer given before to just this batch, if any."""
        return self._known.get(self._key(rows, weighted))

    def note(self, rows: Sequence[Any], weighted: bool, answer: Floats) -> None:
        """Keep an answer."""
        blob = io.BytesIO()
        np.save(blob, answer, allow_pickle=False)
        key, body = self._key(rows, weighted), blob.getvalue()
        with self.path.open("ab") as file:
            file.write(key + _digest(key + body) + len(body).to_bytes(8) + body)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
