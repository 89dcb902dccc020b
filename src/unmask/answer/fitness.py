"""Fitness: can a result support a verdict at all?

A network without weights, or one that noise has destroyed, prefers nothing, and would look fair. A
result is unfit if the model predicts the tokens no better than one fixed token would, if it hardly
prefers meaningful sentences to unrelated ones (lms, Nadeem et al. 2021; chance is 50), if many
items are exact ties, or if fewer than half of the items could be scored. A result that does not
show ability is unfit if every result of the same model that does is unfit. An unfit result gets no
verdict other than inconclusive.

Only the prediction of hidden tokens, or of tokens that are not yet read, shows ability. A token in
plain sight (aul) can be copied, and lms can come from the frequency of words alone.
"""

from collections.abc import Sequence
from dataclasses import replace

from unmask.answer.scales import scale_of
from unmask.types import Estimate, Fitness, Result, Verdict

MOST_TIES = 20.0  # per cent of the items
LEAST_SCORED = 50.0  # per cent of the items
LEAST_LMS = 60.0  # chance is 50
MOST_BY_PLACE = 50.0  # per cent of a chat model's choices that the order of the options decides
# With fewer distinct gold tokens, such as "he" and "she", a fixed token is right so often that a
# good model need not beat it. There only a model that predicts none of them is unfit.
FEW_TOKENS = 8
PRECISE = 5.0  # points above a fixed token that an accuracy must exclude to be called no better
ROUNDING = 1e-9  # tolerance when an accuracy is compared with that of a fixed token
UNKNOWN_CONSTANT = 2.0  # per cent; accuracy of a fixed token, if an earlier version's file lacks it
NETWORKS = ("masked", "causal", "permutation")


def assessed(results: Sequence[Result]) -> list[Result]:
    """The results with their fitness; unfit ones lose their verdicts, and a note says why."""
    fitnesses = [_fitness(r) for r in results]
    by_model: dict[str, list[Fitness]] = {}
    for result, fitness in zip(results, fitnesses, strict=True):
        if result.verdicts and _shows_ability(result):
            by_model.setdefault(result.model, []).append(fitness)
    new_results = []
    for result, fitness in zip(results, fitnesses, strict=True):
        proofs = [] if _shows_ability(result) else by_model.get(result.model, [])
        if fitness.fit and proofs and not any(f.fit for f in proofs):
            fitness = replace(fitness, reasons=proofs[0].reasons)
        new_results.append(_marked(result, fitness))
    return new_results


def unproven_models(results: Sequence[Result], words: bool = False) -> dict[str, str]:
    """Models with sentence pairs that no result shows able to predict words, with the reason.

    With `words`, also models that have only template and word tests.
    """
    counted = [r for r in results if r.verdicts and (words or scale_of(r).paired)]
    models = dict.fromkeys(r.model for r in counted)
    by_model = {name: unproven([r for r in results if r.model == name]) for name in models}
    return {model: reason for model, reason in by_model.items() if reason}


def unproven(results: Sequence[Result]) -> str:
    """Return a reason if no result shows that the model can predict words; empty otherwise."""
    kinds = {str((r.provenance.get("model") or {}).get("kind", "")) for r in results}
    if not kinds & {*NETWORKS} or any(_shows_ability(r) and r.fitness.fit for r in results):
        return ""
    return "no result shows that the model can predict words; add cps or pll (causal: ll)"


def _shows_ability(result: Result) -> bool:
    """Whether a result says what the model can do, and not only what it prefers."""
    accuracy = result.accuracy
    if "by_place" in result.extras:  # a chat model that chooses by content follows its task
        return True
    if accuracy is None or not scale_of(result).paired or result.settings.get("in_sight"):
        return False
    return _no_better(accuracy) or accuracy.low > _constant(accuracy)


def _constant(accuracy: Estimate) -> float:
    """The accuracy of always predicting the token that was asked for most often."""
    return float(accuracy.more.get("constant", UNKNOWN_CONSTANT))


def _no_better(accuracy: Estimate) -> bool:
    """Whether an accuracy is that of a fixed token, or below it, and precise enough to say so."""
    constant = _constant(accuracy)
    if accuracy.more.get("distinct", FEW_TOKENS) < FEW_TOKENS:
        return accuracy.value == 0
    return accuracy.value <= constant + ROUNDING and not accuracy.high > constant + PRECISE


def _counts(result: Result, accuracy: Estimate) -> bool:
    """Whether a low accuracy counts against a result.

    In a template test of many names even a good model may predict none of them.
    """
    few = accuracy.more.get("distinct", FEW_TOKENS) < FEW_TOKENS
    return scale_of(result).paired or few


def _fitness(result: Result) -> Fitness:
    coverage, accuracy, lms = result.coverage, result.accuracy, result.extras.get("lms")
    ties = 100 * coverage.ties / max(coverage.scored, 1)
    reasons = list(result.fitness.reasons)
    if accuracy is not None and _counts(result, accuracy) and _no_better(accuracy):
        reasons.append(
            f"the model predicts {accuracy.value:.1f} % of the tokens; always predicting the same "
            f"token gives {_constant(accuracy):.1f} %"
        )
    if lms is not None and lms.value < LEAST_LMS:
        reasons.append(
            f"the model prefers meaningful sentences to unrelated ones in {lms.value:.0f} % of "
            "comparisons; chance is 50 %"
        )
    if ties > MOST_TIES and result.settings.get("ties") != "drop":
        reasons.append(f"{coverage.ties} of {coverage.scored} items are exact ties")
    place = result.extras.get("by_place")
    if place is not None and place.value > MOST_BY_PLACE:
        reasons.append(
            f"the order of the options decides {place.value:.0f} % of the choices, so their "
            "content hardly matters"
        )
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
    reason = f"unfit for a verdict: {'; '.join(fitness.reasons)}"
    verdicts = {
        k: v if v.word == "inconclusive" else Verdict("inconclusive", v.matters, reason)
        for k, v in result.verdicts.items()
    }
    note = f"{reason[0].upper()}{reason[1:]}."
    notes = result.notes if note in result.notes else (note, *result.notes)
    return replace(result, fitness=fitness, verdicts=verdicts, notes=notes)
