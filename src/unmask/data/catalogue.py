"""Data sets by name: cards, where their files come from, and how they are read."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from unmask.data import contrasts
from unmask.data.fetch import download
from unmask.errors import DataError, NameUnknown
from unmask.registry import Registry, unknown
from unmask.types import Dataset


@dataclass(frozen=True, slots=True)
class Card:
    """A data set: what it is, where its file comes from, its licence and its known defects.

    `path` is the file's place in a folder of local copies (`UNMASK_DATA`) and in the cache;
    `checksum` is `git:` and a blob id, or `sha256:` and a digest. A set of the package has no
    address. `size` in bytes, 0 where it is not known. `alias` are other names of a local copy.
    """

    name: str
    about: str
    read: Callable[[Path], Dataset]
    cite: tuple[str, ...]
    licence: str
    language: str = "en"
    path: str = ""
    url: str = ""
    checksum: str = ""
    size: int = 0
    defects: str = ""
    alias: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.about and self.cite and self.licence and self.language):
            raise ValueError(f"the card of {self.name!r} is not complete")
        if self.url and not (self.checksum and self.path):
            raise ValueError(f"{self.name!r} has an address and no checksum or path")

    @property
    def packaged(self) -> bool:
        """Whether the set comes with the package."""
        return not self.url


_GITHUB = "https://raw.githubusercontent.com"


def _own(name: str, about: str, cite: tuple[str, ...], build: Callable[[], Dataset]) -> Card:
    return Card(name, about, lambda path: build(), cite, "Apache-2.0 (word lists are facts)")


def _template_cards() -> list[Card]:
    return [
        _own(
            test["name"],
            f"template test, {' against '.join(test['attributes'])} ({test['source']})",
            (test["source"],),
            lambda test=test: contrasts.template_test(test),  # type: ignore[misc]
        )
        for test in contrasts.packaged("templates.json")["tests"]
    ]


@cache
def catalogue() -> Registry[Card]:
    """All data sets of sentences."""
    cards = [
        _own(
            "bundled-pairs",
            "sentence triplets of our own in eight categories; for first steps",
            ("unmask",),
            contrasts.bundled_pairs,
        ),
        *_template_cards(),
        Card(
            "crows-pairs",
            "1508 sentence pairs in nine bias types, written by crowd workers",
            contrasts.read_crows_pairs,
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
            contrasts.read_stereoset,
            ("nadeem2021",),
            "CC BY-SA 4.0",
            path="stereoset/dev.json",
            url=f"{_GITHUB}/moinnadeem/StereoSet/ead7d086a64a192a1eca88e0dd2fd163de375218"
            "/data/dev.json",
            checksum="git:637b1e3d284a3c629b74a4659c583b8eca9bd13e",
            defects="Fillers of unequal length and frequency; BLANK twice or glued in some items.",
            alias=("stereoset/dev_intrasentence.json",),
        ),
    ]
    return Registry("data set", ((c.name, c) for c in [*cards, *_translated()]))


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
    read = contrasts.read_crows_pairs if file.endswith(".csv") else contrasts.read_translated
    return Card(
        name,
        f"CrowS-Pairs: {about}",
        lambda path: read(path, name),
        (cite,),
        "see the repository; CrowS-Pairs itself is CC BY-SA 4.0",
        language,
        f"multilingual/{file}",
        url,
        f"git:{blob}",
    )


def cache_folder() -> Path:
    """Where fetched files are kept: `UNMASK_CACHE`, or the user's cache directory."""
    return Path(os.environ.get("UNMASK_CACHE") or platformdirs.user_cache_dir("unmask"))


def local_copy(card: Card) -> Path | None:
    """The file of a card in `UNMASK_DATA`, if that folder has it."""
    if not (folder := os.environ.get("UNMASK_DATA")):
        return None
    if not Path(folder).is_dir():
        raise DataError(
            f"UNMASK_DATA is {folder!r}, which is no folder; set it to one or unset it."
        )
    found = (Path(folder) / p for p in (card.path, *card.alias))
    return next((p for p in found if p.is_file()), None)


def checksum(path: Path, like: str) -> str:
    """The checksum of a file, of the same sort as `like`."""
    data = path.read_bytes()
    if like.startswith("git:"):
        return "git:" + hashlib.sha1(b"blob %d\x00" % len(data) + data).hexdigest()
    return "sha256:" + hashlib.sha256(data).hexdigest()


def cards(names: Sequence[str] | None = None) -> list[Card]:
    """Cards by name, those of SEAT's sentence files among them; all without names."""
    from unmask.data.seat import files  # which itself builds on cards

    every = Registry("data set", [*catalogue().items(), *files().items()])
    return [every[n] for n in names] if names else list(every.values())


def locate(
    card: Card, progress: Callable[[int, int], None] = lambda done, total: None
) -> tuple[Path, dict[str, Any]]:
    """The file of a data set, fetched if need be, and a note on where it comes from."""
    if card.packaged:
        return Path(), {"source": "packaged"}
    if (copy := local_copy(card)) is not None:
        agrees = checksum(copy, card.checksum) == card.checksum
        return copy, {"source": "UNMASK_DATA", "file": copy.name, "as_pinned": agrees}
    target = cache_folder() / card.path
    if not target.is_file():
        download(card.url, target, lambda p: checksum(p, card.checksum) == card.checksum, progress)
    return target, {"source": card.url, "file": target.name, "as_pinned": True}


def verify(card: Card) -> list[tuple[Path, bool]]:
    """Each local file of a card, and whether it is the pinned one."""
    files = [p for p in (local_copy(card), cache_folder() / card.path) if p and p.is_file()]
    return [(p, checksum(p, card.checksum) == card.checksum) for p in files]


def read(name: str, others: Sequence[str] = ()) -> tuple[Dataset, dict[str, Any]]:
    """A data set by name, or a user's file by path, with a note on where it comes from.

    `others` are names that are allowed elsewhere, to be offered for a wrong one.
    """
    path = Path(name)
    if path.suffix in {".csv", ".jsonl", ".ndjson"} and name not in catalogue():
        if not path.is_file():
            raise DataError(
                f"there is no file {name!r}; give the path of a CSV or JSON-lines file."
            )
        return contrasts.read_pairs(path), {"source": "file", "file": path.name}
    if name not in catalogue():
        raise NameUnknown(unknown("data set", name, [*catalogue(), *others]))
    card = catalogue()[name]
    path, note = locate(card)
    return card.read(path), note
