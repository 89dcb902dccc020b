"""Many checkpoints of one architecture in one command: what does each cost beyond its kernels?

    python benchmarks/checkpoints.py [checkpoints] [base|small] [float32|bfloat16]
    python benchmarks/checkpoints.py [checkpoints] small float32 ray

Networks of BERT's shape with random weights, each saved to a folder of its own; CrowS-Pairs
(UNMASK_DATA) with CPS, SSS, AUL and AULA, `unmask.run` on all folders. The kernels are those of one
model, by the GPU's own profiler. With `ray`, some items through the workers of a cluster: two nodes
of one CPU each beside one.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

import unmask
from recorded import python_ms, record
from sizes import SMALL, needs
from table5 import MEASURES, SHAPES, network

RAY_ITEMS = 60  # of CrowS-Pairs


def saved(folder, count, size):
    """Folders of models that differ in their weights."""
    model = network(size, "float32", "cpu")
    places = []
    for n in range(count):
        place = Path(folder) / f"checkpoint-{n}"
        with torch.no_grad():
            for weights in model.net.parameters():
                weights.mul_(1.01)
        model.net.save_pretrained(place)
        model.codec.tokenizer.save_pretrained(place)
        places.append(str(place))
    return places


def kernels(place, **options):
    """Seconds of kernels of one checkpoint."""
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as seen:
        unmask.run([place], MEASURES, ["crows-pairs"], **options)
        torch.cuda.synchronize()
    copies = ("Memcpy", "Memset")
    events = [e for e in seen.key_averages() if not e.key.startswith(copies)]
    return sum(e.self_device_time_total for e in events) / 1e6


def through_ray(places, size, dtype):
    """All checkpoints through one node, and through two."""
    needs("ray")
    import ray
    from ray.cluster_utils import Cluster

    torch.set_num_threads(1)
    limit = 4 if SMALL else RAY_ITEMS
    took = {}
    for nodes in (1, 2):
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        for _ in range(nodes - 1):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        start = time.perf_counter()
        options = {"dtype": dtype, "engine": "ray", "limit": limit, "cache": False}
        unmask.run(places, MEASURES, ["crows-pairs"], **options)
        took[nodes] = time.perf_counter() - start
        ray.shutdown()
        cluster.shutdown()
    facts = {"checkpoints": len(places), "size": size, "dtype": f"{dtype}, through Ray"}
    facts |= {f"{n} of one CPU, s": round(s, 1) for n, s in took.items()}
    record("checkpoints", facts | {"one over two": round(took[1] / took[2], 2)})


def main():
    if "UNMASK_DATA" not in os.environ:
        print("skipped: UNMASK_DATA names no folder with CrowS-Pairs and a tokenizer")
        return
    given = [a for a in sys.argv[1:] if a != "ray"]
    count = int(given[0]) if given else 2 if SMALL else 50
    size = given[1] if len(given) > 1 else "tiny" if SMALL else "base"
    dtype = given[2] if len(given) > 2 else "float32"
    assert size in SHAPES
    options = {"dtype": dtype, "recheck": False, "cache": True}
    options |= {"limit": 6} if SMALL else {}
    os.environ["UNMASK_CACHE"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as folder:
        places = saved(folder, count, size)
        if "ray" in sys.argv:
            through_ray(places, size, dtype)
            return
        unmask.run(places[:1], MEASURES, ["crows-pairs"], **options)  # kernels are chosen once
        own = kernels(places[0], **options) if torch.cuda.is_available() else float("nan")
        start = time.perf_counter()
        results = unmask.run(places, MEASURES, ["crows-pairs"], **options)
        seconds = (time.perf_counter() - start) / count
    assert len(results) == count * len(MEASURES)
    facts = {"checkpoints": count, "size": size, "dtype": dtype}
    facts |= {"seconds each": round(seconds, 2), "kernels, s": round(own, 2)}
    facts |= {"beyond kernels, s": round(seconds - own, 2), "Python, ms": python_ms()}
    record("checkpoints", facts)


if __name__ == "__main__":
    main()
