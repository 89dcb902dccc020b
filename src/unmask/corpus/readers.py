"""Corpus files to blocks of text: plain text or JSON lines, compressed or not."""

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from unmask.errors import DataError

BLOCK = 4 << 20
GONE = ["[deleted]", "[removed]", ""]
BOTS = ["AutoModerator"]
BOT_SAYS = "i am a bot"
_FIELDS = ("body", "text", "sentence")
_SCHEMA = pa.schema([(name, pa.string()) for name in (*_FIELDS, "author")])


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
    texts = _kept(_parsed(block))
    texts = pc.replace_substring(texts, "\n", " \x1e ")
    whole = pa.ListArray.from_arrays([0, len(texts)], texts)
    joined = pc.binary_join(whole, "\n")[0].as_buffer()
    return joined.to_pybytes() + b"\n" if len(texts) else b""


def _kept(table: pa.Table) -> pa.Array:
    """The text of each row that has one and was not written by a bot."""
    text = pc.coalesce(*(pc.if_else(pc.equal(table[f], ""), None, table[f]) for f in _FIELDS))
    keep = pc.and_(
        pc.is_valid(text),
        pc.invert(
            pc.or_(pc.is_in(text, pa.array(GONE)), pc.is_in(table["author"], pa.array(BOTS)))
        ),
    )
    maybe = pc.match_substring(text, "a bot")
    if pc.any(maybe).as_py():
        says = pc.match_substring(pc.utf8_lower(text), BOT_SAYS)
        keep = pc.and_(keep, pc.fill_null(pc.invert(says), False))
    found = text.filter(keep)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _parsed(block: bytes) -> pa.Table:
    """The columns of a block that matter; line by line if one of its lines is cut or odd."""
    try:
        return pajson.read_json(
            pa.BufferReader(block),
            read_options=pajson.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pajson.ParseOptions(
                explicit_schema=_SCHEMA, unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return pa.Table.from_pylist(list(_odd_lines(block)), _SCHEMA)


def _odd_lines(block: bytes) -> Iterator[dict[str, str | None]]:
    for line in block.split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue  # the end of a truncated file
        if isinstance(row, dict):
            found = {k: row.get(k) for k in _SCHEMA.names}
            yield {k: v if isinstance(v, str) else None for k, v in found.items()}
