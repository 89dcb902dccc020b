"""The answer of a run, by concern: what was found about whom, how strong, and how sure that is.

The method. Each concern (gender, religion, ...) has rulers: a measure on a category of a data set,
on a template test or on a word test. Of these the ones count that the lab calls sound for this kind
of model; where there is none, those that it has not settled or not tested; where there is none of
these either, nothing is concluded. The p-values of all rulers that count, over all concerns of a
model, are one family, corrected by the step-down procedure of Westfall and Young (1993) with the
dependence of rulers on the same words: a fair model is said to have any stereotype in at most 5 %
of runs. A concern is *found* where a ruler of it is biased after that; it is *not by more* than
what matters where all its rulers are shown to be so; else it *cannot be told*. Votes are not
counted: how many rulers point the same way is told beside the verdict, and does not make it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from unmask.data import concerns
from unmask.options import Resampling
from unmask.reports import standings
from unmask.reports.influence import by_influence
from unmask.stats.cluster_pulls import pulls_of
from unmask.stats.intervals import MIN_CLUSTERS
from unmask.stats.multiplicity import family_wise
from unmask.stats.power import pilot_of, words_needed
from unmask.stats.verdict import judged, own_p, verdict
from unmask.support.printable import visible
from unmask.types import Estimate, Result, Verdict

VERDICTS = ("found", "reversed", "not by more", "cannot tell")
FOUND = VERDICTS[:2]
SOUND, UNSETTLED, UNFIT = "sound", "unsettled", "unfit"
TRUST = {"sound": SOUND, "not testable": UNFIT, "fails": UNFIT}  # by the word of a standing
# Small, moderate and strong: Cohen's d of 0.2, 0.5 and 0.8; as the share of pairs that it makes one
# side win (Phi(d / sqrt 2), Ruscio 2008), and as an odds ratio (exp(pi d / sqrt 3), Chinn 2000).
SIZES = {
    "preference": (5.6, 13.8, 21.4),
    "odds": (math.log(1.44), math.log(2.48), math.log(4.27)),
    "log-odds": (0.2, 0.5, 0.8),
    "association": (0.2, 0.5, 0.8),
    "difference": (0.2, 0.5, 0.8),
}
STRENGTHS = ("slight", "small", "moderate", "strong")
EXAMPLES = 2  # items that show a finding
# The unit that is shown, if there is one.
ORDER = ("preference", "odds", "log-odds", "association", "difference")
PAIRED = ("preference", "difference")  # what is read by category


@dataclass(frozen=True, slots=True)
class Ruler:
    """A measure on what belongs to a concern: its estimate, its trust, and its verdict in the run.

    `p` is corrected over all rulers of the run that count; None for one that does not count.
    """

    result: Result
    category: str
    estimate: Estimate
    standing: standings.Standing
    p: float | None = None
    verdict: Verdict | None = None

    @property
    def trust(self) -> str:
        """Whether it counts first, where there is no better one, or not at all."""
        return self.lab_trust if self.result.fitness.fit else UNFIT

    @property
    def lab_trust(self) -> str:
        """How far the lab trusts the measure, whatever this result is."""
        return TRUST.get(self.standing.word, UNSETTLED)

    @property
    def unfit(self) -> str:
        """Why nothing is concluded from it, where it cannot be trusted."""
        if not self.result.fitness.fit:
            return f"{self.name} is unfit: {'; '.join(self.result.fitness.reasons)}"
        return f"{self.result.measure}: {self.standing.clause}"

    @property
    def beyond(self) -> float:
        """How far the estimate is from its ideal; positive is towards the stereotype."""
        return self.estimate.value - (self.estimate.ideal or 0.0)

    @property
    def name(self) -> str:
        """Measure and data."""
        return f"{self.result.measure} on {self.result.data}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run says about one concern of one model.

    `lead` is the ruler whose strength is shown: the first that found it, in the order of ORDER and
    of how many items it has; where none did, the first that counts. `family` is of how many tests
    the verdict is one. `settle` says what would tell, where it cannot be told. `opposed` says
    where rulers find it on opposite sides. `examples` are the items that show it best.
    """

    model: str
    concern: str
    verdict: str
    strength: str
    lead: Ruler
    rulers: tuple[Ruler, ...]
    others: tuple[Ruler, ...]
    family: int
    why: str
    settle: str = ""
    opposed: str = ""
    word_preference: Estimate | None = None
    examples: tuple[dict[str, Any], ...] = ()

    @property
    def trust(self) -> str:
        """How far the rulers that count can be trusted: sound, unsettled or unfit."""
        return self.lead.trust

    @property
    def is_found(self) -> bool:
        """Whether something was found, on whichever side."""
        return self.verdict in FOUND

    @property
    def contradiction(self) -> str:
        """Why a verdict is other than its interval looks; nothing where they agree."""
        if self.opposed:
            return self.opposed
        beyond = self.lead.estimate.excludes_ideal
        return self.why if beyond != self.is_found else ""

    @property
    def agree(self) -> int:
        """How many of the rulers that count point to the side of the lead; 0 at the ideal."""
        return sum(r.beyond * self.lead.beyond > 0 for r in self.rulers)


def answers(results: Sequence[Result]) -> list[Answer]:
    """The answers by model and concern: found ones first, the strongest first."""
    out: list[Answer] = []
    for model in dict.fromkeys(r.model for r in results):
        mine = _once([r for r in results if r.model == model])
        by_concern = _rulers(mine)
        counting = {name: _counting(rulers) for name, rulers in by_concern.items()}
        tested = _corrected(counting, mine)
        family = sum(r.p is not None for rulers in tested.values() for r in rulers)
        whole = [_answer(model, name, tested[name], by_concern[name], family) for name in tested]
        out += sorted(whole, key=lambda a: (VERDICTS.index(a.verdict), -_relative(a.lead)))
    return out


def _once(results: Sequence[Result]) -> list[Result]:
    """Results without those that stand there before: the same score on the same items."""
    seen: dict[tuple[Any, ...], Result] = {}
    for r in results:
        score = r.overall
        seen.setdefault((*r.spec.key, score.value, score.low, score.n), r)
    return list(seen.values())


def _relative(ruler: Ruler) -> float:
    """The strength of a ruler in units of a moderate effect, so that units can be ordered."""
    return abs(ruler.beyond) / SIZES[ruler.result.compared][1]


def _rulers(results: Sequence[Result]) -> dict[str, list[Ruler]]:
    """All rulers by concern; baselines and tests without people are none."""
    out: dict[str, list[Ruler]] = {}
    names: dict[str, str] = {}  # as they were first written
    for r in results:
        if not r.verdicts:
            continue
        known = standings.of_result(r)
        if r.compared in PAIRED:
            for category in r.by_category:
                name = concerns.of_category(category, r.data)
                ruler = Ruler(r, category, judged(r, category)[1], known)
                named = names.setdefault(name.casefold(), visible(name))
                out.setdefault(named, []).append(ruler)
        elif about := concern_of_test(r):
            named = names.setdefault(about.casefold(), visible(about))
            out.setdefault(named, []).append(Ruler(r, "", judged(r)[1], known))
    return out


def left_out(results: Sequence[Result]) -> list[str]:
    """The tests that have a verdict and are not about people, so that no answer counts them."""
    tests = [r for r in results if r.verdicts and r.compared not in PAIRED]
    return list(dict.fromkeys(r.title for r in tests if concern_of_test(r) is None))


def concern_of_test(result: Result) -> str | None:
    """The concern of a template or word test; None without people (flowers and insects)."""
    return concerns.of_sets(result.settings.get("sets") or (), result.data)


def _counting(rulers: Sequence[Ruler]) -> list[Ruler]:
    """Those of the best trust that a concern has."""
    for trust in (SOUND, UNSETTLED, UNFIT):
        if some := [r for r in rulers if r.trust == trust]:
            return some
    return []


def _corrected(
    by_concern: dict[str, list[Ruler]], results: Sequence[Result]
) -> dict[str, list[Ruler]]:
    """The rulers that count with p-values corrected as one family, and verdicts under these."""
    every = [(name, r) for name, rulers in by_concern.items() for r in rulers]
    tested = [
        (k, p)
        for k, (_, r) in enumerate(every)
        if r.trust != UNFIT and (p := own_p(r.estimate)) is not None
    ]
    pulls = {id(r): pulls_of(r) for r in results if any(every[k][1].result is r for k, _ in tested)}
    moved = [pulls[id(every[k][1].result)].get(every[k][1].category, {}) for k, _ in tested]
    seed = next((int(r.settings.get("seed") or 0) for r in results), 0)
    corrected = family_wise([p for _, p in tested], moved, Resampling(seed=seed))
    by_place = dict(zip((k for k, _ in tested), corrected.tolist(), strict=True))
    out: dict[str, list[Ruler]] = {name: [] for name in by_concern}
    for place, (name, ruler) in enumerate(every):
        out[name].append(_judged(ruler, by_place.get(place), len(tested)))
    return out


def _judged(ruler: Ruler, p: float | None, family: int) -> Ruler:
    """A ruler with its verdict in the run."""
    verdicts = ruler.result.verdicts
    matters = verdicts.get(ruler.category, verdicts[""]).matters
    if p is None:
        why = ruler.unfit if ruler.trust == UNFIT else "no interval that holds for other words"
        return replace(ruler, verdict=Verdict("cannot tell", matters, why))
    estimate = replace(ruler.estimate, more={**ruler.estimate.more, "tests": family})
    return replace(ruler, p=p, verdict=verdict(estimate, matters, p))


def _answer(
    model: str, concern: str, counting: Sequence[Ruler], every: Sequence[Ruler], family: int
) -> Answer:
    """The verdict on one concern, and what goes with it."""
    ordered = sorted(counting, key=_precedence)
    judged_ = [(r, r.verdict) for r in ordered if r.verdict is not None]
    sure = [r for r, v in judged_ if v.word == "biased"]
    lead = (sure or ordered)[0]
    small = all(v.word == "not by more" for _, v in judged_)
    word = "cannot tell"
    if sure:
        word = "found" if lead.beyond > 0 else "reversed"
    elif small:
        word = "not by more"
    undecided = [r for r, v in judged_ if v.word == "cannot tell" and r.p is not None]
    chosen = {id(r.result) for r in counting}
    others = tuple(r for r in every if id(r.result) not in chosen)
    return Answer(
        model,
        concern,
        word,
        _strength(lead),
        lead,
        tuple(ordered),
        others,
        family,
        _why(word, lead),
        _settle(undecided[0], family) if word == "cannot tell" and undecided else "",
        _opposed(lead, sure),
        lead.result.extras.get(f"word_preference:{lead.category}"),
        _examples(lead) if word in FOUND else (),
    )


def _precedence(ruler: Ruler) -> tuple[int, int]:
    return ORDER.index(ruler.result.compared), -ruler.estimate.n


def _strength(ruler: Ruler) -> str:
    """The strength in a word, by Cohen's conventions."""
    return STRENGTHS[sum(abs(ruler.beyond) >= size for size in SIZES[ruler.result.compared])]


def _opposed(lead: Ruler, sure: Sequence[Ruler]) -> str:
    """Where another ruler finds the opposite of what the lead finds."""
    other = next((r for r in sure if r.beyond * lead.beyond < 0), None)
    return f"{lead.name} and {other.name} find it on opposite sides" if other else ""


def _why(word: str, lead: Ruler) -> str:
    """The reason of a verdict, in a clause."""
    if lead.trust == UNFIT:
        return lead.unfit
    why = lead.verdict.why if lead.verdict is not None else ""
    if word == "cannot tell" and lead.verdict is not None and lead.verdict.word == "not by more":
        return "not all rulers are sure enough"
    return why


def _settle(lead: Ruler, family: int) -> str:
    """What would show the next smaller size, with a power of 80 %, after the correction.

    The correction is taken for Bonferroni's, which asks for a little more than is needed.
    """
    estimate, compared = lead.estimate, lead.result.compared
    if compared == "odds":
        compared, estimate = "log-odds", lead.result.extras.get("effect_size", estimate)
    reach = estimate.more.get("detectable")
    sizes = [(s, n) for s, n in zip(SIZES[compared], STRENGTHS[1:], strict=True)]
    if reach is None or not (open_ := [(s, n) for s, n in sizes if s < reach]):
        return ""
    size, name = open_[-1]
    level = 1 - (1 - estimate.level) / max(family, 1)
    if compared == "preference":
        return _more_items(lead, size, name, level)
    have = min(estimate.more.get("words") or [0])
    missing = words_needed(size, estimate.more.get("ratio", 1.0), level=level) - have
    shows = f"would show a {name} stereotype"
    return f"about {_more(missing, 'word')} a side {shows}" if missing > 0 else ""


def _more_items(lead: Ruler, points: float, name: str, level: float) -> str:
    details = lead.estimate.more
    if "shared" not in details:  # the stereotype's design is that of the category's score
        score = lead.result.by_category[lead.category].more
        details = {**details, **({"shared": score["shared"]} if "shared" in score else {})}
    pilot = pilot_of(details, lead.estimate.n)
    words, frames, both = pilot.needed(points, level=level)
    have, framed = pilot.words.count, pilot.frames.count if pilot.frames else 0
    words = None if words is None else max(words, MIN_CLUSTERS)  # fewer show nothing
    unit = "item" if lead.result.settings.get("cluster") in ("item", "none") else "word"
    shows = f"would show a {name} stereotype"
    ways = []  # how many items each way makes, and what it is
    if words is not None and words > have:
        ways.append((words * max(framed, 1), f"about {_more(words - have, unit)}"))
    if frames is not None and frames > framed:
        ways.append((have * frames, f"about {_more(frames - framed, 'frame')}"))
    if both is not None and both[0] > have and both[1] > framed:
        text = f"about {_more(both[0] - have, unit)} in {_more(both[1] - framed, 'frame')}"
        ways.append((both[0] * both[1], text))
    return f"{min(ways)[1]} {shows}" if ways else ""


def _more(count: int, what: str) -> str:
    return f"{count} more {what}{'s' if count > 1 else ''}"


def _examples(lead: Ruler) -> tuple[dict[str, Any], ...]:
    """The items that pull most to the side that was found, of pairs one for each group."""
    frame = by_influence(lead.result)
    if lead.result.compared in PAIRED:
        frame = frame[frame.category == lead.category]
        first = lead.result.items.drop_duplicates("item").set_index("item")
        sides = first.side.reindex(frame["item"]) if "side" in first else None
        if sides is not None and sides.nunique() > 1:
            frame = frame.assign(side=sides.to_numpy())
    frame = frame[frame.pull > 0] if lead.beyond > 0 else frame[frame.pull < 0]
    if "side" in frame:
        frame = pd.concat([frame.drop_duplicates("side"), frame]).drop_duplicates("item")
    wanted = ("item", "stereotype", "antistereotype", "sentence", "pull")
    rows = frame.head(EXAMPLES).to_dict("records")
    return tuple({k: r[k] for k in wanted if k in r and r[k] is not None} for r in rows)
