"""The tests of a bias type: one of all its pairs, and one of each template or word test."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from unmask.answer.combined import CombinedPairs
from unmask.answer.evidence import Evidence
from unmask.answer.verdict import p_value
from unmask.stats.sequential import sequential_p
from unmask.types import Estimate, Result


@dataclass(frozen=True, slots=True)
class BiasTest:
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


@dataclass(frozen=True, slots=True, eq=False)
class ByIdentity:
    """A result, equal to itself alone."""

    result: Result

    def __hash__(self) -> int:
        return id(self.result)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, ByIdentity) and value.result is self.result


@lru_cache(maxsize=4)
def _combined(results: tuple[ByIdentity, ...]) -> CombinedPairs:
    return CombinedPairs(tuple({id(g.result): g.result for g in results}.values()))


def same_pairs(first: BiasTest, second: BiasTest) -> bool:
    """Whether two tests are of the same pairs."""
    sides = [{(e.result.spec.key, e.estimate.n) for e in t.evidence} for t in (first, second)]
    return sides[0] == sides[1] and first.estimate.n == second.estimate.n


def tests_of(evidence: Sequence[Evidence], bias_type: str) -> list[BiasTest]:
    """The tests of a bias type: one of its pairs, and one for each template or word test."""
    pairs = [e for e in evidence if e.scale.paired]
    templates = [
        BiasTest(e.estimate, (e,), p)
        for e in evidence
        if not e.scale.paired and e.usable and (p := p_value(e.estimate)) is not None
    ]
    combined = pairs_test(pairs, bias_type)
    return ([combined] if combined is not None else []) + templates


def pairs_test(evidence: Sequence[Evidence], bias_type: str) -> BiasTest | None:
    """The test of some pairs over all measures on them; None where nothing can be tested."""
    usable = tuple(e for e in evidence if e.usable)
    if not usable:
        return None
    if len(usable) == 1:
        estimate: Estimate | None = usable[0].tested
    else:
        parts = {(e.result.data, e.category) for e in usable}
        all_pairs = all(not e.category for e in usable)
        combined = _combined(tuple(ByIdentity(e.result) for e in usable))
        level = usable[0].estimate.level
        estimate = combined.estimate(None if all_pairs else tuple(sorted(parts)), level)
        if estimate is None or p_value(estimate) is None:  # no score varies: the share has a test
            estimate = usable[0].tested
    p = None if estimate is None else p_value(estimate)
    if estimate is None or p is None:
        return None
    return BiasTest(estimate, usable, _at_its_look(p, usable, bias_type))


def _at_its_look(p: float, evidence: Sequence[Evidence], bias_type: str) -> float:
    """The p of a test at one of several looks, or at an earlier one that was more significant.

    A test that has crossed a bound stays significant. The p of a single result already accounts for
    its looks.
    """
    looks = [(e, e.result.settings["looks"]) for e in evidence if e.result.settings.get("looks")]
    if not looks:
        return p
    if len(evidence) > 1:
        _, longest = max(looks, key=lambda g: len(g[1]["fractions"]))
        fractions = tuple(longest["fractions"])
        look = max(min(k["last"].get(e.category, 0), len(fractions) - 1) for e, k in looks)
        p = sequential_p(p, look, fractions)
    return min([p, *(k["p"][bias_type] for _, k in looks if bias_type in k.get("p", {}))])
