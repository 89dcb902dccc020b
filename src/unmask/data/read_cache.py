"""A cache of data sets that were read before, as plain values in a sealed file.

Reading, checking and flagging thousands of sentences takes longer than measuring a small network
on them. The result is cached under a digest of the source file and of the code.
"""

import hashlib
import marshal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from unmask.support import sealed_files
from unmask.support.paths import cache_folder
from unmask.types import Contrast, Dataset, Text

MOST_KEPT = 2**28  # maximum bytes of cached data sets
TEXT = tuple(getattr(Text, k).__set__ for k in ("string", "spans"))  # type: ignore[attr-defined]
FACTS = ("id", "category", "cluster", "meta", "group_pair", "group", "template")
ITEM = tuple(getattr(Contrast, k).__set__ for k in (*FACTS, "texts"))


def cached(name: str, files: Sequence[Path], read: Callable[[], Dataset]) -> Dataset:
    """Return the data set of some files from the cache, or read and cache it."""
    digest = hashlib.sha256(f"{sealed_files.code_digest()} {sys.version} {name}".encode())
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    path = cache_folder() / sealed_files.DATA / digest.hexdigest()
    content = sealed_files.read(path)
    if content is not None:
        return _unpacked(marshal.loads(content))
    dataset = read()
    with suppress(ValueError):  # a value of an item cannot be stored: it is read again next time
        sealed_files.write(path, marshal.dumps(_packed(dataset)))
        sealed_files.trimmed(sealed_files.DATA, MOST_KEPT)
    return dataset


def _packed(data: Dataset) -> tuple[Any, ...]:
    items = [
        (
            tuple(_plain(getattr(item, name)) for name in FACTS),
            tuple((k, t.string, _plain(t.spans)) for k, t in item.texts.items()),
        )
        for item in data.items
    ]
    return data.name, data.shape, items, data.cluster, _plain(data.about)


def _plain(value: Any) -> Any:
    """Turn mappings into dicts; the writer refuses other values that are not plain."""
    return dict(value) if hasattr(value, "keys") else value


def _unpacked(packed: tuple[Any, ...]) -> Dataset:
    name, shape, items, cluster, about = packed
    return Dataset(name, shape, tuple(_item(*item) for item in items), cluster, about)


def _item(facts: tuple[Any, ...], texts: tuple[Any, ...]) -> Contrast:
    """Rebuild an item without its checks, which it passed when it was created."""
    item = Contrast.__new__(Contrast)
    by_label = {}
    for label, string, spans in texts:
        by_label[label] = text = Text.__new__(Text)
        TEXT[0](text, string)
        TEXT[1](text, spans)
    for put, value in zip(ITEM, (*facts, by_label), strict=True):
        put(item, value)
    return item
