"""What a gate decided, as a frame, as JSON, as JUnit's XML and as Markdown."""

import re
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from unmask.reports.templating import markdown
from unmask.studies.gate.check import LEVEL, Gate
from unmask.studies.gate.decide import Outcome

MARKS = {"pass": "pass", "fail": "FAIL", "inconclusive": "inconclusive"}
SENTENCES = {
    "pass": "The gate passes.",
    "fail": "The gate fails.",
    "inconclusive": "The gate is inconclusive: no rule is violated, but compliance is not proven.",
}


TESTED = f"All tests use the {100 * LEVEL:g} % level, regardless of the run's --level."


def remarks(gate: Gate) -> list[str]:
    """What a reader has to know beside the rules."""
    names = gate.left_out
    return [f"Excluded, not about people: {', '.join(names)}."] * bool(names) + [TESTED]


def counted_items(outcome: Outcome) -> str:
    """How many items the decision rests on."""
    return f"items scored: {outcome.items or 'none'}"


def state_text(outcome: Outcome) -> str:
    """The state of a rule, and what it counts as where the rule says so."""
    if outcome.counts_as == outcome.state:
        return MARKS[outcome.state]
    return f"{MARKS[outcome.state]}, counts as {outcome.counts_as}"


def frame(gate: Gate) -> pd.DataFrame:
    """One row for each model and rule."""
    return pd.DataFrame(
        [
            {
                "model": o.model,
                "rule": o.rule.name,
                "state": o.state,
                "counts_as": o.counts_as,
                "reason": o.reason,
                "evidence": o.tested,
                "items": o.items,
            }
            for o in gate.outcomes
        ]
    )


def record(gate: Gate) -> dict[str, Any]:
    """A gate as plain values."""
    rows = frame(gate).to_dict("records")
    return {
        "level": LEVEL,
        "state": gate.state,
        "status": gate.status,
        "answers": dict(gate.sentences),
        "left_out": list(gate.left_out),
        "rules": rows,
    }


def junit(gate: Gate) -> str:
    """Write a gate as JUnit XML, which build servers show: a test case for each model and rule.

    An inconclusive rule is an error if it stops the gate, and skipped if it passes.
    """
    counted = [_element_of(o) for o in gate.outcomes]
    counts = {name: str(counted.count(element)) for name, element in _ELEMENTS.items()}
    about = {"name": "unmask gate", "tests": str(len(counted)), **counts}
    suite = ElementTree.Element("testsuite", about)
    for outcome, element in zip(gate.outcomes, counted, strict=True):
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(outcome.model), name=_xml(outcome.rule.name)
        )
        if element:
            message = _xml(f"{state_text(outcome)}: {outcome.reason}; {counted_items(outcome)}")
            ElementTree.SubElement(case, element, message=message)
    ElementTree.indent(suite, " ")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


_ELEMENTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _element_of(outcome: Outcome) -> str:
    if outcome.counts_as == "fail":
        return "failure"
    if outcome.state == "inconclusive":
        return "error" if outcome.counts_as == "inconclusive" else "skipped"
    return ""


def _xml(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def summary(gate: Gate) -> str:
    """Write a gate as Markdown, for the summary of a pipeline run."""
    lines = [f"### Social bias: {SENTENCES[gate.state]}", ""]
    for model, sentence in gate.sentences.items():
        lines += [f"**{markdown(model)}**: {markdown(sentence)}", ""]
    heads = ("model", "rule", "state", "reason", "items scored")
    lines += [f"| {' | '.join(heads)} |", "| :--- " * len(heads) + "|"]
    lines += [
        "| "
        + " | ".join(map(markdown, (o.model, o.rule.name, state_text(o), o.reason, o.items)))
        + " |"
        for o in gate.outcomes
    ]
    lines += ["", *map(markdown, remarks(gate))]
    return "\n".join(lines) + "\n"
