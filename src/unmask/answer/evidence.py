"""The evidence of a bias type: measures on a category, a template test or a word test."""

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.answer import lab_status
from unmask.answer.lab_status import UNCLEAR, UNFIT, VALIDATED, LabStatus
from unmask.answer.scales import ORDER, Scale, scale_of
from unmask.answer.verdict import bias_estimate, exceeds, judged_estimate, too_few
from unmask.data import bias_types
from unmask.support.printable import visible
from unmask.types import Estimate, Result, Verdict


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

    @property
    def matters(self) -> float:
        """The smallest bias that matters, in the unit of the estimate."""
        verdicts = self.result.verdicts
        return verdicts.get(self.category, verdicts[""]).matters

    @property
    def usable(self) -> bool:
        """Whether it can be tested: fit, and of enough items."""
        return self.trust != UNFIT and not too_few(self.estimate)

    @property
    def is_large(self) -> bool:
        """Whether the bias is significantly larger than what matters."""
        p = exceeds(self.estimate, self.matters)
        return p is not None and p <= 1 - self.estimate.level and not too_few(self.estimate)

    @property
    def relative(self) -> float:
        """The strength in units of a moderate effect, so that scales can be ordered."""
        return abs(self.bias) / self.scale.sizes[1]

    @property
    def precedence(self) -> tuple[int, int]:
        """The place in the order of evidence: by scale, then by the number of items."""
        return ORDER.index(self.result.compared), -self.estimate.n

    def extra(self, name: str) -> Estimate | None:
        """An extra estimate of the result, for this category."""
        return self.result.extras.get(f"{name}:{self.category}" if self.category else name)


def evidence_by_type(results: Sequence[Result]) -> dict[str, list[Evidence]]:
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


def evidence_of_all_pairs(results: Sequence[Result]) -> list[Evidence]:
    """The evidence of all pairs of each result."""
    return [
        Evidence(r, "", judged_estimate(r), lab_status.of_result(r))
        for r in results
        if r.verdicts and scale_of(r).paired
    ]


def most_trusted(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence with the highest level of trust."""
    for trust in (VALIDATED, UNCLEAR, UNFIT):
        if trusted := [e for e in evidence if e.trust == trust]:
            return trusted
    return []


def bias_type_of_test(result: Result) -> str | None:
    """The bias type of a template or word test; None without people (flowers and insects)."""
    return bias_types.of_sets(result.settings.get("sets") or (), result.data)


def left_out(results: Sequence[Result]) -> list[str]:
    """The tests that have a verdict and are not about people, so that no answer counts them."""
    tests = [r for r in results if r.verdicts and not scale_of(r).by_category]
    return list(dict.fromkeys(r.title for r in tests if bias_type_of_test(r) is None))
