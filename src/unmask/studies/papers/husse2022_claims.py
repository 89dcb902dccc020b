"""Mind Your Bias (Husse and Spitz 2022): its claims.

Each holds one choice against another over the paper's eight tests: how many scores are significant
(p < 0.01 by the paper's own tests), how large they are, how far they move. The paper's side is from
the result files of its release, over the same tests, unless it is printed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

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
    PrintedClaim,
    counted,
    over,
    positive,
)
from unmask.studies.papers.husse2022_appendix import CHARACTERS, FEWER
from unmask.studies.papers.husse2022_choices import (
    ALIKE,
    MATTERS,
    SAME_BIASES,
    Choice,
    Choices,
    Criterion,
    Pair,
    larger,
    measured,
    neither,
    paired,
    released,
    scores_under,
)
from unmask.studies.papers.husse2022_tables import (
    COLUMNS,
    MAIN,
    HusseRun,
    column,
)

TOO_FEW = ("too few tests have both", ABSENT)
QUICK = ("a quick run does not include the required measurements", "needs a full run")
NO_CONTEXTS = "no natural contexts were given (--contexts)"
NOT_RELEASED = PrintedClaim("stated in the text; the release has no such scores")
WORD = {"method": "SEAT", "level": "word-average", "context": "template", "sets": "full"}
SENTENCE = {**WORD, "level": "sent"}
FIRST, LAST = {**WORD, "level": "word-start"}, {**WORD, "level": "word-end"}
NATURAL = {**WORD, "context": "natural"}
LPBS = {"method": "LPBS", "context": "template", "sets": "full"}
SIMPLIFIED = {**LPBS, "sets": "simplified"}
CEAT = {"method": "CEAT", "metric": "cosine", "level": "word-average", "context": "natural"}
LIKELY_CEAT = {"method": "CEAT", "metric": "probability", "context": "natural"}


def _printed(left: Choices, right: Choices, rule: Criterion) -> Any:
    """Build the paper's side of a claim: the release's scores by model, judged by `rule`."""

    def paper(run: HusseRun) -> PrintedClaim:
        parts = {m: paired(released(), m, left, right) for m in COLUMNS.values()}
        present = {m: p for m, p in parts.items() if p is not None}
        if not present:
            return NOT_RELEASED
        return _by_numbers(present, rule)

    return paper


def _by_numbers(pairs: Mapping[str, Pair], rule: Criterion) -> PrintedClaim:
    """What scores of the paper's models are, and in how many a claim holds."""
    text = "; ".join(f"{m} {rule.read(p)}" for m, p in pairs.items())
    return counted(text, [rule.amount(p) > 0 for p in pairs.values()])


def _check(
    left: Choices, right: Choices, rule: Criterion, missing: tuple[str, str] = TOO_FEW
) -> tuple[Any, Any]:
    """A claim about two choices, on each model."""

    def check(run: HusseRun, model: str) -> Finding:
        pair = paired(measured(run), model, left, right)
        if pair is not None:
            return rule.judge(pair)
        skipped = not run.comparable and missing[1] == ABSENT
        return Finding(*(QUICK if skipped else missing))

    return _printed(left, right, rule), check


def _pooled(
    choices: Sequence[tuple[Choice, Choice]], missing: tuple[str, str] = TOO_FEW
) -> tuple[Any, Any]:
    """The second choice has more significant scores, over all models and methods together.

    Exact McNemar over the scores that both choices have; eight tests of one model are too few.
    """

    def pooled_finding(frame: pd.DataFrame, models: Iterable[str]) -> Finding | None:
        pairs = [paired(frame, m, left, right) for m in models for left, right in choices]
        present = [p for p in pairs if p is not None]
        if not present:
            return None
        sure = [np.concatenate([p.sure[k] for p in present]) for k in (0, 1)]
        p, lost, won = exact_mcnemar(*sure)
        word = OPEN if p >= SURE else HOLDS if won > lost else FAILS
        a, b = (int(s.sum()) for s in sure)
        return Finding(f"{a} to {b} of {len(sure[0])} significant", word, p)

    def paper(run: HusseRun) -> PrintedClaim:
        finding = pooled_finding(released(), COLUMNS.values())
        if finding is None:
            return NOT_RELEASED
        return PrintedClaim(f"{finding.here}, p = {finding.p:.3f}", finding.word)

    def check(run: HusseRun, model: str) -> Finding:
        finding = pooled_finding(measured(run), run.kinds)
        skipped = not run.comparable and missing[1] == ABSENT
        return finding or Finding(*(QUICK if skipped else missing))

    return paper, check


def _jointly(
    methods: str, left: Choice, right: Choice, missing: tuple[str, str]
) -> tuple[Any, Any]:
    """Two methods go together over the tests; the paper's r is printed."""

    def paper(run: HusseRun) -> PrintedClaim:
        printed = published("husse2022")["table5"]
        heads = zip(printed["columns"], printed[methods], strict=True)
        by_model = {
            h.removesuffix(" all"): r for h, r in heads if h.endswith(" all") and r is not None
        }
        text = "; ".join(f"{m} {r:.2f}" for m, r in by_model.items())
        return counted(text, [r > 0 for r in by_model.values()])

    def check(run: HusseRun, model: str) -> Finding:
        pair = paired(measured(run), model, left, right)
        if pair is None:
            return Finding(*missing)
        return Finding(*TOO_FEW) if len(pair.d[0]) < 4 else positive(correlation(*pair.d), "r")

    return paper, check


CONTROL = {**SENTENCE, "test": "C1"}


def _stated_control(run: HusseRun) -> PrintedClaim:
    sure = [bool(scores_under(released(), m, CONTROL).sure.any()) for m in COLUMNS.values()]
    return counted(f"significant in {sum(sure)} of {len(sure)} models", sure)


def _control(run: HusseRun, model: str) -> Finding:
    """Flowers and insects."""
    scores = scores_under(measured(run), model, CONTROL)
    if scores.empty:
        return Finding("C1 was not measured", ABSENT)
    first = scores.iloc[0]
    sure = "significant" if first.sure else "not significant"
    text = f"d = {first.d:.2f}, {sure} by the paper's test"
    return Finding(text, HOLDS if first.sure else FAILS if first.d <= 0 else OPEN)


def _extremes(counts: Mapping[str, int], most: Sequence[str], fewest: Sequence[str]) -> str:
    """Whether some models have the most significant scores and others the fewest, ties aside."""
    between = {m: c for m, c in counts.items() if m not in (*most, *fewest)}
    middle = [*between.values(), *(counts[m] for m in fewest)]
    above = min(counts[m] for m in most) - max(middle)
    below = min([*between.values(), *(counts[m] for m in most)]) - max(counts[m] for m in fewest)
    if min(above, below) > 0:
        return HOLDS
    return FAILS if min(above, below) < 0 else OPEN


def _describe_counts(counts: Mapping[str, int], of: int) -> str:
    order = sorted(counts, key=lambda m: (counts[m], m))
    return "; ".join(f"{m} {counts[m]} of {of}" for m in order)


def _stated_extremes(run: HusseRun) -> PrintedClaim:
    sure = {m: scores_under(released(), m, SENTENCE).sure for m in COLUMNS.values()}
    counts = {m: int(s.sum()) for m, s in sure.items()}
    text = _describe_counts(counts, max(map(len, sure.values())))
    return PrintedClaim(text, _extremes(counts, [COLUMNS["elmo"]], [COLUMNS["gpt2"]]))


def _most_and_fewest(run: HusseRun, model: str) -> Finding:
    """Most significant scores for ELMo, fewest for GPT-2."""
    frame = measured(run)
    sure = {m: scores_under(frame, m, SENTENCE).sure for m in run.kinds}
    counts = {m: int(s.sum()) for m, s in sure.items()}
    text = _describe_counts(counts, max(map(len, sure.values())))
    elmo = [m for m, kind in run.kinds.items() if kind == "elmo"]
    gpt2 = [m for m in run.kinds if "gpt2" in m.lower().replace("-", "")]
    if not elmo or not gpt2 or len(counts) < 3:
        return Finding(f"{text}; ELMo, GPT-2 and one more are needed", SEVERAL)
    return Finding(text, _extremes(counts, elmo, gpt2))


def _replicated(models: Sequence[str], methods: Sequence[str]) -> dict[str, Pair]:
    """Printed scores of the methods' authors, and the paper's own, by model."""
    scores = published("husse2022_printed.csv")
    scores = scores[(scores.table == 3) & scores.method.isin(methods) & scores.printed.notna()]
    table = scores.pivot_table(
        index=["model", "method", "test"], columns="choice", values="printed"
    )
    table = table.dropna()
    none = np.zeros(0)
    return {
        COLUMNS[m]: Pair((of_model.orig.to_numpy(), of_model.ours.to_numpy()), (none, none))
        for m in models
        if len(of_model := table[table.index.get_level_values("model") == m])
    }


def _by_faults(run: HusseRun, model: str) -> pd.DataFrame:
    """An ELMo's s-SEAT with the fault (`characters`) and without, and its w-SEAT, by test."""
    level = {CHARACTERS: "sent", "template": "sent", "words": "word-average"}
    rows = {}
    for test, name in MAIN.items():
        keys = {c: (model, "SEAT", name, v, _template(c)) for c, v in level.items()}
        rows[test] = {
            c: e.value if (e := run.overall(*k)) is not None else np.nan for c, k in keys.items()
        }
    return pd.DataFrame(rows).T.dropna()


def _template(context: str) -> str:
    return "template" if context == "words" else context


def _of_elmo(judge: Callable[[pd.DataFrame], Finding]) -> Callable[[HusseRun, str], Finding]:
    """A claim about the fault, on an ELMo."""

    def check(run: HusseRun, model: str) -> Finding:
        if run.kinds[model] != "elmo":
            return Finding("", ABSENT)
        scores = _by_faults(run, model)
        return judge(scores) if len(scores) > 1 else Finding(*TOO_FEW)

    return check


def _stated_fault(run: HusseRun) -> PrintedClaim:
    return _by_numbers(_replicated(["elmo"], ["s-SEAT", "w-SEAT"]), MATTERS)


def _changed_by_fault(scores: pd.DataFrame) -> Finding:
    none = np.zeros(0)
    d = scores[CHARACTERS].to_numpy(float), scores.template.to_numpy(float)
    return MATTERS.judge(Pair(d, (none, none)))


def _stated_together(run: HusseRun) -> PrintedClaim:
    """How far apart the three methods are on ELMo, by their authors and by the paper."""
    scores = published("husse2022_printed.csv")
    scores = scores[(scores.table == 3) & (scores.model == "elmo")]
    table = scores.pivot_table(
        index="test", columns=["choice", "method"], values="printed"
    ).dropna()
    ranges = {c: float(np.ptp(table[c].to_numpy(), axis=1).mean()) for c in ("orig", "ours")}
    return counted(
        f"{ranges['orig']:.2f} to {ranges['ours']:.2f}", [ranges["ours"] < ranges["orig"]]
    )


def _nearer(scores: pd.DataFrame) -> Finding:
    """s-SEAT is nearer to w-SEAT without the fault."""
    with_it, without = (scores[c] - scores.words for c in (CHARACTERS, "template"))
    return positive(over((with_it.abs() - without.abs()).to_numpy(float)), "nearer by")


def _stated_ceat(run: HusseRun) -> PrintedClaim:
    return _by_numbers(_replicated(["elmo", "bert", "gpt2"], ["CEAT"]), ALIKE)


def _ceat_again(run: HusseRun, model: str) -> Finding:
    """Compare CEAT on natural sentences with its authors' scores of the same model."""
    of = column(model, run.kinds[model], "CEAT")
    stated = published("husse2022_printed.csv")
    stated = stated[(stated.table == 3) & (stated.method == "CEAT") & (stated.choice == "orig")]
    printed = stated[stated.model == of].dropna(subset="printed").set_index("test").printed
    if printed.empty:
        return Finding("its authors report no such model", ABSENT)
    effects = scores_under(measured(run), model, FULL_CEAT).reset_index("sets", drop=True).d
    shared = printed.index.intersection(effects.index)
    if len(shared) < 2:
        return Finding(*ABSENT_CONTEXTS)
    d = printed[shared].to_numpy(float), effects[shared].to_numpy(float)
    return ALIKE.judge(Pair(d, (np.zeros(0), np.zeros(0))))


NAMES, TERMS = {**WORD, "targets": "names"}, {**WORD, "targets": "terms"}
ABSENT_CONTEXTS = (NO_CONTEXTS, "needs natural contexts")
FULL_CEAT = {**CEAT, "sets": "full"}
MORE_SENTENCES = {**SENTENCE, "context": "natural"}
FEW_SENTENCES = {**NATURAL, "context": FEWER}
BY_TARGETS = [
    [{**c, "targets": t} for c in (SENTENCE, WORD, LPBS, FULL_CEAT)] for t in ("names", "terms")
]
OF_RACE, OF_GENDER = (
    [[{**c, "test": t} for c in choices for t in tests] for choices in BY_TARGETS]
    for tests in (("C3",), ("C6", "Occ"))
)
CLAIMS = (
    Claim(
        "The control, flowers and insects (C1), is significant under s-SEAT",
        "4.1",
        _stated_control,
        _control,
    ),
    Claim(
        "Under s-SEAT, ELMo has the most significant scores and GPT-2 the fewest",
        "4.1",
        _stated_extremes,
        _most_and_fewest,
        several=True,
    ),
    Claim(
        "Reading ELMo by characters, a bug in the first code, changes SEAT scores",
        "4.1, Appendix D",
        _stated_fault,
        _of_elmo(_changed_by_fault),
    ),
    Claim("The scores of CEAT's authors are reproduced", "4.1, Table 3", _stated_ceat, _ceat_again),
    Claim(
        "Once that bug is fixed, methods differ less (here: s-SEAT from w-SEAT)",
        "5, Table 3",
        _stated_together,
        _of_elmo(_nearer),
    ),
    Claim(
        "Simpler word sets give LPBS more significant scores",
        "4.1, Table 4",
        *_pooled([(LPBS, SIMPLIFIED)]),
        several=True,
    ),
    Claim(
        "Simpler word sets give CEAT fewer significant scores",
        "4.1, Table 4",
        *_pooled([({**CEAT, "sets": "simplified"}, FULL_CEAT)], ABSENT_CONTEXTS),
        several=True,
    ),
    Claim(
        "Reduced word sets give CEAT nearly the scores of full ones",
        "4.1, Table 4",
        *_check({**CEAT, "sets": "reduced"}, FULL_CEAT, ALIKE, ABSENT_CONTEXTS),
    ),
    Claim(
        "How word sets are simplified moves LPBS's scores",
        "4.1, Table 4",
        *_check(LPBS, SIMPLIFIED, MATTERS),
    ),
    Claim(
        "Methods that use cosine similarity correlate: s-SEAT and w-SEAT",
        "4.2, Table 5",
        *_jointly("s-SEAT | w-SEAT", SENTENCE, WORD, TOO_FEW),
    ),
    Claim(
        "Methods that use cosine similarity correlate: s-SEAT and CEAT",
        "4.2, Table 5",
        *_jointly("s-SEAT | CEAT", SENTENCE, FULL_CEAT, ABSENT_CONTEXTS),
    ),
    Claim(
        "Methods that use cosine similarity correlate: w-SEAT and CEAT",
        "4.2, Table 5",
        *_jointly("w-SEAT | CEAT", WORD, FULL_CEAT, ABSENT_CONTEXTS),
    ),
    Claim(
        "Names and group terms: neither is clearly the better choice",
        "4.3, Figure 1",
        *_check(NAMES, TERMS, neither("names", "terms")),
    ),
    Claim(
        "But the choice of names or terms makes a substantial difference",
        "4.3, Table 11",
        *_check(NAMES, TERMS, MATTERS),
    ),
    Claim(
        "Names give larger scores than group terms for race",
        "4.3, Table 11",
        *_check(OF_RACE[1], OF_RACE[0], larger("terms", "names")),
    ),
    Claim(
        "Group terms give scores like those of names for gender",
        "4.3, Table 11",
        *_check(OF_GENDER[0], OF_GENDER[1], neither("names", "terms")),
    ),
    Claim(
        "Templates give larger scores than natural sentences (the more so, the better the model)",
        "4.3, Table 12",
        *_check(NATURAL, WORD, larger("natural", "templates"), ABSENT_CONTEXTS),
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
    Claim(
        "Words' vectors give larger scores than sentences'",
        "4.3, Table 13",
        *_check(SENTENCE, WORD, larger("sentences", "words")),
    ),
    Claim(
        "The first piece of a word and the mean of all pieces show the same biases",
        "4.3, Table 13",
        *_check(WORD, FIRST, SAME_BIASES),
    ),
    Claim(
        "The last piece of a word and the mean of all pieces show the same biases",
        "4.3, Table 13",
        *_check(WORD, LAST, SAME_BIASES),
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
        *_check(LPBS, {**LPBS, "context": "natural"}, MATTERS, ABSENT_CONTEXTS),
    ),
    Claim(
        "A tenth of the natural sentences gives nearly the same scores",
        "Appendix B",
        lambda run: PrintedClaim("stated in the text for 100 and 1,000 sentences"),
        _check(FEW_SENTENCES, NATURAL, ALIKE, ABSENT_CONTEXTS)[1],
    ),
)
