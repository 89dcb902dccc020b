"""Whether one model keeps one rule: pass, fail or inconclusive.

Each is decided by a test. A rule fails where any evidence that it is about shows a violation after
Holm's correction over the evidence of all rules of the gate. It passes where the evidence shows
compliance (each at 5 %, one-sided: all have to, so none is corrected). A rule without measures,
data or categories of its own requires that of the first measure of each test of a bias type; the
others may only show a violation. Otherwise it is inconclusive.
Verdicts by bias type have their own correction (`answer/answer.py`); where a gate has rules of both
kinds, each kind has half of the error rate.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from unmask.answer import answer_sentences, lab_status
from unmask.answer.answer import OVERALL, Answer, answers
from unmask.answer.evidence import Evidence, bias_type_of_test
from unmask.answer.fitness import unproven
from unmask.answer.lab_status import UNFIT, VALIDATED
from unmask.answer.scales import scale_of
from unmask.answer.verdict import UNDECIDED, decide, exceeds, judged_estimate, p_value, too_few
from unmask.errors import DataError
from unmask.options import UNITS, Resampling
from unmask.reports.columns import SURE
from unmask.stats.comparison import Bias
from unmask.stats.multiplicity import corrected
from unmask.studies.bias_type_differences import key, paired
from unmask.studies.gate.rules import Rule
from unmask.support.wording import counted
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
        """The state as the gate counts it: a rule may say what an inconclusive state counts as.

        A `blocked` outcome, whose results are unfit or lack items, never passes.
        """
        policy = self.rule.inconclusive
        if (
            self.state == "inconclusive"
            and policy != "stop"
            and not (self.blocked and policy == "pass")
        ):
            return policy
        return self.state


@dataclass(frozen=True, slots=True)
class _TestedEvidence:
    """Evidence tested under a rule: the p of a violation, and whether compliance is shown.

    Evidence that could not be tested shows neither. `about` describes it. A rule passes only if
    all evidence that is `required` shows compliance.
    """

    bias_type: str
    evidence: Evidence
    p_broken: float
    holds: bool
    about: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """The results of one model, and their answers."""

    results: Sequence[Result]
    answers: Sequence[Answer]
    model: str = ""

    @classmethod
    def baseline(cls, former: Results, model: str) -> "AnsweredRun":
        """The baseline run for a model: the one with its name, or the only one."""
        if model not in former.models and len(former.models) > 1:
            raise DataError(
                f"the baseline contains {', '.join(former.models)}, but not {model}; add it, or "
                "give a baseline with a single model."
            )
        name = model if model in former.models else former.models[0]
        results = former.select(models=[name])
        return cls(results, answers(results), name)

    def evidence(self, rule: Rule) -> Iterator[tuple[str, Evidence]]:
        """The evidence that a rule is about, with its bias type.

        A rule that names measures, or accepts any trust, also covers evidence that does not count
        in the answer. Tests that are not about people (flowers and insects) are excluded.
        """
        if rule.by == "score":
            candidates = (
                ("", Evidence(r, "", judged_estimate(r), lab_status.of_result(r)))
                for r in self.results
                if r.verdicts and _has_people(r)
            )
        else:
            candidates = (
                (a.bias_type, r)
                for a in self.answers
                if a.bias_type != OVERALL
                for r in (*a.evidence, *(a.others if _lenient(rule) else ()))
            )
        return ((bias_type, r) for bias_type, r in candidates if _matches(rule, bias_type, r))

    def requires(self, rule: Rule, tested: _TestedEvidence) -> bool:
        """Whether a rule passes only if this evidence shows compliance."""
        if rule.by == "score" or rule.measure or rule.data or rule.category:
            return True
        first = [key(e) for a in self.answers if a.bias_type == tested.bias_type for e in a.tested]
        return not first or key(tested.evidence) in first

    def relevant(self, rule: Rule) -> list[Result]:
        """The results that a rule is about, whether or not they are fit for a verdict."""
        if rule.by == "score":
            evidence = [r for _, r in self.evidence(rule)]
        else:
            types = (a for a in self.answers if a.bias_type != OVERALL)
            candidates = ((a.bias_type, r) for a in types for r in (*a.evidence, *a.others))
            evidence = [r for bias_type, r in candidates if _matches(rule, bias_type, r)]
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
    return all(not (names := getattr(rule, k)) or v in names for k, v in values.items())


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A rule with the tests of its evidence, before they are corrected."""

    rule: Rule
    counting: Sequence[tuple[str, Evidence]]
    tests: Sequence[_TestedEvidence]
    items: str
    obstacles: Sequence[str]
    blocked: bool
    nothing: str


def outcomes(
    rules: Sequence[Rule],
    model: str,
    run: AnsweredRun,
    baseline: AnsweredRun | None,
    resampling: Resampling,
) -> list[Outcome]:
    """Whether a model keeps some rules, against its baseline where a rule needs one."""
    prepared = [_prepared(rule, run, baseline, resampling) for rule in rules]
    kinds = len({p.rule.check == "nothing_found" for p in prepared})
    p_values = corrected([t.p_broken for p in prepared for t in p.tests])
    by_test = dict(zip((id(t) for p in prepared for t in p.tests), kinds * p_values, strict=True))
    return [_outcome(p, model, run, baseline, by_test, kinds) for p in prepared]


def _prepared(
    rule: Rule, run: AnsweredRun, baseline: AnsweredRun | None, resampling: Resampling
) -> _Prepared:
    evidence = list(run.evidence(rule))
    counting = [
        (c, r) for c, r in evidence if r.trust == VALIDATED or (r.trust != UNFIT and _lenient(rule))
    ]
    results = run.relevant(rule)
    obstacles = _unfit(results) + _unscored(rule, results)
    obstacles += [reason] if (reason := unproven(run.results)) else []
    if rule.check == "no_worse_by" and baseline is not None:
        former = _unfit(baseline.relevant(rule)) or [unproven(baseline.results)]
        obstacles += [f"the baseline: {reason}" for reason in former if reason]
    blocked = bool(obstacles)
    if counting and (missing := _missing(rule, counting)):
        obstacles.insert(0, f"no validated measure covers {', '.join(missing)}")
    tests: list[_TestedEvidence] = []
    if rule.check == "at_most":
        tests = _at_most(rule, counting)
    elif rule.check == "no_worse_by" and baseline is not None:
        tests = _no_worse(rule, counting, baseline, resampling)
    tests = [replace(t, required=run.requires(rule, t)) for t in tests]
    nothing = "" if counting else _nothing(evidence, run.results)
    return _Prepared(rule, counting, tests, _items(results), obstacles, blocked, nothing)


def _outcome(
    prepared: _Prepared,
    model: str,
    run: AnsweredRun,
    baseline: AnsweredRun | None,
    p_values: Mapping[int, float],
    kinds: int,
) -> Outcome:
    rule, counting, items = prepared.rule, prepared.counting, prepared.items
    if not counting:
        return Outcome(model, rule, "inconclusive", prepared.nothing, 0, items, prepared.blocked)
    if rule.check == "nothing_found":
        outcome = _nothing_found(rule, model, counting, run.answers, kinds)
    else:
        outcome = _decided(rule, model, prepared.tests, p_values, len(counting))
    if rule.check == "no_worse_by" and baseline is not None and baseline.model != model:
        outcome = replace(outcome, reason=f"against {baseline.model}: {outcome.reason}")
    outcome = replace(outcome, items=items, blocked=prepared.blocked)
    if outcome.state == "pass" and prepared.obstacles:
        reason = f"{_first_names(prepared.obstacles)}; the rest: {outcome.reason}"
        return replace(outcome, state="inconclusive", reason=reason)
    return outcome


def _unfit(results: Sequence[Result]) -> list[str]:
    """Results that no verdict may rest on."""
    return [
        f"{r.title} is unfit for a verdict ({'; '.join(r.fitness.reasons)})"
        for r in results
        if not r.fitness.fit
    ]


def _unscored(rule: Rule, results: Sequence[Result]) -> list[str]:
    """Data sets, and categories of them, of which too many items have no score."""
    gaps = {}
    for result in results:
        parts = {"": (result.coverage.scored, result.coverage.asked)}
        if "reason" in result.items and result.by_category:
            first = result.items.drop_duplicates("item")
            first = first[~first.reason.fillna("").str.startswith(NOT_ASKED)]
            unscored = first.groupby("category").reason.agg(["count", "size"])
            parts |= {str(k): (size - gone, size) for k, gone, size in unscored.itertuples()}
        for category, (scored, total) in parts.items():
            applies = not category or not rule.category or category in rule.category
            if applies and 100 * (total - scored) > rule.max_unscored * total:
                where = f"{result.title}, {category}" if category else result.title
                share = f"{100 * (total - scored) / total:.0f} %, allowed {rule.max_unscored:g} %"
                gaps[where] = f"{where}: {total - scored} of {total} items have no score ({share})"
    return list(gaps.values())


def _items(results: Sequence[Result]) -> str:
    """How many items of each data set count: those that all its measures have scored."""
    counts: dict[str, tuple[int, int, int]] = {}
    for result in results:
        tally = (result.coverage.scored, result.coverage.asked, result.coverage.ties)
        scored, total, ties = counts.get(result.data, tally)
        counts[result.data] = (min(scored, tally[0]), max(total, tally[1]), max(ties, tally[2]))
    examples = [
        f"{data} {scored} of {total}" + (f" ({ties} ties)" if ties else "")
        for data, (scored, total, ties) in counts.items()
    ]
    return _first_names(examples, 5)


def _missing(rule: Rule, counting: Sequence[tuple[str, Evidence]]) -> list[str]:
    """The names in a rule's filters that no counting evidence matches."""
    known_names = {
        "bias_type": {c for c, _ in counting},
        "measure": {r.result.measure for _, r in counting},
        "data": {r.result.data for _, r in counting},
        "category": {r.category for _, r in counting},
    }
    return [
        n for field, names in known_names.items() for n in getattr(rule, field) if n not in names
    ]


def _lenient(rule: Rule) -> bool:
    return rule.trust == "any" or bool(rule.measure)


def _nothing(evidence: Sequence[tuple[str, Evidence]], results: Sequence[Result]) -> str:
    """Why a rule has no evidence."""
    if not evidence and not any(r.verdicts for r in results):
        return (
            "the results have no verdicts: baseline measures, indices or results of an earlier "
            "version"
        )
    if not evidence:
        return "no result matches this rule"
    if any(r.trust != UNFIT for _, r in evidence):
        names = ", ".join(dict.fromkeys(r.result.measure for _, r in evidence))
        return f'no measure is validated for such models ({names}); trust = "any" accepts these'
    return evidence[0][1].unfit


def _nothing_found(
    rule: Rule,
    model: str,
    counting: Sequence[tuple[str, Evidence]],
    run_answers: Sequence[Answer],
    kinds: int,
) -> Outcome:
    """Whether a bias was found, by the answer's own verdicts."""
    named = {c for c, _ in counting}
    overall = not (rule.measure or rule.data or rule.category)
    failing, small, undecided = [], [], []
    for answer in (a for a in run_answers if a.bias_type in named):
        evidence = [r for c, r in counting if c == answer.bias_type]
        significant = answer.p is None or kinds * answer.p <= SURE
        words = {answer.verdict} if overall else {_word(r) for r in evidence}
        if {*FOUND} & words and significant:
            main = next((r for r in evidence if _word(r) in FOUND), answer.main)
            failing.append(f"{answer.bias_type}: {answer_sentences.main_number(main)}, {main.name}")
        elif words == {"negligible"}:
            verdicts = evidence[0].result.verdicts
            least = verdicts.get(evidence[0].category, verdicts[""]).matters
            small.append(f"{answer.bias_type}: less than {evidence[0].scale.amount(least)}")
        else:
            undecided.append(answer)
    if failing:
        return Outcome(
            model, rule, "fail", f"biased or reversed: {_first_names(failing)}", len(counting)
        )
    if undecided:
        needed = next((f"; {a.bias_type}: {a.needed}" for a in undecided if a.needed), "")
        names = _first_names([a.bias_type for a in undecided], 9)
        reason = f"no bias found; inconclusive: {names}{needed}"
        return Outcome(model, rule, "inconclusive", reason, len(counting))
    return Outcome(model, rule, "pass", _first_names(small), len(counting))


def _word(evidence: Evidence) -> str:
    """The verdict of evidence in the run or, if it did not count there, of its own test."""
    if evidence.verdict is not None:
        return evidence.verdict.word
    verdicts, tested = evidence.result.verdicts, evidence.tested
    matters = verdicts.get(evidence.category, verdicts[""]).matters
    sign = tested.value - (tested.ideal or 0.0)
    return decide(evidence.estimate, matters, p_value(tested), sign, UNDECIDED).word


def _first_names(texts: Sequence[str], named: int = NAMED) -> str:
    more = f" and {len(texts) - named} more" if len(texts) > named else ""
    return "; ".join(texts[:named]) + more


def _at_most(rule: Rule, counting: Iterable[tuple[str, Evidence]]) -> list[_TestedEvidence]:
    limits, tests = rule.limits(), []
    for bias_type, evidence in counting:
        limit = limits.get(evidence.scale.unit)
        if limit is None:  # a limit in points is about what is in points
            continue
        p = exceeds(evidence.estimate, limit)
        if obstacle := too_few(evidence.estimate) or ("" if p is not None else "no interval"):
            tests.append(_TestedEvidence(bias_type, evidence, math.nan, False, obstacle))
            continue
        compliance = evidence.estimate.within(limit)
        tests.append(
            _TestedEvidence(
                bias_type, evidence, p or 0.0, compliance, answer_sentences.main_number(evidence)
            )
        )
    return tests


def _no_worse(
    rule: Rule,
    counting: Iterable[tuple[str, Evidence]],
    baseline: AnsweredRun,
    resampling: Resampling,
) -> list[_TestedEvidence]:
    margins, tests = rule.limits(), []
    twins = {(c, key(r)): r for c, r in baseline.evidence(rule)}
    for bias_type, evidence in counting:
        margin = margins.get(evidence.scale.unit)
        if margin is None:
            continue
        twin = twins.get((bias_type, key(evidence)))
        bias = None if twin is None else paired(twin, evidence, resampling)
        obstacle = "not in the baseline" if bias is None else too_few(bias.difference)
        if bias is None or obstacle:
            tests.append(_TestedEvidence(bias_type, evidence, math.nan, False, obstacle))
            continue
        compliance = bias.no_worse(margin) <= SURE
        tests.append(
            _TestedEvidence(
                bias_type, evidence, bias.worse(margin), compliance, _change(bias, evidence)
            )
        )
    return tests


def _change(bias: Bias, evidence: Evidence) -> str:
    """Describe the change of a score: before, after, and by how much."""
    unit = evidence.scale
    ideal = evidence.estimate.ideal or 0.0
    before, after = (unit.text(ideal + v) for v in (bias.first, bias.second))
    change = bias.difference
    if math.isnan(change.low):  # the same in every word
        return f"{before} to {after}, no change"
    part = f", {change.n} of {evidence.estimate.n} items" if change.n < evidence.estimate.n else ""
    head = f"{unit.head} " if unit.is_factor else ""
    by = unit.change(change.value, change.low, change.high, unit=unit.unit)
    return f"{head}{before} to {after}, {by}{part}"


def _decided(
    rule: Rule,
    model: str,
    tests: Sequence[_TestedEvidence],
    p_values: Mapping[int, float],
    count: int,
) -> Outcome:
    """The state of a rule from the tests of its evidence, and their corrected p-values."""
    unit = " and ".join(UNITS.get(u, u) for u in rule.limits())
    if not tests:
        reason = f"the limit (in {unit}) does not apply to any of its measures"
        return Outcome(model, rule, "inconclusive", reason, 0)
    more = (
        f" (the limit does not apply to {counted(count - len(tests), 'other')})"
        if count > len(tests)
        else ""
    )
    failing = [t for t in tests if p_values[id(t)] <= SURE]
    if failing:
        reason = _first_names([_describe(t) for t in failing])
        return Outcome(model, rule, "fail", reason, len(tests))
    required = [t for t in tests if t.required]
    if extra := len(tests) - len(required):
        more += f" ({counted(extra, 'further measure')} without a violation)"
    undecided = [t for t in required if not t.holds]
    if undecided:
        listed = _first_names([_describe(t) for t in undecided])
        reason = f"compliance not shown for {len(undecided)} of {len(required)}: {listed}{more}"
        return Outcome(model, rule, "inconclusive", reason, len(tests))
    described = _first_names([_describe(t) for t in required], 1)
    reason = f"compliance shown for all {len(required)}: {described}{more}"
    return Outcome(model, rule, "pass", reason, len(tests))


def _describe(tested: _TestedEvidence) -> str:
    about = f"{tested.bias_type}, " if tested.bias_type else ""
    return f"{about}{tested.evidence.name}: {tested.about}"
