"""How runs differ by bias type: is one model more biased about some group than another?

Evidence that counts in the answers of both runs is compared on the items that both have: the
stereotype of a category of pairs, or the effect size of a test. All comparisons of all bias types
are one family, corrected by Holm's method.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from unmask.answer.answer import Answer, answers
from unmask.answer.evidence import Evidence
from unmask.answer.lab_status import UNFIT
from unmask.answer.scales import ORDER
from unmask.errors import DataError
from unmask.options import Resampling
from unmask.reports.difference_words import AGAINST, CLOSER, HIGHER, LOWER, MORE, NONE, OTHER
from unmask.stats.comparison import Bias
from unmask.stats.intervals import DEFAULTS
from unmask.stats.multiplicity import corrected
from unmask.studies.compare import runs_of
from unmask.studies.contrast import paired_runs


def compare_by_bias_type(runs: Sequence[Any], *, resampling: Resampling = DEFAULTS) -> pd.DataFrame:
    """A row for each two runs, bias type and measure; `main` marks the one that is reported.

    Runs are as for `compare`. `verdict` is of the bias type: how the second run differs from the
    first by any measure, after correction. `a` and `b` are over the items that both have.
    """
    named = runs_of(runs)
    by_run = {r.name: answers(list(r.results.values())) for r in named}
    rows = [
        row
        for a, b in itertools.combinations(named, 2)
        for row in compared(by_run[a.name], by_run[b.name], resampling, (a.name, b.name))
    ]
    return _with_verdicts(pd.DataFrame(rows), 1 - resampling.level) if rows else pd.DataFrame()


def _with_verdicts(frame: pd.DataFrame, error: float) -> pd.DataFrame:
    """Add corrected p-values, verdicts, and the main row of each bias type."""
    frame["p_holm"] = corrected(frame.p.tolist())
    sure, place = frame.p_holm <= error, frame.compared.map(ORDER.index)
    order = frame.assign(unsure=~sure, place=place, few=-frame.n)
    keys = ["first", "second", "bias_type"]
    first = order.sort_values(["unsure", "place", "few"], kind="stable").drop_duplicates(keys)
    frame["main"] = frame.index.isin(first.index)
    leads = {
        tuple(row[k] for k in keys): _verdict(row, error) if row["p_holm"] <= error else NONE
        for row in frame.loc[first.index].to_dict("records")
    }
    frame["verdict"] = [leads[k] for k in frame[keys].itertuples(index=False, name=None)]
    return frame


def _verdict(row: Any, error: float) -> str:
    """How the second run differs from the first, given that the difference is significant.

    That it is further from fair, or closer to it, needs a significant test of its own.
    """
    bias: Bias = row["bias"]
    if bias.worse(0.0) <= error:
        return MORE if bias.second > 0 else AGAINST
    if bias.turned.worse(0.0) <= error:
        return CLOSER
    if bias.first * bias.second < 0 and row["both_sure"]:
        return OTHER
    return HIGHER if bias.difference.value > 0 else LOWER


def compared(
    first: Sequence[Answer],
    second: Sequence[Answer],
    resampling: Resampling = DEFAULTS,
    names: tuple[str, str] = ("", ""),
) -> Iterator[dict[str, Any]]:
    """Yield a row for all evidence that counts in both runs' answers.

    `bias` is the `Bias` on which further tests of one run against the other are based.
    """
    twins = {(a.bias_type, key(r)): r for a in first for r in a.evidence if r.trust != UNFIT}
    for answer in second:
        for evidence in (e for e in answer.evidence if e.trust != UNFIT):
            twin = twins.get((answer.bias_type, key(evidence)))
            if twin is None or (bias := paired(twin, evidence, resampling)) is None:
                continue
            difference = bias.difference
            yield {
                "first": names[0],
                "second": names[1],
                "bias_type": answer.bias_type,
                "measure": evidence.result.measure,
                "data": evidence.result.data,
                "category": evidence.category,
                "compared": evidence.result.compared,
                "a": (evidence.estimate.ideal or 0.0) + bias.first,
                "b": (evidence.estimate.ideal or 0.0) + bias.second,
                "difference": difference.value,
                "low": difference.low,
                "high": difference.high,
                "unit": evidence.scale.unit,
                "n": difference.n,
                "p": difference.p,
                "both_sure": all(r.estimate.excludes_ideal for r in (twin, evidence)),
                "bias": bias,
            }


def key(evidence: Evidence) -> tuple[str, ...]:
    """What identifies evidence within a run."""
    return (*evidence.result.spec.comparable, evidence.category)


def paired(twin: Evidence, evidence: Evidence, resampling: Resampling = DEFAULTS) -> Bias | None:
    """The biases of two runs by one measure; None where the runs have nothing in common.

    In percentage points from 50 for pairs, in d, or in the logarithm of the odds.
    """
    results = [twin.result, evidence.result]
    try:
        bias = paired_runs(results, evidence.category, resampling=resampling).bias()
    except DataError:
        return None
    return None if math.isnan(bias.no_worse(1.0)) else bias
