"""Mind Your Bias (Husse and Spitz 2022): its claims.

Each holds one choice against another over the same tests: how many scores are significant (p < 0.01
by the paper's own tests), how large they are, how far they move.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unmask.data.packaged import published
from unmask.stats.agreement import correlation
from unmask.stats.comparison import exact_mcnemar
from unmask.studies.papers.claims import (
    ABSENT,
    FAILS,
    HOLDS,
    OPEN,
    SEVERAL,
    Claim,
    Finding,
    over,
    positive,
)
from unmask.studies.papers.husse2022_tables import COLUMNS, CONTEXTS, SIGNIFICANT, Run, is_sure
from unmask.types import Floats

SMALL = 0.2  # an effect size below which a move is none
SURE = 0.05
PAIRED = ["test", "targets"]
QUICK = ("a quick run leaves out what this needs", "needs a full run")
NO_CONTEXTS = "no natural contexts were given (--contexts)"
Choice = Mapping[str, str]
WORD = {"method": "SEAT", "level": "word-average", "context": "template"}
SENTENCE = {**WORD, "level": "sent"}
FIRST, LAST = {**WORD, "level": "word-start"}, {**WORD, "level": "word-end"}
NATURAL = {**WORD, "context": "natural"}
LPBS = {"method": "LPBS", "context": "template", "sets": "full"}
SIMPLIFIED = {**LPBS, "sets": "simplified"}
CEAT = {"method": "CEAT", "level": "word-average"}


class Pair(NamedTuple):
    """Two choices on the same tests: effect sizes and significance of both, [tests]."""

    d: tuple[Floats, Floats]
    sure: tuple[Floats, Floats]


def released() -> pd.DataFrame:
    """The release's scores, in the words of this package."""
    every = published("husse2022.csv")
    every = every[(every.note == "") & every.d.notna()]
    return every.assign(
        model=every.model.map(COLUMNS),
        context=every.context.replace(CONTEXTS),
        sure=every.p < SIGNIFICANT,
    )


def measured(run: Run) -> pd.DataFrame:
    """The scores of this run in the same columns."""
    rows = []
    for key, result in run.results.items():
        model, method, _, level, context = key
        tags = result.spec.tags
        if tags["edition"] or context == "release" or method not in ("SEAT", "CEAT", "LPBS"):
            continue
        likely = method == "LPBS"
        rows.append(
            {
                "model": model,
                "method": method,
                "test": tags["concept"],
                "targets": tags["named"],
                "level": "" if likely else level,
                "context": context,
                "sets": level if likely else "full",
                "d": result.overall.value,
                "sure": is_sure(run.tested[key]),
            }
        )
    columns = ["model", "method", *PAIRED, "level", "context", "sets", "d", "sure"]
    return pd.DataFrame(rows, columns=columns)


def chosen(frame: pd.DataFrame, model: str, choice: Choice) -> pd.DataFrame:
    """The scores of a model under a choice, by test and targets."""
    some = frame[frame.model == model]
    for name, value in choice.items():
        some = some[some[name] == value]
    return some.drop_duplicates(PAIRED).set_index(PAIRED)


def paired(frame: pd.DataFrame, model: str, one: Choice, two: Choice) -> Pair | None:
    """Two choices on the tests that have both; None where there are fewer than two."""
    a, b = chosen(frame, model, one), chosen(frame, model, two)
    if "targets" in one:  # names against terms of the same test
        a, b = (p.reset_index("targets", drop=True) for p in (a, b))
    shared = a.index.intersection(b.index)
    if len(shared) < 2:
        return None
    a, b = a.loc[shared], b.loc[shared]
    return Pair(
        (a.d.to_numpy(float), b.d.to_numpy(float)),
        (a.sure.to_numpy(float), b.sure.to_numpy(float)),
    )


def _stated(one: Choice, two: Choice, read: Callable[[Pair], str]) -> str:
    every = released()
    parts = {m: paired(every, m, one, two) for m in COLUMNS.values()}
    return "; ".join(f"{m} {read(p)}" for m, p in parts.items() if p is not None)


def _counts(pair: Pair) -> str:
    a, b = (int(s.sum()) for s in pair.sure)
    return f"{a} to {b} of {len(pair.sure[0])}"


def _sizes(pair: Pair) -> str:
    a, b = (float(np.mean(np.abs(d))) for d in pair.d)
    return f"{a:.2f} to {b:.2f}"


def _moved(pair: Pair) -> str:
    return f"{float(np.mean(np.abs(pair.d[0] - pair.d[1]))):.2f}"


def _check(
    one: Choice,
    two: Choice,
    read: Callable[[Pair], str],
    judge: Callable[[str, Pair], Finding],
    missing: tuple[str, str] = ("too few tests have both", ABSENT),
) -> Any:
    """A check of a claim about two choices."""

    def check(run: Run, model: str) -> Finding:
        stated = _stated(one, two, read)
        pair = paired(measured(run), model, one, two)
        if pair is not None:
            return judge(stated, pair)
        skipped = not run.comparable and missing[1] == ABSENT
        return Finding(stated, *(QUICK if skipped else missing))

    return check


def _more_significant(stated: str, pair: Pair) -> Finding:
    """The second choice has more significant scores (exact McNemar over the tests)."""
    p, lost, won = exact_mcnemar(*pair.sure)
    word = OPEN if p >= SURE else HOLDS if won > lost else FAILS
    return Finding(stated, f"{_counts(pair)} significant", word, p)


def _larger(stated: str, pair: Pair) -> Finding:
    """The second choice has larger effect sizes."""
    estimate = over(np.abs(pair.d[1]) - np.abs(pair.d[0]))
    return positive(stated, estimate, f"mean |d| {_sizes(pair)}, larger by")


def _alike(stated: str, pair: Pair) -> Finding:
    """The two choices move scores by less than a small effect."""
    estimate = over(np.abs(pair.d[0] - pair.d[1]))
    word = HOLDS if estimate.high < SMALL else FAILS if estimate.low > SMALL else OPEN
    here = f"scores move by {estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
    return Finding(stated, here, word)


def _matters(stated: str, pair: Pair) -> Finding:
    """The two choices move scores by more than a small effect."""
    finding = _alike(stated, pair)
    turned = {HOLDS: FAILS, FAILS: HOLDS, OPEN: OPEN}
    return Finding(stated, finding.here, turned[finding.word])


def _neither(stated: str, pair: Pair) -> Finding:
    """Neither choice has larger effect sizes than the other, to within a small effect."""
    estimate = over(np.abs(pair.d[1]) - np.abs(pair.d[0]))
    inside = estimate.low > -SMALL and estimate.high < SMALL
    word = HOLDS if inside else FAILS if estimate.low > 0 or estimate.high < 0 else OPEN
    here = f"mean |d| {_sizes(pair)}, difference [{estimate.low:+.2f}, {estimate.high:+.2f}]"
    return Finding(stated, here, word, estimate.p)


def _correlate(stated: str, pair: Pair) -> Finding:
    """The two methods go together over the tests."""
    if len(pair.d[0]) < 4:
        return Finding(stated, "too few tests have both", ABSENT)
    return positive(stated, correlation(*pair.d), "r")


def _r(pair: Pair) -> str:
    return f"{np.corrcoef(*pair.d)[0, 1]:.2f}"


def _control(run: Run, model: str) -> Finding:
    """Flowers and insects."""
    control, every = {**SENTENCE, "test": "C1"}, released()
    stated = [chosen(every, m, control).sure.any() for m in COLUMNS.values()]
    paper = f"significant in {sum(stated)} of {len(stated)} models"
    mine = chosen(measured(run), model, control)
    if mine.empty:
        return Finding(paper, "C1 was not measured", ABSENT)
    first = mine.iloc[0]
    word = HOLDS if first.sure else FAILS
    said = "significant" if first.sure else "not significant"
    return Finding(paper, f"d = {first.d:.2f}, {said} by the paper's test", word)


def _extremes(run: Run, model: str) -> Finding:
    """Most significant scores for ELMo, fewest for GPT-2."""
    by_model = released()[lambda f: f.sets == "full"].groupby("model").sure.mean()
    paper = "; ".join(f"{m} {100 * v:.0f} %" for m, v in by_model.sort_values().items())
    mine = measured(run)
    mine = mine[mine.sets == "full"].groupby("model").sure.mean().sort_values()
    here = "; ".join(f"{m} {100 * v:.0f} %" for m, v in mine.items())
    kinds = [run.kinds[m] for m in mine.index]
    if "elmo" not in kinds or len(kinds) < 3:
        return Finding(paper, here, SEVERAL)
    lowest = "gpt2" in str(mine.index[0]).lower()
    return Finding(paper, here, HOLDS if kinds[-1] == "elmo" and lowest else FAILS)


NAMES, TERMS = {**WORD, "targets": "names"}, {**WORD, "targets": "terms"}
ABSENT_CONTEXTS = (NO_CONTEXTS, "needs natural contexts")
CLAIMS = (
    Claim("The control, flowers and insects (C1), is significant by s-SEAT", "4.1", _control),
    Claim("ELMo has the most significant scores, GPT-2 the fewest", "4.1 and 5", _extremes),
    Claim(
        "Simpler word sets give LPBS more significant scores",
        "4.1, Table 4",
        _check(LPBS, SIMPLIFIED, _counts, _more_significant),
    ),
    Claim(
        "How sets are simplified moves LPBS's scores",
        "4.1, Table 4",
        _check(LPBS, SIMPLIFIED, _moved, _matters),
    ),
    Claim(
        "Methods that use cosine similarity correlate: s-SEAT and w-SEAT",
        "4.2, Table 5",
        _check(SENTENCE, WORD, _r, _correlate),
    ),
    Claim(
        "... w-SEAT and CEAT",
        "4.2, Table 5",
        _check(WORD, CEAT, _r, _correlate),
    ),
    Claim(
        "Neither names nor group terms give larger scores throughout",
        "4.3, Table 11",
        _check(NAMES, TERMS, _sizes, _neither),
    ),
    Claim(
        "But names or terms makes a substantial difference",
        "4.3, Table 11",
        _check(NAMES, TERMS, _moved, _matters),
    ),
    Claim(
        "Templates give larger scores than natural sentences",
        "4.3, Table 12",
        _check(NATURAL, WORD, _sizes, _larger, ABSENT_CONTEXTS),
    ),
    Claim(
        "Natural sentences give more significant scores than templates",
        "4.3, Table 12",
        _check(WORD, NATURAL, _counts, _more_significant, ABSENT_CONTEXTS),
    ),
    Claim(
        "Words' vectors give more significant scores than sentences'",
        "4.3, Table 13",
        _check(SENTENCE, WORD, _counts, _more_significant),
    ),
    Claim(
        "... and larger ones",
        "4.3, Table 13",
        _check(SENTENCE, WORD, _sizes, _larger),
    ),
    Claim(
        "A word's first piece or the mean of all: no impact",
        "4.3, Table 13",
        _check(WORD, FIRST, _moved, _alike),
    ),
    Claim(
        "A word's last piece or the mean of all: no impact",
        "4.3, Table 13",
        _check(WORD, LAST, _moved, _alike),
    ),
    Claim(
        "Cosine gives more significant scores than probability",
        "4.3, Table 14",
        _check(LPBS, WORD, _counts, _more_significant),
    ),
)
