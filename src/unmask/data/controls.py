"""Controls as data sets: `NAME:shuffled`, `NAME:unrelated`, `NAME:direction`, `NAME:reworded`.

A score on the first two is not bias: a measure that scores them like the original data measures
something else (Kaneko and Bollegala 2022, Tables 3 and 4). `direction` takes the direction of a
pair as its category, `reworded` other wordings of the built-in items.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from unmask.data import questionnaire
from unmask.data.packaged import bundled_pairs, packaged
from unmask.data.readers.pairs import DIRECTIONS
from unmask.data.templates import template_test
from unmask.errors import DataError
from unmask.support.registry import Registry
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Contrast, Dataset, Text


def shuffled(data: Dataset) -> Dataset:
    """The words of every sentence in random order, which is the same on every call."""

    def mix(item: Contrast) -> Contrast:
        texts = {}
        for label, text in item.texts.items():
            # Of a continuation only the words behind the context are shuffled.
            start = text.spans["continuation"][0][0] if "continuation" in text.spans else 0
            words = text.string[start:].split()
            random.Random(f"{item.id} {label}").shuffle(words)
            string = text.string[:start] + " ".join(words)
            spans = {**text.spans, "continuation": ((start, len(string)),)} if start else {}
            texts[label] = Text(string, spans)
        return replace(item, texts=texts)

    return replace(data, items=tuple(map(mix, data.items)))


def unrelated(data: Dataset) -> Dataset:
    """The unrelated sentence in place of the stereotype."""
    if data.shape not in ("triplets", "continuations"):
        raise DataError(f"{data.name!r} has no unrelated sentences; use a set of triplets.")

    def swap(item: Contrast) -> Contrast:
        texts = {STEREOTYPE: item.texts[UNRELATED], ANTISTEREOTYPE: item.texts[ANTISTEREOTYPE]}
        return replace(item, texts=texts)

    shape: Literal["pairs", "continuations"] = "pairs"
    if data.shape == "continuations":
        shape = "continuations"
    return replace(data, shape=shape, items=tuple(map(swap, data.items)))


def direction(data: Dataset) -> Dataset:
    """The direction as category: about a disadvantaged or an advantaged group."""
    if not all(item.meta.get("direction") in DIRECTIONS for item in data.items):
        raise DataError(
            f"{data.name!r} does not say which group an item is about; use crows-pairs."
        )
    items = (replace(i, category=DIRECTIONS[i.meta["direction"]]) for i in data.items)
    return replace(data, items=tuple(items))


def reworded(data: Dataset) -> Dataset:
    """The package's own sets with rephrased templates; ids do not change."""
    if data.name == "bundled-pairs":
        return replace(bundled_pairs("reworded"), about=data.about)
    if data.name == questionnaire.NAME:
        return replace(questionnaire.questionnaire("reworded"), about=data.about)
    for test in packaged("templates.json")["tests"]:
        if test["name"] == data.name:
            texts = zip(test["templates"], test["reworded"], strict=True)
            templates = [{**template, "text": text} for template, text in texts]
            return replace(template_test({**test, "templates": templates}), about=data.about)
    raise DataError(
        f"{data.name!r} has no rewording; use bundled-pairs, bundled-2 or a kurita test."
    )


def positive(data: Dataset) -> Dataset:
    """Words that follow from the meaning of a group's word, in the questionnaire's templates."""
    _check_questionnaire(data)
    return questionnaire.positive()


def neutral(data: Dataset) -> Dataset:
    """Words without a known stereotype, with target groups drawn at random."""
    _check_questionnaire(data)
    return questionnaire.neutral()


def _check_questionnaire(data: Dataset) -> None:
    if data.name != questionnaire.NAME:
        raise DataError(f"{data.name!r} has no such control; use {questionnaire.NAME}.")


CONTROLS: Mapping[str, Callable[[Dataset], Dataset]] = Registry(
    "control",
    [
        ("shuffled", shuffled),
        ("unrelated", unrelated),
        ("direction", direction),
        ("reworded", reworded),
        ("positive", positive),
        ("neutral", neutral),
    ],
)


def controlled(data: Dataset, control: str) -> Dataset:
    """Apply a control to a data set, and name the result after it."""
    return replace(CONTROLS[control](data), name=f"{data.name}:{control}")
