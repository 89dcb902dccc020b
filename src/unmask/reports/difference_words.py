"""The differences between models in sentences: the verdict first, then the evidence."""

from typing import Any

import pandas as pd

from unmask.answer.answer import OVERALL
from unmask.answer.scales import SCALES
from unmask.reports.columns import SURE, Column, p_value, words
from unmask.stats.multiplicity import corrected
from unmask.support.wording import counted

NAMED = 3  # differences of a pair of models that are reported in full
PAIRS = 6  # pairs of models that are reported; the table has all
MORE, AGAINST = "more stereotypical", "further against the stereotype"
CLOSER, OTHER = "closer to fair", "leans the other way"
HIGHER, LOWER = "more towards the stereotype", "less towards the stereotype"
NONE = "no difference shown"
WORSE = (MORE, AGAINST)
# By verdict of a bias type, between the names of the second model and the first.
PHRASES = {
    MORE: "is more stereotypical than",
    AGAINST: "leans further against the stereotype than",
    CLOSER: "is closer to fair than",
    OTHER: "leans in the opposite direction to",
    HIGHER: "leans more towards the stereotype than",
    LOWER: "leans less towards the stereotype than",
}


def summary(frame: pd.DataFrame, bias_types: pd.DataFrame) -> list[str]:
    """Summarise a comparison: bias types first, then a change of knowledge, then scores.

    `frame` comes from `compare`, `bias_types` from `compare_by_bias_type`.
    """
    return [*by_bias_type(bias_types), *knowledge_sentences(frame, bias_types), *sentences(frame)]


def by_bias_type(frame: pd.DataFrame) -> list[str]:
    """One sentence for each two models, from the frame of `compare_by_bias_type`."""
    lines = []
    for (first, second), part in _pairs(frame):
        leads = part[part.main]
        sure = leads[leads.verdict != NONE].to_dict("records")
        undecided = leads[leads.verdict == NONE].bias_type.tolist()
        parts = [
            f"{second} {PHRASES[row['verdict']]} {first} {_about(row['bias_type'])} "
            f"({measured(row)})"
            for row in sure
        ]
        if undecided:
            between = "" if parts else f" between {first} and {second}"
            on = f"{OVERALL} or " if OVERALL in undecided else ""
            types = [name for name in undecided if name != OVERALL]
            on = f"{on}for {_listed(types)}" if types else OVERALL
            parts.append(f"no difference{between} is shown {on}")
        lines.append("; ".join(parts) + ".")
    return [
        text[:1].upper() + text[1:] if text.startswith("no ") else text for text in lines[:PAIRS]
    ]


def _about(bias_type: str) -> str:
    return OVERALL if bias_type == OVERALL else f"for {bias_type}"


def _pairs(frame: pd.DataFrame) -> Any:
    return frame.groupby(["first", "second"], sort=False) if len(frame) else ()


def _listed(names: list[str]) -> str:
    mark = "; " if any("," in n for n in names) else ", "
    return mark.join(names[:-1]) + (" or " if len(names) > 1 else "") + names[-1]


def measured(row: Any) -> str:
    """Return both values and their difference with its interval."""
    unit = SCALES[row["compared"]]
    digits = 0 if unit.share else unit.digits
    a, b = (f"{unit.show(row[k]):.{digits}f}" for k in "ab")
    suffix = " % of the pairs" if unit.share else ""
    head = "" if suffix else f"{unit.head} "
    change = unit.change(row["difference"], row["low"], row["high"], digits=digits)
    return f"{head}{a} to {b}{suffix}, {change}"


# The table of a comparison by bias type.
BIAS_TYPES = (
    Column("bias_type", lambda r: r["bias_type"], words, left=True),
    Column(
        "verdict", lambda r: r["verdict"], words, left=True, strong=lambda r: r["verdict"] != NONE
    ),
    Column("measured", measured, words, left=True),
    Column("by", lambda r: f"{r['measure']} on {r['data']}", words, left=True),
    Column("p Holm", lambda r: r["p_holm"], p_value),
)


def sentences(frame: pd.DataFrame) -> list[str]:
    """One sentence for each two models, from the frame of `compare`: what differs, and by how much.

    A difference counts after Holm's correction over all that were tested.
    """
    lines, undecided = [], []
    for (first, second), part in frame.groupby(["first", "second"], sort=False):
        sure = part[part.p_holm <= SURE]
        if sure.empty:
            undecided.append(
                f"No difference between the overall scores of {first} and {second} is shown "
                f"({_counted(len(part))} compared)."
            )
            continue
        strongest = sure.reindex(sure.p_holm.sort_values(kind="stable").index)
        named = [_difference(r) for r in strongest.head(NAMED).to_dict("records")]
        more = len(sure) - len(named)
        ending = f" and {more} more" if more > 0 else ""
        lines.append(
            f"{second} differs from {first} in {len(sure)} of {_counted(len(part), 'overall ')}: "
            f"{'; '.join(named)}{ending}."
        )
    if len(lines) > PAIRS:
        others = counted(
            len(lines) - PAIRS, "more pair of models differs", "more pairs of models differ"
        )
        lines = [*lines[:PAIRS], f"{others}: see the figure."]
    if len(lines) + len(undecided) > PAIRS:
        if not undecided:
            return lines
        word = "other " if lines else ""
        pairs = counted(len(undecided), f"{word}pair of models", f"{word}pairs of models")
        return [*lines, f"No difference is shown for {pairs}."]
    return lines + undecided


def knowledge_sentences(frame: pd.DataFrame, bias_types: pd.DataFrame) -> list[str]:
    """Tell for each two models whether a change means less stereotype or less knowledge.

    Knowledge is measured by the positive control (what follows from a word's meaning) and by lms,
    of CAT if it was run; both are corrected together (Holm). Word preference is reported as well.
    """
    lines = []
    for (first, second), part in _pairs(frame):
        changes = _knowledge(part)
        if not changes:
            continue
        p_values = corrected([p for _, _, p in changes])
        sure = [
            (text, sign) for (text, sign, _), p in zip(changes, p_values, strict=True) if p <= SURE
        ]
        lost, won = ([text for text, sign in sure if sign == s] for s in (-1, 1))
        verdicts = _verdicts(bias_types, first, second)
        less = CLOSER in verdicts
        fairer = f"{second} is closer to fair for at least one bias type"
        if less and lost:
            claim = f"{fairer}, but also knows less: it may be partly damaged"
        elif less:
            claim = f"{fairer}, and no loss of knowledge is shown"
        elif lost:
            claim = f"{second} knows less than {first}"
            if not verdicts - {NONE}:
                lower = "p_holm" in part and bool((part.p_holm <= SURE).any())
                claim += ", and no change in stereotypes is shown"
                claim += "; the other differences may be due to this loss" if lower else ""
        else:
            claim = f"no loss of knowledge is shown between {first} and {second}"
        claim = claim[:1].upper() + claim[1:] if claim.startswith("no ") else claim
        facts = "; ".join([*lost, *won] or [text for text, _, _ in changes])
        lines.append(f"{claim} ({facts}{_word_preference(part)}).")
    return lines[:PAIRS]


def _verdicts(bias_types: pd.DataFrame, first: str, second: str) -> set[str]:
    if bias_types.empty:
        return set()
    rows = bias_types[(bias_types["first"] == first) & (bias_types.second == second)]
    return set(rows[rows.main].verdict)


def _knowledge(part: pd.DataFrame) -> list[tuple[str, int, float]]:
    """Return the measures of knowledge, each with its change, direction and p."""
    changes = []
    controls = part[part.data.astype(str).str.endswith(":positive") & part.p.notna()]
    for row in controls.to_dict("records"):
        change = SCALES[row["compared"]].change(row["difference"], row["low"], row["high"])
        changes.append((f"positive control {change}", _sign(row["difference"]), float(row["p"])))
    if "lms" in part and part.lms_p.notna().any():
        rows = part[part.lms_p.notna()]
        row = (rows[rows.measure == "cat"] if (rows.measure == "cat").any() else rows).iloc[0]
        before, after = row["lms_before"], row["lms_before"] + row["lms"]
        changes.append((f"lms {before:.1f} to {after:.1f}", _sign(row["lms"]), float(row["lms_p"])))
    return changes


def _sign(value: float) -> int:
    return 1 if value > 0 else -1


def _word_preference(part: pd.DataFrame) -> str:
    """The preference for a group's word itself, before and after."""
    if "word_preference" not in part or not part.word_preference.notna().any():
        return ""
    row = part[part.word_preference.notna()].iloc[0]
    before, after = row["word_preference_before"], row["word_preference"]
    return f"; word preference {before:.0f} to {after:.0f} pp by {row['measure']}"


def _counted(count: int, noun: str = "") -> str:
    return f"{count} {noun}score{'s' if count != 1 else ''}"


def _difference(row: Any) -> str:
    unit = SCALES[row["compared"]]
    name = "pp" if unit.unit == "points" else unit.unit
    change = unit.change(row["difference"], row["low"], row["high"], unit=name)
    return f"{row['measure']} on {row['data']} {change}"
