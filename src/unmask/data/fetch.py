"""Fetching files: streamed, resumed, verified, and never seen half-written."""

import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from unmask.errors import DataError

CHUNK = 1 << 16
TRIES = 4


def download(
    url: str,
    target: Path,
    verify: Callable[[Path], bool],
    progress: Callable[[int, int], None] = lambda done, total: None,
    pause: float = 1.0,
) -> None:
    """Fetch `url` to `target`, which appears only when whole and verified.

    Each process writes a part file of its own name, so two at once are safe; an interrupted
    download is tried again with back-off and continues where the server allows it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        for attempt in range(TRIES):
            try:
                _stream(url, part, progress)
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                refused = isinstance(error, urllib.error.HTTPError) and error.code in (
                    403,
                    404,
                    410,
                )
                if refused or attempt == TRIES - 1:
                    raise DataError(
                        f"cannot fetch {url} ({error}); check the network, or put a copy in a "
                        "folder and name it in UNMASK_DATA."
                    ) from error
                time.sleep(pause * 2**attempt)
        if not verify(part):
            raise DataError(
                f"what {url} sends is not the pinned file (its checksum differs); it was refused."
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
                progress(done, total)
    if total and done < total:
        raise ConnectionError(f"{done} of {total} bytes came")
