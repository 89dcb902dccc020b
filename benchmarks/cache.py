"""What the output cache costs: the share of a default run's model time that goes into it.

    python benchmarks/cache.py

The bundled model on the bundled sentences with all masked measures, outputs cached in an empty
file: seconds spent looking up, noting and writing, against the whole.
"""

import tempfile
import time
from pathlib import Path

from recorded import record
from sizes import SMALL
from unmask.data.catalogue import limited
from unmask.data.packaged import bundled_pairs
from unmask.flow.evaluate import evaluate
from unmask.models.output_cache import CachedOutputs
from unmask.models.transformers.model import load
from unmask.options import Options, Spec
from unmask.support.store import Store, opened

MEASURES = ("pll", "cps", "sss", "aul", "aula")


def main():
    spent = 0.0

    def timed(function):
        def call(*args, **more):
            nonlocal spent
            start = time.perf_counter()
            out = function(*args, **more)
            spent += time.perf_counter() - start
            return out

        return call

    recall, note = CachedOutputs.recall, CachedOutputs.note
    CachedOutputs.recall, CachedOutputs.note = timed(recall), timed(note)
    Store.close = timed(Store.close)  # flushes on the way are within note
    model = load("bundled")
    data = limited(bundled_pairs(), 6 if SMALL else 10**6)
    specs = [Spec(model, m, data) for m in MEASURES]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("empty", "full"):
            spent, start = 0.0, time.perf_counter()
            with opened(Path(folder) / "answers.sqlite") as store:
                found = evaluate(specs, Options(store=store))
            whole = time.perf_counter() - start
            size = sum(f.stat().st_size for f in Path(folder).iterdir()) / 2**20
            facts = {"cache": name, "whole, s": round(whole, 1), "in the cache, s": round(spent, 2)}
            facts |= {"share, %": round(100 * spent / whole, 1)}
            record("cache", facts | {"rows": found[0].settings["rows"], "MiB": round(size, 1)})


if __name__ == "__main__":
    main()
