"""How often a corpus names advantaged and disadvantaged groups (kaneko2022, Table 2)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from unmask.corpus.harvest import FOLD
from unmask.corpus.readers import Broken, blocks, documents, is_json
from unmask.data.contrasts import packaged


def groups() -> Mapping[str, Mapping[str, list[str]]]:
    """Words of the two groups by bias type, from kaneko2022's Table 2."""
    return packaged("groups.json")["categories"]


def count(files: Iterable[Path]) -> Counter[str]:
    """Occurrences of each group word, whatever its case."""
    wanted = {w for sides in groups().values() for words in sides.values() for w in words}
    total: Counter[bytes] = Counter()
    for file in files:
        json_lines = is_json(file)
        try:
            for block in blocks(file):
                total.update(documents(block, json_lines).lower().translate(FOLD).split())
        except Broken:
            continue
    return Counter({w: total[w.encode()] for w in wanted})


def table(counts: Mapping[str, int]) -> pd.DataFrame:
    """For each bias type the mean rank of both groups and the words by frequency."""
    rows = []
    for category, sides in groups().items():
        side = {w: name for name, words in sides.items() for w in words}
        order = sorted(side, key=lambda w: (-counts.get(w, 0), w))
        rank = {w: i + 1 for i, w in enumerate(order)}
        means = {name: sum(rank[w] for w in words) / len(words) for name, words in sides.items()}
        rows.append({"category": category, **means, "words": " ".join(order)})
    return pd.DataFrame(rows)
