"""What the benchmarks share: `--small` for their smallest size, and what they need."""

import sys
from importlib.util import find_spec

SMALL = "--small" in sys.argv
if SMALL:
    sys.argv.remove("--small")


def needs(package: str) -> None:
    """End the benchmark, with a word, where a package is not installed."""
    if find_spec(package) is None:
        print(f"skipped: {package} is not installed")
        sys.exit(0)
