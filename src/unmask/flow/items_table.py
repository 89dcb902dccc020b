"""The items table: one row for each sentence, or for each word of an association test."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmask.models.protocol import Model
from unmask.queries import Ints
from unmask.stats.clustering import Design, Memo, codes
from unmask.types import UNRELATED, Dataset, Floats

DESIGN_COLUMNS = ("group_pair", "group", "template")
DESIGNED = ("cluster", *DESIGN_COLUMNS)


def facts(model: str, measure: str, data: str, item: Any, category: Any, cluster: Any) -> Any:
    """The columns that say what a row belongs to."""
    return {
        "model": model,
        "data": data,
        "measure": measure,
        "item": item,
        "category": category,
        "cluster": cluster,
    }


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows of an items table form items: all that a comparison needs besides the scores.

    `which` [rows] is the item of each row, numbered in the order of the items' names, and `label`
    [rows] an index into `labels`. `design` is over items [n], and so are the masks in `categories`.
    """

    which: Ints
    label: Ints
    labels: tuple[str, ...]
    design: Design
    categories: Mapping[str, NDArray[np.bool_]]

    @classmethod
    def of(cls, frame: pd.DataFrame, rows: NDArray[np.bool_], memo: Memo | None = None) -> "Layout":
        """The layout of the selected rows; values derived from it are cached in `memo`."""
        names = np.array([str(item) for item in frame["item"].to_numpy(object)[rows]], object)
        which, items = pd.factorize(names)
        order = np.argsort(items.astype(str), kind="stable")  # in the order of their names
        which = np.argsort(order)[which]
        first = np.flatnonzero(rows)[np.unique(which, return_index=True)[1]]
        label, labels = pd.factorize(frame["label"].to_numpy(object)[rows], sort=True)
        facts = {k: frame[k].to_numpy(object)[first] for k in ("category", *DESIGNED)}
        category = facts["category"]
        return cls(
            which,
            label,
            tuple(labels),
            Design.of(facts, Memo(memo)),
            {name: category == name for name in sorted(set(category))},
        )

    def table(self, scores: Floats) -> dict[str, Floats]:
        """Scores of rows by label [items]; `unrelated` only if all items have one, for lms."""
        columns = {}
        for n, label in enumerate(self.labels):
            matches = self.label == n
            if label == UNRELATED and matches.sum() < len(self.design.clusters):
                continue
            columns[label] = np.full(len(self.design.clusters), np.nan)
            columns[label][self.which[matches]] = scores[matches]
        return columns


@dataclass(frozen=True, slots=True)
class SentenceFacts:
    """Facts about each sentence of a data set, and cached values derived from them.

    All measures of a data set, and all models, share it.
    """

    frame: pd.DataFrame
    memo: Memo = field(default_factory=Memo)

    def layout(self, rows: NDArray[np.bool_]) -> Layout:
        """The layout of the rows that are kept."""
        compute = partial(Layout.of, self.frame, rows, self.memo)
        return self.memo.get(rows.tobytes(), len(rows), compute)

    @property
    def clusters(self) -> tuple[Ints, Design]:
        """The item of each row, and the clusters of the items as they first stand."""
        return self.memo.get("clusters", len(self.frame), self._clusters)

    def _clusters(self) -> tuple[Ints, Design]:
        item = pd.factorize(self.frame["item"])[0]
        first = np.unique(item, return_index=True)[1]
        names = self.frame["cluster"].to_numpy(object)[first]
        return item, Design(codes(names), memo=Memo(self.memo))


def about_sentences(data: Dataset) -> SentenceFacts:
    """What is known of each sentence of a data set before it is scored."""
    items, counts = data.items, [len(item.texts) for item in data.items]
    item_index = np.repeat(np.arange(len(items)), counts)

    def of_items(name: str) -> Any:
        return np.array([getattr(item, name) for item in items], object)[item_index]

    columns = {
        "item": of_items("id"),
        **{name: of_items(name) for name in ("category", *DESIGNED)},
        "label": [label for item in items for label in item.texts],
        "sentence": [text.string for item in items for text in item.texts.values()],
        "flags": np.array(["; ".join(i.meta.get("flags", ())) for i in items], object)[item_index],
    }
    return SentenceFacts(pd.DataFrame(columns))


def sentence_rows(
    model: str,
    measure: str,
    data: Dataset,
    columns: Mapping[str, Any],
    about: SentenceFacts | None = None,
) -> pd.DataFrame:
    """A row for each sentence: what it belongs to, what is known `about` it, and its `columns`.

    `columns` has a `score` and a `reason` (None where there is none) for each sentence, and
    whatever else was found.
    """
    sentences = (about_sentences(data) if about is None else about).frame
    belongs = {"model": model, "data": data.name, "measure": measure}
    numbers = {"score": np.asarray(columns["score"], float)}
    numbers |= {k: v for k, v in columns.items() if k not in ("score", "reason")}
    reason = pd.Series(list(columns["reason"]), index=sentences.index, dtype=object)
    last = {"flags": sentences["flags"], "reason": reason}
    return pd.DataFrame({**belongs, **sentences.drop(columns="flags"), **numbers, **last})


def provenance(model: Model, measure: Any, data: Any) -> dict[str, Any]:
    """What a result rests on: the model, the data, and the sources of the measure."""
    about = {"cite": list(measure.cite), "bibtex": measure.bibtex}
    return {"model": dict(model.provenance), "data": data_facts(data), "measure": about}


def data_facts(data: Any) -> dict[str, Any]:
    """The provenance of a result's data, with a digest that identifies its content."""
    return {k: v for k, v in data.about.items() if k != "notes"} | {"digest": _known_digest(data)}


_DIGESTS: dict[int, tuple[Any, str]] = {}  # by identity of the items, which are kept with it
MOST_DIGESTS = 32


def _known_digest(data: Any) -> str:
    """The digest, made once for the results of all measures."""
    content = data.items if isinstance(data, Dataset) else data.stimuli
    if id(content) not in _DIGESTS:
        while len(_DIGESTS) >= MOST_DIGESTS:
            _DIGESTS.pop(next(iter(_DIGESTS)), None)
        _DIGESTS[id(content)] = (content, _digest(data))
    return _DIGESTS[id(content)][1]


def _digest(data: Any) -> str:
    """A hash of the sentences or words of some data, in their order."""
    if isinstance(data, Dataset):
        content = [[i.id, i.category, [t.string for t in i.texts.values()]] for i in data.items]
    else:
        content = [[label, *words] for label, words in data.stimuli.sets.items()]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()
