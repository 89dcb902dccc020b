"""How a benchmark says what it measured: a line to read, and a row for RESULTS.md.

Rows go to the file that BENCHMARKS names, one JSON object each, with the command, the machine, the
commit and the date; `all.py` makes the tables of them.
"""

import json
import os
import platform
import subprocess
import sys
import time
from datetime import date
from pathlib import Path


def machine():
    """What it runs on, in words."""
    if "torch" in sys.modules:
        import torch

        if torch.cuda.is_available():
            return f"{torch.cuda.get_device_name()}, {os.cpu_count()} CPU cores"
    return f"{os.cpu_count()} {platform.machine()} CPU cores"


def python_ms():
    """Milliseconds of a fixed loop in Python: machines with the same GPU differ by half in this."""
    best, table = float("inf"), {}
    for _ in range(5):
        start = time.perf_counter()
        for i in range(200_000):
            table[i & 255] = i
        best = min(best, time.perf_counter() - start)
    return round(1000 * best, 1)


def record(table, facts):
    """Print some facts, and keep them as a row of a table."""
    print("; ".join(f"{k} {v}" for k, v in facts.items()), flush=True)
    if not os.environ.get("BENCHMARKS"):
        return
    asked = ["git", "rev-parse", "--short", "HEAD"]
    told = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True).stdout
    commit = os.environ.get("COMMIT") or told.strip()  # a copy of the tree has no history
    script, *options = sys.argv
    command = " ".join([f"benchmarks/{Path(script).name}", *options])
    row = {
        "table": table,
        "command": command,
        "machine": machine(),
        "commit": commit,
        "date": date.today().isoformat(),
        "facts": facts,
    }
    with open(os.environ["BENCHMARKS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
