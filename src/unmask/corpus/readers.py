"""Corpus files to blocks of text: plain text or JSON lines, compressed or not."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from unmask.errors import DataError

BLOCK = 4 << 20
GONE = {"[deleted]", "[removed]", ""}
BOTS = {"AutoModerator"}
BOT_SAYS = b"i am a bot"


class Broken(Exception):
    """A file that ends early or cannot be decoded; what was read before counts."""


def _zst(raw: IO[bytes]) -> IO[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise DataError("zst files need: pip install 'unmask[corpus]'.") from error
    # Reddit's dumps use a window of 2 GiB.
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(raw)


def _opened(raw: IO[bytes], suffix: str) -> Any:
    """The decompressed stream of a file, by the ending of its name."""
    if suffix == ".zst":
        return _zst(raw)
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.open(raw)
    return lzma.open(raw) if suffix == ".xz" else raw


def blocks(path: Path, progress: Callable[[int], None] = lambda done: None) -> Iterator[bytes]:
    """Whole lines in blocks of about 4 MiB; `progress` gets the bytes read from disk so far."""
    rest = b""
    with path.open("rb") as raw:
        opened = _opened(raw, path.suffix)
        try:
            while chunk := opened.read(BLOCK):
                cut = chunk.rfind(b"\n") + 1
                if cut:
                    yield rest + chunk[:cut]
                    rest = chunk[cut:]
                else:
                    rest += chunk
                progress(raw.tell())
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            yield rest
            raise Broken(f"{path.name} breaks off or is corrupt ({error})") from error
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            yield rest
            raise Broken(f"{path.name} breaks off or is corrupt ({error})") from error
    if rest:
        yield rest


def is_json(path: Path) -> bool:
    """Whether a file holds JSON lines, by its name: text files say so."""
    names = [s.lower() for s in path.suffixes]
    return ".txt" not in names


def documents(block: bytes, json_lines: bool) -> bytes:
    """The texts of a block, one a line, joined; deleted and bot comments are left out."""
    if not json_lines:
        return block
    import orjson

    out = io.BytesIO()
    for line in block.splitlines():
        if not line:
            continue
        try:
            row: Any = orjson.loads(line)
            text = row.get("body") or row.get("text") or row.get("sentence") or ""
        except (orjson.JSONDecodeError, AttributeError):
            continue  # a line cut by the end of a truncated file
        if text in GONE or row.get("author") in BOTS:
            continue
        data = text.encode("utf-8", "replace")
        if BOT_SAYS in data[:200].lower() or BOT_SAYS in data[-200:].lower():
            continue
        out.write(data.replace(b"\n", b" \x1e ") + b"\n")
    return out.getvalue()
