"""PLL beside minicons (`pip install minicons`): the same sentences, the same weights.

    python benchmarks/minicons_pll.py [sentences]

minicons scores a masked LM by hiding each token in turn; sums of log-probabilities are compared,
and the times, in turns, minicons with three batch sizes.
"""

import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
import transformers
from minicons import scorer

import unmask
from unmask.data.packaged import bundled_pairs
from unmask.flow import likelihood, planning
from unmask.measures import LIKELIHOOD
from unmask.models.load import load
from unmask.types import Dataset

SIZES = (1, 8, 32)


def ours(model, data):
    planned = planning.plan(model, LIKELIHOOD["pll"], data)
    readings = likelihood.ask({"own": model.engine()}, [planned])[0]
    ends = np.cumsum(planned.values)
    return [readings.logp[b - n : b].sum() for b, n in zip(ends, planned.values, strict=True)]


def theirs(made, strings, size):
    out = []
    for start in range(0, len(strings), size):
        part = strings[start : start + size]
        out += made.sequence_score(part, reduction=lambda x: x.sum(0).item())
    return out


def timed(function, *arguments):
    start = time.perf_counter()
    out = function(*arguments)
    return time.perf_counter() - start, out


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    model = load("bundled")
    folder = Path(unmask.__file__).parent / "models" / "bundled_model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if not hasattr(tokenizer, "batch_encode_plus"):  # transformers 5 calls it by the object
        tokenizer.batch_encode_plus = tokenizer
    net = transformers.AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    made = scorer.MaskedLMScorer(net, "cpu", tokenizer=tokenizer)
    items = bundled_pairs().items[:: max(len(bundled_pairs().items) * 2 // count, 1)][: count // 2]
    data = Dataset("some", "triplets", items)
    strings = [t.string for i in items for t in i.texts.values()]
    times = {"unmask": []} | {f"minicons, {s} at a time": [] for s in SIZES}
    for _ in range(2):
        took, mine = timed(ours, model, data)
        times["unmask"].append(took)
        for size in SIZES:
            took, other = timed(theirs, made, strings, size)
            times[f"minicons, {size} at a time"].append(took)
    print(f"{len(strings)} sentences, bundled model, {torch.get_num_threads()} threads")
    for name, values in times.items():
        took = statistics.median(values)
        print(f"{name:24} {took:6.1f} s   {took / statistics.median(times['unmask']):.2f}")
    apart = np.abs(np.array(mine) - np.array(other)).max()
    print(f"largest difference of a sentence's score: {apart:.1e}")


if __name__ == "__main__":
    main()
