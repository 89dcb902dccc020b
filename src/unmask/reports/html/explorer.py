"""The items behind the scores, as the page's explorer reads them.

Each data set's sentences are stored once. A measure adds the margin of each item (the stereotype's
score minus the antistereotype's) and, if token scores were saved, a number for each token.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.answer.scales import scale_of
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Result

LABELS = (STEREOTYPE, ANTISTEREOTYPE, UNRELATED)
HUNDREDTHS = 100  # log-probabilities are stored as integer hundredths


def explored(
    results: Sequence[Result], findings: Sequence[tuple[str, str]] = ()
) -> list[dict[str, Any]]:
    """Return each data set's items, with the scores of each model and measure.

    `findings` are the data set and category of each biased type; the first of them is shown first.
    For a questionnaire of thousands of items, only the items of these categories are included.
    """
    datasets: dict[tuple[str, int], dict[str, Any]] = {}
    for source in results:
        result, scale, note = source, scale_of(source), ""
        if scale.paired and scale.is_factor:
            categories = [category for data, category in findings if data == result.data]
            if not categories:
                continue
            items = result.items[result.items.category.isin(categories)]
            result = replace(result, items=items.reset_index(drop=True), artifacts={})
            count = source.items["item"].nunique()
            note = (
                f"Only biased or reversed types are shown; items.parquet has all {count:,} items."
            )
        elif not scale.share:
            continue
        # One name may stand for two files: the sentences tell them apart.
        sentences = result.items[["item", "label", "sentence"]].astype(object)
        key = (result.data, hash(tuple(map(tuple, sentences.to_numpy().tolist()))))
        if key not in datasets:
            twice = any(name == result.data for name, _ in datasets)
            title = f"{result.data} ({result.model})" if twice else result.data
            datasets[key] = {"data": title, "note": note, **_sentences(result)}
        datasets[key]["views"].append(_view(result, datasets[key]))
    place = {data: n for n, (data, _) in reversed([*enumerate(findings)])}
    for (data, _), dataset in datasets.items():
        del dataset["index"]
        if data in place:
            dataset["category"] = findings[place[data]][1]
    return [
        dataset
        for _, dataset in sorted(datasets.items(), key=lambda o: place.get(o[0][0], len(place)))
    ]


def _sentences(result: Result) -> dict[str, Any]:
    frame = result.items
    first = frame.drop_duplicates("item")
    by_label = frame.pivot(index="item", columns="label", values="sentence").loc[first["item"]]
    texts = [by_label[k].tolist() if k in by_label else [None] * len(by_label) for k in LABELS]
    empty = pd.Series([""] * len(first))
    facts = [
        first.get(k, empty).astype(object).fillna("").tolist()
        for k in ("category", "group", "flags")
    ]
    rows = zip(first["item"].tolist(), *facts, *texts, strict=True)
    items = [
        [str(i), str(c), str(s), str(f), [t for t in strings if isinstance(t, str)]]
        for i, c, s, f, *strings in rows
    ]
    index = {str(i): n for n, i in enumerate(first["item"])}
    return {"items": items, "index": index, "views": []}


def _view(result: Result, dataset: dict[str, Any]) -> dict[str, Any]:
    pulls: list[float | None] = [None] * len(dataset["items"])
    for item, pull in Items(result).margins().items():
        pulls[dataset["index"][str(item)]] = None if np.isnan(pull) else round(float(pull), 4)
    view: dict[str, Any] = {"model": result.model, "measure": result.measure, "pulls": pulls}
    if "tokens" in result.artifacts:
        view["tokens"] = _tokens(
            result.artifacts["tokens"], dataset["index"], len(dataset["items"])
        )
    return view


def _tokens(frame: pd.DataFrame, index: dict[str, int], count: int) -> list[Any]:
    """By item and label: starts, ends, log-probabilities in hundredths, attention in 1/1000."""
    grid: list[Any] = [[None] * len(LABELS) for _ in range(count)]
    labelled = frame[(frame.start >= 0) & frame.label.isin(LABELS)]
    if labelled.empty:
        return grid
    names, labels = (
        labelled["item"].astype(str).to_numpy(object),
        labelled["label"].to_numpy(object),
    )
    columns = [labelled.start.tolist(), labelled.end.tolist()]
    columns.append(np.round(labelled.logp.to_numpy() * HUNDREDTHS).astype(int).tolist())
    if labelled.attention.notna().any():
        attention = labelled.attention.fillna(0).to_numpy()
        columns.append(np.round(attention * 1000).astype(int).tolist())
    # The tokens of a sentence are consecutive rows, in order.
    starts = np.flatnonzero((names[1:] != names[:-1]) | (labels[1:] != labels[:-1])) + 1
    bounds = [0, *starts.tolist(), len(labelled)]
    for start, end in pairwise(bounds):
        cells = [column[start:end] for column in columns]
        grid[index[names[start]]][LABELS.index(labels[start])] = cells
    return grid
