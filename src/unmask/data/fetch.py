"""Locate the file of a data set: a local copy, the cache, or its source.

Downloads are streamed, resumed and verified, and appear only when complete.
"""

import hashlib
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unmask.data.card import Card
from unmask.errors import DataError
from unmask.support.paths import cache_folder

CHUNK = 1 << 16
TRIES = 4
LARGEST_DOWNLOAD = 1 << 30  # bytes of one download


def download(
    url: str,
    target: Path,
    verify: Callable[[Path], bool],
    progress: Callable[[int, int], None] = lambda done, total: None,
    pause: float = 1.0,
) -> None:
    """Download `url` to `target`, which appears only when complete and verified.

    Each process writes its own part file, so two at once are safe. An interrupted download is
    retried with back-off, and continues if the server allows it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        for attempt in range(TRIES):
            try:
                _stream(url, part, progress)
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                code = error.code if isinstance(error, urllib.error.HTTPError) else 0
                refused = code in (403, 404, 410)
                if refused or attempt == TRIES - 1:
                    raise DataError(
                        f"cannot fetch {url} ({error}); check the network, or put a copy in a "
                        "folder and set UNMASK_DATA to that folder."
                    ) from error
                time.sleep(pause * 2**attempt)
        if not verify(part):
            raise DataError(
                f"the file at {url} does not match its pinned checksum and was rejected; put the "
                "original file in a folder and set UNMASK_DATA to that folder."
            )
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _stream(url: str, part: Path, progress: Callable[[int, int], None]) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=30) as reply:
        resumed = reply.status == 206
        done = have if resumed else 0
        total = done + int(reply.headers.get("Content-Length") or 0)
        with part.open("ab" if resumed else "wb") as file:
            while chunk := reply.read(CHUNK):
                file.write(chunk)
                done += len(chunk)
                if done > LARGEST_DOWNLOAD:
                    raise DataError(
                        f"{url} sends more than {LARGEST_DOWNLOAD:,} bytes; the download was "
                        "stopped."
                    )
                progress(done, total)
    if total and done < total:
        raise ConnectionError(f"only {done} of {total} bytes were received")


def local_copy(card: Card) -> Path | None:
    """Return the file of a card in `UNMASK_DATA`, or None if that folder lacks it."""
    if not (folder := os.environ.get("UNMASK_DATA")):
        return None
    if not Path(folder).is_dir():
        raise DataError(
            f"UNMASK_DATA is {folder!r}, which is not a folder; set it to one or unset it."
        )
    candidates = (Path(folder) / p for p in (card.path, *card.alias))
    return next((p for p in candidates if p.is_file()), None)


def checksum(path: Path, expected: str) -> str:
    """Return the checksum of a file, of the same type as `expected`."""
    data = path.read_bytes()
    if expected.startswith("git:"):
        return "git:" + hashlib.sha1(b"blob %d\x00" % len(data) + data).hexdigest()
    return "sha256:" + hashlib.sha256(data).hexdigest()


def locate(
    card: Card, progress: Callable[[int, int], None] = lambda done, total: None
) -> tuple[Path, dict[str, Any]]:
    """Return the file of a data set, downloaded if necessary, and a note on its source."""
    if card.packaged:
        return Path(), {"source": "packaged"}
    if (copy := local_copy(card)) is not None:
        agrees = None if card.by_hand else checksum(copy, card.checksum) == card.checksum
        return copy, {"source": "UNMASK_DATA", "file": copy.name, "as_pinned": agrees}
    if card.by_hand:
        files = " and ".join([Path(card.path).name, *card.beside])
        raise DataError(
            f"{card.name!r} cannot be fetched, because it has no pinned checksum; download {files} "
            f"from {card.url} into {Path(card.path).parent}/ in a folder, and set UNMASK_DATA to "
            "that folder."
        )
    target = cache_folder() / card.path
    if not (target.is_file() and _verified(target, card.checksum)):
        download(card.url, target, lambda p: checksum(p, card.checksum) == card.checksum, progress)
        _remember(target, card.checksum)
    return target, {"source": card.url, "file": target.name, "as_pinned": True}


def _stamp(path: Path, pin: str) -> str:
    facts = path.stat()
    return f"{pin} {facts.st_size} {facts.st_mtime_ns}"


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.verified")


def _remember(path: Path, pin: str) -> None:
    _note(path).write_text(_stamp(path, pin))


def _verified(path: Path, pin: str) -> bool:
    """Whether a cached file is the pinned one, by its last verification or by its checksum.

    A file that was changed or truncated is downloaded again.
    """
    note = _note(path)
    if note.is_file() and note.read_text() == _stamp(path, pin):
        return True
    right = checksum(path, pin) == pin
    if right:
        _remember(path, pin)
    return right


def verify(card: Card) -> list[tuple[Path, bool]]:
    """Return each local file of a card with whether it matches; empty if no checksum is known."""
    if card.by_hand:
        return []
    files = [p for p in (local_copy(card), cache_folder() / card.path) if p and p.is_file()]
    return [(p, checksum(p, card.checksum) == card.checksum) for p in files]
