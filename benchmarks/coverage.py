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
    answers.gated_questionnaire,
    answers.neutral,
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
    answers.changed,
    answers.sized,
    answers.reliable,
    runs.curves,
    runs.ranked,
)
COSTLY = {
    effects.ceat: 4,
    effects.four_sets: 2,
    answers.runs: 3,
    answers.gated: 4,
    answers.gated_questionnaire: 10,
    answers.changed: 5,
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

- *run* is one answer over two validated measures and all bias types: how often anything at all is
  called biased, and how often a bias that is there is found. Next to it is the power of one
  uncorrected test by an oracle who knows the error. On the bundled pairs an unbiased model is
  called biased in 3 to 5 %, and in 8 to 10 % where the two templates of a bias type differ by .3
  nats.
- On the numbers of CrowS-Pairs a bias type has few items about the other group, so that a word
  preference cannot be told from a bias by its own items. Its error is overstated where there is
  none: race and colour at 65 % is found in 23 % of runs, and by the raw share nearly always.
- *adjusted share* holds least (90.5 %) in one bias type with templates that are few.
- Where fewer than 10 clusters hold the rarer answer, a correlation of 0.15 in clusters is assumed
  rather than estimated: there intervals are wider than they need be, and hold more often.
- *d, tails of t(2.5)*: scores that hardly have a variance. The d of a sample is then too large, and
  the interval around it holds in 87 % where there is an effect.
- Exponentially skewed scores with a large effect hold less often: a few words then carry d.
- *d, unequal spread*: p is right; the interval of d, whose unit is the spread of both sets
  together, holds in 89 % where the smaller set spreads farther.
- *gate* passes and fails are by the rule "at most 10 points", and by the usual rule on the built-in
  questionnaire. With few items in a bias type no rule can be shown to be kept: plan for it.
- *neutral control* asks the bundled model for words without a stereotype, whose sides are drawn at
  random: 20 draws, ten bias types each.
- *plan* has its promise in the name, and what came of it under *power*: it takes the upper limit of
  the pilot's variance, and so asks for somewhat more than is needed.
- *until decided*: the share of the items that was measured stands beside it.
- *scaling*: with one family of five sizes a slope of one standard deviation a doubling is found in
  half of the studies. A bias that peaks in the middle is no trend, and is not called one.
- *trend*: with 8 runs even a change of four standard deviations between seeds is found in half of
  the series only.
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
