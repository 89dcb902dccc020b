"""Less stereotype, or less knowledge? A biased model that is debiased, and one only damaged.

    python benchmarks/debiased.py [steps=800] [sentences=4000]

Biased: the bundled model trained further on sentences in which the traits of three bias types go
with their group (log odds of 1). Debiased: that model trained further on the same sentences with
the groups of half of them exchanged, so that both have each trait equally often (counterfactual
augmentation). Damaged: noise on all its weights. `unmask compare` says of each what changed.
"""

from copy import deepcopy
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

TYPES = ("gender", "age", "religion")
NOISE = 0.4  # of a weight's standard deviation
MEASURES = (("trait", "bundled-2"), ("trait", "bundled-2:positive"), ("cat", "bundled-pairs"))


def trained(model, name, theta, steps, sentences, seed):
    """A model trained further, with the traits of some bias types at some log odds."""
    rng = np.random.default_rng(seed)
    thetas = {t["category"]: 0.0 for t in questionnaire.content()["types"]}
    thetas |= dict.fromkeys(TYPES, theta)
    frames = {w for t, _ in TEMPLATES for w in t.replace(".", " .").split() if "{" not in w}
    model = replace(model, net=deepcopy(model.net), name=name, cacheable=False)
    how = replace(HOW, steps=steps, rows=64)
    further(model, text_of(thetas, sentences, rng), frames, how, rng)
    return model


def damaged(model):
    """A model with noise on all weights."""
    model = replace(model, net=deepcopy(model.net), name="damaged", cacheable=False)
    torch.manual_seed(1)
    with torch.no_grad():
        for weights in model.net.parameters():
            weights += NOISE * weights.std() * torch.randn_like(weights)
    return model


def measured(model):
    sets = [(m, data) for m, name in MEASURES for data in catalogue.resolve(name)]
    return Results(evaluate([Spec(model, m, limited(d, 60) if SMALL else d) for m, d in sets]))


def main(steps=800, sentences=4_000):
    biased = trained(load("bundled", fast=False), "biased", 1.0, steps, sentences, 1)
    before = measured(biased)
    fair = trained(biased, "debiased", 0.0, steps, sentences, 2)
    for model in (fair, damaged(biased)):
        runs = [before, measured(model)]
        for said in summary(compare(runs)[0], compare_by_bias_type(runs)):
            record("debiased", {"model": model.name, "compare says": said})


if __name__ == "__main__":
    main(**({"steps": 3, "sentences": 300} if SMALL else {}) | arguments()[1])
