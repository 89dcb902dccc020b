"""StereoSet (Nadeem et al. 2021): triplets within a sentence, and triplets of continuations."""

import string
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from unmask.data.packaged import BLANK
from unmask.data.readers.table import read_json
from unmask.errors import DataError
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Contrast, Dataset, Span, Text

_SKIPPED = string.punctuation + string.whitespace
_LABELS = {"stereotype": STEREOTYPE, "anti-stereotype": ANTISTEREOTYPE, "unrelated": UNRELATED}


def read_intrasentence(path: Path, name: str = "stereoset") -> Dataset:
    """The triplets that differ in one word, from dev.json or its intrasentence half.

    The cluster is the target term. Spans: `fill` is what the sentence puts for BLANK; `word` is
    what the authors' code takes for it (one item of the sentence split at white space, less
    punctuation).
    """
    return Dataset(name, "triplets", _items(path, "intrasentence", _fill_spans), "target term")


def read_intersentence(path: Path, name: str = "stereoset-intersentence") -> Dataset:
    """A context and three sentences that may follow it; needs the original dev.json.

    Spans: `context` and `continuation`; the text of an item is both with a space between.
    """
    return Dataset(name, "continuations", _items(path, "intersentence", None), "target term")


def _items(
    path: Path, half: str, spans: Callable[[str, str], dict[str, tuple[Span, ...]]] | None
) -> tuple[Contrast, ...]:
    content = read_json(path)
    try:
        items = tuple(_item(row, spans) for row in content["data"][half])
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} does not have the format of StereoSet's {half} part (no {error}); give the "
            "original dev.json."
        ) from error
    if not items:
        raise DataError(f"{path} has no {half} items; give the original dev.json.")
    return items


def _item(
    row: Mapping[str, Any], spans: Callable[[str, str], dict[str, tuple[Span, ...]]] | None
) -> Contrast:
    texts, ids = {}, {}
    context = row["context"]
    for sentence in row["sentences"]:
        label, string = _LABELS[sentence["gold_label"]], sentence["sentence"]
        texts[label] = Text(string, spans(context, string)) if spans else _after(context, string)
        ids[label] = sentence["id"]
    meta = {"context": context, "target": row["target"], "ids": ids}
    return Contrast(row["id"], texts, row["bias_type"], row["target"], meta)


def _after(context: str, sentence: str) -> Text:
    first, second = context.strip(), sentence.strip()
    start = len(first) + 1
    spans = {"context": ((0, len(first)),), "continuation": ((start, start + len(second)),)}
    return Text(f"{first} {second}", spans)


def _fill_spans(context: str, sentence: str) -> dict[str, tuple[Span, ...]]:
    spans: dict[str, tuple[Span, ...]] = {}
    if (word := _word_span(context, sentence)) is not None:
        spans["word"] = spans["fill"] = (word,)
    if (fill := _between(context, sentence)) is not None:
        spans["fill"] = (fill,)
    return spans


def _between(context: str, sentence: str) -> Span | None:
    """The part of the sentence in the place of the context's BLANK, if the rest agrees."""
    before, _, after = context.partition(BLANK)
    end, lowered = len(sentence) - len(after), sentence.lower()
    matches = lowered.startswith(before.lower()) and lowered.endswith(after.lower())
    return _trim(sentence, (len(before), end)) if matches and len(before) < end else None


def _word_span(context: str, sentence: str) -> Span | None:
    """The authors' rule: the item of the sentence at the index of the item with BLANK."""
    before, blank, _ = context.partition(BLANK)
    words, number = sentence.split(" "), before.count(" ")
    if not blank or number >= len(words):
        return None
    start = sum(map(len, words[:number])) + number
    return _trim(sentence, (start, start + len(words[number])))


def _trim(sentence: str, span: Span) -> Span | None:
    start, end = span
    text = sentence[start:end].lstrip(_SKIPPED)
    start = end - len(text)
    end = start + len(text.rstrip(_SKIPPED))
    return (start, end) if start < end else None
