"""Fitness: can a result support a verdict at all?

A network without weights, or one that noise has destroyed, prefers nothing, and would look fair. A
result is unfit if the model predicts the tokens no better than one fixed token would, if it hardly
prefers meaningful sentences to unrelated ones (lms, Nadeem et al. 2021; chance is 50), if many
items are exact ties, or if fewer than half of the items could be scored. A result that says nothing
about the model's ability (a word test, a file of scores) is unfit where all results of the same
model that do are. An unfit result gets no verdict other than inconclusive.
"""

from collections.abc import Sequence
from dataclasses import replace

from unmask.types import Fitness, Result, Verdict

MOST_TIES = 20.0  # per cent of the items
LEAST_SCORED = 50.0  # per cent of the items
LEAST_LMS = 60.0  # chance is 50
# A fixed token may be right often where few tokens are asked for, such as "he" and "she": there a
# model need not be better. Above this accuracy no model that ignores its input was seen.
ENOUGH_ACCURACY = 15.0
UNKNOWN_CONSTANT = 2.0  # what a fixed token reaches, where a file of an earlier version lacks it


def assessed(results: Sequence[Result]) -> list[Result]:
    """The results with their fitness; unfit ones lose their verdicts, and a note says why."""
    known = [_fitness(r) for r in results]
    by_model: dict[str, list[Fitness]] = {}
    for result, fitness in zip(results, known, strict=True):
        if result.verdicts and _shows_ability(result):
            by_model.setdefault(result.model, []).append(fitness)
    out = []
    for result, fitness in zip(results, known, strict=True):
        others = [] if _shows_ability(result) else by_model.get(result.model, [])
        if fitness.fit and others and not any(f.fit for f in others):
            fitness = replace(fitness, reasons=others[0].reasons)
        out.append(_marked(result, fitness))
    return out


def _shows_ability(result: Result) -> bool:
    """Whether a result says what the model can do, and not only what it prefers."""
    has = result.accuracy is not None or "lms" in result.extras
    return has and result.compared == "preference"


def _fitness(result: Result) -> Fitness:
    coverage, accuracy, lms = result.coverage, result.accuracy, result.extras.get("lms")
    ties = 100 * coverage.ties / max(coverage.scored, 1)
    reasons = list(result.fitness.reasons)
    if accuracy is not None and result.compared == "preference":
        floor = min(accuracy.more.get("constant", UNKNOWN_CONSTANT), ENOUGH_ACCURACY)
        if accuracy.value <= floor:
            reasons.append(
                f"the model predicts {accuracy.value:.1f} % of the tokens; always predicting the "
                f"same token gives {accuracy.more.get('constant', floor):.1f} %"
            )
    if lms is not None and lms.value < LEAST_LMS:
        reasons.append(
            f"the model prefers meaningful sentences to unrelated ones in {lms.value:.0f} % of "
            "comparisons; chance is 50 %"
        )
    if ties > MOST_TIES and result.settings.get("ties") != "drop":
        reasons.append(f"{coverage.ties} of {coverage.scored} items are exact ties")
    scored = 100 * coverage.scored / max(coverage.asked, 1)
    if scored < LEAST_SCORED:
        reasons.append(f"only {coverage.scored} of {coverage.asked} items could be scored")
    return Fitness(
        accuracy=None if accuracy is None else accuracy.value,
        lms=None if lms is None else lms.value,
        ties=ties,
        scored=scored,
        reasons=tuple(dict.fromkeys(reasons)),
    )


def _marked(result: Result, fitness: Fitness) -> Result:
    if fitness.fit:
        return replace(result, fitness=fitness)
    why = f"unfit for a verdict: {'; '.join(fitness.reasons)}"
    verdicts = {k: Verdict("cannot tell", v.matters, why) for k, v in result.verdicts.items()}
    note = f"{why[0].upper()}{why[1:]}."
    notes = result.notes if note in result.notes else (note, *result.notes)
    return replace(result, fitness=fitness, verdicts=verdicts, notes=notes)
