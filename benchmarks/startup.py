"""How long a user waits for `unmask --help`, against importing typer and rich alone.

Both are started as processes of their own, in turns; the medians are compared. Also prints what
`import unmask` loads of the heavy packages (nothing, until it is needed).
"""

import statistics
import subprocess
import sys
import time

from recorded import record
from sizes import SMALL

ROUNDS = 1 if SMALL else 15
HEAVY = ("torch", "transformers", "pandas", "numpy", "scipy", "statsmodels")


def seconds(*command):
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return time.perf_counter() - start


def main():
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(seconds("-c", "import typer, rich"))
        ours.append(seconds("-m", "unmask", "--help"))
    a, b = statistics.median(ours), statistics.median(theirs)
    facts = {"unmask --help, s": round(a, 3), "import of typer and rich, s": round(b, 3)}
    record("startup", facts | {"ratio": round(a / b, 2)})
    code = f"import sys, unmask; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    print(f"import unmask loads of the heavy packages: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
