"""Scores of other tools: lm-evaluation-harness' samples, metric.py's scores, inspect's logs."""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.data.readers.table import read_json
from unmask.errors import DataError
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED

ZSTANDARD = 93  # how inspect packs its logs; Python's own zip module does not read it
LABELS = {"stereotype": STEREOTYPE, "anti-stereotype": ANTISTEREOTYPE, "unrelated": UNRELATED}
# All errors that Python's readers of zip files and JSON raise on damaged ones.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    EOFError,
)
SCORES = ("sent_more_score", "sent_less_score")  # of metric.py
Shares = dict[str, dict[str, float]]


def has_sentences(rows: Sequence[Any]) -> bool:
    """Whether these are scores of CrowS-Pairs with their sentences.

    Samples that lm-evaluation-harness logged, or what the authors' metric.py writes.
    """
    first = rows[0] if rows else None
    forms = ({"doc", "filtered_resps"}, {"sent_more", "sent_less", *SCORES})
    return isinstance(first, Mapping) and any(form <= first.keys() for form in forms)


def sentence_pairs(
    rows: Iterable[Mapping[str, Any]], path: Path
) -> dict[tuple[str, str], list[float]]:
    """The scores of the two sentences of each pair, by the sentences themselves."""
    scores: dict[tuple[str, str], list[float]] = {}
    for number, row in enumerate(rows, 1):
        try:
            doc = row.get("doc", row)
            pair = (str(doc["sent_more"]).strip(), str(doc["sent_less"]).strip())
            answers = row["filtered_resps"] if "doc" in row else [row[k] for k in SCORES]
            values = [_likelihood(answer) for answer in answers]
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DataError(
                f"{path}, sample {number} is not from CrowS-Pairs ({error!r:.60}); give the "
                "samples of lm_eval --log_samples, or the output of metric.py."
            ) from error
        if len(values) != 2:
            raise DataError(
                f"{path}, sample {number} does not have two answers; log the task again."
            )
        if scores.setdefault(pair, values) != values:
            raise DataError(
                f"{path}, sample {number} repeats a pair with different scores; log the task again."
            )
    return scores


def _likelihood(answer: Any) -> float:
    """The log-likelihood of an answer: [value, is greedy], or the value alone."""
    if isinstance(answer, list | tuple):
        return float(answer[0])
    return float(answer)


def is_inspect(path: Path) -> bool:
    """Whether this is a log of inspect: its packed form, or its JSON."""
    if path.suffix == ".eval":
        return True
    if path.suffix != ".json":
        return False
    content = read_json(path) if path.stat().st_size else None
    return isinstance(content, dict) and {"eval", "samples"} <= content.keys()


def inspect_shares(path: Path) -> Shares:
    """Return how often each sample's answer was each sentence, over its epochs."""
    counts: dict[str, dict[str, int]] = {}
    for sample in _samples(path):
        try:
            labels = [LABELS[name] for name in sample["metadata"]["gold_labels"]]
            tally = counts.setdefault(str(sample["id"]), {})
        except (KeyError, TypeError) as error:
            raise DataError(
                f"{path} holds samples without the labels of StereoSet ({error}); give a log of "
                "inspect_evals/stereoset."
            ) from error
        letter = _letter(sample)
        if 0 <= letter < len(labels):
            tally[labels[letter]] = tally.get(labels[letter], 0) + 1
    return {
        name: {k: v / sum(tally.values()) for k, v in tally.items()}
        for name, tally in counts.items()
    }


def _letter(sample: Mapping[str, Any]) -> int:
    """Return the position of the answer among the choices (A is 0), or -1 without one."""
    scores = sample.get("scores")
    letters = scores.values() if isinstance(scores, Mapping) else ()
    answers = [s.get("answer") for s in letters if isinstance(s, Mapping)]
    letter = next((a for a in answers if isinstance(a, str) and len(a) == 1 and a.isascii()), "")
    return ord(letter.upper()) - ord("A") if letter else -1


def _samples(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix == ".json":
        samples = read_json(path)["samples"]
        if not isinstance(samples, list):
            raise DataError(f"{path} has no list of samples; give a log that includes them.")
        yield from (_sample(s, path) for s in samples)
        return
    try:
        with zipfile.ZipFile(path) as packed, path.open("rb") as raw:
            for member in packed.infolist():
                if member.filename.startswith("samples/"):
                    yield _sample(json.loads(_unpacked(packed, raw, member)), path)
    except (*BROKEN, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise DataError(f"{path} is not a complete inspect log ({reason}); log again.") from error


def _sample(content: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise DataError(f"{path} contains samples that are not objects; give an inspect log.")
    return content


def _unpacked(packed: zipfile.ZipFile, raw: Any, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type != ZSTANDARD:
        return packed.read(member)
    try:
        import zstandard
    except ImportError as error:
        raise DataError(
            "this log is packed with Zstandard; install: pip install 'unmask[corpus]', or give the "
            "log as JSON (inspect log convert)."
        ) from error
    raw.seek(member.header_offset)
    names, extra = struct.unpack("<HH", raw.read(30)[26:30])
    raw.seek(member.header_offset + 30 + names + extra)
    stream = zstandard.ZstdDecompressor().decompressobj()
    try:
        return bytes(stream.decompress(raw.read(member.compress_size)))
    except (zstandard.ZstdError, MemoryError) as error:
        raise zipfile.BadZipFile(str(error)) from error
