"""Corpus files to blocks of text: plain text or JSON lines, compressed or not."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from unmask.errors import DataError

BLOCK = 4 << 20
GONE = {"[deleted]", "[removed]", ""}
BOTS = {"AutoModerator"}
BOT_SAYS = "i am a bot"


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
    out = []
    for row in _parsed(block):
        if not isinstance(row, dict):
            continue
        text = row.get("body") or row.get("text") or row.get("sentence") or ""
        if text in GONE or row.get("author") in BOTS:
            continue
        if "a bot" in text and BOT_SAYS in text.lower():
            continue
        out.append(text.replace("\n", " \x1e ") if "\n" in text else text)
    return "\n".join([*out, ""]).encode("utf-8", "replace")


def _parsed(block: bytes) -> list[Any]:
    """The objects of a block, all at once; line by line if one of them is cut short."""
    import orjson

    lines = [line for line in block.split(b"\n") if line]
    try:
        return list(orjson.loads(b"[" + b",".join(lines) + b"]"))
    except orjson.JSONDecodeError:
        out = []
        for line in lines:
            try:
                out.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                continue  # the end of a truncated file
        return out
