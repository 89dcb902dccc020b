"""The lab's training: many small models at once with stacked weights, against one after another.

    python benchmarks/lab.py [models] [steps]

Prints the ratio of both, measured side by side in one run, and the share of the machine's own
matrix rate that the stacked steps reach.
"""

import sys
import time

import torch

from recorded import record
from sizes import SMALL
from unmask.lab import nets
from unmask.lab.language import corpus
from unmask.lab.world import Plant

SENTENCES = 200 if SMALL else 4000


def seconds(plants: list[Plant], texts: list, how: nets.Training, kind: str) -> float:
    """Time of the steps after the first, which warms up."""
    marks: list[float] = []
    nets.train(
        plants,
        kind,
        how,
        texts=texts,
        progress=lambda done, total: marks.append(time.perf_counter()),
    )
    return marks[-1] - marks[0]


def rate(size: int = 1536, times: int = 8) -> float:
    """Products of large matrices, in operations a second."""
    a = torch.randn(size, size)
    a @ a
    start = time.perf_counter()
    for _ in range(times):
        a @ a
    return 2 * size**3 * times / (time.perf_counter() - start)


def main() -> None:
    """Both ways, for masked and causal models."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2 if SMALL else 8
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 2 if SMALL else 12
    plants = [Plant(1.0, 1, seed) for seed in range(count)]
    texts = [corpus(p, SENTENCES) for p in plants]
    how = nets.Training(steps=steps, rows=128, sentences=SENTENCES)
    for kind in ("masked", "causal"):
        together = seconds(plants, texts, how, kind)
        apart = sum(seconds([p], [t], how, kind) for p, t in zip(plants, texts, strict=True))
        facts = {"kind": kind, "models": count, "at once, s": round(together, 1)}
        facts |= {"one by one, s": round(apart, 1), "times": round(apart / together, 2)}
        record("lab", facts | {"matrix rate, GFLOP/s": round(rate() / 1e9)})


if __name__ == "__main__":
    main()
