"""What constraints.txt pins can be installed wherever the package says that it can."""

import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def test_every_pin_admits_the_oldest_python_that_the_package_admits():
    """A pin that wants 3.11.5 keeps a machine with Python 3.11.2 from setting up at all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    lines = (ROOT / "constraints.txt").read_text().split()
    pinned = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines}
    wanted = {
        f"{found.name} {found.version}": found.metadata.get("Requires-Python") or ""
        for found in distributions()
        if pinned.get(canonicalize_name(found.name)) == Version(found.version).public
    }
    assert len(wanted) > 0.9 * len(pinned)  # what is installed is what is pinned
    assert {n: w for n, w in wanted.items() if not SpecifierSet(w).contains(oldest)} == {}
