"""What each fast path gains: whole runs with one path switched off at a time, beside all on.

    python benchmarks/fast_paths.py [FAMILY ...] [dtype=bfloat16]

The networks and the runs are those of `families.py`. Every switched-off run lies between two runs
with all paths, and is compared with their mean. A number above 1 is how many times as long a run
takes without the path.
"""

import os
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import torch

from families import FAMILIES, network, run
from recorded import record
from sizes import SMALL
from unmask.models.fast import paths, rotary
from unmask.models.fast.fused_ops import FusedOps
from unmask.models.fast.short_attention import ShortAttention

USUAL = ("bert-large", "deberta-v3-large", "modernbert-large", "gpt2-xl", "llama-7b")


def never(*_):
    return False


OFF = {  # what replaces a path
    "direct layers": (paths, "encoder_of", lambda net: None),
    "fused steps": (paths, "fused_ops", lambda net: FusedOps()),
    "rotary positions": (rotary, "fits", never),
    "short attention": (paths, "short_attention", lambda net: ShortAttention()),
    "prefix trees": (paths, "reads_trees", never),
    "pass queue": (paths, "PASSES_AHEAD", 1),
}


@contextmanager
def without(name):
    with patch.object(*OFF[name]) if name else nullcontext():
        yield


def seconds(model, name=""):
    """The time of a run without a path; each run chooses the network's paths again."""
    with without(name):
        return run(model)[0]


def main():
    if "UNMASK_DATA" not in os.environ:
        print("skipped: UNMASK_DATA names no folder with CrowS-Pairs, StereoSet and tokenizers")
        return
    if not torch.cuda.is_available() and not SMALL:
        print("skipped: there is no GPU")
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = next((a[6:] for a in sys.argv[1:] if a.startswith("dtype=")), "bfloat16")
    dtype = dtype if device == "cuda" else "float32"
    os.environ["UNMASK_CACHE"] = tempfile.mkdtemp()
    for family in [a for a in sys.argv[1:] if a in FAMILIES] or USUAL:
        model = network(family, dtype, device)
        seconds(model)
        before, facts = seconds(model), {}
        first = before
        for name in OFF:
            seconds(model, name)  # kernels of the other path are compiled
            off, after = seconds(model, name), seconds(model)
            facts[name] = f"{2 * off / (before + after):.2f}"
            before = after
        record("fast_paths", {"family": family, "dtype": dtype, "all, s": f"{first:.2f}", **facts})
        del model
        if device == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
