"""Where the file of a data set is: a local copy, the cache, or its source."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from unmask.data import contrasts
from unmask.data.cards import Card, catalogue
from unmask.data.fetch import download
from unmask.errors import DataError, NameUnknown
from unmask.registry import Registry, unknown
from unmask.types import Dataset

SUFFIXES = {".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"}


def cache_folder() -> Path:
    """Where fetched files are kept: `UNMASK_CACHE`, or the user's cache directory."""
    return Path(os.environ.get("UNMASK_CACHE") or platformdirs.user_cache_dir("unmask"))


def local_copy(card: Card) -> Path | None:
    """The file of a card in `UNMASK_DATA`, if that folder has it."""
    if not (folder := os.environ.get("UNMASK_DATA")):
        return None
    if not Path(folder).is_dir():
        raise DataError(
            f"UNMASK_DATA is {folder!r}, which is no folder; set it to one or unset it."
        )
    found = (Path(folder) / p for p in (card.path, *card.alias))
    return next((p for p in found if p.is_file()), None)


def checksum(path: Path, like: str) -> str:
    """The checksum of a file, of the same sort as `like`."""
    data = path.read_bytes()
    if like.startswith("git:"):
        return "git:" + hashlib.sha1(b"blob %d\x00" % len(data) + data).hexdigest()
    return "sha256:" + hashlib.sha256(data).hexdigest()


def cards(names: Sequence[str] | None = None) -> list[Card]:
    """Cards by name, those of SEAT's sentence files among them; all without names."""
    from unmask.data.seat import files  # which itself builds on cards

    every = Registry("data set", [*catalogue().items(), *files().items()])
    return [every[n] for n in names] if names else list(every.values())


def locate(
    card: Card, progress: Callable[[int, int], None] = lambda done, total: None
) -> tuple[Path, dict[str, Any]]:
    """The file of a data set, fetched if need be, and a note on where it comes from."""
    if card.packaged:
        return Path(), {"source": "packaged"}
    if (copy := local_copy(card)) is not None:
        agrees = None if card.by_hand else checksum(copy, card.checksum) == card.checksum
        return copy, {"source": "UNMASK_DATA", "file": copy.name, "as_pinned": agrees}
    if card.by_hand:
        files = " and ".join([Path(card.path).name, *card.beside])
        raise DataError(
            f"{card.name!r} cannot be fetched, since no checksum of it is known; download {files} "
            f"from {card.url} into {Path(card.path).parent}/ in a folder, and set UNMASK_DATA to "
            "that folder."
        )
    target = cache_folder() / card.path
    if not target.is_file():
        download(card.url, target, lambda p: checksum(p, card.checksum) == card.checksum, progress)
    return target, {"source": card.url, "file": target.name, "as_pinned": True}


def verify(card: Card) -> list[tuple[Path, bool]]:
    """Each local file of a card, and whether it is the pinned one; none if no pin is known."""
    if card.by_hand:
        return []
    files = [p for p in (local_copy(card), cache_folder() / card.path) if p and p.is_file()]
    return [(p, checksum(p, card.checksum) == card.checksum) for p in files]


def read(name: str, others: Sequence[str] = ()) -> tuple[Dataset, dict[str, Any]]:
    """A data set by name, or a user's file by path, with a note on where it comes from.

    `others` are names that are allowed elsewhere, to be offered for a wrong one.
    """
    path = Path(name)
    if path.suffix in SUFFIXES and name not in catalogue():
        if not path.is_file():
            raise DataError(
                f"there is no file {name!r}; give the path of a CSV, TSV, JSON-lines or parquet "
                "file."
            )
        return contrasts.read_pairs(path), {"source": "file", "file": path.name}
    if name not in catalogue():
        raise NameUnknown(unknown("data set", name, [*catalogue(), *others]))
    card = catalogue()[name]
    path, note = locate(card)
    return card.read(path), note
