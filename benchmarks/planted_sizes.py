"""Does `unmask scaling` find the trend of models that were trained to have it?

    python benchmarks/planted_sizes.py [SEEDS=2] [steps=3000] [workers=1]

Masked networks of four sizes, trained from nothing on the questionnaire's templates, where traits
of three bias types go with their group at some log odds: those of one series grow with size, those
of another fall, and those of a third are the same. Written down before it was run: each series gets
its own verdict.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import torch
import transformers

from questionnaire import text_of
from recorded import record
from sizes import SMALL, arguments
from unmask.data import questionnaire
from unmask.errors import UnmaskError
from unmask.flow.evaluate import evaluate
from unmask.lab.finetune import HOW, further
from unmask.models.transformers.model import load, wrap
from unmask.options import Spec
from unmask.studies.scaling import scaling
from unmask.types import Results

SIZES = ((2, 96), (2, 128), (2, 192), (2, 288))  # layers, width
TYPES = ("gender", "religion", "age")
SERIES = {"grows": (0.0, 0.35, 0.7, 1.0), "falls": (1.0, 0.7, 0.35, 0.0), "stays": (0.5,) * 4}


def trained(series, step, seed, steps, sentences):
    """The questionnaire's results of a network of one size."""
    torch.manual_seed(seed)
    rng = np.random.default_rng([10, seed, step])
    tokenizer = load("bundled").codec.tokenizer
    layers, width = SIZES[step]
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 32,
        intermediate_size=2 * width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=64,
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = transformers.BertForMaskedLM(config).to(device)
    model = wrap(net, tokenizer, "masked", f"{series} {layers}x{width} seed {seed}")
    content = questionnaire.content()
    templates = [(t["text"], number) for number, t in enumerate(content["templates"])]
    thetas = dict.fromkeys(TYPES, SERIES[series][step])
    frames = {w for t, _ in templates for w in t.replace(".", " .").split() if "{" not in w}
    text = text_of(thetas, sentences, rng, templates)
    further(model, text, frames, replace(HOW, steps=steps, rows=512, rate=0.25 / width), rng)
    model = replace(model, cacheable=False)
    data = questionnaire.questionnaire()
    items = [i for i in data.items if i.category in TYPES]
    data = replace(data, items=tuple(items[:: 40 if SMALL else 1]))
    return list(evaluate([Spec(model, "trait", data)]))


def main(seeds=2, steps=3000, workers=1, sentences=30_000):
    given = [
        (series, step, seed, steps, sentences)
        for series in (["grows"] if SMALL else SERIES)
        for step in range(2 if SMALL else len(SIZES))
        for seed in range(seeds)
    ]
    by_series = {}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for asked, found in zip(given, pool.map(trained, *zip(*given, strict=True)), strict=True):
            by_series.setdefault(asked[0], []).extend(found)
    for series, results in by_series.items():
        try:
            found = scaling(Results(results))
        except UnmaskError as error:
            print(series, error)
            continue
        print(found.models[["model", "parameters", "score", "accuracy"]].to_string())
        for row in found.slopes.to_dict("records"):
            facts = {
                "series": series,
                "measure": row["measure"],
                "models": row["models"],
                "slope": f"{row['slope']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]",
                "p": f"{row['p']:.4f}",
                "verdict": row["verdict"],
            }
            record("planted_sizes", facts)


if __name__ == "__main__":
    plain, named = arguments()
    usual = {"steps": 3, "sentences": 3000} if SMALL else {}
    main(*(plain or [1 if SMALL else 2]), **usual | named)
