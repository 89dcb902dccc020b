"""How often intervals hold the truth, and how often tests reject a true null: simulated.

    python benchmarks/coverage.py [REPETITIONS] [--write docs/coverage.md] [PART ...]

A part is the name of a function of `simulation`, such as `runs`; without one all are run.

Every interval and p that a user can see, over clusters and shares, sizes of word sets, shapes of
score distributions, and runs as a whole. Seeded: the same numbers on every machine.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from simulation import answers, effects, others, runs, shares
from sizes import SMALL

PARTS = (  # the longest first
    answers.runs,
    answers.runs_crows,
    answers.gated,
    shares.shares,
    shares.unequal,
    shares.triplets,
    answers.estimates,
    answers.few_templates,
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
    answers.runs_crows: 2,
    answers.gated: 4,
    answers.gated_questionnaire: 10,
    answers.changed: 5,
    answers.planned: 2,
}
NAMES = {"covers": "coverage", "rejects": "size", "power": "power", "width": "width"}
CHANCE = 0.001  # a scenario misses where chance alone would do that less often


def study(times: int, parts: Any = PARTS) -> pd.DataFrame:
    """All scenarios, a process for each core; costly ones are repeated less often."""
    with ProcessPoolExecutor() as pool:
        futures = [pool.submit(_rows, part, max(2, times // COSTLY.get(part, 1))) for part in parts]
        return pd.DataFrame([row for future in futures for row in future.result()])


def _rows(part: Any, times: int) -> list[dict[str, Any]]:
    return [row._asdict() | {"times": times} for row in part(times)]


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


def missed(frame: pd.DataFrame) -> pd.DataFrame:
    """Scenarios with enough items whose interval or test does not keep its promise of 95 or 5 %."""
    scenarios = frame[frame.enough]
    covered, rejected = (
        (scenarios[k].astype(float) / 100 * scenarios.times).round() for k in ("covers", "rejects")
    )
    narrow = stats.binom.cdf(covered, scenarios.times, 0.95) < CHANCE
    bold = stats.binom.sf(rejected - 1, scenarios.times, 0.05) < CHANCE
    return scenarios.loc[narrow | bold, ["what", "scenario", "covers", "rejects"]]


PAGE = """# Coverage of the intervals

Simulated by `python benchmarks/coverage.py {times} --write docs/coverage.md`: {times} seeded
repetitions per scenario, fewer for costly ones. Each cell gives the smallest and the largest value
over the scenarios, in per cent. *Coverage* is how often a 95 % interval contained the truth, *size*
how often a test rejected a true null hypothesis at .05, *power* how often it rejected a false one.
*Width* is the mean width of the interval over that of an oracle that knows the variance.
*Enough* means at least 10 clusters, or 8 words per set. With fewer than 10 clusters, or 5 words per
set, the verdict is "inconclusive". With {times} repetitions, a true coverage of 95 % is estimated
between {low:.1f} and {high:.1f} by chance.

{summary}

## Misses

Scenarios with enough items whose coverage is below 95 %, or whose test rejects a true null
hypothesis in more than 5 %, by more than chance (p < .001): {count} of {all}.

{misses}

## Notes

- *run* is one answer over two validated measures and all bias types: how often any bias type is
  called biased, and how often a true bias is detected. Each scenario also gives the power of a
  single uncorrected test that knows the standard error. In *bias types of different spread* the
  margins of each bias type are multiplied by a factor of its own (lognormal, .5).
- On CrowS-Pairs, most bias types have few items about the other group, so word preference and bias
  are hard to separate: a bias of 65 % on race and colour is detected in a third to a half of the
  runs, with or without word preference. The raw share detects it nearly always, but is significant
  in 86 % of unbiased models that have a word preference of 1 nat.
- *adjusted share* has its lowest coverage (91.8 %) for one bias type with four templates.
- *mean margin, two templates*: two templates are too few to estimate how much templates differ,
  so the test rejects too often if they differ strongly. With four templates that differ by 0.3
  nats, it keeps 5 %.
- If fewer than 10 clusters contain the rarer answer, a correlation of 0.15 within clusters is
  assumed instead of estimated. These intervals are wider than necessary.
- *d, tails of t(2.5)*: the scores have almost no finite variance. The sample d is then too large,
  and its interval covers 87 % if there is an effect.
- Exponentially skewed scores with a large effect have lower coverage: few words determine d.
- *d, unequal spread*: p is correct. The interval of d, in units of the pooled spread of both sets,
  covers 89 % if the smaller set has the larger spread.
- *gate* uses the rule "at most 10 pp", and the default rule on the built-in questionnaire. With
  few items in a bias type no rule can pass; use `unmask plan` first.
- *neutral control* scores words without a stereotype in the bundled model, with groups assigned at
  random: 20 draws of ten bias types each.
- *plan* promises a power of 80 %. It uses the upper limit of the pilot's variance, so it asks for
  somewhat more items than necessary.
- *until decided*: each scenario also gives the share of items that was measured.
- *scaling*: with one family of five sizes, a slope of one standard deviation per doubling is
  detected in half of the studies. A bias that peaks in the middle is not reported as a trend.
- *trend*: with 8 runs, even a change of four standard deviations between seeds is detected in only
  half of the series.
- With fewer than 6 points (10 for ranks) a correlation has no interval. `icat` and the share of a
  single cluster have none either.
- *compare: equivalence* gives how often two runs that differ by the margin are called equivalent.

## Every scenario

{whole}
"""


def main() -> None:
    """Print the study, and write its page if asked to."""
    given = [a for a in sys.argv[1:] if a.isdigit()]
    times = int(given[0]) if given else 4 if SMALL else 1000
    named = tuple(part for part in PARTS if part.__name__ in sys.argv[1:])
    frame = study(times, (answers.reliable,)) if SMALL else study(times, named or PARTS)
    short = summary(frame)
    print(short.to_string(index=False))
    print("Misses:", missed(frame).to_string(index=False), sep="\n")
    if "--write" in sys.argv:
        Path(sys.argv[sys.argv.index("--write") + 1]).write_text(page(frame, times))


def page(frame: pd.DataFrame, times: int) -> str:
    """The study as a page of the documentation."""
    reach = 196 * np.sqrt(0.95 * 0.05 / times)
    misses = missed(frame)
    return PAGE.format(
        times=times,
        low=95 - reach,
        high=95 + reach,
        summary=_markdown(summary(frame)),
        count=len(misses),
        all=int(frame.enough.sum()),
        misses=_markdown(misses),
        whole=_markdown(frame.drop(columns=["enough", "times"])),
    )


def _markdown(frame: pd.DataFrame) -> str:
    frame = frame.round({"covers": 1, "rejects": 1, "power": 1, "width": 2}).astype(object)
    frame = frame.where(frame.notna(), "").rename(columns=NAMES)
    lines = [list(frame.columns), ["---"] * frame.shape[1], *frame.astype(str).to_numpy().tolist()]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


if __name__ == "__main__":
    main()
