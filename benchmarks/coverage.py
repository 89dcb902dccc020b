"""How often intervals hold the truth, and how often tests reject a true null: simulated.

    python benchmarks/coverage.py [REPETITIONS] [--write docs/coverage.md]

Every interval and p that a user can see, over clusters and shares, sizes of word sets, shapes of
score distributions, and runs as a whole. Seeded: the same numbers on every machine.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simulation import answers, effects, others, runs, shares
from sizes import SMALL

PARTS = (
    shares.shares,
    shares.unequal,
    shares.triplets,
    answers.estimates,
    answers.runs,
    answers.gated,
    effects.word_tests,
    effects.hard,
    effects.templates,
    effects.odds_ratios,
    effects.four_sets,
    effects.ceat,
    others.comparisons,
    others.agreements,
    answers.planned,
    answers.looked,
    answers.followed,
    answers.reliable,
    runs.curves,
    runs.ranked,
)
COSTLY = {
    effects.ceat: 4,
    effects.four_sets: 2,
    answers.runs: 3,
    answers.gated: 4,
    answers.planned: 2,
}
NAMES = {"covers": "coverage", "rejects": "size", "power": "power", "width": "width"}


def study(times: int, parts: Any = PARTS) -> pd.DataFrame:
    """All scenarios; costly ones are repeated less often."""
    return pd.DataFrame([r for p in parts for r in p(max(2, times // COSTLY.get(p, 1)))])


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """The smallest, median and largest coverage and rejection of each kind."""
    rows = []
    for (what, enough), part in frame.groupby(["what", "enough"], sort=False):
        line = {"interval or test": what, "items": "enough" if enough else "few"}
        for name, head in NAMES.items():
            values, digits = part[name].dropna(), 2 if name == "width" else 1
            ends = {f"{v:.{digits}f}" for v in (values.min(), values.max())} if len(values) else ()
            line[head] = " to ".join(sorted(ends, key=float))
        rows.append({**line, "scenarios": len(part)})
    return pd.DataFrame(rows)


PAGE = """# How often the intervals hold

Simulated by `python benchmarks/coverage.py {times} --write docs/coverage.md`, {times} repetitions a
scenario (fewer where one is costly), seeded; the smallest and the largest value over the scenarios.
*Coverage* is how often a 95 % interval held the truth, *size* how often a test rejected a true null
at .05, *power* how often it rejected a false one, all in per cent. *Width* is the interval's mean
width over that of an oracle who knows the variance of the estimate: 1 cannot be beaten by much.
*Enough* are at least 10 clusters or 8 words a side. Scores of fewer than 10 clusters are grey and
never bold, and their verdict is "inconclusive"; so is that of effect sizes with fewer than 5 words
per set. With {times} repetitions 95 % comes out between {low:.1f} and {high:.1f} by chance.

{summary}

## What to know

- Where fewer than 10 clusters hold the rarer answer, a correlation of 0.15 in clusters is assumed
  rather than estimated: there intervals are wider than they need be, and hold more often.
- *bundled pairs* are the bundled design itself, with words that differ by .7 logits. Its categories
  have two frames; what frames do is estimated over all families. Widest, beside the oracle, are
  families that follow the word almost without exception (sides 3.5 logits apart: 97 and 3 %, twice
  the oracle's width): the oracle knows that hardly any answer varies, 16 answers a side cannot.
- *share, sides and frames* holds least (92 %) with eight families of two frames that differ by .8
  logits: what frames do is drawn to a usual value, which is less than that.
- *d, tails of t(2.5)*: scores that hardly have a variance. The d of a sample is then too large, and
  the interval around it holds in 88 % where there is an effect; kurtosis widens it (it was 71 to
  83 %), and cannot do more.
- Exponentially skewed scores with a large effect hold less often: a few words then carry d.
- *a run as a whole* is one number for six measures and nine categories: how often anything is
  called biased. It is far below 5 %: shares of few items have lighter tails than Student's t, and a
  correction over sixty tests looks at the tails.
- *d, unequal spread*: p is right; the interval of d, whose unit is the spread of both sets
  together, holds in 91 % where the smaller set spreads farther.
- *odds ratio*: its interval holds in 94 to 97 % also where one set spreads three times as far; only
  exponentially skewed words that spread unequally have 90 to 93 %. So template tests are shown in
  odds.
- *plan* and *detect* have their promise in the name, and what came of it under *power*.
- *until decided* has under *coverage* how often the truth lay within at all looks together, and
  under *size* how often a fair model was called biased at any of them.
- Below 6 points (10 for ranks) a correlation has no interval; icat has none at all, and so has a
  share of one cluster.
- *compare: equivalence* shows how often two runs are called equivalent that differ by the margin.

## Every scenario

{whole}
"""


def main() -> None:
    """Print the study, and write its page if asked to."""
    given = [a for a in sys.argv[1:] if a.isdigit()]
    times = int(given[0]) if given else 4 if SMALL else 1000
    frame = study(times, (answers.reliable,)) if SMALL else study(times)
    short = summary(frame)
    print(short.to_string(index=False))
    if "--write" in sys.argv:
        Path(sys.argv[sys.argv.index("--write") + 1]).write_text(page(frame, times))


def page(frame: pd.DataFrame, times: int) -> str:
    """The study as a page of the documentation."""
    reach = 196 * np.sqrt(0.95 * 0.05 / times)
    whole = (
        frame.drop(columns="enough")
        .round({"covers": 1, "rejects": 1, "power": 1, "width": 2})
        .astype(object)
    )
    whole = whole.where(whole.notna(), "").rename(columns=NAMES)
    short = _markdown(summary(frame))
    return PAGE.format(
        times=times, low=95 - reach, high=95 + reach, summary=short, whole=_markdown(whole)
    )


def _markdown(frame: pd.DataFrame) -> str:
    lines = [list(frame.columns), ["---"] * frame.shape[1], *frame.astype(str).to_numpy().tolist()]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


if __name__ == "__main__":
    main()
