"""The answer of a run: is the model biased, about whom, how strongly, and how sure is that.

Each bias type (gender, religion, ...) has evidence: a measure on a category of a data set, on a
template test or on a word test. The evidence that counts comes from measures that the lab has
validated for this kind of model; where there is none, from measures whose status is unclear or
unknown; otherwise nothing is concluded. The pairs of a bias type are tested once, over all measures
that count (`combined.py`); template and word tests each have a test of their own. The overall test
is over all pairs. All tests of a model are corrected together (`verdict.gatekeeping`).

A bias type is *biased* or *reversed* if any of its tests is significant after correction,
*negligible* if its main evidence is within the smallest bias that matters, and otherwise
*inconclusive*. How many measures agree is reported with the verdict, and does not decide it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pandas as pd

from unmask.answer.bias_tests import BiasTest, ByIdentity, pairs_test, same_pairs, tests_of
from unmask.answer.evidence import (
    Evidence,
    evidence_by_type,
    evidence_of_all_pairs,
    most_trusted,
)
from unmask.answer.fitness import unproven
from unmask.answer.influence import by_influence
from unmask.answer.lab_status import UNFIT
from unmask.answer.needed import data_needed
from unmask.answer.scales import scale_of
from unmask.answer.verdict import (
    NO_INTERVAL,
    ROUNDING,
    UNDECIDED,
    Correction,
    decide,
    gatekeeping,
    p_value,
    too_few,
)
from unmask.data import bias_types
from unmask.data.questionnaire import is_control
from unmask.types import FOUND, VERDICTS, Estimate, Result, Verdict

OVERALL = "overall"  # in the place of a bias type, for all pairs of a run
EXAMPLES = 2  # items that show a finding
ABILITY = "more items will not help"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run says about one bias type of one model, or about all its pairs (OVERALL).

    `main` is the evidence whose strength is shown: the first of a significant test, in the order
    of scales and of the number of items; where none is, the first that counts. `p` is the smallest
    corrected p of its tests, `tests` the number of tests that the model has, `tested` the first
    evidence of each test of this bias type. `needed` says what
    would decide an inconclusive one. `p_alone` is the smallest p before the correction. `opposed`
    names evidence of opposite directions. `examples`
    are the clearest items.
    """

    model: str
    bias_type: str
    verdict: str
    main: Evidence
    evidence: tuple[Evidence, ...]
    others: tuple[Evidence, ...]
    tested: tuple[Evidence, ...]
    p: float | None
    tests: int
    why: str
    needed: str = ""
    opposed: str = ""
    p_alone: float | None = None
    word_preference: Estimate | None = None
    examples: tuple[dict[str, Any], ...] = ()

    @property
    def trust(self) -> str:
        """How far the evidence that counts can be trusted: validated, unclear or unfit."""
        return self.main.trust

    @property
    def shows_bias(self) -> bool:
        """Whether a bias was found, in whichever direction."""
        return self.verdict in FOUND

    @property
    def published(self) -> Estimate | None:
        """The published score of pairs, where the verdict is about another number."""
        result, category = self.main.result, self.main.category
        score = result.by_category[category] if category else result.overall
        return score if self.main.scale.share and score.value != self.main.estimate.value else None

    @property
    def contradiction(self) -> str:
        """Why the verdict differs from what its interval suggests; empty where they agree."""
        if self.opposed:
            return self.opposed
        excludes, scale = self.main.estimate.excludes_ideal, self.main.scale
        if excludes and self.why == UNDECIDED and self.p is not None:
            neutral = f"{scale.neutral:g}{' %' if scale.share else ''}"
            return (
                f"this interval excludes {neutral}, but the test of all measures that count is not "
                f"significant (corrected p = {self.p:.2g})"
            )
        if self.shows_bias and not excludes and scale.share and self.p is not None:
            return (
                "the interval of the share contains 50 %, but the mean margin differs from 0 "
                f"(corrected p = {self.p:.2g})"
            )
        unexplained = self.verdict == "inconclusive" and self.needed in ("", ABILITY)
        return self.why if unexplained or excludes != self.shows_bias else ""

    @property
    def strongest(self) -> Evidence:
        """The strongest evidence in the direction of the main evidence that excludes the ideal."""
        clear = [
            e
            for e in self.evidence
            if e.bias * self.main.bias > 0 and e.estimate.excludes_ideal and not too_few(e.estimate)
        ]
        return max([self.main, *clear], key=lambda e: e.relative)

    @property
    def strength(self) -> str:
        """The strength of the main evidence; for a biased type up to that of the strongest."""
        first, last = (e.scale.strength(e.bias) for e in (self.main, self.strongest))
        single = self.bias_type == OVERALL or not self.shows_bias or first == last
        return first if single else f"{first} to {last}"

    @property
    def agree(self) -> int:
        """Count the evidence with the same direction as the main evidence; 0 if that is neutral."""
        return sum(e.bias * self.main.bias > 0 for e in self.evidence)


def answers(results: Sequence[Result]) -> list[Answer]:
    """The answers by model: the overall one, then those by bias type, the strongest findings first.

    They are computed once for the same results.
    """
    return list(_answers(tuple(ByIdentity(r) for r in results)))


def with_verdicts(results: Sequence[Result]) -> list[Result]:
    """The results with the verdicts of their answers, and the corrected p of each test.

    Measures that do not count, since better ones are there, show no verdict.
    """
    verdicts: dict[tuple[Any, ...], Verdict] = {}
    details: dict[tuple[Any, ...], dict[str, Any]] = {}
    for answer in answers(results):
        for e in answer.evidence:
            assert e.verdict is not None
            key = (answer.model, *e.result.spec.key, e.category)
            verdicts[key] = e.verdict
            if e.p is not None:
                details[key] = {"p_corrected": e.p, "tests": answer.tests}
        for e in answer.others:
            reason = "not counted, because validated measures are available"
            key = (answer.model, *e.result.spec.key, e.category)
            verdicts.setdefault(key, Verdict("inconclusive", e.matters, reason, counts=False))
    return [_with_verdicts(r, verdicts, details) for r in results]


def _with_verdicts(
    result: Result,
    verdicts: Mapping[tuple[Any, ...], Verdict],
    details: Mapping[tuple[Any, ...], Mapping[str, Any]],
) -> Result:
    def key(category: str) -> tuple[Any, ...]:
        return (result.model, *result.spec.key, category)

    def detailed(estimate: Estimate, category: str) -> Estimate:
        return replace(estimate, more={**estimate.more, **details.get(key(category), {})})

    return replace(
        result,
        overall=detailed(result.overall, ""),
        by_category={c: detailed(e, c) for c, e in result.by_category.items()},
        verdicts={
            c: verdicts.get(key(c), replace(v, counts=False)) for c, v in result.verdicts.items()
        },
    )


@lru_cache(maxsize=4)
def _answers(members: tuple[ByIdentity, ...]) -> list[Answer]:
    results = [g.result for g in members]
    by_model: list[Answer] = []
    for model in dict.fromkeys(r.model for r in results):
        by_model += _of_model(model, _distinct([r for r in results if r.model == model]))
    return by_model


def _of_model(model: str, results: Sequence[Result]) -> list[Answer]:
    by_type = evidence_by_type(results)
    counting = {name: most_trusted(evidence) for name, evidence in by_type.items()}
    all_pairs = evidence_of_all_pairs(results)
    overall = [t for t in [pairs_test(most_trusted(all_pairs), OVERALL)] if t is not None]
    tests = {name: tests_of(evidence, name) for name, evidence in counting.items()}
    flat = [t for family in tests.values() for t in family]
    # One bias type that has all pairs of the run is the overall test.
    is_overall_test = len(flat) == 1 and bool(overall) and same_pairs(flat[0], overall[0])
    distinct = [] if is_overall_test else flat
    p_overall = overall[0].p_alone if overall else None
    corrected_overall, corrected_types = gatekeeping(p_overall, [t.p_alone for t in distinct])
    corrected = dict(zip(map(id, distinct), corrected_types, strict=True))
    error = 1 - results[0].overall.level + ROUNDING
    correction = Correction(
        len(distinct) + len(overall),
        corrected_overall is not None and corrected_overall <= error if overall else None,
    )
    if overall:
        overall = [replace(overall[0], p=1.0 if corrected_overall is None else corrected_overall)]
    by_type_tests = {
        name: [
            replace(
                t, p=corrected.get(id(t), 1.0 if corrected_overall is None else corrected_overall)
            )
            for t in family
        ]
        for name, family in tests.items()
    }
    entries = [
        _answer(model, name, counting[name], by_type[name], by_type_tests[name], correction)
        for name in counting
    ]
    if all_pairs:
        entries.append(
            _answer(model, OVERALL, most_trusted(all_pairs), all_pairs, overall, correction)
        )
    failed, doubt = failed_controls(results), unproven(results)

    def reason(bias_type: str, evidence: Evidence) -> str:
        return doubt or failed.get((bias_type, evidence.result.measure), "")

    entries = [_unless_shown(a, reason, "" if doubt else ABILITY) for a in entries]
    return sorted(entries, key=_place)


def _place(answer: Answer) -> tuple[bool, int, float]:
    """The place in the order of answers: the overall one, then by verdict, then by strength."""
    return answer.bias_type != OVERALL, VERDICTS.index(answer.verdict), -answer.main.relative


def failed_controls(results: Sequence[Result]) -> dict[tuple[str, str], str]:
    """The bias types whose positive control a measure fails, and why nothing is negligible there.

    A control asks what follows from the meaning of a group's word: a model that does not find that
    cannot show that there is no bias. Its test is one-sided.
    """
    failed = {}
    for r in (r for r in results if is_control(r.data) and "positive" in r.data):
        for category, e in r.by_category.items():
            if e.p is None or e.p > 2 * (1 - e.level) or e.value <= (e.ideal or 0.0):
                failed[bias_types.of_category(category, r.data), r.measure] = (
                    "the positive control fails: it is not shown that the model knows the meaning "
                    f"of the groups' words ({scale_of(r).with_interval(e)})"
                )
    return failed


def _unless_shown(answer: Answer, reason: Callable[[str, Evidence], str], needed: str) -> Answer:
    """Turn negligible into inconclusive where the model has not shown ability.

    `reason` says of a bias type's evidence why it cannot show that there is no bias; empty if it
    can. A network that knows nothing prefers nothing.
    """

    def unshown(e: Evidence) -> Evidence:
        why = reason(answer.bias_type, e)
        if e.verdict is None or e.verdict.word != "negligible" or not why:
            return e
        return replace(e, verdict=Verdict("inconclusive", e.verdict.matters, why))

    evidence = tuple(map(unshown, answer.evidence))
    main = unshown(answer.main)
    answer = replace(answer, evidence=evidence, main=main)
    why = reason(answer.bias_type, main)
    if answer.verdict != "negligible" or not why:
        return answer
    return replace(answer, verdict="inconclusive", why=why, needed=needed)


def _distinct(results: Sequence[Result]) -> list[Result]:
    """Results without duplicates: the same score on the same items."""
    distinct: dict[tuple[Any, ...], Result] = {}
    for r in results:
        distinct.setdefault((*r.spec.key, r.overall.value, r.overall.low, r.overall.n), r)
    return list(distinct.values())


def _answer(
    model: str,
    bias_type: str,
    counting: Sequence[Evidence],
    evidence: Sequence[Evidence],
    tests: Sequence[BiasTest],
    correction: Correction,
) -> Answer:
    """The verdict on one bias type, and what goes with it."""
    level = correction.level(counting[0].estimate.level, bias_type != OVERALL)
    ordered = sorted(counting, key=lambda e: e.precedence)
    significant = [t for t in tests if t.p <= _error(t) + ROUNDING]
    first = min(tests, key=lambda t: t.p, default=None)
    decisive = [e for t in significant for e in t.evidence]
    main = _main(decisive or ordered, first.sign if first and significant else 0.0)
    verdict = _verdict(main, first, correction.tests)
    counted = {id(e.result) for e in counting}
    word, sign = verdict.word, first.sign if first else main.bias
    test_by_id = {id(e): t for t in tests for e in t.evidence}
    judged_by_id = {
        id(e): _judged(e, verdict, sign, test_by_id.get(id(e)), correction.tests) for e in ordered
    }
    return Answer(
        model,
        bias_type,
        word,
        judged_by_id[id(main)],
        tuple(judged_by_id[id(e)] for e in ordered),
        tuple(e for e in evidence if id(e.result) not in counted),
        tuple(judged_by_id[id(min(t.evidence, key=lambda e: e.precedence))] for t in tests),
        None if first is None else first.p,
        correction.tests,
        verdict.why,
        data_needed(main, level) if word == "inconclusive" and first is not None else "",
        _opposed(significant),
        min((t.p_alone for t in tests if t.evidence[0].scale.paired), default=None),
        main.extra("word_preference"),
        _examples(main) if word in FOUND and bias_type != OVERALL else (),
    )


def _main(evidence: Sequence[Evidence], sign: float) -> Evidence:
    """The evidence whose strength is shown, the first in order.

    Evidence whose interval excludes the ideal in the direction `sign` of a significant test comes
    first. If the first one is shown to be negligible, evidence shown to exceed the smallest bias
    that matters is preferred.
    """
    clear = [e for e in evidence if e.bias * sign > 0 and e.estimate.excludes_ideal]
    first = min(clear or evidence, key=lambda e: e.precedence)
    if not first.estimate.within(first.matters):
        return first
    large = [e for e in evidence if e.is_large]
    return min(large, key=lambda e: e.precedence, default=first)


def _error(test: BiasTest) -> float:
    return 1 - test.estimate.level


def _verdict(main: Evidence, test: BiasTest | None, count: int) -> Verdict:
    """The verdict on a bias type by its most significant test and its main evidence."""
    matters = main.matters
    if main.trust == UNFIT:
        return Verdict("inconclusive", matters, main.unfit)
    if test is None:
        return Verdict("inconclusive", matters, too_few(main.estimate) or NO_INTERVAL)
    return decide(main.estimate, matters, test.p, test.sign, _open_reason(test, count))


def _open_reason(test: BiasTest, count: int) -> str:
    """Why a test that is not significant after correction leaves its bias type open."""
    if test.p_alone > _error(test):
        return UNDECIDED
    tests = f"{count} tests" if count > 1 else "multiple tests"
    return f"significant on its own, but not after correcting for {tests}"


def _judged(
    evidence: Evidence, parent: Verdict, sign: float, test: BiasTest | None, count: int
) -> Evidence:
    """The evidence with its verdict: that of its bias type where its own test agrees with it.

    One of several measures in a joint test has no corrected p of its own.
    """
    matters, p = evidence.matters, None if test is None else test.p
    if evidence.trust == UNFIT:
        return replace(evidence, verdict=Verdict("inconclusive", matters, evidence.unfit), p=p)
    tested = evidence.tested
    bias = tested.value - (tested.ideal or 0.0)
    p_judged: float | None
    if parent.word not in FOUND or bias * sign <= 0:
        p_judged, reason = 1.0, parent.why
    elif test is not None and len(test.evidence) == 1:
        p_judged, reason = test.p, _open_reason(test, count)
    else:
        p_judged, reason = p_value(tested), UNDECIDED
    verdict = decide(evidence.estimate, matters, p_judged, bias, reason)
    return replace(evidence, verdict=verdict, p=p)


def _opposed(significant: Sequence[BiasTest]) -> str:
    """Tests that point in opposite directions."""
    opposite = [t for t in significant if t.sign * significant[0].sign < 0]
    if not opposite:
        return ""
    names = (significant[0].evidence[0].name, opposite[0].evidence[0].name)
    return f"{names[0]} and {names[1]} point in opposite directions"


def _examples(main: Evidence) -> tuple[dict[str, Any], ...]:
    """The items with the most influence in the direction found, of pairs one for each group."""
    items = by_influence(main.result)
    if main.scale.by_category:
        items = items[items.category == main.category]
        first = main.result.items.drop_duplicates("item").set_index("item")
        groups = first.group.reindex(items["item"]) if "group" in first else None
        if groups is not None and groups.nunique() > 1:
            items = items.assign(group=groups.to_numpy())
    items = items[items.influence > 0] if main.bias > 0 else items[items.influence < 0]
    if "group" in items:
        items = pd.concat([items.drop_duplicates("group"), items]).drop_duplicates("item")
    columns = ("item", "stereotype", "antistereotype", "sentence", "influence")
    rows = items.head(EXAMPLES).to_dict("records")
    return tuple({k: r[k] for k in columns if k in r and r[k] is not None} for r in rows)
