"""The answer of a run by bias type: what was found about whom, how strong it is, and how sure.

Each bias type (gender, religion, ...) has evidence: a measure on a category of a data set, on a
template test or on a word test. The evidence that counts comes from measures that the lab has
validated for this kind of model; where there is none, from measures whose status is unclear or
unknown; otherwise nothing is concluded. The p-values of all evidence that counts, over all bias
types of a model, are corrected by Holm's method. A bias type is *biased* or *reversed* if any of
its evidence is so after correction, *negligible* if all of its evidence is, and otherwise
*inconclusive*. How many measures agree is reported with the verdict, and does not decide it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from unmask.answer import lab_status
from unmask.answer.influence import by_influence
from unmask.answer.lab_status import UNCLEAR, UNFIT, VALIDATED, LabStatus
from unmask.answer.scales import ORDER, SCALES, STRENGTHS, Scale, scale_of
from unmask.answer.verdict import NO_INTERVAL, holm, judged_estimate, p_value, verdict
from unmask.data import bias_types
from unmask.stats.intervals import MIN_CLUSTERS
from unmask.stats.power import pilot_of, words_needed
from unmask.support.printable import visible
from unmask.types import FOUND, VERDICTS, Estimate, Result, Verdict

EXAMPLES = 2  # items that show a finding


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measure on one bias type: its estimate, its lab status, and its verdict in the run.

    `p` is corrected over all evidence of the run that counts; None where it does not count.
    """

    result: Result
    category: str
    estimate: Estimate
    status: LabStatus
    p: float | None = None
    verdict: Verdict | None = None

    @property
    def trust(self) -> str:
        """Whether it counts first, where there is no better one, or not at all."""
        return self.lab_trust if self.result.fitness.fit else UNFIT

    @property
    def lab_trust(self) -> str:
        """How far the lab trusts the measure, whatever this result is."""
        return self.status.trust

    @property
    def unfit(self) -> str:
        """Why nothing is concluded from it, where it cannot be trusted."""
        if not self.result.fitness.fit:
            return f"{self.name} is unfit: {'; '.join(self.result.fitness.reasons)}"
        return f"{self.result.measure}: {self.status.clause}"

    @property
    def bias(self) -> float:
        """The distance of the estimate from its ideal; positive is towards the stereotype."""
        return self.estimate.value - (self.estimate.ideal or 0.0)

    @property
    def name(self) -> str:
        """Measure and data."""
        return f"{self.result.measure} on {self.result.data}"

    @property
    def scale(self) -> Scale:
        """The scale of its estimate."""
        return scale_of(self.result)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run says about one bias type of one model.

    `main` is the evidence whose strength is shown: the first that is biased, in the order of
    scales and of the number of items; where none is, the first that counts. `tests` is the number
    of tests that the verdict is corrected for. `needed` says what would decide an inconclusive
    one. `opposed` names evidence of opposite directions. `examples` are the clearest items.
    """

    model: str
    bias_type: str
    verdict: str
    strength: str
    main: Evidence
    evidence: tuple[Evidence, ...]
    others: tuple[Evidence, ...]
    tests: int
    why: str
    needed: str = ""
    opposed: str = ""
    word_preference: Estimate | None = None
    examples: tuple[dict[str, Any], ...] = ()

    @property
    def trust(self) -> str:
        """How far the evidence that counts can be trusted: validated, unclear or unfit."""
        return self.main.trust

    @property
    def found(self) -> bool:
        """Whether a bias was found, in whichever direction."""
        return self.verdict in FOUND

    @property
    def contradiction(self) -> str:
        """Why the verdict differs from what its interval suggests; empty where they agree."""
        if self.opposed:
            return self.opposed
        return self.why if self.main.estimate.excludes_ideal != self.found else ""

    @property
    def agree(self) -> int:
        """How much of the evidence has the direction of the main one; 0 if that is neutral."""
        return sum(e.bias * self.main.bias > 0 for e in self.evidence)


def answers(results: Sequence[Result]) -> list[Answer]:
    """The answers by model and bias type: biased ones first, the strongest first."""
    by_model: list[Answer] = []
    for model in dict.fromkeys(r.model for r in results):
        distinct = _distinct([r for r in results if r.model == model])
        by_type = _evidence(distinct)
        judged = _judge({name: _most_trusted(known) for name, known in by_type.items()})
        tests = sum(e.p is not None for known in judged.values() for e in known)
        found = [_answer(model, name, judged[name], by_type[name], tests) for name in judged]
        by_model += sorted(found, key=lambda a: (VERDICTS.index(a.verdict), -_relative(a.main)))
    return by_model


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
                estimate = judged_estimate(r, category)[1]
                by_type.setdefault(name, []).append(Evidence(r, category, estimate, status))
    return by_type


def left_out(results: Sequence[Result]) -> list[str]:
    """The tests that have a verdict and are not about people, so that no answer counts them."""
    tests = [r for r in results if r.verdicts and not scale_of(r).by_category]
    return list(dict.fromkeys(r.title for r in tests if bias_type_of_test(r) is None))


def bias_type_of_test(result: Result) -> str | None:
    """The bias type of a template or word test; None without people (flowers and insects)."""
    return bias_types.of_sets(result.settings.get("sets") or (), result.data)


def _most_trusted(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence of the best trust that a bias type has."""
    for trust in (VALIDATED, UNCLEAR, UNFIT):
        if chosen := [e for e in evidence if e.trust == trust]:
            return chosen
    return []


def _judge(by_type: dict[str, list[Evidence]]) -> dict[str, list[Evidence]]:
    """The evidence with p-values corrected as one family, and verdicts under these."""
    evidence = [e for known in by_type.values() for e in known]
    tested = [e for e in evidence if e.trust != UNFIT and p_value(e.estimate) is not None]
    p_corrected = holm([p_value(e.estimate) for e in tested])
    by_id = {id(e): p for e, p in zip(tested, p_corrected, strict=True)}
    return {
        name: [_judged(e, by_id.get(id(e)), len(tested)) for e in known]
        for name, known in by_type.items()
    }


def _judged(evidence: Evidence, p: float | None, tests: int) -> Evidence:
    """Evidence with its verdict in the run."""
    verdicts = evidence.result.verdicts
    matters = verdicts.get(evidence.category, verdicts[""]).matters
    if p is None:
        why = evidence.unfit if evidence.trust == UNFIT else NO_INTERVAL
        return replace(evidence, verdict=Verdict("inconclusive", matters, why))
    estimate = replace(evidence.estimate, more={**evidence.estimate.more, "tests": tests})
    return replace(evidence, p=p, verdict=verdict(estimate, matters, p))


def _answer(
    model: str, bias_type: str, counting: Sequence[Evidence], known: Sequence[Evidence], tests: int
) -> Answer:
    """The verdict on one bias type, and what goes with it."""
    ordered = sorted(counting, key=_precedence)
    words = [e.verdict.word if e.verdict else "" for e in ordered]
    significant = [e for e, word in zip(ordered, words, strict=True) if word in FOUND]
    main = (significant or ordered)[0]
    word = "inconclusive"
    if significant:
        word = "biased" if main.bias > 0 else "reversed"
    elif all(w == "negligible" for w in words):
        word = "negligible"
    undecided = [
        e for e, w in zip(ordered, words, strict=True) if w == "inconclusive" and e.p is not None
    ]
    chosen = {id(e.result) for e in counting}
    return Answer(
        model,
        bias_type,
        word,
        main.scale.strength(main.bias),
        main,
        tuple(ordered),
        tuple(e for e in known if id(e.result) not in chosen),
        tests,
        _why(word, main),
        _needed(undecided[0], tests) if word == "inconclusive" and undecided else "",
        _opposed(main, significant),
        main.result.extras.get(f"word_preference:{main.category}"),
        _examples(main) if word in FOUND else (),
    )


def _precedence(evidence: Evidence) -> tuple[int, int]:
    return ORDER.index(evidence.result.compared), -evidence.estimate.n


def _opposed(main: Evidence, significant: Sequence[Evidence]) -> str:
    """Evidence that finds the opposite of what the main evidence finds."""
    opposite = next((e for e in significant if e.bias * main.bias < 0), None)
    return f"{main.name} and {opposite.name} find opposite directions" if opposite else ""


def _why(word: str, main: Evidence) -> str:
    """The reason of a verdict, in a clause."""
    if main.trust == UNFIT:
        return main.unfit
    if word == "inconclusive" and main.verdict and main.verdict.word == "negligible":
        return "not all measures are precise enough"
    return main.verdict.why if main.verdict is not None else ""


def _needed(main: Evidence, tests: int) -> str:
    """What would detect the next smaller size with a power of 80 %, after the correction.

    The correction is taken as Bonferroni's, which asks for a little more than is needed.
    """
    estimate, scale = main.estimate, main.scale
    if scale.is_factor:
        scale, estimate = SCALES["log-odds"], main.result.extras.get("effect_size", estimate)
    mde = estimate.more.get("mde")
    sizes = list(zip(scale.sizes, STRENGTHS[1:], strict=True))
    if mde is None or not (smaller := [(size, name) for size, name in sizes if size < mde]):
        return ""
    size, name = smaller[-1]
    level = 1 - (1 - estimate.level) / max(tests, 1)
    if scale.paired:
        return _more_items(main, size, name, level)
    available = min(estimate.more.get("words") or [0])
    missing = words_needed(size, estimate.more.get("ratio", 1.0), level=level) - available
    words = _count(missing, "word")
    return f"add about {words} per set to detect a {name} bias" if missing > 0 else ""


def _more_items(main: Evidence, points: float, name: str, level: float) -> str:
    details = main.estimate.more
    if "shared" not in details:  # the stereotype's design is that of the category's score
        score = main.result.by_category[main.category].more
        details = {**details, **({"shared": score["shared"]} if "shared" in score else {})}
    pilot = pilot_of(details, main.estimate.n)
    words, templates, both = pilot.needed(points, level=level)
    n_words, n_templates = pilot.words.count, pilot.templates.count if pilot.templates else 0
    words = None if words is None else max(words, MIN_CLUSTERS)  # fewer show nothing
    unit = "item" if main.result.settings.get("cluster") in ("item", "none") else "word"
    ways = []  # the number of items that each way makes, and how to say it
    if words is not None and words > n_words:
        ways.append((words * max(n_templates, 1), _count(words - n_words, unit)))
    if templates is not None and templates > n_templates:
        ways.append((n_words * templates, _count(templates - n_templates, "template")))
    if both is not None and both[0] > n_words and both[1] > n_templates:
        added = _count(both[1] - n_templates, "template")
        ways.append((both[0] * both[1], f"{_count(both[0] - n_words, unit)} and {added}"))
    return f"add about {min(ways)[1]} to detect a {name} bias" if ways else ""


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
