"""All of kaneko2022's Table 5 for one model: where does the time go?

    python benchmarks/table5.py [base|large|tiny] [float32|tf32|bfloat16 ...]

CrowS-Pairs and StereoSet (UNMASK_DATA), CPS, SSS, AUL and AULA, on a network of BERT's shape with
random weights and its real tokenizer. From data sets to results, after loading, where plans are to
be made and where they are kept from an earlier run; each part's time, and on a GPU the share in
which it computes: the time of its kernels, over that of a run without a profiler. On a GPU the
middle one of five runs.
"""

import os
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
import transformers
from torch.profiler import ProfilerActivity, profile

from recorded import python_ms, record
from sizes import SMALL
from unmask.data import catalogue
from unmask.flow import estimates, run_likelihood
from unmask.flow import evaluate as flow
from unmask.flow.slice_plans import Planner
from unmask.models.transformers.model import wrap
from unmask.options import Options, Spec
from unmask.support import store

SHAPES = {
    "tiny": (1, 16, 1, 32),
    "small": (4, 256, 4, 1024),
    "base": (12, 768, 12, 3072),
    "large": (24, 1024, 16, 4096),
}
MEASURES = ("cps", "sss", "aul", "aula")
DATA = ("crows-pairs", "stereoset")
ROUNDS = 5


def network(size: str, dtype: str, device: str):
    layers, width, heads, inner = SHAPES[size]
    vocabulary = Path(os.environ["UNMASK_DATA"]) / "tokenizers/bert-base-uncased/vocab.txt"
    words = vocabulary.read_text(encoding="utf-8").split("\n")
    tokenizer = transformers.BertTokenizerFast(vocab={w: i for i, w in enumerate(words) if w})
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=inner,
    )
    torch.manual_seed(0)
    net = transformers.BertForMaskedLM(config).eval()
    kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    return replace(wrap(net.to(device, kind), tokenizer, "masked", size), precision=dtype)


@contextmanager
def timed(times, name):
    start = time.perf_counter()
    yield
    times[name] = times.get(name, 0) + time.perf_counter() - start


def parts(model, options, cold=False):
    """The time of planning, asking and scoring, and of the whole; `cold`: nothing is kept."""
    times = {}
    if cold:
        store.clear()

    def wrapped(name, function):
        def call(*args, **more):
            with timed(times, name):
                return function(*args, **more)

        return call

    timed_functions = (
        (Planner, "of", "planning"),
        (Planner, "keep", "keeping"),
        (run_likelihood, "begin", "sending"),
        (run_likelihood, "_reduced", "waiting"),
        (estimates, "result", "statistics"),
    )
    before = [getattr(owner, function) for owner, function, _ in timed_functions]
    for (owner, function, name), own in zip(timed_functions, before, strict=True):
        setattr(owner, function, wrapped(name, own))
    try:
        with timed(times, "whole"):
            with timed(times, "reading"):
                sets = [catalogue.resolve(d)[0] for d in DATA]
                sets = [catalogue.limited(d, 6) for d in sets] if SMALL else sets
            specs = [Spec(model, m, d) for d in sets for m in MEASURES]
            found = flow.evaluate(specs, options)
    finally:
        for (owner, function, _), own in zip(timed_functions, before, strict=True):
            setattr(owner, function, own)
    return times, found


def computing(model, options):
    """The seconds in which the GPU computes: its kernels, as its own profiler times them."""
    if not torch.cuda.is_available():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as seen:
            parts(model, options)
            torch.cuda.synchronize()
    copies = ("Memcpy", "Memset")
    kernels = [e for e in seen.key_averages() if not e.key.startswith(copies)]
    return sum(e.self_device_time_total for e in kernels) / 1e6


def preferences(found):
    wins = [r.items.pivot(index="item", columns="label", values="score") for r in found]
    return [(w.stereotype > w.antistereotype).to_numpy() for w in wins]


def main():
    if "UNMASK_DATA" not in os.environ:
        print("skipped: UNMASK_DATA names no folder with CrowS-Pairs, StereoSet and a tokenizer")
        return
    os.environ["UNMASK_CACHE"] = tempfile.mkdtemp()
    given = [a for a in sys.argv[1:] if "=" not in a]
    tokens = {a.split("=")[0]: int(a.split("=")[1]) for a in sys.argv[1:] if "=" in a}
    size, dtypes = (given or ["tiny" if SMALL else "base"])[0], given[1:] or ["float32"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    plain = Options(**tokens, recheck=False, cache=True)
    rounds = ROUNDS if device == "cuda" else 1
    reference, full = None, network(size, "float32", device)
    # Its weights before they were rounded.
    rungs = [replace(full, precision="tf32"), full] if device == "cuda" else [full]
    type(full).finer = lambda self: rungs[-1:] if self.precision == "tf32" else rungs
    for dtype in dtypes:
        model = full if dtype == "float32" else network(size, dtype, device)
        model = replace(model, cacheable=False)  # plans are kept, answers are not
        parts(model, plain) if device == "cuda" else None  # kernels are chosen once
        seconds = computing(model, plain)
        for cold in (True, False):
            runs = [parts(model, plain, cold) for _ in range(rounds)]
            runs.sort(key=lambda r: r[0]["whole"])
            times, found = runs[rounds // 2]
            wholes = [r[0]["whole"] for r in runs]
            facts = {"size": size, "dtype": dtype, "plans": "made" if cold else "kept"}
            facts |= {f"{k}, s": round(v, 2) for k, v in times.items()}
            facts |= {"runs, s": f"{wholes[0]:.2f} to {wholes[-1]:.2f}"}
            if seconds is not None:
                facts |= {"kernels, s": round(seconds, 2)}
                facts |= {"kernels, %": round(100 * seconds / times["whole"])}
            record("table5", facts | {"Python, ms": python_ms()})
        prefers = preferences(found)
        if dtype == "float32":
            reference = prefers
        if dtype == "float32" or reference is None:
            continue
        flips = sum(int((a != b).sum()) for a, b in zip(reference, prefers, strict=True))
        times, found = parts(model, Options(**tokens, cache=True))
        left = sum(int((a != b).sum()) for a, b in zip(reference, preferences(found), strict=True))
        again = sum(r.settings["recheck"]["again"] for r in found)
        print(
            f"  preferences other than float32's: {flips}; with recheck {left}, {again} items run "
            f"again, {times['whole']:.2f} s",
            flush=True,
        )
        del model


if __name__ == "__main__":
    main()
