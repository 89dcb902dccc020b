"""Mind Your Bias (Husse and Spitz 2022): the tables, from results that are there already."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from unmask.data.wordsets import chosen, stimuli
from unmask.report.page import Table
from unmask.stats.agreement import correlation
from unmask.studies.papers.beside import frame, row
from unmask.types import Estimate, Result

TESTS = ("C1", "C3", "C6", "C9", "Dis", "Occ", "I1", "I2")
# The paper's main table takes names where a test has them, terms for diseases and disability.
NAMED = {t: "terms" if t in ("C9", "Dis") else "names" for t in TESTS}
MAIN = {t: chosen(concept=t, named=n, size="full", edition="")[0].name for t, n in NAMED.items()}
METHODS = {
    "s-SEAT": ("SEAT", "sent"),
    "w-SEAT": ("SEAT", "word-average"),
    "CEAT": ("CEAT", "word-average"),
    "LPBS": ("LPBS", "full"),
}
LPBS_MODEL = "bert-base-uncased"  # the model of the paper's LPBS scores
SHRINKS = (
    "The interval of CEAT is that of a mean over samples: it shrinks with their number and "
    "says nothing about other words; those of SEAT do."
)
# The tags by which the tables read results: `level` holds the sets for LPBS.
KEY = ("model", "method", "test", "level", "context")
Results = Mapping[tuple[Any, ...], Result]


def _overall(results: Results, *key: str) -> Estimate | None:
    found = results.get(key)
    return found.overall if found else None


def _stated(every: pd.DataFrame, **chosen: str) -> float | None:
    rows = every[every.note == ""]
    for column, value in chosen.items():
        rows = rows[rows[column] == value]
    return float(rows.d.iloc[0]) if len(rows) else None


def table1(values: Any) -> Table:
    """Sizes of the word sets."""
    rows = []
    for test, (targets, attributes) in values["table1"].items():
        found = stimuli()[MAIN[test]]
        forms = found.forms
        first = next(iter(found.targets.values()))
        rows.append(
            {
                "test": test,
                "published targets": targets,
                "ours": sum(forms[w] != "plural" for w in first),
                "published attributes": attributes,
                "ours ": sum(forms[w] != "plural" for w in next(iter(found.attributes.values()))),
            }
        )
    return Table(
        "table1",
        "Table 1: sizes of the word sets",
        frame(rows),
        "Dis has 225 attributes a side in the release; the paper says 230.",
    )


def table10(values: Any) -> Table:
    """The tests of the literature, with their names here."""
    rows = [
        {
            "test": test,
            "source": source,
            "bias": bias,
            "methods that used it": marks,
            "in the paper": "yes" if used else "",
            "here": ", ".join(names),
        }
        for test, source, bias, marks, used, names in values["table10"]
    ]
    return Table(
        "table10",
        "Table 10: bias tests of the literature",
        frame(rows),
        "The four methods are s-SEAT, w-SEAT, CEAT and LPBS; where the last column is "
        "empty, the words are not in the package.",
    )


def table3(models: Sequence[str], results: Results, every: pd.DataFrame) -> Table:
    """Replication: three methods on eight tests."""
    rows = []
    for method, key, level in (
        ("s-SEAT", "SEAT", "sent"),
        ("w-SEAT", "SEAT", "word-average"),
        ("CEAT", "CEAT", "word-average"),
    ):
        for test, name in MAIN.items():
            targets = NAMED[test]
            line: dict[str, Any] = {"method": method, "test": test}
            for m in ("elmo", "bert", "gpt2", "opt", "bloom"):
                context = "reddit" if key == "CEAT" else "template"
                chosen = {"method": key, "test": test, "model": m, "level": level}
                line[f"published {m}"] = _stated(
                    every, **chosen, context=context, targets=targets, sets="full"
                )
            for m in models:
                found = _overall(results, m, key, name, level, "template")
                if found:
                    line |= {m: found.value, f"{m} low": found.low, f"{m} high": found.high}
            rows.append(line)
    return Table(
        "table3",
        "Table 3: replication",
        frame(rows),
        "Published CEAT is on Reddit, ours here on templates; see Table 12. " + SHRINKS,
    )


def table4(models: Sequence[str], results: Results, values: Any) -> Table:
    """LPBS with simplified, reduced and full sets."""
    rows = []
    for test, stated in values["table4"].items():
        for i, sets in enumerate(("simplified", "reduced", "full")):
            for m in models:
                base = MAIN[test] if sets != "simplified" else _simplified(test)
                found = _overall(results, m, "LPBS", base, sets, "template")
                rows.append(
                    row(
                        {"test": test, "sets": sets, "model": m},
                        stated[i],
                        found,
                        same=m == LPBS_MODEL,
                    )
                )
    return Table(
        "table4",
        "Table 4: LPBS with simplified, reduced and full sets",
        frame(rows),
        "Published for bert-base-uncased.",
    )


def _simplified(test: str) -> str:
    """The test whose simplified sets the paper shows: terms where names have none."""
    named = "terms" if test in ("C3", "C6", "Occ") else "names"
    found = chosen(concept=test, named=named, size="full", edition="")
    return found[0].name if found else MAIN[test]


def table5(models: Sequence[str], results: Results, values: Any) -> Table:
    """Correlations between methods over tests, all and significant ones."""
    rows = []
    for pair, stated in values["table5"].items():
        if pair == "columns":
            continue
        line: dict[str, Any] = {"methods": pair}
        line |= {
            f"published {c}": v for c, v in zip(values["table5"]["columns"], stated, strict=True)
        }
        one, two = (METHODS[p] for p in pair.split(" | "))
        for m in models:
            found = [
                [results.get((m, key, n, level, "template")) for key, level in (one, two)]
                for n in MAIN.values()
            ]
            both = [(a.overall, b.overall) for a, b in found if a and b]
            sure = [(a, b) for a, b in both if (a.p or 0) < 0.01 and (b.p or 0) < 0.01]
            for label, kept in (("all", both), ("sig.", sure)):
                if len(kept) > 2:
                    r = correlation(
                        np.array([a.value for a, _ in kept]), np.array([b.value for _, b in kept])
                    )
                    line |= {
                        f"{m} {label}": r.value,
                        f"{m} {label} low": r.low,
                        f"{m} {label} high": r.high,
                        f"{m} {label} n": r.n,
                    }
        rows.append(line)
    return Table(
        "table5",
        "Table 5: correlations between methods",
        frame(rows),
        "At most 8 tests: an interval from below 0 to near 1 is the rule.",
    )


def table6(models: Sequence[str], results: Results, values: Any) -> Table:
    """Nouns or adjectives as LPBS' attributes."""
    rows = []
    for test, stated in values["table6"].items():
        for m in models:
            found = _overall(results, m, "LPBS", _simplified(test), "simplified", "template")
            rows.append(
                row(
                    {"test": test, "attributes": "adjective", "model": m},
                    stated["adjective"],
                    found,
                    same=m == LPBS_MODEL,
                )
            )
            noun = _overall(results, m, "LPBS nouns", _simplified(test), "simplified", "template")
            keys = {"test": test, "attributes": "noun", "model": m}
            rows.append(row(keys, stated["noun"], noun, same=m == LPBS_MODEL))
    return Table("table6", "Table 6: nouns or adjectives as attributes", frame(rows))


def design_table(models: Sequence[str], results: Results, every: pd.DataFrame, which: str) -> Table:
    """Tables 11 (names or terms), 12 (template or natural) and 13 (encoding level)."""
    title = {
        "targets": "Table 11: names or group terms",
        "contexts": "Table 12: template or natural",
        "level": "Table 13: encoding level",
    }[which]
    rows = []
    for (m, key, name, level, context), r in results.items():
        test, targets, edition = (r.spec.tags[k] for k in ("concept", "named", "edition"))
        if key not in ("SEAT", "CEAT", "LPBS") or m not in models or edition:
            continue
        if which != "level" and level not in ("sent", "word-average", "full"):
            continue
        if which != "contexts" and context != "template":
            continue
        if which == "level" and (key == "LPBS" or name != MAIN[test]):
            continue
        line: dict[str, Any] = {
            "test": test,
            "method": _method(key, level),
            "targets": targets,
            "context": context,
            "level": level,
            "model": m,
        }
        e = r.overall
        line |= {"measured": e.value, "low": e.low, "high": e.high}
        stated = _stated(
            every,
            method=key,
            test=test,
            model="bert",
            targets=targets,
            sets="full",
            context="reddit" if context == "natural" else "template",
            level="" if key == "LPBS" else level,
        )
        line["published (BERT)"] = stated
        rows.append(line)
    made = frame(rows)
    drop = {"targets": ["context", "level"], "contexts": ["level"], "level": ["context"]}[which]
    made = made.drop(columns=[c for c in drop if c in made])
    name = {"targets": "table11", "contexts": "table12", "level": "table13"}[which]
    return Table(name, title, made.sort_values(["test", "method", "targets"]))


def _method(key: str, level: str) -> str:
    return {"SEAT": "s-SEAT" if level == "sent" else "w-SEAT"}.get(key, key)


def table14(models: Sequence[str], results: Results, values: Any) -> Table:
    """Cosine or probability, by size of the sets."""
    rows = []
    for test, stated in values["table14"].items():
        if test == "columns":
            continue
        for i, sets in enumerate(("simplified", "reduced", "full")):
            for m in models:
                base = MAIN[test] if sets != "simplified" else _simplified(test)
                method = "CEAT" if sets == "full" else f"CEAT {sets}"
                cosine = _overall(results, m, method, base, "word-average", "template")
                chance = _overall(results, m, "CEAT-LPBS", base, sets, "template")
                for metric, value, found in (
                    ("cosine", stated[i], cosine),
                    ("probability", stated[3 + i], chance),
                ):
                    keys = {"test": test, "sets": sets, "metric": metric, "model": m}
                    rows.append(row(keys, value, found, same=False))  # other contexts
    return Table(
        "table14",
        "Table 14: cosine or probability",
        frame(rows),
        f"Published for BERT on Reddit; ours on templates. {SHRINKS}",
    )
