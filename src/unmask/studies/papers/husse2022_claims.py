"""Mind Your Bias (Husse and Spitz 2022): its claims.

Each holds one choice against another over the paper's eight tests: how many scores are significant
(p < 0.01 by the paper's own tests), how large they are, how far they move. The paper's side is from
the result files of its release, over the same tests, unless it is printed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
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
    SURE,
    Claim,
    Finding,
    over,
    positive,
)
from unmask.studies.papers.husse2022_tables import (
    COLUMNS,
    CONTEXTS,
    NAMED,
    SIGNIFICANT,
    Run,
    is_sure,
)
from unmask.types import Floats

SMALL = 0.2  # an effect size below which a move is none
TOO_FEW = ("too few tests have both", ABSENT)
QUICK = ("a quick run leaves out what this needs", "needs a full run")
NO_CONTEXTS = "no natural contexts were given (--contexts)"
Choice = Mapping[str, str]
WORD = {"method": "SEAT", "level": "word-average", "context": "template", "sets": "full"}
SENTENCE = {**WORD, "level": "sent"}
FIRST, LAST = {**WORD, "level": "word-start"}, {**WORD, "level": "word-end"}
NATURAL = {**WORD, "context": "natural"}
LPBS = {"method": "LPBS", "context": "template", "sets": "full"}
SIMPLIFIED = {**LPBS, "sets": "simplified"}
CEAT = {"method": "CEAT", "metric": "cosine", "level": "word-average", "context": "natural"}
LIKELY_CEAT = {"method": "CEAT", "metric": "probability", "context": "natural"}


COLUMNS_HERE = [
    "model",
    "method",
    "metric",
    "test",
    "targets",
    "level",
    "context",
    "sets",
    "d",
    "sure",
]


class Pair(NamedTuple):
    """Two choices on the same tests: effect sizes and significance of both, [tests]."""

    d: tuple[Floats, Floats]
    sure: tuple[Floats, Floats]


@cache
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
        name, _, size = method.partition(" ")
        tags = result.spec.tags
        if tags["edition"] or context not in ("template", "natural") or size == "nouns":
            continue
        likely = "LPBS" in name
        rows.append(
            {
                "model": model,
                "method": "CEAT" if name == "CEAT-LPBS" else name,
                "metric": "probability" if likely else "cosine",
                "test": tags["concept"],
                "targets": tags["named"],
                "level": "" if likely else level,
                "context": context,
                "sets": level if likely else size or "full",
                "d": result.overall.value,
                "sure": is_sure(run.tested[key]),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS_HERE)


def chosen(frame: pd.DataFrame, model: str, choice: Choice) -> pd.DataFrame:
    """The scores of a model under a choice, by test (and sets, where these are not chosen).

    As in the paper's tables a test has names, or terms where it takes these; the other where a
    choice has no such set.
    """
    some = frame[frame.model == model]
    for name, value in choice.items():
        some = some[some[name] == value]
    main = some.targets == some.test.map(NAMED)
    some = some.assign(main=main).sort_values("main", ascending=False, kind="stable")
    return some.drop_duplicates(["test", "sets"]).set_index(["test", "sets"]).drop(columns="main")


def paired(frame: pd.DataFrame, model: str, one: Choice, two: Choice) -> Pair | None:
    """Two choices on the tests that have both; None where there are fewer than two."""
    a, b = chosen(frame, model, one), chosen(frame, model, two)
    if one.get("sets") != two.get("sets"):
        a, b = (part.reset_index("sets", drop=True) for part in (a, b))
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


def _changed(pair: Pair) -> str:
    other = int(np.sum(pair.sure[0] != pair.sure[1]))
    return f"{other} of {len(pair.sure[0])} change"


def _same_biases(stated: str, pair: Pair) -> Finding:
    """No score becomes significant, or ceases to be: a count over these tests, not an estimate."""
    other = int(np.sum(pair.sure[0] != pair.sure[1]))
    moved = over(np.abs(pair.d[0] - pair.d[1]))
    here = f"{_changed(pair)} in significance; d moves by {moved.value:.2f} "
    here += f"[{moved.low:.2f}, {moved.high:.2f}]"
    return Finding(stated, here, HOLDS if other == 0 else FAILS)


def _check(
    one: Choice,
    two: Choice,
    read: Callable[[Pair], str],
    judge: Callable[[str, Pair], Finding],
    missing: tuple[str, str] = TOO_FEW,
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
        return Finding(stated, *TOO_FEW)
    return positive(stated, correlation(*pair.d), "r")


def _together(methods: str, one: Choice, two: Choice, missing: tuple[str, str]) -> Any:
    """Two methods go together over the tests; the paper's r is printed."""

    def check(run: Run, model: str) -> Finding:
        printed = published("husse2022")["table5"]
        heads = zip(printed["columns"], printed[methods], strict=True)
        every = {
            h.removesuffix(" all"): r for h, r in heads if h.endswith(" all") and r is not None
        }
        paper = "; ".join(f"{m} {r:.2f}" for m, r in every.items())
        pair = paired(measured(run), model, one, two)
        return Finding(paper, *missing) if pair is None else _correlate(paper, pair)

    return check


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
    sure = "significant" if first.sure else "not significant"
    return Finding(paper, f"d = {first.d:.2f}, {sure} by the paper's test", word)


def _significant(frame: pd.DataFrame, models: Sequence[str]) -> tuple[str, list[str]]:
    """How many scores of s-SEAT are significant for each model, fewest first."""
    counts = {m: chosen(frame, m, SENTENCE).sure for m in models}
    order = sorted(models, key=lambda m: int(counts[m].sum()))
    return "; ".join(f"{m} {int(counts[m].sum())} of {len(counts[m])}" for m in order), order


def _extremes(run: Run, model: str) -> Finding:
    """Most significant scores for ELMo, fewest for GPT-2."""
    paper = _significant(released(), list(COLUMNS.values()))[0]
    here, order = _significant(measured(run), list(run.kinds))
    kinds = [run.kinds[m] for m in order]
    if "elmo" not in kinds or len(kinds) < 3:
        return Finding(paper, here, SEVERAL)
    lowest = "gpt2" in order[0].lower()
    return Finding(paper, here, HOLDS if kinds[-1] == "elmo" and lowest else FAILS)


NAMES, TERMS = {**WORD, "targets": "names"}, {**WORD, "targets": "terms"}
ABSENT_CONTEXTS = (NO_CONTEXTS, "needs natural contexts")
CLAIMS = (
    Claim("The control, flowers and insects (C1), is significant by s-SEAT", "4.1", _control),
    Claim("By s-SEAT ELMo has the most significant scores, GPT-2 the fewest", "4.1", _extremes),
    Claim(
        "Simpler word sets give LPBS more significant scores",
        "4.1, Table 4",
        _check(LPBS, SIMPLIFIED, _counts, _more_significant),
    ),
    Claim(
        "How word sets are simplified moves LPBS's scores",
        "4.1, Table 4",
        _check(LPBS, SIMPLIFIED, _moved, _matters),
    ),
    Claim(
        "Methods that use cosine similarity correlate: s-SEAT and w-SEAT",
        "4.2, Table 5",
        _together("s-SEAT | w-SEAT", SENTENCE, WORD, TOO_FEW),
    ),
    Claim(
        "... s-SEAT and CEAT",
        "4.2, Table 5",
        _together("s-SEAT | CEAT", SENTENCE, {**CEAT, "sets": "full"}, ABSENT_CONTEXTS),
    ),
    Claim(
        "... w-SEAT and CEAT",
        "4.2, Table 5",
        _together("w-SEAT | CEAT", WORD, {**CEAT, "sets": "full"}, ABSENT_CONTEXTS),
    ),
    Claim(
        "Names and group terms: neither is clearly the better choice",
        "4.3, Figure 1",
        _check(NAMES, TERMS, _sizes, _neither),
    ),
    Claim(
        "But the choice of names or terms makes a substantial difference",
        "4.3, Table 11",
        _check(NAMES, TERMS, _moved, _matters),
    ),
    Claim(
        "Templates give larger scores than natural sentences (the more so, the better the model)",
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
    Claim("... and larger ones", "4.3, Table 13", _check(SENTENCE, WORD, _sizes, _larger)),
    Claim(
        "The first piece of a word, or the mean of all: the same biases are found",
        "4.3, Table 13",
        _check(WORD, FIRST, _changed, _same_biases),
    ),
    Claim(
        "The last piece of a word, or the mean of all: the same biases are found",
        "4.3, Table 13",
        _check(WORD, LAST, _changed, _same_biases),
    ),
    Claim(
        "Cosine similarity gives more significant scores than probability",
        "4.3, Table 14",
        _check(LIKELY_CEAT, CEAT, _counts, _more_significant, ABSENT_CONTEXTS),
    ),
)
