"""Small cached files, each with a digest: a damaged file is ignored."""

import hashlib
import os
import tempfile
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from unmask.support.paths import cache_folder

# Kinds of cached files by folder, with their descriptions in `unmask cache`.
MODELS, DATA, PLANS = "models", "read", "plans"
KEPT = {
    MODELS: "model metadata",
    DATA: "parsed data sets",
    PLANS: "query plans",
}
SEAL = 16  # bytes of the digest before the content
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")


@cache
def code_digest() -> str:
    """A digest of unmask's code and of its libraries' versions, so that a change gives new keys."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()


def usage(name: str) -> tuple[int, int]:
    """The number of cached files of a kind, and their size in bytes."""
    sizes = [p.stat().st_size for p in _files(name)]
    return len(sizes), sum(sizes)


def removed(name: str) -> int:
    """Delete the files of a kind; return their size in bytes."""
    size = usage(name)[1]
    for path in _files(name):
        path.unlink(missing_ok=True)
    return size


def trimmed(name: str, most: int) -> None:
    """Delete the oldest files of a kind until they fit into `most` bytes."""
    with suppress(OSError):
        by_age = sorted(_files(name), key=lambda p: p.stat().st_mtime)
        size = sum(p.stat().st_size for p in by_age)
        for path in by_age:
            if size <= most:
                return
            size -= path.stat().st_size
            path.unlink(missing_ok=True)


def _files(name: str) -> list[Path]:
    folder = cache_folder() / name
    return [p for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []


def write(path: Path, content: bytes) -> None:
    """Write a file with its digest, atomically; errors of the disk are ignored."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(content) + content)
            os.replace(draft, path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise


def read(path: Path) -> bytes | None:
    """The content of a file; None where there is none, or where it was damaged."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    content = raw[SEAL:]
    return content if _digest(content) == raw[:SEAL] else None


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=SEAL).digest()
