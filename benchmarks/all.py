"""All benchmarks in one command; RESULTS.md is written from what they measure.

    python benchmarks/all.py [--small] [NAME ...]
    python benchmarks/all.py --write [ROWS.jsonl ...]

Rows are kept in results.jsonl, of each thing that was measured on a machine the newest; a run
elsewhere (on a GPU) gives a file of rows, which `--write` takes in.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sizes import SMALL

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "results.jsonl", HERE / "RESULTS.md"
NOT_MEASURED = ("all", "sizes", "recorded")
# Table: its title, and the command as it is measured on a whole machine.
TABLES = {
    "table5": "Table 5 of kaneko2022 for one model, from data sets to results, after loading",
    "families": "Twelve families, CrowS-Pairs and StereoSet",
    "fast_paths": "Times as long without one fast path",
    "checkpoints": "Many checkpoints of one architecture",
    "side_by_side": "The default run, beside an earlier commit",
    "peers": "Beside what a user would pick instead",
    "likelihood": "Beside the papers' way, and the machine's own matrix rate",
    "startup": "The command's own start",
    "cache": "What the answer cache costs",
    "growth": "How cost grows",
    "ceat": "CEAT and permutation tests",
    "contexts": "Reading a corpus",
    "cluster": "A cluster",
    "chat": "Choices of a chat model",
    "planted_choices": "What `choice` reads of small chat models with a planted bias",
    "planted_sizes": "`unmask scaling` on series of models with a planted trend",
    "questionnaire": "The questionnaire on networks with a planted bias",
    "lab": "The lab: models with stacked weights",
}
SIZE = re.compile(r"(?<![\w.-])\d+(?![\w.-])")  # a number by itself
HEAD = """# What was measured

Written by `python benchmarks/all.py` from the rows that the benchmarks recorded; NOTES.md says what
they mean, what was tried, and which aims are not met.
"""


def measure(names):
    """Run benchmarks; their rows."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            file = Path(folder) / name
            print(f"== {name}", flush=True)
            command = [sys.executable, str(HERE / f"{name}.py"), *(["--small"] if SMALL else [])]
            subprocess.run(command, check=True, env={**os.environ, "BENCHMARKS": str(file)})
            rows += read(file)
    return rows


def read(path):
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines]


def newest(rows):
    """The latest row of each measurement on each machine."""
    kept = {}
    for row in rows:
        words = subject(row["facts"]) or (row["command"],)
        thing = (row["table"], row["machine"], *words)
        run = (row["command"], row["date"], row["commit"])
        if kept.get(thing, (None,))[0] != run:
            kept[thing] = (run, [])
        kept[thing][1].append(row)
    return [row for _, some in kept.values() for row in some]


def subject(facts):
    """What was measured: facts in words; those with a unit, and numbers, are what came of it.

    A size within words is not what it is: `200 sentences` are replaced by `600 sentences`.
    """
    words = ((k, v) for k, v in facts.items() if isinstance(v, str) and ", " not in k)
    return tuple((k, SIZE.sub("", v)) for k, v in words if not v[:1].isdigit())


def page(rows):
    """The tables of all rows."""
    parts = [HEAD]
    for table, title in TABLES.items():
        mine = [r for r in rows if r["table"] == table]
        parts += [f"\n## {title}\n"] if mine else []
        for machine in dict.fromkeys(r["machine"] for r in mine):
            parts += shown(machine, [r for r in mine if r["machine"] == machine])
    return "".join(parts)


def shown(machine, rows):
    """A table, and below it the runs that its rows are from, by their number."""
    heads = list(dict.fromkeys(k for r in rows for k in r["facts"]))
    yield f"\n{machine}:\n\n| {' | '.join([*heads, 'run'])} |\n|{'---|' * (len(heads) + 1)}\n"
    runs = {}
    for row in rows:
        told = f"`python {row['command']}`, {row['date']}, commit {row['commit']}"
        cells = [
            *(str(row["facts"].get(k, "")) for k in heads),
            runs.setdefault(told, len(runs) + 1),
        ]
        yield f"| {' | '.join(map(str, cells))} |\n"
    yield "\n" + "".join(f"{number}. {told}\n" for told, number in runs.items())


def main():
    given = [a for a in sys.argv[1:] if a != "--write"]
    if "--write" in sys.argv:
        rows = [row for path in given for row in read(Path(path))]
    else:
        every = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in NOT_MEASURED)
        rows = measure(given or every)
    if SMALL:  # sizes that show only that it runs
        print(page(rows))
        return
    kept = newest(read(KEPT) + rows)
    KEPT.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    PAGE.write_text(page(kept), "utf-8")


if __name__ == "__main__":
    main()
