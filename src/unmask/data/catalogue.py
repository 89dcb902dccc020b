"""The catalogue of data: resolves a name, a path or an object to data sets.

Sentence sets, word tests, SEAT's files, groups of them, data of installed packages, and users' own
files are all resolved here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from unmask.data import controls, defects, templates, wordsets
from unmask.data.cards import Card, release_files, seat_files, sentence_sets, word_files
from unmask.data.check.file import problems
from unmask.data.clusters import clustered
from unmask.data.fetch import locate
from unmask.data.read_cache import cached
from unmask.data.readers.lists import read_lists
from unmask.data.readers.own_columns import understood
from unmask.data.readers.pairs import pairs_of, read_pairs
from unmask.errors import DataError, NameUnknown, UnmaskError
from unmask.options import INDEPENDENT
from unmask.support.plugins import EntryPoints
from unmask.support.registry import Registry, unknown
from unmask.text.contexts import WordTest
from unmask.types import Dataset, Stimuli

SUFFIXES = {".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"}
ENTRY_POINTS = EntryPoints("unmask.data")
SUITE = (
    "bundled-2",
    "bundled-2:positive",
    "bundled-pairs",
    "kurita-career",
    "kurita-math",
    "kurita-science",
    "weat-1",
    "weat-6",
    "weat-7",
    "weat-8",
)
Data: TypeAlias = Dataset | WordTest


def shape(data: Data) -> str:
    """Return the shape that measures check; `word tests` have two target and two attribute sets.

    Word tests with any other number of sets are `word sets`.
    """
    if not isinstance(data, WordTest):
        return data.shape
    sets = len(data.stimuli.targets), len(data.stimuli.attributes)
    return "word tests" if sets == (2, 2) else "word sets"


def renamed(data: Data, name: str) -> Data:
    """The same data under another name."""
    if isinstance(data, WordTest):
        return replace(data, stimuli=replace(data.stimuli, name=name))
    return replace(data, name=name)


def limited(data: Data, most: int, seed: int = 0) -> Data:
    """Draw at most `most` items of a sentence set, evenly spread over it; the name reports it.

    One item is drawn at random from each stretch, the same for the same seed. A fixed step could
    skip one target group in a set where the groups alternate. A seed other than 0 is in the name.
    """
    if isinstance(data, WordTest) or len(data.items) <= most:
        return data
    count = len(data.items)
    edges = [k * count // most for k in range(most + 1)]
    key = [most, count, seed] if seed else [most, count]
    sample = np.random.default_rng(key).integers(edges[:-1], edges[1:])
    items = tuple(data.items[k] for k in sample.tolist())
    about = {**data.about, "limited": {"items": most, "of": count, "seed": seed}}
    name = f"{data.name}:{most}-of-{count}" + (f"-seed-{seed}" if seed else "")
    return replace(data, name=name, items=items, about=about)


def names() -> list[str]:
    """Return all names of data."""
    return [*_files(), *wordsets.stimuli(), *wordsets.groups(), *ENTRY_POINTS]


def _files() -> dict[str, Card]:
    return {**sentence_sets(), **seat_files(), **release_files(), **word_files()}


def card(name: str) -> Card:
    """The card of a sentence set or of a sentence file of SEAT."""
    if name not in _files() and name in names():
        raise NameUnknown(f"{name!r} has no file of its own; it is part of a package.")
    return Registry("data set", _files().items()).among(name, names())


def cards(names: Sequence[str] | None = None) -> list[Card]:
    """Cards by name; all without names."""
    return [card(n) for n in names or _files()]


def resolve(
    data: Any,
    *,
    exclude_flagged: bool = False,
    encoding: str | None = None,
    cluster: str | None = None,
) -> list[Data]:
    """Return the data that a name, path or object stands for: one, or the members of a group.

    A word test with templates is both a word test and a sentence set. With `exclude_flagged` a
    sentence set is also returned without the items that have visible defects. `encoding` is needed
    for a user's file that is neither UTF-8 nor marked UTF-16. With `cluster` "none", the items of a
    user's file without a cluster column are independent.
    """
    if isinstance(data, Dataset):
        data = defects.without_contradictions(data)
    if isinstance(data, Dataset) and exclude_flagged:
        return [data, defects.without_flagged(data)]
    if isinstance(data, Dataset | WordTest | Stimuli):
        return _object(data)
    if not isinstance(data, str | Path):
        dataset = _rows(data, cluster)
        return [dataset, defects.without_flagged(dataset)] if exclude_flagged else [dataset]
    words = _word_data(str(data))
    if words is not None:
        return words
    base, _, control = str(data).partition(":")
    flagged = _flagged(base, encoding, cluster)
    sets: list[Data] = [controls.controlled(flagged, control) if control else flagged]
    return sets + ([defects.without_flagged(flagged)] if exclude_flagged else [])


def _word_data(name: str) -> list[Data] | None:
    """What a name or path stands for if it is not a sentence set."""
    if name in wordsets.groups():
        return [d for member in wordsets.groups()[name] for d in resolve(member)]
    if name in wordsets.stimuli():
        return _object(wordsets.stimuli()[name])
    if name in seat_files() or name in release_files() or name in word_files():
        return _read(card(name))
    if name.endswith(".json"):
        return _object(_word_file(Path(name)))
    if name.endswith(".txt") and "+" in name:
        return [read_lists(*map(Path, name.split("+", 1)))]
    return _from_plugin(name) if name in ENTRY_POINTS else None


def _flagged(name: str, encoding: str | None, cluster: str | None) -> Dataset:
    """Read a sentence set and flag its visible defects; a published one may come from the cache."""

    def read() -> Dataset:
        return defects.flagged(sentences(name, encoding, cluster))

    card = sentence_sets().get(name)
    if card is None or card.packaged or card.beside:
        return read()
    places = [locate(source) for source in (card, *card.needs)]
    return cached(f"{name} {places!r}", [path for path, _ in places], read)


def _rows(data: Any, cluster: str | None) -> Dataset:
    """Pairs from a pandas frame or a `datasets.Dataset` with a column for each sentence."""
    frame = data.to_pandas() if hasattr(data, "to_pandas") else data
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"{data!r:.40} is not data; give a name, path, Dataset, Stimuli or DataFrame."
        )
    frame = frame.rename(columns=understood(frame.columns))
    missing = [c for c in ("stereotype", "antistereotype") if c not in frame]
    if missing or not len(frame):
        lacks = f"no column {' and no '.join(map(repr, missing))}" if missing else "no rows"
        raise DataError(
            f"the data frame has {lacks}; give the columns 'stereotype' and 'antistereotype', with "
            "one pair per row."
        )
    dataset = _clustered(pairs_of(frame.to_dict("records"), "frame", "the frame"), cluster)
    dataset = defects.without_contradictions(dataset)
    return _noted(defects.flagged(dataset), {"source": "frame"})  # type: ignore[no-any-return]


def word_sets(names: Sequence[str]) -> list[Stimuli]:
    """Return the word sets of some names, including the members of groups."""
    members = [n for name in names for n in wordsets.groups().get(name, (name,))]
    return [wordsets.stimuli().among(n, wordsets.groups()) for n in members]


def sentences(name: str, encoding: str | None = None, cluster: str | None = None) -> Dataset:
    """A sentence set by name, or a user's file by path; `about` says where it comes from."""
    path = Path(name)
    if path.suffix in SUFFIXES and name not in sentence_sets():
        if not path.is_file():
            raise DataError(
                f"there is no file {name!r}; give the path of a CSV, TSV, JSON-lines or parquet "
                "file."
            )
        pairs = _clustered(read_pairs(path, encoding), cluster)
        notes = _checked(pairs, name)
        pairs = defects.without_contradictions(_noted(pairs, {"notes": notes}))
        return _noted(pairs, {"source": "file", "file": path.name})
    if name not in sentence_sets():
        raise NameUnknown(unknown("data set", name, names()))
    (dataset,) = _read(sentence_sets()[name])
    assert isinstance(dataset, Dataset)
    return dataset


def _clustered(data: Dataset, cluster: str | None) -> Dataset:
    """A user's items with clusters from their changed words, unless they are independent."""
    return data if cluster == INDEPENDENT else clustered(data)


def _checked(data: Dataset, file: str) -> tuple[str, ...]:
    """The notes of a user's file, with the problems that a check of it finds."""
    notes = tuple(data.about.get("notes", ()))
    texts = problems(defects.flagged(data))
    more = f"('unmask data check {file}' lists the rows, and how to fix this)"
    return (*notes, *(f"{data.name}: {text.rstrip('.')} {more}." for text in texts))


def _read(card: Card) -> list[Any]:
    """Read a card's file, and add a note on its source."""
    path, note = locate(card)
    content = as_published(card.read, path, *(locate(needed)[0] for needed in card.needs))
    datasets = content if isinstance(content, list) else [content]
    count = len(content.items) if isinstance(content, Dataset) else card.items
    if card.items and note.get("as_pinned") and count != card.items:
        raise DataError(
            f"{card.name!r} has {count} items instead of {card.items}, although its own file has "
            "the right checksum; a companion file in UNMASK_DATA is another version: remove it."
        )
    about: dict[str, Any] = {"cite": list(card.cite)}
    if note.get("as_pinned") is False:
        about["notes"] = (
            f"{card.name}: the file in UNMASK_DATA is not the published one (its checksum "
            "differs), so its scores cannot be compared with published ones.",
        )
    return [_noted(data, {**note, **about}) for data in datasets]


def as_published(read: Callable[..., Any], path: Path, *more: Path) -> Any:
    """Apply a reader to a published file; a file of another form is a DataError."""
    try:
        return read(path, *more)
    except UnmaskError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise DataError(
            f"{path} does not have the format of the published file ({type(error).__name__}: "
            f"{error!s:.80}); give the original file."
        ) from error


def _noted(data: Any, note: Mapping[str, Any]) -> Any:
    return replace(data, about={**data.about, **note})


def _object(data: Data | Stimuli) -> list[Data]:
    if not isinstance(data, Stimuli):
        return [data]
    cite = [] if data.source == "user" else [data.source]
    test = WordTest(data, about={"source": data.source, "cite": cite})
    if not templates.has_templates(data):
        return [test]
    try:
        return [test, _noted(templates.from_stimuli(data), {"cite": cite})]
    except (DataError, KeyError):  # a user's words under a built-in concept, without forms
        return [test]


def _word_file(path: Path) -> Stimuli:
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}; give the path of a word test in JSON.")
    return wordsets.read_stimuli(path)


def _from_plugin(name: str) -> list[Data]:
    """Data of an installed package: an object, or a function without arguments that makes it."""
    loaded = ENTRY_POINTS.load(name)
    try:
        loaded = loaded() if callable(loaded) and not isinstance(loaded, type) else loaded
    except UnmaskError:
        raise
    except (Exception, SystemExit) as error:  # a package of others may fail in any way
        raise UnmaskError(
            f"the data {name!r} of the package {ENTRY_POINTS.package(name)!r} cannot be loaded "
            f"({type(error).__name__}: {error}); fix or remove that package."
        ) from error
    if not isinstance(loaded, Dataset | WordTest | Stimuli):
        raise UnmaskError(
            f"the data {name!r} of the package {ENTRY_POINTS.package(name)!r} is a "
            f"{type(loaded).__name__}; it must be a Dataset, a WordTest or Stimuli."
        )
    return _object(loaded)
