"""Less stereotype, or less knowledge? The bundled model debiased, and one that was only damaged.

    python benchmarks/debiased.py [steps=800] [sentences=4000]

Debiased: trained further on sentences in which both groups of a pair have each trait equally often
(counterfactual augmentation), and the words of the positive control go with their group. Damaged:
noise on all weights. `unmask compare` says of each what changed.
"""

from dataclasses import replace

import numpy as np
import torch

from questionnaire import TEMPLATES, text_of
from recorded import record
from sizes import SMALL, arguments
from unmask.data import catalogue, questionnaire
from unmask.data.catalogue import limited
from unmask.flow.evaluate import evaluate
from unmask.lab.finetune import HOW, further
from unmask.models.transformers.model import load
from unmask.options import Spec
from unmask.reports.difference_words import summary
from unmask.studies.bias_type_differences import compare_by_bias_type
from unmask.studies.compare import compare
from unmask.types import Results

NOISE = 0.4  # of a weight's standard deviation
MEASURES = (("trait", "bundled-2"), ("trait", "bundled-2:positive"), ("cat", "bundled-pairs"))


def debiased(steps, sentences):
    model, rng = load("bundled", fast=False), np.random.default_rng(1)
    fair = {t["category"]: 0.0 for t in questionnaire.content()["types"]}
    frames = {w for t, _ in TEMPLATES for w in t.replace(".", " .").split() if "{" not in w}
    how = replace(HOW, steps=steps, rows=64)
    further(model, text_of(fair, sentences, rng), frames, how, rng)
    return replace(model, name="debiased", cacheable=False)


def damaged():
    model = load("bundled", fast=False)
    torch.manual_seed(1)
    with torch.no_grad():
        for weights in model.net.parameters():
            weights += NOISE * weights.std() * torch.randn_like(weights)
    return replace(model, name="damaged", cacheable=False)


def measured(model):
    sets = [(m, data) for m, name in MEASURES for data in catalogue.resolve(name)]
    return Results(evaluate([Spec(model, m, limited(d, 60) if SMALL else d) for m, d in sets]))


def main(steps=800, sentences=4_000):
    before = measured(load("bundled"))
    for model in (debiased(steps, sentences), damaged()):
        runs = [before, measured(model)]
        for said in summary(compare(runs)[0], compare_by_bias_type(runs)):
            record("debiased", {"model": model.name, "compare says": said})


if __name__ == "__main__":
    main(**({"steps": 3, "sentences": 300} if SMALL else {}) | arguments()[1])
