"""The items table: one row for each sentence, or for each word of an association test."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from unmask.stats.design import Design, codes
from unmask.types import Contrast, Dataset

KIN = ("family", "side", "frame")


def facts(model: str, measure: str, data: str, item: str, category: str, cluster: str) -> Any:
    """The columns that say what a row belongs to."""
    return {
        "model": model,
        "data": data,
        "measure": measure,
        "item": item,
        "category": category,
        "cluster": cluster,
    }


def sentence_rows(
    model: str,
    measure: str,
    data: Dataset,
    values: Callable[[Contrast, str], Mapping[str, Any]],
) -> pd.DataFrame:
    """A row for each sentence of each item; `values(item, label)` gives score and reason."""
    rows = [
        {
            **facts(model, measure, data.name, item.id, item.category, item.cluster),
            **{name: getattr(item, name) for name in KIN},
            "label": label,
            "sentence": text.string,
            **values(item, label),
        }
        for item in data.items
        for label, text in item.texts.items()
    ]
    return pd.DataFrame(rows).astype({"score": float, "reason": object})


def designed(facts: pd.DataFrame) -> Design:
    """How items hang together, from their columns: cluster, family, side, frame."""
    families = codes(facts.family.tolist())
    sided = bool((facts.side != "").all())
    framed = bool((facts.frame != "").all()) and facts.frame.nunique() > 1
    return Design(
        codes(facts.cluster.tolist()),
        codes((facts.family + "\0" + facts.side).tolist()) if sided else None,
        codes(facts.frame.tolist()) if framed else None,
        families,
    )


def provenance(model: Any, measure: Any, data: Any) -> dict[str, Any]:
    """What a result rests on: the model, the data, and the sources of the measure."""
    about = {"cite": list(measure.cite), "bibtex": measure.bibtex}
    return {"model": dict(model.provenance), "data": dict(data.about), "measure": about}
