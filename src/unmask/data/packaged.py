"""The package's own data: word lists, published values, and triplets built from templates."""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from io import StringIO
from typing import Any

import pandas as pd

from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Contrast, Dataset, Text

BLANK = "BLANK"


def packaged(name: str) -> Any:
    """A data file of the package."""
    return json.loads(resources.files("unmask.data").joinpath("sets", name).read_text("utf-8"))


def published(name: str) -> Any:
    """The published values of a paper."""
    folder = resources.files("unmask.data").joinpath("published")
    if name.endswith(".csv"):
        text = folder.joinpath(name).read_text("utf-8")
        # Only numbers may be missing; an empty note or level is a value.
        header = text.partition("\n")[0].strip().split(",")
        missing = {
            name: ["nan", ""] for name in ("d", "p", "printed", "release", "bold") if name in header
        }
        return pd.read_csv(StringIO(text), keep_default_na=False, na_values=missing)
    return json.loads(folder.joinpath(f"{name}.json").read_text("utf-8"))


def bundled_pairs(frames: str = "frames") -> Dataset:
    """Return unmask's own triplets: each template with each word, for both fills.

    `frames` is the key of the templates: `frames`, or `reworded`; ids are the same for both.
    """
    items: list[Contrast] = []
    for family in packaged("pairs.json")["families"]:
        for side in ("first", "second"):
            fills = family["fills"] if side == "first" else family["fills"][::-1]
            for word in family[side]:
                items.extend(_framed(family, family[frames], word, (*fills, family["unrelated"])))
    return Dataset("bundled-pairs", "triplets", tuple(items), "word")


def _framed(
    family: Mapping[str, Any], frames: Sequence[str], word: str, fills: Sequence[str]
) -> Iterator[Contrast]:
    for number, frame in enumerate(frames):
        context = frame.format(word=word)
        at = context.index(BLANK)
        texts = {}
        for label, fill in zip((STEREOTYPE, ANTISTEREOTYPE, UNRELATED), fills, strict=True):
            span = ((at, at + len(fill)),)
            texts[label] = Text(context.replace(BLANK, fill), {"fill": span, "word": span})
        yield Contrast(
            f"{family['name']}/{word}/{number}",
            texts,
            family["category"],
            f"{family['name']}/{word}",
            {"context": context},
            group_pair=family["name"],
            group=fills[0],
            template=f"{family['name']}/{number}",
        )
