"""Answers kept on disk while a run goes on, so that a killed run goes on where it stopped."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unmask.types import Floats


class Journal:
    """Batches answered before, found again by a hash of their rows, places and tokens.

    `salt` names the weights and the dtype. The answers are appended to one file, each as length,
    key and values; a record cut short by a kill is dropped when the file is opened.
    """

    def __init__(self, path: Path, salt: str) -> None:
        self.path, self.salt = path, salt
        self._known: dict[bytes, Floats] = {}
        whole = 0
        data = path.read_bytes() if path.exists() else b""
        while whole + 24 <= len(data):
            key, size = data[whole : whole + 16], int.from_bytes(data[whole + 16 : whole + 24])
            if whole + 24 + size > len(data):
                break
            blob = io.BytesIO(data[whole + 24 : whole + 24 + size])
            self._known[key] = np.load(blob, allow_pickle=False)
            whole += 24 + size
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.truncate(whole)

    def _key(self, rows: Sequence[Any], weighted: bool) -> bytes:
        return hashlib.blake2b(repr((self.salt, weighted, rows)).encode(), digest_size=16).digest()

    def recall(self, rows: Sequence[Any], weighted: bool) -> Floats | None:
        """The answer given before to just this batch, if any."""
        return self._known.get(self._key(rows, weighted))

    def note(self, rows: Sequence[Any], weighted: bool, answer: Floats) -> None:
        """Keep an answer."""
        blob = io.BytesIO()
        np.save(blob, answer, allow_pickle=False)
        data = blob.getvalue()
        with self.path.open("ab") as file:
            file.write(self._key(rows, weighted) + len(data).to_bytes(8) + data)

    def close(self) -> None:
        """The run is complete: remove the file."""
        self.path.unlink(missing_ok=True)
