"""Corpus files to blocks of text: plain text or JSON lines, compressed or not."""

import bz2
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from unmask.errors import DataError

BLOCK = 4 << 20
READ_BYTES = 1 << 18
LINE = 64 << 20  # bytes of one line, at most
LARGEST_FILE = 1 << 40  # bytes that one file may unpack to
GONE = ["[deleted]", "[removed]", ""]
BOTS = ["AutoModerator"]
BOT_SAYS = "i am a bot"
_FIELDS = ("body", "text", "sentence")
_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
_NO_OBJECT = re.compile(rb"(?m)^[ \t\r]*[^ \t\r\n{]")
_SCHEMA = pa.schema([(name, pa.string()) for name in (*_FIELDS, "author")])


class DamagedFile(Exception):
    """A file is truncated or cannot be decoded; the text read before it counts."""


def _zst(raw: IO[bytes]) -> Iterator[bytes]:
    """The content of all frames of a zst file; one that ends inside a frame is broken."""
    try:
        import zstandard
    except ImportError as error:
        raise DataError("zst files need more packages: pip install 'unmask[corpus]'.") from error
    # Reddit's dumps use a window of 2 GiB.
    maker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    frame, complete = maker.decompressobj(), True
    try:
        while chunk := raw.read(BLOCK // 64):
            while chunk:
                content = frame.decompress(chunk)
                yield from (content[i : i + BLOCK] for i in range(0, len(content), BLOCK))
                complete, chunk = frame.eof, frame.unused_data
                frame = maker.decompressobj() if complete else frame
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from error
    if not complete:
        raise EOFError("it ends inside a frame")


def _chunks(raw: IO[bytes], suffix: str) -> Iterator[bytes]:
    """The decompressed content of a file in pieces, by the ending of its name."""
    if suffix == ".zst":
        yield from _zst(raw)
        return
    opened: Any = _OPENERS.get(suffix, lambda raw: raw)(raw)
    # read1: the content before the end of a truncated file is still returned.
    while chunk := opened.read1(min(READ_BYTES, BLOCK)):
        yield chunk


def blocks(
    path: Path,
    progress: Callable[[int], None] = lambda done: None,
    most: int = LARGEST_FILE,
) -> Iterator[bytes]:
    """Whole lines in blocks of about 4 MiB; `progress` gets the bytes read from disk so far.

    A line of more than 64 MiB is cut. A file that unpacks to more than `most` bytes is broken.
    """
    partial: list[bytes] = []
    size = total = 0
    with path.open("rb") as raw:
        try:
            for chunk in _chunks(raw, path.suffix):
                partial.append(chunk)
                size += len(chunk)
                total += len(chunk)
                if total > most:
                    raise EOFError(f"it unpacks to more than {most:,} bytes")
                if size >= LINE:
                    yield b"".join(partial) + b"\n"
                    partial, size = [], 0
                elif size >= BLOCK and (cut := chunk.rfind(b"\n") + 1):
                    partial[-1] = chunk[:cut]
                    yield b"".join(partial)
                    partial, size = [chunk[cut:]], len(chunk) - cut
                progress(raw.tell())
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            yield b"".join(partial)
            raise DamagedFile(f"{path.name} is truncated or corrupt ({error})") from error
    if any(partial):
        yield b"".join(partial)


def is_json(path: Path) -> bool:
    """Whether a file holds JSON lines, by its name."""
    names = [s.lower() for s in path.suffixes]
    return ".txt" not in names


def documents(block: bytes, json_lines: bool) -> bytes:
    """The texts of a block, one a line, joined; deleted and bot comments are left out."""
    if not json_lines:
        return block
    texts = _texts(_parsed(block))
    texts = pc.replace_substring(texts, "\n", " \x1e ")
    lists = pa.ListArray.from_arrays([0, len(texts)], texts)
    joined = pc.binary_join(lists, "\n")[0].as_buffer()
    return joined.to_pybytes() + b"\n" if len(texts) else b""


def _texts(table: pa.Table) -> pa.Array:
    """The text of each row that has one and was not written by a bot."""
    text = pc.coalesce(*(pc.if_else(pc.equal(table[f], ""), None, table[f]) for f in _FIELDS))
    keep = pc.and_(
        pc.is_valid(text),
        pc.invert(
            pc.or_(pc.is_in(text, pa.array(GONE)), pc.is_in(table["author"], pa.array(BOTS)))
        ),
    )
    # ASCII only: it accepts invalid UTF-8.
    says = pc.match_substring(pc.ascii_lower(text), BOT_SAYS)
    keep = pc.and_(keep, pc.fill_null(pc.invert(says), False))
    texts = text.filter(keep)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def _parsed(block: bytes) -> pa.Table:
    """The columns of a block that matter; line by line if one of its lines is cut or odd."""
    if _NO_OBJECT.search(block):  # pyarrow crashes on a line that is null
        return pa.Table.from_pylist(list(_odd_lines(block)), _SCHEMA)
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
            values = {k: row.get(k) for k in _SCHEMA.names}
            # Half an emoji is valid JSON and no valid text.
            yield {
                k: v.encode("utf-8", "replace").decode() if isinstance(v, str) else None
                for k, v in values.items()
            }
