"""A uniform sample of sentences for each stimulus, in columns.

The sample is the bottom k by a keyed hash of the sentence: uniform over the distinct sentences,
the same whatever the order of files, the number of workers or a restart; and the bottom k of two
samples together is the sample of the union.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LARGEST_KEY = np.uint64(2**64 - 1)
ROOM = 200_000  # rows that may wait before the sample is cut to size
SCHEMA = pa.schema(
    [
        ("stimulus", pa.string()),
        ("sentence", pa.large_string()),  # a sample may hold more than 2 GiB of them
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("source", pa.string()),
        ("hash", pa.uint64()),
    ]
)
_COLUMNS = ("name", "hash", "source", "start", "end")


class Sample:
    """The sentences with the smallest hashes for each name, at most `keep`, in bounded memory.

    Rows are collected in columns, and cut to size when the waiting rows equal the kept ones: each
    row is sorted only a few times. Spans are in characters.
    """

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.names: dict[str, int] = {}
        self.sources: dict[str, int] = {}
        self.limit: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._columns: list[tuple[NDArray[Any], ...]] = []
        self._sentences: list[pa.Array] = []
        self._waiting = self._kept = 0

    def numbers(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The number of each name; new ones get the next."""
        numbers = np.array([self.names.setdefault(n, len(self.names)) for n in names], np.int64)
        new = len(self.names) - len(self.limit)
        self.limit = np.concatenate([self.limit, np.full(new, LARGEST_KEY)])
        return numbers

    def offer(
        self,
        name: NDArray[np.int64],
        key: NDArray[np.uint64],
        span: tuple[NDArray[Any], NDArray[Any]],
        sentence: pa.Array,
        source: NDArray[np.int64],
    ) -> None:
        """Take rows in: numbers of names, hashes, spans, sentences, numbers of sources."""
        good = key <= self.limit[name]
        if not good.all():
            name, key, source = name[good], key[good], source[good]
            span = (span[0][good], span[1][good])
            sentence = sentence.filter(pa.array(good))
        if not len(name):
            return
        columns = (name, key, source, span[0], span[1])
        self._columns.append(tuple(np.asarray(c) for c in columns))
        self._sentences.append(sentence.cast(pa.large_string()))
        self._waiting += len(name)
        if self._waiting > max(ROOM, self._kept):
            self._cut()

    def source(self, name: str) -> int:
        """The number of a source."""
        return self.sources.setdefault(name, len(self.sources))

    def _cut(self) -> None:
        """Sort by name and hash, drop repeats, keep the least of each name."""
        if not self._columns:
            return
        table = dict(
            zip(_COLUMNS, map(np.concatenate, zip(*self._columns, strict=True)), strict=True)
        )
        # If two sources have the same sentence, the first source by name is kept.
        order = {n: i for i, n in enumerate(sorted(self.sources))}
        rank = np.array([order[n] for n in self.sources])[table["source"]]
        by = np.lexsort((table["start"], rank, table["hash"], table["name"]))
        name, key = table["name"][by], table["hash"][by]
        new = np.ones(len(by), bool)
        new[1:] = (name[1:] != name[:-1]) | (key[1:] != key[:-1])
        by, name, key = by[new], name[new], key[new]
        starts = np.searchsorted(name, name)
        rows = np.arange(len(by)) - starts < self.keep
        by, name, key = by[rows], name[rows], key[rows]
        full = np.flatnonzero(np.bincount(name, minlength=len(self.limit)) == self.keep)
        self.limit[full] = key[np.searchsorted(name, full, side="right") - 1]
        self._columns = [tuple(table[c][by] for c in _COLUMNS)]
        self._sentences = [pa.concat_arrays(self._sentences).take(pa.array(by))]
        self._waiting, self._kept = 0, len(by)

    def merge(self, table: pa.Table) -> None:
        """Take in the rows of another sample's table."""
        if not table.num_rows:
            return
        names, sources = (
            table[c].combine_chunks().dictionary_encode() for c in ("stimulus", "source")
        )
        name = self.numbers(names.dictionary.to_pylist())[names.indices.to_numpy()]
        source = np.array([self.source(s) for s in sources.dictionary.to_pylist()])
        start, end, key = (table[c].to_numpy() for c in ("start", "end", "hash"))
        sentence = table["sentence"].cast(pa.large_string()).combine_chunks()
        self.offer(name, key, (start, end), sentence, source[sources.indices.to_numpy()])

    def table(self) -> pa.Table:
        """The sample in the columns of `SCHEMA`: names in order, sentences by hash."""
        self._cut()
        if not self._columns:
            return SCHEMA.empty_table()
        name, key, source, start, end = self._columns[0]
        table = pa.table(
            {
                "stimulus": pa.array(list(self.names)).take(pa.array(name)),
                "sentence": self._sentences[0],
                "start": start,
                "end": end,
                "source": pa.array(list(self.sources)).take(pa.array(source)),
                "hash": key,
            }
        ).cast(SCHEMA)
        return table.sort_by([("stimulus", "ascending"), ("hash", "ascending")])
