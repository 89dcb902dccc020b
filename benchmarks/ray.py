"""Two Ray workers beside one, of one CPU each, and this process with one thread.

    python benchmarks/ray.py [items]

PLL of the bundled model; workers are started and loaded before the clock runs.
"""

import statistics
import sys
import time

import torch

from unmask.data import catalogue
from unmask.flow.evaluate import evaluate
from unmask.measures import find
from unmask.models.cluster import started
from unmask.models.load import load
from unmask.models.load_remote import load_remote
from unmask.options import Spec

ROUNDS = 3


def timed(model, data):
    start = time.perf_counter()
    evaluate([Spec(model, find("pll"), data)])
    return time.perf_counter() - start


def main(items: int) -> None:
    torch.set_num_threads(1)
    data = catalogue.limited(catalogue.sentences("bundled-pairs"), items)
    ray = started()
    cpus = int(ray.cluster_resources()["CPU"])
    models = {"this process": load("bundled")}
    for count in (1, 2):
        made = load_remote("bundled", workers=count)
        models[f"{count} workers"] = made
    took = {name: [] for name in models}
    for name, model in models.items():
        timed(model, data)
        took[name] = [timed(model, data) for _ in range(ROUNDS)]
    middle = {name: statistics.median(times) for name, times in took.items()}
    for name, seconds in middle.items():
        print(f"{name}: {seconds:.2f} s")
    print(f"one worker over two: {middle['1 workers'] / middle['2 workers']:.2f} on {cpus} CPUs")
    print(f"this process over one worker: {middle['this process'] / middle['1 workers']:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 120)
