"""The table of data sets: `cards.toml` has those that come from a file."""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from unmask.data import questionnaire, templates, wordsets
from unmask.data.card import Card as Card
from unmask.data.packaged import bundled_pairs, packaged
from unmask.data.readers import groups, husse2022, seat
from unmask.support.registry import Registry
from unmask.text.contexts import WordTest
from unmask.types import Dataset

_GITHUB = "https://raw.githubusercontent.com"
# Meade et al.'s copy has May et al.'s files unchanged, and the religion tests beside them.
_HUSSE = f"{_GITHUB}/SilkeHusse/Re-Evaluating-Bias/9edbf43f7b87cb508870e30cf195b4a806efd99e/data"
_SEAT = f"{_GITHUB}/McGill-NLP/bias-bench/aba440322fb38600f7790e457a17941f0b12bf20/data/seat"


def _packaged_card(
    name: str, about: str, cite: tuple[str, ...], build: Callable[[], Dataset], defects: str = ""
) -> Card:
    licence = "Apache-2.0 (word lists: no copyright)"
    return Card(name, about, lambda path: build(), cite, licence, defects=defects)


def _template_cards() -> list[Card]:
    return [
        _packaged_card(
            test["name"],
            f"template test, {' against '.join(test['attributes'])} ({test['source']})",
            (test["source"],),
            lambda test=test: templates.template_test(test),  # type: ignore[misc]
        )
        for test in packaged("templates.json")["tests"]
    ]


@cache
def seat_files() -> Registry[Card]:
    """The sentence files of SEAT, by name without ending."""
    return Registry("data set", ((c.name, c) for c in map(_seat, packaged("seat.json")["files"])))


def _seat(row: Mapping[str, Any]) -> Card:
    name = str(row["file"]).removesuffix(".jsonl")
    words = wordsets.stimuli().get(row.get("words", ""))
    religion = str(row.get("words", "")).startswith("religion")
    return Card(
        name,
        "sentences of a SEAT test",
        lambda path: seat.read_file(path, name, words),
        ("meade2022",) if religion else ("may2019",),
        "none stated" if religion else "CC BY-NC 4.0 (not for commercial use)",
        path=f"seat/{row['file']}",
        url=f"{_SEAT}/{row['file']}",
        checksum=f"git:{row['blob']}",
        size=int(row["size"]),
    )


def _release_file(row: Mapping[str, Any], name: str, about: str, **options: Any) -> Card:
    file = str(row["file"])
    return Card(
        name,
        about,
        cite=("husse2022",),
        licence="none stated",
        path=f"wordsets/husse2022/{file}",
        url=f"{_HUSSE}/{file}",
        checksum=f"git:{row['blob']}",
        size=int(row["size"]),
        **{"read": lambda path: [], **options},
    )


@cache
def release_files() -> Registry[Card]:
    """The tests of Husse and Spitz's release, its own words in its own sentences."""
    content = packaged("release.json")
    needs = tuple(_release_file(r, str(r["file"]), "templates") for r in content["templates"])
    return Registry(
        "data set", ((c.name, c) for c in (_release(r, needs) for r in content["files"]))
    )


def _release(row: Mapping[str, Any], needs: tuple[Card, ...]) -> Card:
    *folder, file = str(row["file"]).split("/")
    size = folder[-1] if folder else "full"
    concept, named, *edition = file.removesuffix("_word.jsonl").split("_")
    parts = [concept.lower(), named, *edition, *(folder[-1:])]
    name = "-".join(["husse2022", *parts])
    facts = {"source": "husse2022", "concept": concept, "named": f"{named}s", "size": size}
    facts["edition"] = " ".join(["release", *edition])

    def read(path: Path, *more: Path) -> list[Dataset | WordTest]:
        return husse2022.read_release(path, more[0], more[1], name, facts)

    about = f"the release's own words and sentences: {concept}, {named}s, {size} sets"
    return _release_file(row, name, about, read=read, needs=needs, meta=facts)


@cache
def word_files() -> Registry[Card]:
    """Word sets that come from a file of their own."""
    return Registry("data set", ((c.name, c) for c in _from_table("words")))


@cache
def sentence_sets() -> Registry[Card]:
    """All data sets of sentences."""
    cards = [*_packaged_cards(), *_template_cards(), *_from_table("sentences")]
    return Registry("data set", ((c.name, c) for c in cards))


def _packaged_cards() -> list[Card]:
    names = "DisCo's 14 templates with 30 pairs of first names common in the USA"
    of_names = "Names from one country and period, and few people there bear them."
    return [
        _packaged_card(
            "bundled-pairs",
            "unmask's own sentence triplets for the nine bias types of CrowS-Pairs; for first "
            "steps",
            ("unmask",),
            bundled_pairs,
            "Written by hand from templates that combine two group words with a few words that a "
            "common stereotype associates with one of the groups. Few words and plain templates, "
            "Western and English stereotypes, no human ratings: good for first steps, tests and "
            "teaching, not for a verdict on a model.",
        ),
        _packaged_card(
            questionnaire.NAME,
            "the built-in questionnaire: traits attributed to groups, most of them reported in "
            "published studies, queried for both groups of a pair, over ten bias types",
            ("unmask",),
            questionnaire.questionnaire,
            "English only; the beliefs were reported mainly in the United States and Western "
            "Europe. Only the authors of unmask wrote and reviewed the traits and templates; "
            "nobody from the groups concerned has reviewed them. Adjectives only; no names, "
            "dialects or intersections of groups.",
        ),
        _packaged_card(
            "disco-names",
            names,
            ("webster2020",),
            lambda: groups.disco(groups.FIRST_NAMES, "disco-names", ""),
            of_names,
        ),
        _packaged_card(
            "disco-names-with-article",
            f"{names}, after an article",
            ("webster2020",),
            lambda: groups.disco(groups.FIRST_NAMES, "disco-names-with-article", "The "),
            of_names,
        ),
    ]


# ---------------------------------------------------------------- cards.toml


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(resources.files("unmask.data").joinpath("cards.toml").read_text("utf-8"))


@cache
def _files() -> dict[str, Card]:
    """The files that sets need besides their own, by name."""
    rows = _table()["files"]
    return {row["name"]: Card(read=lambda path: [], **_plain(row)) for row in rows}


def _from_table(kind: str) -> list[Card]:
    """The cards of one kind: `sentences` or `words`."""
    return [_card(row) for row in _table()[kind]]


def _card(row: Mapping[str, Any]) -> Card:
    keys = {"reader", "arguments", "options", "needs", "paths"}
    arguments, options = row.get("arguments", []), row.get("options", {})
    module, _, name = row["reader"].partition(".")
    function = getattr(import_module(f"unmask.data.readers.{module}"), name)

    def read(*paths: Path) -> Any:
        return function(*paths[: row.get("paths")], *map(_as_tuple, arguments), **options)

    needs = tuple(_files()[file] for file in row.get("needs", ()))
    facts = _plain({k: v for k, v in row.items() if k not in keys})
    return Card(read=read, needs=needs, **facts)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _as_tuple(v) for k, v in row.items()}


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
