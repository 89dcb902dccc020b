"""Two Ray workers beside one, on two nodes of one CPU each, and this process with one thread.

    python benchmarks/cluster.py [items]

PLL of the bundled model; workers are started and loaded before the clock runs.
"""

import statistics
import sys
import time

import torch

from recorded import record
from sizes import SMALL, needs
from unmask.data import catalogue
from unmask.flow.evaluate import evaluate
from unmask.measures import find
from unmask.models.ray.remote_model import load_remote
from unmask.models.transformers.model import load
from unmask.options import Spec

ROUNDS = 2


def timed(model, data):
    start = time.perf_counter()
    evaluate([Spec(model, find("pll"), data)])
    return time.perf_counter() - start


def main(items: int) -> None:
    needs("ray")
    from ray.cluster_utils import Cluster

    torch.set_num_threads(1)
    data = catalogue.limited(catalogue.sentences("bundled-pairs"), items)
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    took = {}
    for count in (0, 1, 2):
        there = {"address": nodes.address, "workers": count}
        model = load_remote("bundled", **there) if count else load("bundled")
        timed(model, data)
        took[count] = statistics.median(timed(model, data) for _ in range(ROUNDS))
        if count:
            model.close()
    facts = {f"{count or 'no'} workers, s": round(took[count], 2) for count in took}
    facts |= {"one over two": round(took[1] / took[2], 2)}
    record("cluster", facts | {"this process over one": round(took[0] / took[1], 2)})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4 if SMALL else 60)
