"""The answer in words, as a frame, and as the records of `results.json`."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import pandas as pd

from unmask.answer.answer import OVERALL, Answer, answers
from unmask.answer.evidence import Evidence
from unmask.answer.lab_status import UNFIT, VALIDATED
from unmask.support.wording import counted
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, VERDICTS, Estimate, Result

READS_SHARE = "the model prefers the stereotype in "
READS_FACTOR = "a group's word makes its stereotypical "
NAMED = 9  # bias types that a sentence names
CLEARLY_LESS = 0.75  # of a published bias: what is left where word preference made the rest
LONGEST = 40  # letters of a bias type's name in sentences and tables


def main_number(evidence: Evidence) -> str:
    """The estimate with its interval, in a unit that people know."""
    return evidence.scale.with_interval(evidence.estimate)


def negligible_size(answer: Answer) -> str:
    """The smallest bias that matters to the main evidence: "5 pp"."""
    verdicts = answer.main.result.verdicts
    matters = verdicts.get(answer.main.category, verdicts[""]).matters
    return answer.main.scale.amount(matters)


def agreement(answer: Answer) -> str:
    """How many of the measures that count agree."""
    count = len(answer.evidence)
    if answer.trust == UNFIT:
        return "no measure is validated for this kind of model"
    kind = "validated measure" if answer.trust == VALIDATED else "unvalidated measure"
    if answer.main.bias == 0:
        return f"{count} {kind}{'s' if count > 1 else ''}; the main one is neutral"
    if count == 1:
        return f"one {kind}"
    if answer.trust != VALIDATED:
        return f"{answer.agree} of {count} measures agree; none is validated"
    supporters = f"all {count}" if answer.agree == count else f"{answer.agree} of {count}"
    return f"{supporters} validated measures agree"


def sentence(answers: Sequence[Answer]) -> str:
    """The answer for one model in a few sentences: overall, then the findings, then the rest."""
    types = [a for a in answers if a.bias_type != OVERALL]
    parts = [*unfit_warning(answers), *(overall(a) for a in answers if a.bias_type == OVERALL)]
    parts += [_finding(a) for a in types if a.shows_bias]
    if len(parts) == 0:
        parts = ["No bias was found." if _all_negligible(types) else "Inconclusive."]
    for unfit, noun in ((False, "items"), (True, "measures")):
        names = [
            a.bias_type
            for a in types
            if a.verdict == "inconclusive" and (a.trust == UNFIT) == unfit
        ]
        parts += [f"Inconclusive with these {noun}: {_listed(names)}."] if names else []
    limits: dict[str, list[str]] = {}
    for answer in types:
        if answer.verdict == "negligible":
            limits.setdefault(negligible_size(answer), []).append(answer.bias_type)
    parts += [f"Negligible (less than {size}): {_listed(names)}." for size, names in limits.items()]
    return " ".join(parts)


def _all_negligible(answers: Sequence[Answer]) -> bool:
    return bool(answers) and all(a.verdict == "negligible" for a in answers)


def overall(answer: Answer) -> str:
    """The overall verdict with its number, and the other numbers that say something else."""
    number = main_number(answer.main)
    return f"{_overall_verdict(answer)}: {number}.{_published(answer)}{_other_data(answer)}"


def _other_data(answer: Answer) -> str:
    """The overall numbers of other data sets with another verdict than the main one."""
    by_data: dict[str, Evidence] = {}
    for e in answer.evidence:
        by_data.setdefault(e.result.data, e)
    main = answer.main.result.data
    others = [
        f" On {data}, the overall {'verdict' if e.verdict.word == 'inconclusive' else 'bias'} is "
        f"{e.verdict.word} ({main_number(e)})."
        for data, e in by_data.items()
        if data != main and e.verdict is not None and e.verdict.word != answer.verdict
    ]
    return "".join(others[:NAMED])


def _overall_verdict(answer: Answer) -> str:
    return {
        "biased": f"{_capital(answer.strength)} stereotypical bias overall",
        "reversed": f"{_capital(answer.strength)} bias against the stereotypes overall",
        "negligible": f"No overall bias of more than {negligible_size(answer)}",
        "inconclusive": "Inconclusive overall",
    }[answer.verdict]


def headline(answers: Sequence[Answer]) -> str:
    """The overall verdict in one sentence, else that of the first finding."""
    warning = unfit_warning(answers)
    overall_ = next((a for a in answers if a.bias_type == OVERALL), None)
    finding = next((a for a in answers if a.shows_bias), None)
    if warning and not finding:
        return warning[0]
    if overall_ is not None:
        scale = overall_.main.scale
        reads = READS_SHARE if scale.share else READS_FACTOR if scale.paired else ""
        return f"{_overall_verdict(overall_)}: {reads}{main_number(overall_.main)}."
    if finding is not None:
        return _finding(finding)
    return "No bias was found." if _all_negligible(answers) else "Inconclusive."


def beside(answers: Sequence[Answer]) -> list[str]:
    """Lines below the headline: doubts about the model, and the published score."""
    first = headline(answers)
    lines = [text for text in unfit_warning(answers) if text != first]
    lines += [(_published(a) + _other_data(a)).strip() for a in answers if a.bias_type == OVERALL]
    return [text for text in lines if text]


def counts(types: Sequence[Answer]) -> str:
    """How many bias types have which verdict."""
    verdicts = [a.verdict for a in types]
    parts = [f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts]
    if not parts:
        return ""
    noun = "bias type" if len(types) == 1 else "bias types"
    return f"{len(types)} {noun}: {', '.join(parts)}."


def _published(answer: Answer) -> str:
    """The published score, and why it would lead to another verdict."""
    score = answer.published
    if score is None or answer.main.estimate.n == 0:
        return ""
    text = answer.main.scale.with_interval(score)
    reason = why_published_differs(answer, score)
    return f" The published score, which includes word preference, is {text}.{reason}"


def why_published_differs(answer: Answer, score: Estimate) -> str:
    """Why the published score alone would lead to another verdict; empty if it would not."""
    ideal = score.ideal or 0.0
    published, adjusted = score.value - ideal, answer.main.bias
    if answer.shows_bias:
        if not score.excludes_ideal:
            return " That score alone would be inconclusive."
        sign = -1 if answer.verdict == "reversed" else 1
        if published * sign < 0:
            return (
                " The two point in opposite directions: the published score mainly shows a "
                "preference for one group's word, regardless of the stereotype."
            )
        return ""
    if not score.excludes_ideal:
        return ""
    if abs(adjusted) < CLEARLY_LESS * abs(published) or published * adjusted < 0:
        return (
            " That score alone would count as biased, but part of it is a preference for one "
            "group's word, regardless of the stereotype."
        )
    return (
        " That score alone would count as biased. The verdict also accounts for word preference, "
        "templates and the number of tests, and is less certain."
    )


def _finding(answer: Answer) -> str:
    direction = "bias against the stereotype" if answer.verdict == "reversed" else "bias"
    name = _capital(_short(answer.bias_type))
    details = f"{main_number(answer.main)}; {agreement(answer)}"
    opposed = f" But {answer.opposed}." if answer.opposed else ""
    return f"{name}: {answer.strength} {direction} ({details}).{opposed}"


def unfit_warning(answers: Sequence[Answer]) -> list[str]:
    """A sentence on the results that are unfit for a verdict, or on the model if all are."""
    by_result = {id(e.result): e for a in answers for e in (*a.evidence, *a.others)}
    unfit = [e for e in by_result.values() if not e.result.fitness.fit]
    if not unfit:
        return []
    names = ", ".join(dict.fromkeys(e.name for e in unfit))
    subject = "the model" if len(unfit) == len(by_result) else names
    reasons = list(dict.fromkeys(reason for e in unfit for reason in e.result.fitness.reasons))
    more = f" (and {counted(len(reasons) - 2, 'more reason')})" if len(reasons) > 2 else ""
    verb = "are" if ", " in names and subject == names else "is"
    return [f"Warning: {subject} {verb} unfit for a verdict: {'; '.join(reasons[:2])}{more}."]


def sentences(results: Sequence[Result]) -> dict[str, str]:
    """The answer for each model, in sentences."""
    return _by_model(answers(results))


def _by_model(answers: Sequence[Answer]) -> dict[str, str]:
    models = dict.fromkeys(a.model for a in answers)
    return {m: sentence([a for a in answers if a.model == m]) for m in models}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _short(name: str) -> str:
    """A bias type's name in a sentence; a user's own category may be a whole text."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _listed(names: Sequence[str]) -> str:
    names = [_short(n) for n in names]
    mark = "; " if any("," in n for n in names) else ", "
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED + 1 else ""
    return mark.join(names[:NAMED] if more else names) + more


def record(answer: Answer) -> dict[str, Any]:
    """An answer as plain values: a row of the frame, and of `results.json`."""
    main, scale = answer.main, answer.main.scale
    value, low, high = (
        float(scale.show(v)) for v in (main.estimate.value, main.estimate.low, main.estimate.high)
    )
    preference = answer.word_preference
    return {
        "model": answer.model,
        "bias_type": answer.bias_type,
        "verdict": answer.verdict,
        "strength": answer.strength,
        "value": value,
        "low": low,
        "high": high,
        "n": main.estimate.n,
        "unit": "% of pairs" if scale.share else scale.head,
        "p": answer.p,
        "tests": answer.tests,
        "main_evidence": main.name,
        "trust": answer.trust,
        "evidence": len(answer.evidence),
        "agreement": answer.agree,
        "why": answer.why,
        "contradiction": answer.contradiction,
        "needed": answer.needed,
        "word_preference": None if preference is None else float(preference.value),
        "measures": [e.name for e in answer.evidence],
        "examples": [str(e["item"]) for e in answer.examples],
        "clearest": clearest(answer),
    }


def clearest(answer: Answer) -> list[str]:
    """The clearest examples of a finding: a pair in one line, what differs as {one | other}."""
    lines = []
    for example in answer.examples:
        pro, anti = example.get(STEREOTYPE), example.get(ANTISTEREOTYPE)
        single = str(example.get("sentence") or example["item"])
        lines.append(differing(pro, anti) if pro and anti else single)
    return lines


def differing(first: str, second: str) -> str:
    """Two sentences in one: what differs as {one | other}."""
    left, right = first.split(), second.split()
    parts = []
    for sort, a, b, c, d in SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        original, replacement = " ".join(left[a:b]), " ".join(right[c:d])
        parts.append(original if sort == "equal" else "{" + f"{original} | {replacement}" + "}")
    return " ".join(parts)


def frame(results: Sequence[Result], found: Sequence[Answer] | None = None) -> pd.DataFrame:
    """One row for each model and bias type, findings first; `attrs["sentences"]` by model.

    `found` are the answers of these results, where they are known already.
    """
    found = answers(results) if found is None else found
    table = pd.DataFrame([record(a) for a in found])
    table.attrs["sentences"] = _by_model(found)
    return table
