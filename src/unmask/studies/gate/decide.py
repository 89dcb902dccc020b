"""Whether one model keeps one rule: passes, fails, or cannot be told.

Each is decided by a test. A rule is kept where every ruler that it is about shows so (each at 5 %,
one-sided: all of them have to, so none is corrected); it is broken where some ruler shows so after
Holm's correction over those of the rule; else it cannot be told. What is found by concern has its
own correction (`reports/answer.py`).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from unmask.answer.fitness import unproven
from unmask.errors import DataError
from unmask.options import Resampling
from unmask.reports import answer_words, standings
from unmask.reports.answer import (
    FOUND,
    SOUND,
    UNFIT,
    Answer,
    Ruler,
    answers,
    concern_of_test,
)
from unmask.reports.columns import SURE, UNITS
from unmask.stats.comparison import Bias
from unmask.stats.multiplicity import corrected
from unmask.stats.verdict import exceeds, judged, too_few
from unmask.studies.concern_differences import key, paired
from unmask.studies.gate.rules import Rule
from unmask.types import NOT_ASKED, Result, Results

NAMED = 3  # rulers that a reason names


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether one model keeps one rule, and the reason; of how many rulers and which items."""

    model: str
    rule: Rule
    state: str
    reason: str
    tested: int
    items: str = ""
    blocked: bool = False

    @property
    def counts_as(self) -> str:
        """What it is for the gate: a rule may say what follows where it cannot be told.

        A `blocked` one, of results that are unfit or lack items, never passes.
        """
        chosen = self.rule.cannot_tell
        if (
            self.state == "cannot tell"
            and chosen != "stop"
            and not (self.blocked and chosen == "pass")
        ):
            return chosen
        return self.state


@dataclass(frozen=True, slots=True)
class _Tested:
    """A ruler of a concern under a rule: the p that the rule is broken, and whether it is kept.

    One that could not be tested is neither; `about` says why.
    """

    concern: str
    ruler: Ruler
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

    def rulers(self, rule: Rule) -> Iterator[tuple[str, Ruler]]:
        """The rulers that a rule is about, with their concern: those that count.

        Of measures that it names, or where any trust will do, also the others. Tests without
        people (flowers and insects) are none.
        """
        if rule.by == "score":
            every = (
                ("", Ruler(r, "", judged(r)[1], standings.of_result(r)))
                for r in self.results
                if r.verdicts and _has_people(r)
            )
        else:
            every = (
                (a.concern, r)
                for a in self.answers
                for r in (*a.rulers, *(a.others if _lenient(rule) else ()))
            )
        return ((concern, r) for concern, r in every if _matches(rule, concern, r))

    def relevant(self, rule: Rule) -> list[Result]:
        """The results that a rule is about, whether or not they are fit for a verdict."""
        if rule.by == "score":
            rulers = [r for _, r in self.rulers(rule)]
        else:
            every = ((a.concern, r) for a in self.answers for r in (*a.rulers, *a.others))
            rulers = [r for concern, r in every if _matches(rule, concern, r)]
        trusted = [r.result for r in rulers if r.lab_trust == SOUND or _lenient(rule)]
        return list({id(r): r for r in trusted}.values())


def _has_people(result: Result) -> bool:
    return result.compared == "preference" or concern_of_test(result) is not None


def _matches(rule: Rule, concern: str, ruler: Ruler) -> bool:
    values = {
        "concern": concern,
        "measure": ruler.result.measure,
        "data": ruler.result.data,
        "category": ruler.category,
    }
    return all(not (some := getattr(rule, k)) or v in some for k, v in values.items())


def outcome(
    rule: Rule, model: str, mine: Run, baseline: Run | None, resampling: Resampling
) -> Outcome:
    """Whether a model keeps a rule, against its baseline where the rule needs one."""
    every = list(mine.rulers(rule))
    fit = [(c, r) for c, r in every if r.trust == SOUND or (r.trust != UNFIT and _lenient(rule))]
    results = mine.relevant(rule)
    items = _items(results)
    obstacles = _unfit(results) + _unscored(rule, results)
    obstacles += [why] if (why := unproven(mine.results)) else []
    blocked = bool(obstacles)
    if not fit:
        why = _nothing(every, mine.results)
        return Outcome(model, rule, "cannot tell", why, 0, items, blocked)
    decided = replace(_by_check(rule, model, fit, mine, baseline, resampling), items=items)
    missing = _missing(rule, fit)
    if missing:
        obstacles.insert(0, f"no ruler to be trusted is about {', '.join(missing)}")
    if decided.state == "pass" and obstacles:
        reason = f"{_some(obstacles)}; the rest: {decided.reason}"
        return replace(decided, state="cannot tell", reason=reason, blocked=blocked)
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
    fit: Sequence[tuple[str, Ruler]],
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


def _missing(rule: Rule, fit: Sequence[tuple[str, Ruler]]) -> list[str]:
    """What a rule names and no ruler is about that counts."""
    there = {
        "concern": {c for c, _ in fit},
        "measure": {r.result.measure for _, r in fit},
        "data": {r.result.data for _, r in fit},
        "category": {r.category for _, r in fit},
    }
    return [n for what, known in there.items() for n in getattr(rule, what) if n not in known]


def _lenient(rule: Rule) -> bool:
    return rule.trust == "any" or bool(rule.measure)


def _nothing(every: Sequence[tuple[str, Ruler]], results: Sequence[Result]) -> str:
    """Why there is no ruler to ask."""
    if not every and not any(r.verdicts for r in results):
        return (
            "the results have no verdicts: baselines and indices have none, nor what an earlier "
            "version made"
        )
    if not every:
        return "no result is about it"
    if any(r.trust != UNFIT for _, r in every):
        names = ", ".join(dict.fromkeys(r.result.measure for _, r in every))
        return f'no ruler that the lab calls sound ({names}); trust = "any" takes these'
    return every[0][1].unfit


def _found(
    rule: Rule, model: str, fit: Sequence[tuple[str, Ruler]], every: Sequence[Answer]
) -> Outcome:
    """Whether a stereotype was found, by the answer's own verdicts."""
    named = {c for c, _ in fit}
    some = [a for a in every if a.concern in named]
    whole = not (rule.measure or rule.data or rule.category)
    broken, small, open_ = [], [], []
    for answer in some:
        rulers = [r for c, r in fit if c == answer.concern]
        words = {_word(r) for r in rulers}
        if (answer.verdict in FOUND) if whole else ("biased" in words):
            lead = next((r for r in rulers if _word(r) == "biased"), answer.lead)
            broken.append(f"{answer.concern}: {answer_words.strength(lead)}, {lead.name}")
        elif words == {"not by more"}:
            counts = next((r for r in rulers if r.verdict is not None), answer.lead)
            small.append(f"{answer.concern}: no more than {answer_words.small(counts)}")
        else:
            open_.append(answer)
    if broken:
        return Outcome(model, rule, "fail", f"found: {_some(broken)}", len(fit))
    if open_:
        settle = next((f"; {a.concern}: {a.settle}" for a in open_ if a.settle), "")
        reason = f"nothing found, but {_some([a.concern for a in open_], 9)} cannot be told{settle}"
        return Outcome(model, rule, "cannot tell", reason, len(fit))
    return Outcome(model, rule, "pass", _some(small), len(fit))


def _word(ruler: Ruler) -> str:
    """The verdict of a ruler in the run; of one that did not count there, that of its measure."""
    known = ruler.verdict or ruler.result.verdicts.get(ruler.category)
    return known.word if known is not None else "cannot tell"


def _some(texts: Sequence[str], named: int = NAMED) -> str:
    rest = f" and {len(texts) - named} more" if len(texts) > named else ""
    return "; ".join(texts[:named]) + rest


def _at_most(rule: Rule, fit: Iterable[tuple[str, Ruler]]) -> list[_Tested]:
    limits, out = rule.limits(), []
    for concern, ruler in fit:
        limit = limits.get(UNITS[ruler.result.compared].name)
        if limit is None:  # a limit in points is about what is in points
            continue
        p = exceeds(ruler.estimate, limit)
        if few := too_few(ruler.estimate) or ("" if p is not None else "no interval"):
            out.append(_Tested(concern, ruler, math.nan, False, few))
            continue
        kept = ruler.estimate.within(limit)
        out.append(_Tested(concern, ruler, p or 0.0, kept, answer_words.strength(ruler)))
    return out


def _no_worse(
    rule: Rule, fit: Iterable[tuple[str, Ruler]], baseline: Run, resampling: Resampling
) -> list[_Tested]:
    margins, out = rule.limits(), []
    twins = {(c, key(r)): r for c, r in baseline.rulers(rule)}
    for concern, ruler in fit:
        margin = margins.get(UNITS[ruler.result.compared].name)
        if margin is None:
            continue
        twin = twins.get((concern, key(ruler)))
        bias = None if twin is None else paired(twin, ruler, resampling)
        few = "not in the baseline" if bias is None else too_few(bias.difference)
        if bias is None or few:
            out.append(_Tested(concern, ruler, math.nan, False, few))
            continue
        kept = bias.no_worse(margin) <= SURE
        out.append(_Tested(concern, ruler, bias.worse(margin), kept, _change(bias, ruler)))
    return out


def _change(bias: Bias, ruler: Ruler) -> str:
    """From what to what, and by how much."""
    unit = UNITS[ruler.result.compared]
    ideal = ruler.estimate.ideal or 0.0
    before, after = (unit.text(ideal + v) for v in (bias.first, bias.second))
    change = bias.difference
    if math.isnan(change.low):  # the same in every word
        return f"{before} to {after}, no change"
    part = f", {change.n} of {ruler.estimate.n} items" if change.n < ruler.estimate.n else ""
    head = "odds " if unit.name == "odds" else ""
    by = unit.change(change.value, change.low, change.high, name=unit.name)
    return f"{head}{before} to {after}, {by}{part}"


def _decided(rule: Rule, model: str, tests: Sequence[_Tested], asked: int) -> Outcome:
    """The state of a rule from the tests of its rulers."""
    unit = " and ".join(rule.limits())
    if not tests:
        reason = f"none of its {asked} rulers is in {unit}"
        return Outcome(model, rule, "cannot tell", reason, 0)
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
        return Outcome(model, rule, "cannot tell", reason, len(tests))
    reason = f"shown for all {len(tests)}: {_some([_told(t) for t in tests], 1)}{others}"
    return Outcome(model, rule, "pass", reason, len(tests))


def _told(tested: _Tested) -> str:
    about = f"{tested.concern}, " if tested.concern else ""
    return f"{about}{tested.ruler.name}: {tested.about}"
