"""Mind Your Bias (Husse and Spitz 2022): its claims.

Each holds one choice against another over the paper's eight tests: how many scores are significant
(p < 0.01 by the paper's own tests), how large they are, how far they move. The paper's side is from
the result files of its release, over the same tests, unless it is printed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
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
    Stated,
    counted,
    over,
    positive,
)
from unmask.studies.papers.husse2022_appendix import FEWER
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
NOT_RELEASED = Stated("the text says so; the release has no such scores")
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
        if tags["edition"] or context not in ("template", "natural", FEWER) or size == "nouns":
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


Judge = Callable[[Pair], Finding]


def _printed(one: Choice, two: Choice, read: Callable[[Pair], str], judge: Judge) -> Any:
    """What the release has for each of the paper's models, and what the claim's rule says of it."""

    def paper(run: Run) -> Stated:
        parts = {m: paired(released(), m, one, two) for m in COLUMNS.values()}
        there = {m: p for m, p in parts.items() if p is not None}
        if not there:
            return NOT_RELEASED
        text = "; ".join(f"{m} {read(p)}" for m, p in there.items())
        return counted(text, [judge(p).word == HOLDS for p in there.values()])

    return paper


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


def _same_biases(pair: Pair) -> Finding:
    """No score becomes significant, or ceases to be: a count over these tests, not an estimate."""
    other = int(np.sum(pair.sure[0] != pair.sure[1]))
    moved = over(np.abs(pair.d[0] - pair.d[1]))
    here = f"{_changed(pair)} in significance; d moves by {moved.value:.2f} "
    here += f"[{moved.low:.2f}, {moved.high:.2f}]"
    if not np.any(pair.sure):
        return Finding(f"no score is significant either way; {here}", OPEN)
    return Finding(here, HOLDS if other == 0 else FAILS)


def _check(
    one: Choice,
    two: Choice,
    read: Callable[[Pair], str],
    judge: Judge,
    missing: tuple[str, str] = TOO_FEW,
) -> tuple[Any, Any]:
    """A claim about two choices, on each model."""

    def check(run: Run, model: str) -> Finding:
        pair = paired(measured(run), model, one, two)
        if pair is not None:
            return judge(pair)
        skipped = not run.comparable and missing[1] == ABSENT
        return Finding(*(QUICK if skipped else missing))

    return _printed(one, two, read, judge), check


def _pooled(
    choices: Sequence[tuple[Choice, Choice]], missing: tuple[str, str] = TOO_FEW
) -> tuple[Any, Any]:
    """The second choice has more significant scores, over all models and methods together.

    Exact McNemar over the scores that both choices have; eight tests of one model are too few.
    """

    def found(frame: pd.DataFrame, models: Iterable[str]) -> Finding | None:
        pairs = [paired(frame, m, one, two) for m in models for one, two in choices]
        there = [p for p in pairs if p is not None]
        if not there:
            return None
        sure = [np.concatenate([p.sure[k] for p in there]) for k in (0, 1)]
        p, lost, won = exact_mcnemar(*sure)
        word = OPEN if p >= SURE else HOLDS if won > lost else FAILS
        a, b = (int(s.sum()) for s in sure)
        return Finding(f"{a} to {b} of {len(sure[0])} significant", word, p)

    def paper(run: Run) -> Stated:
        finding = found(released(), COLUMNS.values())
        if finding is None:
            return NOT_RELEASED
        return Stated(f"{finding.here}, p = {finding.p:.3f}", finding.word)

    def check(run: Run, model: str) -> Finding:
        finding = found(measured(run), run.kinds)
        skipped = not run.comparable and missing[1] == ABSENT
        return finding or Finding(*(QUICK if skipped else missing))

    return paper, check


def _larger(pair: Pair) -> Finding:
    """The second choice has larger effect sizes."""
    found = positive(over(np.abs(pair.d[1]) - np.abs(pair.d[0])), "larger by")
    return replace(found, here=f"mean |d| {_sizes(pair)}, {found.here}")


def _alike(pair: Pair) -> Finding:
    """The two choices move scores by less than a small effect."""
    estimate = over(np.abs(pair.d[0] - pair.d[1]))
    word = HOLDS if estimate.high < SMALL else FAILS if estimate.low > SMALL else OPEN
    here = f"scores move by {estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
    return Finding(here, word)


def _matters(pair: Pair) -> Finding:
    """The two choices move scores by more than a small effect."""
    finding = _alike(pair)
    return replace(finding, word={HOLDS: FAILS, FAILS: HOLDS, OPEN: OPEN}[finding.word])


def _neither(pair: Pair) -> Finding:
    """Neither choice has larger effect sizes than the other, to within a small effect."""
    estimate = over(np.abs(pair.d[1]) - np.abs(pair.d[0]))
    inside = estimate.low > -SMALL and estimate.high < SMALL
    word = HOLDS if inside else FAILS if estimate.low > 0 or estimate.high < 0 else OPEN
    here = f"mean |d| {_sizes(pair)}, difference [{estimate.low:+.2f}, {estimate.high:+.2f}]"
    return Finding(here, word, estimate.p)


def _together(methods: str, one: Choice, two: Choice, missing: tuple[str, str]) -> tuple[Any, Any]:
    """Two methods go together over the tests; the paper's r is printed."""

    def paper(run: Run) -> Stated:
        printed = published("husse2022")["table5"]
        heads = zip(printed["columns"], printed[methods], strict=True)
        every = {
            h.removesuffix(" all"): r for h, r in heads if h.endswith(" all") and r is not None
        }
        text = "; ".join(f"{m} {r:.2f}" for m, r in every.items())
        return counted(text, [r > 0 for r in every.values()])

    def check(run: Run, model: str) -> Finding:
        pair = paired(measured(run), model, one, two)
        if pair is None:
            return Finding(*missing)
        return Finding(*TOO_FEW) if len(pair.d[0]) < 4 else positive(correlation(*pair.d), "r")

    return paper, check


CONTROL = {**SENTENCE, "test": "C1"}


def _stated_control(run: Run) -> Stated:
    sure = [bool(chosen(released(), m, CONTROL).sure.any()) for m in COLUMNS.values()]
    return counted(f"significant in {sum(sure)} of {len(sure)} models", sure)


def _control(run: Run, model: str) -> Finding:
    """Flowers and insects."""
    mine = chosen(measured(run), model, CONTROL)
    if mine.empty:
        return Finding("C1 was not measured", ABSENT)
    first = mine.iloc[0]
    sure = "significant" if first.sure else "not significant"
    here = f"d = {first.d:.2f}, {sure} by the paper's test"
    return Finding(here, HOLDS if first.sure else FAILS if first.d <= 0 else OPEN)


def _extremes(counts: Mapping[str, int], most: Sequence[str], fewest: Sequence[str]) -> str:
    """Whether some models have the most significant scores and others the fewest, ties aside."""
    others = {m: c for m, c in counts.items() if m not in (*most, *fewest)}
    middle = [*others.values(), *(counts[m] for m in fewest)]
    above = min(counts[m] for m in most) - max(middle)
    below = min([*others.values(), *(counts[m] for m in most)]) - max(counts[m] for m in fewest)
    if min(above, below) > 0:
        return HOLDS
    return FAILS if min(above, below) < 0 else OPEN


def _told(counts: Mapping[str, int], of: int) -> str:
    order = sorted(counts, key=lambda m: (counts[m], m))
    return "; ".join(f"{m} {counts[m]} of {of}" for m in order)


def _stated_extremes(run: Run) -> Stated:
    sure = {m: chosen(released(), m, SENTENCE).sure for m in COLUMNS.values()}
    counts = {m: int(s.sum()) for m, s in sure.items()}
    text = _told(counts, max(map(len, sure.values())))
    return Stated(text, _extremes(counts, [COLUMNS["elmo"]], [COLUMNS["gpt2"]]))


def _most_and_fewest(run: Run, model: str) -> Finding:
    """Most significant scores for ELMo, fewest for GPT-2."""
    frame = measured(run)
    sure = {m: chosen(frame, m, SENTENCE).sure for m in run.kinds}
    counts = {m: int(s.sum()) for m, s in sure.items()}
    here = _told(counts, max(map(len, sure.values())))
    elmo = [m for m, kind in run.kinds.items() if kind == "elmo"]
    gpt2 = [m for m in run.kinds if "gpt2" in m.lower().replace("-", "")]
    if not elmo or not gpt2 or len(counts) < 3:
        return Finding(f"{here}; ELMo, GPT-2 and one more are needed", SEVERAL)
    return Finding(here, _extremes(counts, elmo, gpt2))


NAMES, TERMS = {**WORD, "targets": "names"}, {**WORD, "targets": "terms"}
ABSENT_CONTEXTS = (NO_CONTEXTS, "needs natural contexts")
FULL_CEAT = {**CEAT, "sets": "full"}
MORE_SENTENCES = {**SENTENCE, "context": "natural"}
FEW_SENTENCES = {**NATURAL, "context": FEWER}
CLAIMS = (
    Claim(
        "The control, flowers and insects (C1), is significant by s-SEAT",
        "4.1",
        _stated_control,
        _control,
    ),
    Claim(
        "By s-SEAT ELMo has the most significant scores, GPT-2 the fewest",
        "4.1",
        _stated_extremes,
        _most_and_fewest,
        several=True,
    ),
    Claim(
        "Simpler word sets give LPBS more significant scores",
        "4.1, Table 4",
        *_pooled([(LPBS, SIMPLIFIED)]),
        several=True,
    ),
    Claim(
        "... and CEAT fewer",
        "4.1, Table 4",
        *_pooled([({**CEAT, "sets": "simplified"}, FULL_CEAT)], ABSENT_CONTEXTS),
        several=True,
    ),
    Claim(
        "Reduced word sets give CEAT nearly the scores of full ones",
        "4.1, Table 4",
        *_check({**CEAT, "sets": "reduced"}, FULL_CEAT, _moved, _alike, ABSENT_CONTEXTS),
    ),
    Claim(
        "How word sets are simplified moves LPBS's scores",
        "4.1, Table 4",
        *_check(LPBS, SIMPLIFIED, _moved, _matters),
    ),
    Claim(
        "Methods that use cosine similarity correlate: s-SEAT and w-SEAT",
        "4.2, Table 5",
        *_together("s-SEAT | w-SEAT", SENTENCE, WORD, TOO_FEW),
    ),
    Claim(
        "... s-SEAT and CEAT",
        "4.2, Table 5",
        *_together("s-SEAT | CEAT", SENTENCE, FULL_CEAT, ABSENT_CONTEXTS),
    ),
    Claim(
        "... w-SEAT and CEAT",
        "4.2, Table 5",
        *_together("w-SEAT | CEAT", WORD, FULL_CEAT, ABSENT_CONTEXTS),
    ),
    Claim(
        "Names and group terms: neither is clearly the better choice",
        "4.3, Figure 1",
        *_check(NAMES, TERMS, _sizes, _neither),
    ),
    Claim(
        "But the choice of names or terms makes a substantial difference",
        "4.3, Table 11",
        *_check(NAMES, TERMS, _moved, _matters),
    ),
    Claim(
        "Templates give larger scores than natural sentences (the more so, the better the model)",
        "4.3, Table 12",
        *_check(NATURAL, WORD, _sizes, _larger, ABSENT_CONTEXTS),
    ),
    Claim(
        "Natural sentences give more significant scores than templates",
        "4.3, Table 12",
        *_pooled([(WORD, NATURAL), (SENTENCE, MORE_SENTENCES)], ABSENT_CONTEXTS),
        several=True,
    ),
    Claim(
        "Words' vectors give more significant scores than sentences'",
        "4.3, Table 13",
        *_pooled([(SENTENCE, WORD), (MORE_SENTENCES, NATURAL)]),
        several=True,
    ),
    Claim("... and larger ones", "4.3, Table 13", *_check(SENTENCE, WORD, _sizes, _larger)),
    Claim(
        "The first piece of a word, or the mean of all: the same biases are found",
        "4.3, Table 13",
        *_check(WORD, FIRST, _changed, _same_biases),
    ),
    Claim(
        "The last piece of a word, or the mean of all: the same biases are found",
        "4.3, Table 13",
        *_check(WORD, LAST, _changed, _same_biases),
    ),
    Claim(
        "Cosine similarity gives more significant scores than probability",
        "4.3, Table 14",
        *_pooled([(LIKELY_CEAT, CEAT)], ABSENT_CONTEXTS),
        several=True,
    ),
    Claim(
        "LPBS is unstable: natural sentences in place of templates move its scores",
        "4.3, Table 12",
        *_check(LPBS, {**LPBS, "context": "natural"}, _moved, _matters, ABSENT_CONTEXTS),
    ),
    Claim(
        "A tenth of the natural sentences gives nearly the same scores",
        "Appendix B",
        lambda run: Stated("the text says so, of 100 and 1,000 sentences"),
        _check(FEW_SENTENCES, NATURAL, _moved, _alike, ABSENT_CONTEXTS)[1],
    ),
)
