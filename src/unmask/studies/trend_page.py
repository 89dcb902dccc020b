"""A trend in sentences, and as a page."""

from typing import Any

import pandas as pd

from unmask.answer.scales import SCALES
from unmask.reports.figures.study_charts import trends
from unmask.reports.html.study_page import Study, Table
from unmask.stats.change_points import LEAST_RUNS
from unmask.studies.trend import Change, Trend


def sentences(followed: Trend) -> list[str]:
    """What changed, in sentences; then what did not."""
    lines = [_describe(c) for c in followed.changes]
    changed = {c.bias_type for c in followed.changes}
    gone = set(followed.untested)
    unchanged = [c for c in dict.fromkeys(followed.scores.bias_type) if c not in changed | gone]
    if unchanged:
        mark = "; " if any("," in c for c in unchanged) else ", "
        count, few = len(followed.runs), len(followed.runs) < LEAST_RUNS
        note = f" At least {LEAST_RUNS} runs are needed to show a change." if few else ""
        lines.append(f"No change is shown over the {count} runs for {mark.join(unchanged)}.{note}")
    if gone:
        lines.append(
            f"Not tested, because the runs share too few items: {', '.join(followed.untested)}."
        )
    return lines + [
        f"{name} is unfit for a verdict and was excluded: {reason}."
        for name, reason in followed.unfit.items()
    ]


def _describe(change: Change) -> str:
    unit, d = SCALES[change.compared], change.difference
    rose = "rose" if d.value > 0 else "fell"
    before, after = (unit.text(v) for v in (change.before, change.after))
    suffix = " % of the pairs" if unit.share else ""
    by = unit.change(d.value, d.low, d.high)
    about = change.bias_type[:1].upper() + change.bias_type[1:]
    head = "" if suffix else f"{unit.head} "
    return (
        f"{about} {rose} between {change.last} and {change.first}: {head}{before}{suffix} before, "
        f"{after}{suffix} afterwards, {by} ({change.measure} on {change.data})."
    )


def study(followed: Trend) -> Study:
    """A trend as pages show it: what changed first, a figure by unit, and both tables."""
    changes = pd.DataFrame([_change_row(c) for c in followed.changes])
    tables = [Table("scores", "Scores by run", followed.scores.drop(columns="place"))]
    if len(changes):
        tables.insert(0, Table("changes", "Significant changes", changes, first=True))
    marked = {(c.bias_type, c.first) for c in followed.changes}
    table = followed.scores.assign(
        changed=[
            k in marked for k in zip(followed.scores.bias_type, followed.scores.run, strict=True)
        ]
    )
    figures = [
        trends(f"trend-{head}", f"Scores over {len(followed.runs)} runs", part, UNITS_BY_HEAD[head])
        for head, part in table.groupby(table.compared.map(lambda c: SCALES[c].head), sort=False)
    ]
    remarks = [
        "Runs with different seeds differ even if nothing else changed. A change is significant "
        "if the runs before and after it differ by more than runs in random order do, corrected "
        f"for all change points and bias types. This takes at least {LEAST_RUNS} runs.",
        "The test assumes that runs without a change are independent. Checkpoints of one training "
        "run resemble their neighbours, so a slow drift is reported as a change.",
    ]
    title = f"Trend over {len(followed.runs)} runs"
    return Study(title, tables, figures, remarks, answer=sentences(followed))


UNITS_BY_HEAD = {unit.head: unit for unit in SCALES.values()}


def _change_row(change: Change) -> dict[str, Any]:
    unit, d = SCALES[change.compared], change.difference
    return {
        "bias_type": change.bias_type,
        "from": change.last,
        "to": change.first,
        "before": unit.show(change.before),
        "after": unit.show(change.after),
        "difference": unit.show(d.value),
        "low": unit.show(d.low),
        "high": unit.show(d.high),
        "p corrected": change.p,
        "by": f"{change.measure} on {change.data}",
    }
