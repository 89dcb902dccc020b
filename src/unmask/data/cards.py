"""The table of data sets: what each is, where its file comes from, and how it is read."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from unmask.data import templates, wordsets
from unmask.data.card import Card as Card
from unmask.data.field_cards import crows_cards, further_cards, occupation_cards, word_cards
from unmask.data.packaged import bundled_pairs, packaged
from unmask.data.readers import husse2022, pairs, seat, stereoset
from unmask.support.registry import Registry
from unmask.text.contexts import WordTest
from unmask.types import Dataset

_GITHUB = "https://raw.githubusercontent.com"
_STEREOSET = (
    f"{_GITHUB}/moinnadeem/StereoSet/ead7d086a64a192a1eca88e0dd2fd163de375218/data/dev.json"
)
# Meade et al.'s copy has May et al.'s files unchanged, and the religion tests beside them.
_HUSSE = f"{_GITHUB}/SilkeHusse/Re-Evaluating-Bias/9edbf43f7b87cb508870e30cf195b4a806efd99e/data"
_SEAT = f"{_GITHUB}/McGill-NLP/bias-bench/aba440322fb38600f7790e457a17941f0b12bf20/data/seat"


def _own(
    name: str, about: str, cite: tuple[str, ...], build: Callable[[], Dataset], defects: str = ""
) -> Card:
    licence = "Apache-2.0 (word lists are facts)"
    return Card(name, about, lambda path: build(), cite, licence, defects=defects)


def _template_cards() -> list[Card]:
    return [
        _own(
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

    def read(path: Path, *others: Path) -> list[Dataset | WordTest]:
        return husse2022.read_release(path, others[0], others[1], name, facts)

    about = f"the release's own words and sentences: {concept}, {named}s, {size} sets"
    return _release_file(row, name, about, read=read, needs=needs, meta=facts)


@cache
def word_files() -> Registry[Card]:
    """Word sets that come from a file of their own."""
    return Registry("data set", ((c.name, c) for c in word_cards()))


@cache
def sentence_sets() -> Registry[Card]:
    """All data sets of sentences."""
    cards = [
        _own(
            "bundled-pairs",
            "sentence triplets of our own over the nine bias types of CrowS-Pairs; for first steps",
            ("unmask",),
            bundled_pairs,
            "Written by hand from frames: each of two group words with each of a few words that "
            "a common stereotype gives to one of the two. Few words and plain frames, Western and "
            "English stereotypes, no human ratings: good for first steps, tests and teaching, not "
            "for a verdict on a model.",
        ),
        *_template_cards(),
        Card(
            "crows-pairs",
            "1508 sentence pairs in nine bias types, written by crowd workers",
            pairs.read_crows_pairs,
            ("nangia2020",),
            "CC BY-SA 4.0",
            path="crows-pairs/crows_pairs_anonymized.csv",
            url=f"{_GITHUB}/nyu-mll/crows-pairs/8aaac11c485473159ec9328a65253a5be9a479dc"
            "/data/crows_pairs_anonymized.csv",
            checksum="git:28fa7d906a83d441001fb2a0eeae28c6d64a99e1",
            size=437_764,
            defects="Many pairs do not contrast what they mean to (Blodgett et al. 2021); three "
            "have an empty difference on one side under BERT's vocabulary.",
        ),
        Card(
            "stereoset",
            "2106 intrasentence triplets in four domains (development set)",
            stereoset.read_intrasentence,
            ("nadeem2021",),
            "CC BY-SA 4.0",
            path="stereoset/dev.json",
            url=_STEREOSET,
            checksum="git:637b1e3d284a3c629b74a4659c583b8eca9bd13e",
            defects="Fillers of unequal length and frequency; BLANK twice or glued in some items.",
            alias=("stereoset/dev_intrasentence.json",),
        ),
        Card(
            "stereoset-intersentence",
            "2123 contexts with three continuations each, in four domains (development set)",
            stereoset.read_intersentence,
            ("nadeem2021",),
            "CC BY-SA 4.0",
            path="stereoset/dev.json",
            url=_STEREOSET,
            checksum="git:637b1e3d284a3c629b74a4659c583b8eca9bd13e",
            defects="Unrelated continuations are sentences of other items, often off the topic.",
        ),
    ]
    every = [*cards, *_translated(), *crows_cards(), *occupation_cards(), *further_cards()]
    return Registry("data set", ((c.name, c) for c in every))


def _translated() -> list[Card]:
    """CrowS-Pairs in other languages, and its English revision."""
    dutch = (
        f"{_GITHUB}/jerryspan/Dutch-CrowS-Pairs/a32bb03064c27533ac201e49565d4239c0ff29a3/datasets"
    )
    italian = f"{_GITHUB}/MaveriQ/crows-pairs/38891c17cc9878b55a81048f718cee6a60ee7145"
    kaneko = f"{_GITHUB}/kanekomasahiro/bias_eval_in_multiple_mlm"
    rows = [
        ("en", "crows_eng.csv", f"{dutch}/crows_eng.csv", "neveol2022",
         "1abe6b341b17364f719b0bb750a93a4fbeed4103", "the English revision"),
        ("fr", "crows_french.csv", f"{dutch}/crows_french.csv", "neveol2022",
         "9d88b74f81715b04f1a3f9f817fc10c1e0f181f3", "French"),
        ("nl", "crows_dutch.csv", f"{dutch}/crows_dutch.csv", "dutchcrows",
         "a4722f9b8f6a90fe9dee7ed0e78483bcea9101e5", "Dutch"),
        ("it", "crows_italian.csv", f"{italian}/cp_it.csv", "italiancrows",
         "3038d314f71fc832ae14c26abfd3c7669d961f51", "Italian"),
        ("ja", "japanese.json",
         f"{kaneko}/bb2f2c718d17f41444112b4191e46fd8d436a141/translated_data/japanese.json",
         "kaneko2022multi", "ce6240ee568f6cd514c8577676aaa931b0151cba", "Japanese, gender only"),
        ("ru", "russian.json",
         f"{kaneko}/2161cd94227fc1e8c3b25efef6afaf723be8b56d/translated_data/russian.json",
         "kaneko2022multi", "d9e3520a43c5211f31e0e1fc161e2d986df8405c", "Russian, gender only"),
    ]  # fmt: skip
    return [_translated_card(*row) for row in rows]


def _translated_card(language: str, file: str, url: str, cite: str, blob: str, about: str) -> Card:
    name = f"crows-pairs-{language}"
    # The Dutch pairs are in the encoding of old Macintoshes.
    encoding = "mac_roman" if language == "nl" else None

    def read(path: Path) -> Dataset:
        if not file.endswith(".csv"):
            return pairs.read_translated(path, name)
        return pairs.read_crows_pairs(path, name, encoding)

    return Card(
        name,
        f"CrowS-Pairs: {about}",
        read,
        (cite,),
        "see the repository; CrowS-Pairs itself is CC BY-SA 4.0",
        language,
        f"multilingual/{file}",
        url,
        f"git:{blob}",
    )
