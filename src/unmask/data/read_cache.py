"""Data sets that were read before: items as plain values in a sealed file.

To read, to look for defects and to check thousands of sentences takes longer than to measure a
small network on them. What came of it is kept under a digest of the source file and of the code.
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

MOST_KEPT = 2**28  # bytes of data sets
TEXT = tuple(getattr(Text, k).__set__ for k in ("string", "spans"))  # type: ignore[attr-defined]
FACTS = ("id", "category", "cluster", "meta", "group_pair", "group", "template")
ITEM = tuple(getattr(Contrast, k).__set__ for k in (*FACTS, "texts"))


def cached(name: str, files: Sequence[Path], read: Callable[[], Dataset]) -> Dataset:
    """The data set that some files hold, as it was read under this name before, or is now."""
    digest = hashlib.sha256(f"{sealed_files.code_digest()} {sys.version} {name}".encode())
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    path = cache_folder() / sealed_files.DATA / digest.hexdigest()
    content = sealed_files.read(path)
    if content is not None:
        return _unpacked(marshal.loads(content))
    dataset = read()
    with suppress(ValueError):  # what is known of an item is not a plain value: it is read again
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
    """Mappings as dicts; all else as it is: the writer refuses what is not a plain value."""
    return dict(value) if hasattr(value, "keys") else value


def _unpacked(packed: tuple[Any, ...]) -> Dataset:
    name, shape, items, cluster, about = packed
    return Dataset(name, shape, tuple(_item(*item) for item in items), cluster, about)


def _item(facts: tuple[Any, ...], texts: tuple[Any, ...]) -> Contrast:
    """An item that was checked when it was made."""
    item = Contrast.__new__(Contrast)
    by_label = {}
    for label, string, spans in texts:
        by_label[label] = text = Text.__new__(Text)
        TEXT[0](text, string)
        TEXT[1](text, spans)
    for put, value in zip(ITEM, (*facts, by_label), strict=True):
        put(item, value)
    return item
