"""PLL beside minicons (`pip install minicons`): the same sentences, the same weights.

    python benchmarks/minicons_pll.py [sentences]

minicons scores a masked LM by hiding each token in turn; sums of log-probabilities are compared,
and the times, minicons with three batch sizes. Each runs in a process of its own, as its users have
it, in turns; what is done but once (loading, the first few sentences) is not counted.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sizes import SMALL, needs

SIZES = (1, 8, 32)
ROUNDS = 3


def items(count):
    from unmask.data.packaged import bundled_pairs

    every = bundled_pairs().items
    return every[:: max(len(every) * 2 // count, 1)][: count // 2]


def ours(count):
    import numpy as np

    from unmask.flow import plan, run_likelihood
    from unmask.measures import LIKELIHOOD
    from unmask.models.transformers.model import load
    from unmask.types import Dataset

    model, chosen = load("bundled"), items(count)

    def scores(some):
        planned = plan.plan(model, LIKELIHOOD["pll"], Dataset("some", "triplets", some))
        readings = run_likelihood.ask({"own": model.engine()}, [planned])[0]
        ends = np.cumsum(planned.values)
        return [readings.logp[b - n : b].sum() for b, n in zip(ends, planned.values, strict=True)]

    return timed(scores, chosen, chosen[:4])


def theirs(folder, strings, size):
    import torch
    import transformers
    from minicons import scorer

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if not hasattr(tokenizer, "batch_encode_plus"):  # transformers 5 calls it by the object
        tokenizer.batch_encode_plus = tokenizer
    net = transformers.AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    made = scorer.MaskedLMScorer(net, "cpu", tokenizer=tokenizer)

    def scores(some):
        out = []
        for start in range(0, len(some), size):
            part = some[start : start + size]
            out += made.sequence_score(part, reduction=lambda x: x.sum(0).item())
        return out

    return timed(scores, strings, strings[:12])


def timed(scores, all_of_them, few):
    scores(few)
    start = time.perf_counter()
    found = scores(all_of_them)
    return time.perf_counter() - start, [float(s) for s in found]


def child(job):
    """One side, asked for and answered in JSON."""
    found = ours(job["count"]) if job["size"] is None else theirs(**job["theirs"], size=job["size"])
    print(json.dumps(found))


def run(job, plain):
    done = subprocess.run(
        [sys.executable, __file__, "--job"],
        input=json.dumps(job),
        check=True,
        capture_output=True,
        text=True,
        env=plain,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    needs("minicons")
    plain = dict(os.environ)  # loading a model sets how torch keeps memory, for its own process
    import unmask

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4 if SMALL else 200
    folder = Path(unmask.__file__).parent / "models" / "bundled_model"
    strings = [t.string for i in items(count) for t in i.texts.values()]
    given = {"folder": str(folder), "strings": strings}
    times, found = {size: [] for size in (None, *SIZES)}, {}
    for _ in range(ROUNDS):
        for size, taken in times.items():
            took, scores = run({"size": size, "count": count, "theirs": given}, plain)
            taken.append(took)
            found[size] = scores
    print(f"{len(strings)} sentences, bundled model")
    for size, values in times.items():
        name = "unmask" if size is None else f"minicons, {size} at a time"
        took = statistics.median(values)
        ratio = took / statistics.median(times[None])
        print(f"{name:24} {took:6.1f} s   {ratio:.2f}   {[round(v, 1) for v in values]}")
    apart = max(abs(a - b) for a, b in zip(found[None], found[SIZES[-1]], strict=True))
    print(f"largest difference of a sentence's score: {apart:.1e}")


if __name__ == "__main__":
    child(json.load(sys.stdin)) if sys.argv[1:] == ["--job"] else main()
