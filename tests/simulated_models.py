"""Models made by simulation: scores of sentences on a real design, with a bias in some categories.

The margin of a pair is what the model likes the one group's word better (which turns with the
side), what the frame and the word add, noise, and the bias of the category. Two measures read the
same model, with noise of their own: they go together as measures on the same items do.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from unmask.flow.external_scores import score_file
from unmask.types import Estimate, Results

LIKING, FRAME, WORD, NOISE, OWN = 1.0, 0.3, 0.5, 0.8, 0.6  # standard deviations, in nats


# It predicts most tokens, and is so fit for a verdict.
ACCURACY = Estimate(60.0, 55.0, 65.0, 0.95, "made", 356, more={"constant": 9.0, "distinct": 500})
# By label: the mean score, and the part of the margin that is added. Such a model tells meaningful
# sentences from unrelated ones.
LABELS = (("stereotype", -10, 0.5), ("antistereotype", -10, -0.5), ("unrelated", -30, 0.0))


def simulated(data, folder, seed, bias=None, measures=("cps", "cat"), kind="masked"):
    """The results of one simulated model, as evidence that the lab calls sound."""
    rng = np.random.default_rng(seed)
    margins = _margins(data.items, bias or {}, rng)
    return Results([_result(data, margins, name, kind, folder, rng) for name in measures])


def _margins(items, bias, rng):
    liking, frames, words, first = {}, {}, {}, {}
    out = []
    for item in items:
        like = liking.setdefault(item.group_pair, rng.normal(0, LIKING))
        turned = 1 if first.setdefault(item.group_pair, item.group) == item.group else -1
        frame = frames.setdefault((item.group_pair, item.template), rng.normal(0, FRAME))
        word = words.setdefault((item.group_pair, item.cluster), rng.normal(0, WORD))
        noise = rng.normal(0, NOISE)
        out.append(turned * like + frame + word + noise + bias.get(item.category, 0.0))
    return np.array(out)


def _result(data, margins, measure, kind, folder, rng):
    read = margins + rng.normal(0, OWN, len(margins))
    rows = [
        {"id": f"{item.id}/{label}", "score": middle + half * value}
        for item, value in zip(data.items, read, strict=True)
        for label, middle, half in LABELS
        if label in item.texts
    ]
    path = folder / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    result = score_file(path, data.name)
    provenance = {**result.provenance, "model": {"kind": kind}}
    spec = replace(result.spec, measure=measure)
    return replace(result, spec=spec, provenance=provenance, accuracy=ACCURACY)
