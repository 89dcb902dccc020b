"""Whether one model keeps one rule: pass, fail or inconclusive.

Each is decided by a test. A rule passes where all evidence that it is about shows compliance (each
at 5 %, one-sided: all have to, so none is corrected). It fails where any evidence shows a violation
after Holm's correction over the evidence of the rule. Otherwise it is inconclusive. Verdicts by
bias type have their own correction (`answer/answer.py`).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from unmask.answer import lab_status
from unmask.answer import words as answer_words
from unmask.answer.answer import Answer, Evidence, answers, bias_type_of_test
from unmask.answer.fitness import unproven
from unmask.answer.lab_status import UNFIT, VALIDATED
from unmask.answer.scales import scale_of
from unmask.answer.verdict import exceeds, judged_estimate, too_few
from unmask.errors import DataError
from unmask.options import Resampling
from unmask.reports.columns import SURE
from unmask.stats.comparison import Bias
from unmask.stats.multiplicity import corrected
from unmask.studies.bias_type_differences import key, paired
from unmask.studies.gate.rules import Rule
from unmask.types import FOUND, NOT_ASKED, Result, Results

NAMED = 3  # measures that a reason names


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether one model keeps one rule, and the reason; how much evidence it has, and items."""

    model: str
    rule: Rule
    state: str
    reason: str
    tested: int
    items: str = ""
    blocked: bool = False

    @property
    def counts_as(self) -> str:
        """What it is for the gate: a rule may say what follows where it is inconclusive.

        A `blocked` one, of results that are unfit or lack items, never passes.
        """
        chosen = self.rule.inconclusive
        if (
            self.state == "inconclusive"
            and chosen != "stop"
            and not (self.blocked and chosen == "pass")
        ):
            return chosen
        return self.state


@dataclass(frozen=True, slots=True)
class _Tested:
    """Evidence under a rule: the p that the rule is broken, and whether it is kept.

    One that could not be tested is neither; `about` says why.
    """

    bias_type: str
    evidence: Evidence
    p_broken: float
    kept: bool
    about: str


@dataclass(frozen=True, slots=True)
class Run:
    """The results of one model, and their answers."""

    results: Sequence[Result]
    answers: Sequence[Answer]
    model: str = ""

    @classmethod
    def baseline(cls, former: Results, model: str) -> "Run":
        """The run of the baseline that a model is compared with: of its name, or the only one."""
        if model not in former.models and len(former.models) > 1:
            raise DataError(
                f"the baseline has the models {', '.join(former.models)}, and none is {model}; "
                "give a folder with one model."
            )
        name = model if model in former.models else former.models[0]
        some = former.select(models=[name])
        return cls(some, answers(some), name)

    def evidence(self, rule: Rule) -> Iterator[tuple[str, Evidence]]:
        """The evidence that a rule is about, with its bias type.

        Of measures that it names, or where any trust will do, also the others. Tests without
        people (flowers and insects) are none.
        """
        if rule.by == "score":
            every = (
                ("", Evidence(r, "", judged_estimate(r)[1], lab_status.of_result(r)))
                for r in self.results
                if r.verdicts and _has_people(r)
            )
        else:
            every = (
                (a.bias_type, r)
                for a in self.answers
                for r in (*a.evidence, *(a.others if _lenient(rule) else ()))
            )
        return ((bias_type, r) for bias_type, r in every if _matches(rule, bias_type, r))

    def relevant(self, rule: Rule) -> list[Result]:
        """The results that a rule is about, whether or not they are fit for a verdict."""
        if rule.by == "score":
            evidence = [r for _, r in self.evidence(rule)]
        else:
            every = ((a.bias_type, r) for a in self.answers for r in (*a.evidence, *a.others))
            evidence = [r for bias_type, r in every if _matches(rule, bias_type, r)]
        trusted = [r.result for r in evidence if r.lab_trust == VALIDATED or _lenient(rule)]
        return list({id(r): r for r in trusted}.values())


def _has_people(result: Result) -> bool:
    return scale_of(result).by_category or bias_type_of_test(result) is not None


def _matches(rule: Rule, bias_type: str, evidence: Evidence) -> bool:
    values = {
        "bias_type": bias_type,
        "measure": evidence.result.measure,
        "data": evidence.result.data,
        "category": evidence.category,
    }
    return all(not (some := getattr(rule, k)) or v in some for k, v in values.items())


def outcome(
    rule: Rule, model: str, mine: Run, baseline: Run | None, resampling: Resampling
) -> Outcome:
    """Whether a model keeps a rule, against its baseline where the rule needs one."""
    every = list(mine.evidence(rule))
    fit = [
        (c, r) for c, r in every if r.trust == VALIDATED or (r.trust != UNFIT and _lenient(rule))
    ]
    results = mine.relevant(rule)
    items = _items(results)
    obstacles = _unfit(results) + _unscored(rule, results)
    obstacles += [why] if (why := unproven(mine.results)) else []
    blocked = bool(obstacles)
    if not fit:
        why = _nothing(every, mine.results)
        return Outcome(model, rule, "inconclusive", why, 0, items, blocked)
    decided = replace(_by_check(rule, model, fit, mine, baseline, resampling), items=items)
    missing = _missing(rule, fit)
    if missing:
        obstacles.insert(0, f"no validated measure covers {', '.join(missing)}")
    if decided.state == "pass" and obstacles:
        reason = f"{_some(obstacles)}; the rest: {decided.reason}"
        return replace(decided, state="inconclusive", reason=reason, blocked=blocked)
    return replace(decided, blocked=blocked)


def _unfit(results: Sequence[Result]) -> list[str]:
    """Results that no verdict may rest on."""
    return [
        f"{r.title} is unfit for a verdict ({'; '.join(r.fitness.reasons)})"
        for r in results
        if not r.fitness.fit
    ]


def _unscored(rule: Rule, results: Sequence[Result]) -> list[str]:
    """Data sets, and categories of them, of which too many items have no score."""
    out = {}
    for result in results:
        parts = {"": (result.coverage.scored, result.coverage.asked)}
        if "reason" in result.items and result.by_category:
            first = result.items.drop_duplicates("item")
            first = first[~first.reason.fillna("").str.startswith(NOT_ASKED)]
            lost = first.groupby("category").reason.agg(["count", "size"])
            parts |= {str(k): (size - gone, size) for k, gone, size in lost.itertuples()}
        for category, (scored, total) in parts.items():
            chosen = not category or not rule.category or category in rule.category
            if chosen and 100 * (total - scored) > rule.max_unscored * total:
                where = f"{result.title}, {category}" if category else result.title
                share = f"{100 * (total - scored) / total:.0f} %, at most {rule.max_unscored:g} %"
                out[where] = f"{where}: {total - scored} of {total} items have no score ({share})"
    return list(out.values())


def _items(results: Sequence[Result]) -> str:
    """How many items of each data set count: those that all its measures have scored."""
    counts: dict[str, tuple[int, int, int]] = {}
    for result in results:
        mine = (result.coverage.scored, result.coverage.asked, result.coverage.ties)
        scored, total, ties = counts.get(result.data, mine)
        counts[result.data] = (min(scored, mine[0]), max(total, mine[1]), max(ties, mine[2]))
    shown = [
        f"{data} {scored} of {total}" + (f" ({ties} ties)" if ties else "")
        for data, (scored, total, ties) in counts.items()
    ]
    return _some(shown, 5)


def _by_check(
    rule: Rule,
    model: str,
    fit: Sequence[tuple[str, Evidence]],
    mine: Run,
    baseline: Run | None,
    resampling: Resampling,
) -> Outcome:
    if rule.check == "nothing_found":
        return _found(rule, model, fit, mine.answers)
    if rule.check == "at_most" or baseline is None:
        return _decided(rule, model, _at_most(rule, fit), len(fit))
    decided = _decided(rule, model, _no_worse(rule, fit, baseline, resampling), len(fit))
    if baseline.model == model:
        return decided
    return replace(decided, reason=f"against {baseline.model}: {decided.reason}")


def _missing(rule: Rule, fit: Sequence[tuple[str, Evidence]]) -> list[str]:
    """What a rule names and no evidence that counts is about."""
    there = {
        "bias_type": {c for c, _ in fit},
        "measure": {r.result.measure for _, r in fit},
        "data": {r.result.data for _, r in fit},
        "category": {r.category for _, r in fit},
    }
    return [n for what, known in there.items() for n in getattr(rule, what) if n not in known]


def _lenient(rule: Rule) -> bool:
    return rule.trust == "any" or bool(rule.measure)


def _nothing(every: Sequence[tuple[str, Evidence]], results: Sequence[Result]) -> str:
    """Why a rule has no evidence."""
    if not every and not any(r.verdicts for r in results):
        return (
            "the results have no verdicts: baselines and indices have none, nor what an earlier "
            "version made"
        )
    if not every:
        return "no result is about it"
    if any(r.trust != UNFIT for _, r in every):
        names = ", ".join(dict.fromkeys(r.result.measure for _, r in every))
        return f'no measure is validated for such models ({names}); trust = "any" accepts these'
    return every[0][1].unfit


def _found(
    rule: Rule, model: str, fit: Sequence[tuple[str, Evidence]], every: Sequence[Answer]
) -> Outcome:
    """Whether a stereotype was found, by the answer's own verdicts."""
    named = {c for c, _ in fit}
    some = [a for a in every if a.bias_type in named]
    whole = not (rule.measure or rule.data or rule.category)
    broken, small, open_ = [], [], []
    for answer in some:
        evidence = [r for c, r in fit if c == answer.bias_type]
        words = {_word(r) for r in evidence}
        if (answer.verdict in FOUND) if whole else bool({*FOUND} & words):
            lead = next((r for r in evidence if _word(r) in FOUND), answer.main)
            broken.append(f"{answer.bias_type}: {answer_words.strength(lead)}, {lead.name}")
        elif words == {"negligible"}:
            counts = next((r for r in evidence if r.verdict is not None), answer.main)
            small.append(f"{answer.bias_type}: less than {answer_words.negligible_size(counts)}")
        else:
            open_.append(answer)
    if broken:
        return Outcome(model, rule, "fail", f"biased: {_some(broken)}", len(fit))
    if open_:
        settle = next((f"; {a.bias_type}: {a.needed}" for a in open_ if a.needed), "")
        reason = (
            f"no bias found, but {_some([a.bias_type for a in open_], 9)} are inconclusive{settle}"
        )
        return Outcome(model, rule, "inconclusive", reason, len(fit))
    return Outcome(model, rule, "pass", _some(small), len(fit))


def _word(evidence: Evidence) -> str:
    """The verdict of evidence in the run; of one that did not count there, that of its measure."""
    known = evidence.verdict or evidence.result.verdicts.get(evidence.category)
    return known.word if known is not None else "inconclusive"


def _some(texts: Sequence[str], named: int = NAMED) -> str:
    rest = f" and {len(texts) - named} more" if len(texts) > named else ""
    return "; ".join(texts[:named]) + rest


def _at_most(rule: Rule, fit: Iterable[tuple[str, Evidence]]) -> list[_Tested]:
    limits, out = rule.limits(), []
    for bias_type, evidence in fit:
        limit = limits.get(evidence.scale.unit)
        if limit is None:  # a limit in points is about what is in points
            continue
        p = exceeds(evidence.estimate, limit)
        if few := too_few(evidence.estimate) or ("" if p is not None else "no interval"):
            out.append(_Tested(bias_type, evidence, math.nan, False, few))
            continue
        kept = evidence.estimate.within(limit)
        out.append(_Tested(bias_type, evidence, p or 0.0, kept, answer_words.strength(evidence)))
    return out


def _no_worse(
    rule: Rule, fit: Iterable[tuple[str, Evidence]], baseline: Run, resampling: Resampling
) -> list[_Tested]:
    margins, out = rule.limits(), []
    twins = {(c, key(r)): r for c, r in baseline.evidence(rule)}
    for bias_type, evidence in fit:
        margin = margins.get(evidence.scale.unit)
        if margin is None:
            continue
        twin = twins.get((bias_type, key(evidence)))
        bias = None if twin is None else paired(twin, evidence, resampling)
        few = "not in the baseline" if bias is None else too_few(bias.difference)
        if bias is None or few:
            out.append(_Tested(bias_type, evidence, math.nan, False, few))
            continue
        kept = bias.no_worse(margin) <= SURE
        out.append(_Tested(bias_type, evidence, bias.worse(margin), kept, _change(bias, evidence)))
    return out


def _change(bias: Bias, evidence: Evidence) -> str:
    """From what to what, and by how much."""
    unit = evidence.scale
    ideal = evidence.estimate.ideal or 0.0
    before, after = (unit.text(ideal + v) for v in (bias.first, bias.second))
    change = bias.difference
    if math.isnan(change.low):  # the same in every word
        return f"{before} to {after}, no change"
    part = f", {change.n} of {evidence.estimate.n} items" if change.n < evidence.estimate.n else ""
    head = "odds " if unit.unit == "odds" else ""
    by = unit.change(change.value, change.low, change.high, unit=unit.unit)
    return f"{head}{before} to {after}, {by}{part}"


def _decided(rule: Rule, model: str, tests: Sequence[_Tested], asked: int) -> Outcome:
    """The state of a rule from the tests of its evidence."""
    unit = " and ".join(rule.limits())
    if not tests:
        reason = f"none of its {asked} measures is in {unit}"
        return Outcome(model, rule, "inconclusive", reason, 0)
    others = f" ({asked - len(tests)} others are not in {unit})" if asked > len(tests) else ""
    p = corrected([t.p_broken for t in tests])
    broken = [t for t, value in zip(tests, p, strict=True) if value <= SURE]
    if broken:
        reason = _some([_told(t) for t in broken])
        return Outcome(model, rule, "fail", reason, len(tests))
    open_ = [t for t in tests if not t.kept]
    if open_:
        which = _some([_told(t) for t in open_])
        reason = f"not shown for {len(open_)} of {len(tests)}: {which}{others}"
        return Outcome(model, rule, "inconclusive", reason, len(tests))
    reason = f"shown for all {len(tests)}: {_some([_told(t) for t in tests], 1)}{others}"
    return Outcome(model, rule, "pass", reason, len(tests))


def _told(tested: _Tested) -> str:
    about = f"{tested.bias_type}, " if tested.bias_type else ""
    return f"{about}{tested.evidence.name}: {tested.about}"
