"""Throughput of the context builder on one core, beside a plain Python loop on the same file.

The file is made JSON lines with the look of comments; 500 stimuli. The plain loop parses each
line, looks for every stimulus with `in`, and checks whole words by splitting. `--gigabyte` runs
the builder over 1 GB and prints how memory grew.
"""

import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from recorded import record
from sizes import SMALL
from unmask.corpus.harvest import harvest, plan_for
from unmask.data.packaged import bundled_pairs
from unmask.data.wordsets import stimuli


def made(path, size):
    """Lines of sentences with stimuli strewn in at the rate of ordinary text."""
    rng = random.Random(0)
    sentences = [t.string for i in bundled_pairs().items for t in i.texts.values()]
    filler = ("it was not what they had thought when the two of them went out", "that day")
    filler = " ".join(filler).split()
    words = [w for t in stimuli().values() for ws in t.sets.values() for w in ws]
    done = number = 0
    with path.open("w") as file:
        while done < size:
            parts = []
            for _ in range(rng.randrange(1, 5)):
                some = [rng.choice(filler) for _ in range(rng.randrange(4, 20))]
                if rng.random() < 0.5:
                    some.insert(rng.randrange(len(some)), rng.choice(words))
                parts.append(" ".join(some).capitalize() + rng.choice(".?!"))
            if rng.random() < 0.1:
                parts.append(rng.choice(sentences))
            row = {
                "body": " ".join(parts),
                "id": str(number),
                "created_utc": 1400000000 + number,
                "author": f"user{number % 977}",
                "subreddit": "made",
                "score": 1,
            }
            line = json.dumps(row) + "\n"
            file.write(line)
            done += len(line)
            number += 1


def plain(path, wanted, limit):
    """The loop; stops after `limit` bytes."""
    done, found = 0, {w: [] for w in wanted}
    with path.open() as file:
        for line in file:
            done += len(line)
            body = json.loads(line)["body"].lower()
            for w in wanted:
                if w in body:
                    for sentence in body.split(". "):
                        if f" {w} " in f" {sentence} ":
                            found[w].append(sentence)
            if done > limit:
                break
    return done


def main():
    every = sorted({w for t in stimuli().values() for ws in t.sets.values() for w in ws})
    tests = []
    words = set()
    for test in stimuli().values():
        new = {w for ws in test.sets.values() for w in ws}
        if len(words | new) <= 500:
            tests.append(test)
            words |= new
    plan = plan_for(tests, keep=1000)
    size = 300_000 if SMALL else 60_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.jsonl"
        made(path, size)
        start = time.perf_counter()
        harvest(path, plan)
        ours = path.stat().st_size / (time.perf_counter() - start) / 1e6
        start = time.perf_counter()
        done = plain(path, [w.lower() for w in plan.stimuli], size // 15)
        slow = done / (time.perf_counter() - start) / 1e6
        facts = {"stimuli": f"{len(plan.stimuli)} of {len(every)}"}
        facts |= {"plain loop, MB/s": round(slow, 1), "unmask on one core, MB/s": round(ours, 1)}
        record("contexts", facts | {"times": round(ours / slow)})
        if "--gigabyte" in sys.argv:
            big = Path(folder) / "big.jsonl"
            with big.open("wb") as file:
                for _ in range(17):
                    file.write(path.read_bytes())
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            harvest(big, plan)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            facts = {"GB read": round(big.stat().st_size / 1e9, 2)}
            record("contexts", facts | {"memory, MiB": round(grown)})


if __name__ == "__main__":
    main()
