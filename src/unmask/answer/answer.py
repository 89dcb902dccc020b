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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pandas as pd
from scipy.special import ndtr

from unmask.answer import lab_status
from unmask.answer.combined import Combined
from unmask.answer.fitness import unproven
from unmask.answer.influence import by_influence
from unmask.answer.lab_status import UNCLEAR, UNFIT, VALIDATED, LabStatus
from unmask.answer.scales import ORDER, SCALES, STRENGTHS, Scale, scale_of
from unmask.answer.verdict import (
    NO_INTERVAL,
    ROUNDING,
    UNDECIDED,
    bias_estimate,
    decide,
    exceeds,
    gatekeeping,
    judged_estimate,
    p_value,
    too_few,
)
from unmask.data import bias_types
from unmask.data.questionnaire import is_control
from unmask.stats.intervals import MIN_CLUSTERS
from unmask.stats.power import pilot_of, words_needed
from unmask.stats.sequential import sequential_p
from unmask.support.printable import visible
from unmask.types import FOUND, VERDICTS, Estimate, Result, Verdict

OVERALL = "overall"  # in the place of a bias type, for all pairs of a run
EXAMPLES = 2  # items that show a finding
MOST_ADDED = 10_000  # words that somebody may be asked to add
ABILITY = "more items will not help: the model first has to pass the positive control"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measure on one bias type: its estimate, its lab status, and its verdict in the run.

    `p` is the corrected p of the test that it is part of.
    """

    result: Result
    category: str
    estimate: Estimate
    status: LabStatus
    verdict: Verdict | None = None
    p: float | None = None

    @property
    def trust(self) -> str:
        """How far the evidence counts: validated, unclear or unfit."""
        return self.lab_trust if self.result.fitness.fit else UNFIT

    @property
    def lab_trust(self) -> str:
        """How far the lab trusts the measure, whatever this result is."""
        return self.status.trust

    @property
    def unfit(self) -> str:
        """The reason why this evidence supports no conclusion."""
        if not self.result.fitness.fit:
            return f"{self.name} is unfit: {'; '.join(self.result.fitness.reasons)}"
        return f"{self.result.measure}: {self.status.clause}"

    @property
    def bias(self) -> float:
        """The distance of the estimate from its ideal; positive is towards the stereotype."""
        return self.estimate.value - (self.estimate.ideal or 0.0)

    @property
    def tested(self) -> Estimate:
        """The estimate whose p-value is the test of this evidence alone."""
        return bias_estimate(self.result, self.category)

    @property
    def name(self) -> str:
        """Measure and data."""
        return f"{self.result.measure} on {self.result.data}"

    @property
    def scale(self) -> Scale:
        """The scale of its estimate."""
        return scale_of(self.result)


@dataclass(frozen=True, slots=True)
class Test:
    """One test of a bias type: of its pairs over all measures, or of a template or word test.

    `p` is corrected for all tests of the model, `p_alone` is not.
    """

    estimate: Estimate
    evidence: tuple[Evidence, ...]
    p_alone: float
    p: float = 1.0

    @property
    def sign(self) -> float:
        """Positive towards the stereotype."""
        return self.estimate.value - (self.estimate.ideal or 0.0)


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
    strength: str
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
        incapable = self.needed == ABILITY
        return self.why if incapable or self.main.estimate.excludes_ideal != self.shows_bias else ""

    @property
    def agree(self) -> int:
        """Count the evidence with the same direction as the main evidence; 0 if that is neutral."""
        return sum(e.bias * self.main.bias > 0 for e in self.evidence)


def answers(results: Sequence[Result]) -> list[Answer]:
    """The answers by model: the overall one, then those by bias type, the strongest findings first.

    They are computed once for the same results.
    """
    return list(_answers(tuple(_Same(r) for r in results)))


def judged(results: Sequence[Result]) -> list[Result]:
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
            why = f"not counted: {e.result.measure} is {e.status.short} and others are validated"
            key = (answer.model, *e.result.spec.key, e.category)
            verdicts.setdefault(key, Verdict("inconclusive", _matters(e), why, counts=False))
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


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A result, equal to itself alone."""

    result: Result

    def __hash__(self) -> int:
        return id(self.result)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, _Same) and value.result is self.result


@lru_cache(maxsize=4)
def _answers(given: tuple[_Same, ...]) -> list[Answer]:
    results = [g.result for g in given]
    by_model: list[Answer] = []
    for model in dict.fromkeys(r.model for r in results):
        by_model += _of_model(model, _distinct([r for r in results if r.model == model]))
    return by_model


def _of_model(model: str, results: Sequence[Result]) -> list[Answer]:
    by_type = _evidence(results)
    counting = {name: _most_trusted(evidence) for name, evidence in by_type.items()}
    whole = _whole(results)
    overall = [t for t in [_pairs_test(_most_trusted(whole), OVERALL)] if t is not None]
    tests = {name: _tests(evidence, name) for name, evidence in counting.items()}
    flat = [t for family in tests.values() for t in family]
    # One bias type that has all pairs of the run is the overall test.
    alone = len(flat) == 1 and bool(overall) and _same_pairs(flat[0], overall[0])
    distinct = [] if alone else flat
    p_overall = overall[0].p_alone if overall else None
    first, rest = gatekeeping(p_overall, [t.p_alone for t in distinct])
    corrected = dict(zip(map(id, distinct), rest, strict=True))
    count = len(distinct) + len(overall)
    if overall:
        overall = [replace(overall[0], p=1.0 if first is None else first)]
    by_type_tests = {
        name: [replace(t, p=corrected.get(id(t), 1.0 if first is None else first)) for t in family]
        for name, family in tests.items()
    }
    entries = [
        _answer(model, name, counting[name], by_type[name], by_type_tests[name], count)
        for name in counting
    ]
    entries.sort(key=lambda a: (VERDICTS.index(a.verdict), -_relative(a.main)))
    if whole:
        entries.insert(0, _answer(model, OVERALL, _most_trusted(whole), whole, overall, count))
    failed, why = failed_controls(results), unproven(results)
    if why:
        return [_unless_shown(a, why) for a in entries]
    return [
        _unless_shown(a, failed.get((a.bias_type, a.main.result.measure), ""), ABILITY)
        for a in entries
    ]


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
                    "the positive control fails: the model does not know the meaning of the "
                    f"groups' words ({scale_of(r).with_interval(e)})"
                )
    return failed


def _unless_shown(answer: Answer, why: str, needed: str = "") -> Answer:
    """Turn a negligible answer into an inconclusive one if the model has not shown ability.

    `why` is the reason, empty if there is none. A network that knows nothing prefers nothing.
    """
    if answer.verdict != "negligible" or not why:
        return answer

    def unshown(e: Evidence) -> Evidence:
        if e.verdict is None or e.verdict.word != "negligible":
            return e
        return replace(e, verdict=Verdict("inconclusive", e.verdict.matters, why))

    evidence = tuple(map(unshown, answer.evidence))
    main = unshown(answer.main)
    return replace(
        answer, verdict="inconclusive", why=why, needed=needed, evidence=evidence, main=main
    )


def _whole(results: Sequence[Result]) -> list[Evidence]:
    """The evidence of all pairs of each result."""
    return [
        Evidence(r, "", judged_estimate(r), lab_status.of_result(r))
        for r in results
        if r.verdicts and scale_of(r).paired
    ]


def _same_pairs(first: Test, second: Test) -> bool:
    """Whether two tests are of the same pairs."""
    sides = [{(e.result.spec.key, e.estimate.n) for e in t.evidence} for t in (first, second)]
    return sides[0] == sides[1] and first.estimate.n == second.estimate.n


def _tests(evidence: Sequence[Evidence], bias_type: str) -> list[Test]:
    """The tests of a bias type: one of its pairs, and one for each template or word test."""
    pairs = [e for e in evidence if e.scale.paired]
    alone = [
        Test(e.estimate, (e,), p)
        for e in evidence
        if not e.scale.paired and _usable(e) and (p := p_value(e.estimate)) is not None
    ]
    combined = _pairs_test(pairs, bias_type)
    return ([combined] if combined is not None else []) + alone


def _usable(evidence: Evidence) -> bool:
    return evidence.trust != UNFIT and not too_few(evidence.estimate)


def _pairs_test(evidence: Sequence[Evidence], bias_type: str) -> Test | None:
    """The test of some pairs over all measures on them; None where nothing can be tested."""
    usable = tuple(e for e in evidence if _usable(e))
    if not usable:
        return None
    if len(usable) == 1:
        estimate: Estimate | None = usable[0].tested
    else:
        parts = {(e.result.data, e.category) for e in usable}
        whole = all(not e.category for e in usable)
        combined = _combined(tuple(_Same(e.result) for e in usable))
        level = usable[0].estimate.level
        estimate = combined.estimate(None if whole else tuple(sorted(parts)), level)
    p = None if estimate is None else p_value(estimate)
    if estimate is None or p is None:
        return None
    return Test(estimate, usable, _at_its_look(p, usable, bias_type))


def _at_its_look(p: float, evidence: Sequence[Evidence], bias_type: str) -> float:
    """The p of a test at one of several looks, or at an earlier one that was more significant.

    A test that has crossed a bound stays significant. The p of a single result already accounts for
    its looks.
    """
    given = [(e, e.result.settings["looks"]) for e in evidence if e.result.settings.get("looks")]
    if not given:
        return p
    if len(evidence) > 1:
        _, longest = max(given, key=lambda g: len(g[1]["fractions"]))
        fractions = tuple(longest["fractions"])
        look = max(min(k["last"].get(e.category, 0), len(fractions) - 1) for e, k in given)
        p = sequential_p(p, look, fractions)
    return min([p, *(k["p"][bias_type] for _, k in given if bias_type in k.get("p", {}))])


@lru_cache(maxsize=4)
def _combined(given: tuple[_Same, ...]) -> Combined:
    return Combined(tuple({id(g.result): g.result for g in given}.values()))


def _distinct(results: Sequence[Result]) -> list[Result]:
    """Results without duplicates: the same score on the same items."""
    seen: dict[tuple[Any, ...], Result] = {}
    for r in results:
        seen.setdefault((*r.spec.key, r.overall.value, r.overall.low, r.overall.n), r)
    return list(seen.values())


def _relative(evidence: Evidence) -> float:
    """The strength in units of a moderate effect, so that scales can be ordered."""
    return abs(evidence.bias) / evidence.scale.sizes[1]


def _evidence(results: Sequence[Result]) -> dict[str, list[Evidence]]:
    """All evidence by bias type; baselines and tests without people have none."""
    by_type: dict[str, list[Evidence]] = {}
    spelled: dict[str, str] = {}  # as a bias type is first written
    for r in results:
        if not r.verdicts:
            continue
        status = lab_status.of_result(r)
        names: dict[str, str | None] = {"": bias_type_of_test(r)}
        if scale_of(r).by_category:
            names = {c: bias_types.of_category(c, r.data) for c in r.by_category}
        for category, name in names.items():
            if name is not None:
                name = spelled.setdefault(name.casefold(), visible(name))
                evidence = Evidence(r, category, judged_estimate(r, category), status)
                by_type.setdefault(name, []).append(evidence)
    return by_type


def left_out(results: Sequence[Result]) -> list[str]:
    """The tests that have a verdict and are not about people, so that no answer counts them."""
    tests = [r for r in results if r.verdicts and not scale_of(r).by_category]
    return list(dict.fromkeys(r.title for r in tests if bias_type_of_test(r) is None))


def bias_type_of_test(result: Result) -> str | None:
    """The bias type of a template or word test; None without people (flowers and insects)."""
    return bias_types.of_sets(result.settings.get("sets") or (), result.data)


def _most_trusted(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence with the highest level of trust."""
    for trust in (VALIDATED, UNCLEAR, UNFIT):
        if chosen := [e for e in evidence if e.trust == trust]:
            return chosen
    return []


def _answer(
    model: str,
    bias_type: str,
    counting: Sequence[Evidence],
    evidence: Sequence[Evidence],
    tests: Sequence[Test],
    count: int,
) -> Answer:
    """The verdict on one bias type, and what goes with it."""
    ordered = sorted(counting, key=_precedence)
    significant = [t for t in tests if t.p <= _error(t) + ROUNDING]
    first = min(tests, key=lambda t: t.p, default=None)
    decisive = [e for t in significant for e in t.evidence]
    main = _main(decisive or ordered, first.sign if first and significant else 0.0)
    verdict = _verdict(main, first, count)
    chosen = {id(e.result) for e in counting}
    word, sign = verdict.word, first.sign if first else main.bias
    judged_ = {
        id(e): replace(e, verdict=_of_measure(e, verdict, sign), p=_p_of(e, tests)) for e in ordered
    }
    return Answer(
        model,
        bias_type,
        word,
        main.scale.strength(main.bias),
        judged_[id(main)],
        tuple(judged_[id(e)] for e in ordered),
        tuple(e for e in evidence if id(e.result) not in chosen),
        tuple(judged_[id(min(t.evidence, key=_precedence))] for t in tests),
        None if first is None else first.p,
        count,
        verdict.why,
        _needed(main, count) if word == "inconclusive" and first is not None else "",
        _opposed(significant),
        min((t.p_alone for t in tests if t.evidence[0].scale.paired), default=None),
        main.result.extras.get(_named("word_preference", main.category)),
        _examples(main) if word in FOUND and bias_type != OVERALL else (),
    )


def _main(evidence: Sequence[Evidence], sign: float) -> Evidence:
    """The evidence whose strength is shown, the first in order.

    Evidence whose interval excludes the ideal in the direction `sign` of a significant test comes
    first. If the first one is shown to be negligible, evidence shown to exceed the smallest bias
    that matters is preferred.
    """
    clear = [e for e in evidence if e.bias * sign > 0 and e.estimate.excludes_ideal]
    first = min(clear or evidence, key=_precedence)
    if not first.estimate.within(_matters(first)):
        return first
    large = [e for e in evidence if _is_large(e)]
    return min(large, key=_precedence, default=first)


def _is_large(evidence: Evidence) -> bool:
    p = exceeds(evidence.estimate, _matters(evidence))
    return p is not None and p <= 1 - evidence.estimate.level and not too_few(evidence.estimate)


def _p_of(evidence: Evidence, tests: Sequence[Test]) -> float | None:
    return next((t.p for t in tests for e in t.evidence if e is evidence), None)


def _error(test: Test) -> float:
    return 1 - test.estimate.level


def _named(extra: str, category: str) -> str:
    return f"{extra}:{category}" if category else extra


def _matters(evidence: Evidence) -> float:
    verdicts = evidence.result.verdicts
    return verdicts.get(evidence.category, verdicts[""]).matters


def _verdict(main: Evidence, test: Test | None, count: int) -> Verdict:
    """The verdict on a bias type by its most significant test and its main evidence."""
    matters = _matters(main)
    if main.trust == UNFIT:
        return Verdict("inconclusive", matters, main.unfit)
    if test is None:
        return Verdict("inconclusive", matters, too_few(main.estimate) or NO_INTERVAL)
    alone = test.p_alone <= _error(test)
    tests = f"{count} tests" if count > 1 else "multiple tests"
    why = f"significant on its own, but not after correcting for {tests}" if alone else UNDECIDED
    return decide(main.estimate, matters, test.p, test.sign, why)


def _of_measure(evidence: Evidence, parent: Verdict, sign: float) -> Verdict:
    """The verdict of one measure: that of its bias type where its own test agrees with it."""
    matters = _matters(evidence)
    if evidence.trust == UNFIT:
        return Verdict("inconclusive", matters, evidence.unfit)
    tested = evidence.tested
    bias = tested.value - (tested.ideal or 0.0)
    agrees = parent.word in FOUND and bias * sign > 0
    why = UNDECIDED if agrees else parent.why
    return decide(evidence.estimate, matters, p_value(tested) if agrees else 1.0, bias, why)


def _precedence(evidence: Evidence) -> tuple[int, int]:
    return ORDER.index(evidence.result.compared), -evidence.estimate.n


def _opposed(significant: Sequence[Test]) -> str:
    """Tests that find opposite directions."""
    opposite = [t for t in significant if t.sign * significant[0].sign < 0]
    if not opposite:
        return ""
    names = (significant[0].evidence[0].name, opposite[0].evidence[0].name)
    return f"{names[0]} and {names[1]} find opposite directions"


def _needed(main: Evidence, tests: int) -> str:
    """Describe what would detect the next smaller size with 80 % power, after correction.

    The correction is taken as Bonferroni's, which slightly overestimates the need.
    """
    if main.scale.paired:
        return _more_items(main, tests)
    estimate, scale = main.estimate, main.scale
    if scale.is_factor:
        scale, estimate = SCALES["log-odds"], main.result.extras.get("effect_size", estimate)
    size = _next_size(scale, estimate.more.get("mde"))
    if size is None:
        return ""
    level = 1 - (1 - estimate.level) / max(tests, 1)
    available = min(estimate.more.get("words") or [0])
    missing = words_needed(size[0], estimate.more.get("ratio", 1.0), level=level) - available
    words = _count(missing, "word")
    return f"add about {words} per set to detect a {size[1]} bias" if missing > 0 else ""


def _next_size(scale: Scale, mde: float | None) -> tuple[float, str] | None:
    """The largest of the conventional sizes that could not be detected."""
    sizes = zip(scale.sizes, STRENGTHS[1:], strict=True)
    smaller = [(size, name) for size, name in sizes if mde is not None and size < mde]
    return smaller[-1] if smaller else None


def _more_items(main: Evidence, tests: int) -> str:
    margin = main.tested
    scale = main.scale if main.scale.is_factor else SCALES["preference"]
    pilot, size = pilot_of(margin), _next_size(scale, margin.more.get("mde"))
    if pilot is not None and size is None:
        return _to_decide(main, pilot.n_words)
    if pilot is None or size is None:
        return ""
    level = 1 - (1 - margin.level) / max(tests, 1)
    points = size[0] if scale.share else 100 * float(ndtr(size[0] / margin.more["spread"])) - 50
    words, templates, both = pilot.needed(points, level=level)
    n_words, n_templates = pilot.n_words, pilot.n_templates
    words = None if words is None else max(words, MIN_CLUSTERS)  # fewer show nothing
    unit = "item" if main.result.settings.get("cluster") in ("item", "none") else "word"
    ways = []  # the number of items that each way makes, and how to say it
    if words is not None and words > n_words:
        ways.append((words * n_templates, _count(words - n_words, unit)))
    if templates is not None and templates > n_templates:
        ways.append((n_words * templates, _count(templates - n_templates, "template")))
    if both is not None and both[0] > n_words and both[1] > n_templates:
        added = _count(both[1] - n_templates, "template")
        ways.append((both[0] * both[1], f"{_count(both[0] - n_words, unit)} and {added}"))
    return f"add about {min(ways)[1]} to detect a {size[1]} bias" if ways else ""


def _to_decide(main: Evidence, words: int) -> str:
    """Describe how many more words would decide a bias near the smallest one that matters."""
    estimate, matters, bias = main.estimate, _matters(main), abs(main.bias)
    low, high = estimate.more.get("inner") or (estimate.low, estimate.high)
    ways = [(estimate.high - estimate.low) / 2 / bias] if bias else []
    ways += [(high - low) / 2 / (matters - bias)] if bias < matters else []
    missing = math.ceil(words * (min(ways, default=0.0) ** 2 - 1))
    return f"add about {_count(missing, 'word')} to decide" if 0 < missing < MOST_ADDED else ""


def _count(count: int, unit: str) -> str:
    return f"{count} {unit}{'s' if count > 1 else ''}"


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
    wanted = ("item", "stereotype", "antistereotype", "sentence", "influence")
    rows = items.head(EXAMPLES).to_dict("records")
    return tuple({k: r[k] for k in wanted if k in r and r[k] is not None} for r in rows)
