"""Regenerate what the documentation shows of a run, or check that it is up to date.

    python tools/examples.py            README, notebooks and images
    python tools/examples.py --check    fail if the default run gives other numbers than they show

The console block of the quick start is what `unmask run` answers, that of the README its table.
`docs/examples.json` records the numbers of the run that they, the notebooks and the images were
made from. The check compares a new run with it, and the blocks with the new output; numbers may
differ in their last digit between machines.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SHOWN = (README, ROOT / "docs" / "index.md")
IMAGES = ("run.png", "items.png")
RECORD = ROOT / "docs" / "examples.json"
FOLDER = "unmask-results/2026-11-18-120000"  # as the README names it
BLOCK = re.compile(r"(?<=```console\n\$ unmask run\n).*?(?=```)", re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-\d+)?")


def run(folder: Path) -> str:
    """The output of the default run, in a folder of its own."""
    words = [sys.executable, "-m", "unmask", "run", "-o", FOLDER]
    environment = {"UNMASK_CACHE": str(folder / "cache"), **os.environ, "COLUMNS": "110"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    first = max(n for n, line in enumerate(lines) if line.startswith("bundled: "))
    last = next(n for n, line in enumerate(lines) if line.startswith("Clearest"))
    return "\n".join(lines[first:last]).rstrip() + "\n"


def numbers(folder: Path) -> dict[str, float]:
    """The score of each result of a run, by measure and data."""
    content = json.loads((folder / FOLDER / "results.json").read_text())
    return {
        f"{r['spec']['measure']} on {r['spec']['data']}": round(r["overall"]["value"], 4)
        for r in content["results"]
    }


def same(one: str, two: str) -> bool:
    """Whether two texts agree, numbers within their last digit."""
    if NUMBER.sub("#", one).split() != NUMBER.sub("#", two).split():
        return False
    return all(_near(a, b) for a, b in zip(NUMBER.findall(one), NUMBER.findall(two), strict=True))


def _near(one: str, two: str) -> bool:
    digits = max(len(n.partition(".")[2]) if "e" not in n else 0 for n in (one, two))
    far = abs(float(one) - float(two))
    return far <= max(1.5 * 10**-digits, 0.01 * (digits > 2))  # p-values are sampled


def part(path: Path, shown: str) -> str:
    """The part of an answer that a file shows."""
    return shown[shown.index("bias type ") :] if path == README else shown


def stale(folder: Path) -> list[str]:
    """What does not agree with a new run."""
    shown, out = run(folder), []
    for path in SHOWN:
        block = BLOCK.search(path.read_text("utf-8"))
        if block is None or not same(block[0], part(path, shown)):
            out.append(path.name)
    record, now = json.loads(RECORD.read_text()), numbers(folder)
    recorded = record["numbers"]
    if recorded.keys() != now.keys() or any(abs(recorded[k] - now[k]) > 0.02 for k in now):
        out.append("docs/tutorials and docs/images")
    # A notebook or an image that was edited by hand shows what no run gave.
    return out + [name for name, digest in digests().items() if record["files"].get(name) != digest]


def digests() -> dict[str, str]:
    """The digest of each notebook's outputs and of each image."""
    out = {}
    for path in sorted((ROOT / "docs").glob("tutorials/*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        shown = [[c["source"], c.get("outputs")] for c in cells]
        out[path.name] = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]
    for name in IMAGES:
        content = (ROOT / "docs" / "images" / name).read_bytes()
        out[name] = hashlib.sha256(content).hexdigest()[:16]
    return out


def main(arguments: list[str]) -> None:
    """Check, or regenerate."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if "--check" in arguments:
            if old := stale(folder):
                sys.exit(f"not up to date: {', '.join(old)}; run 'make examples'.")
            return
        shown = run(folder)
        for path in SHOWN:
            text = path.read_text("utf-8")
            block = part(path, shown)
            path.write_text(BLOCK.sub(lambda _, new=block: new, text, count=1), "utf-8")
        page = folder / FOLDER / "report.html"
        tools = ROOT / "tools"
        shots = [sys.executable, tools / "screenshots.py", page, folder / "images"]
        subprocess.run(shots, check=True)
        for name in IMAGES:
            (ROOT / "docs" / "images" / name).write_bytes((folder / "images" / name).read_bytes())
        subprocess.run([sys.executable, tools / "tutorials.py"], check=True)
        found = {"numbers": numbers(folder), "files": digests()}
        RECORD.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
