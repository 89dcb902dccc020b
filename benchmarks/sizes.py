"""What the benchmarks share: `--small` for their smallest size, and what they need."""

import sys
from importlib.util import find_spec

SMALL = "--small" in sys.argv
if SMALL:
    sys.argv.remove("--small")


def arguments():
    """Numbers of the command: those by place, and those by name (steps=3000)."""
    given = [a.split("=") for a in sys.argv[1:]]
    return [int(a[0]) for a in given if len(a) == 1], {
        a[0]: int(a[1]) for a in given if len(a) == 2
    }


def needs(package: str) -> None:
    """End the benchmark, with a word, where a package is not installed."""
    if find_spec(package) is None:
        print(f"skipped: {package} is not installed")
        sys.exit(0)
