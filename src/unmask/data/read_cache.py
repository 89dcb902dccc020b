"""A cache of data sets that were read before, as plain values.

Reading, checking and flagging thousands of sentences takes longer than measuring a small network
on them. The result is cached under a digest of the source file and of the code.
"""

import marshal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from unmask.support import store
from unmask.types import Contrast, Dataset, Text

TEXT = tuple(getattr(Text, k).__set__ for k in ("string", "spans"))  # type: ignore[attr-defined]
FACTS = ("id", "category", "cluster", "meta", "group_pair", "group", "template")
ITEM = tuple(getattr(Contrast, k).__set__ for k in (*FACTS, "texts"))


def cached(name: str, files: Sequence[Path], read: Callable[[], Dataset]) -> Dataset:
    """Return the data set of some files from the cache, or read and cache it."""
    about = (sys.version.encode(), name.encode())
    key = store.digest(store.code_digest(), *about, *(path.read_bytes() for path in files))
    content = store.load(store.DATA, key)
    if content is not None:
        return _unpacked(marshal.loads(content))
    dataset = read()
    with suppress(ValueError):  # a value of an item cannot be stored: it is read again next time
        store.save(store.DATA, key, marshal.dumps(_packed(dataset)))
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
