"""Mind Your Bias (Husse and Spitz 2022): the tables, from results that are there already."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unmask.data.wordsets import chosen
from unmask.reports.html.study_page import Table
from unmask.stats.agreement import correlation
from unmask.studies.papers.husse2022_printed import (
    COLUMNS,
    LPBS_MODEL,
    MAIN,
    NAMED,
    SIGNIFICANT,
    Printed,
    column,
    printed,
    star,
)
from unmask.studies.papers.published_tables import frame, row
from unmask.types import Estimate, Result

METHODS = {
    "s-SEAT": ("SEAT", "sent"),
    "w-SEAT": ("SEAT", "word-average"),
    "CEAT": ("CEAT", "word-average"),
    "LPBS": ("LPBS", "full"),
}
LEVELS = ("sent", "word-average", "word-start", "word-end")
SIZES = ("simplified", "reduced", "full")
SHRINKS = (
    "The interval of CEAT is that of a mean over samples: it shrinks with their number and "
    "says nothing about other words; those of SEAT do."
)
NATURAL = (
    "The paper's CEAT is on Reddit comments: ours stands beside it where natural contexts were "
    "given (--contexts), and is empty otherwise; CEAT on templates is in Table 12."
)
# The tags by which the tables read results: `level` holds the sets for LPBS.
KEY = ("model", "method", "test", "level", "context")
Results = Mapping[tuple[Any, ...], Result]


class Cell(NamedTuple):
    """A place of a table: what it is about, the paper's number, and where ours is found."""

    keys: dict[str, str]
    model: str
    number: Printed
    name: str
    method: str
    level: str
    context: str


def _overall(results: Results, *key: str) -> Estimate | None:
    result = results.get(key)
    return result.overall if result else None


def _lines(
    cells: Sequence[Cell], kinds: Mapping[str, str], results: Results, comparable: bool
) -> pd.DataFrame:
    """The long table: each of the paper's cells, with the model that belongs beside it or none.

    `kinds` are the models of this run. Those that are not the paper's get lines of their own.
    """
    rows = []
    for place in dict.fromkeys(tuple(c.keys.values()) for c in cells):
        here = [c for c in cells if tuple(c.keys.values()) == place]
        beside = {m: column(m, kind, here[0].method) for m, kind in kinds.items()}
        for c in here:
            own = next((m for m, label in beside.items() if label == c.model), None)
            rows += _line(c, own, COLUMNS[c.model], results, comparable)
        for m, label in beside.items():
            if label is None:
                rows += _line(here[0]._replace(number=Printed()), m, m, results, False)
    return frame(rows)


def _line(
    cell: Cell, model: str | None, label: str, results: Results, comparable: bool
) -> list[dict[str, Any]]:
    key = (model, cell.method, cell.name, cell.level, cell.context)
    result = results.get(key) if model is not None else None
    if result is None and cell.number.value is None:
        return []
    line = row(
        {**cell.keys, "model": label},
        cell.number.value,
        result.overall if result else None,
        same=comparable,
    )
    bold = {True: "yes", False: "no", None: ""}[cell.number.significant]
    line |= {"bold there": bold, "in the release": cell.number.release}
    if result is not None:
        line |= {
            "p": result.overall.p,
            "words lost": result.coverage.items - result.coverage.scored,
        }
    return [line]


def _wide(
    cells: Sequence[Cell], names: Sequence[str], results: Results, index: Sequence[str], choice: str
) -> pd.DataFrame:
    """The table in the paper's shape, bold as a star, with a column for each model of this run."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for c in cells:
        line = rows.setdefault(tuple(c.keys[k] for k in index), {k: c.keys[k] for k in index})
        line[f"{COLUMNS[c.model]} {c.keys[choice]}"] = star(c.number)
    for c in cells:
        line = rows[tuple(c.keys[k] for k in index)]
        for m in names:
            estimate = _overall(results, m, c.method, c.name, c.level, c.context)
            if estimate is not None:
                line[f"{m} {c.keys[choice]}"] = f"{estimate.value:.2f}"
    table = pd.DataFrame(list(rows.values())).fillna("")
    choices = list(dict.fromkeys(c.keys[choice] for c in cells))
    heads = [f"{name} {c}" for name in (*COLUMNS.values(), *names) for c in choices]
    return table[[*index, *(h for h in heads if h in table)]]


def _both(
    name: str,
    title: str,
    note: str,
    cells: Sequence[Cell],
    names: Mapping[str, str],
    results: Results,
    index: Sequence[str],
    choice: str,
    comparable: bool,
) -> list[Table]:
    shape = "As the paper prints it; a star is bold there (p < 0.01), by the p of the release."
    wide = _wide(cells, list(names), results, index, choice)
    return [
        Table(name, title, _lines(cells, names, results, comparable), note),
        Table(f"{name}-printed", f"{title}, in the paper's shape", wide, shape),
    ]


def _context(method: str) -> tuple[str, str]:
    """Where the paper's main tables meet words: in our results, and in the release."""
    return ("natural", "reddit") if method == "CEAT" else ("template", "template")


def table3(names: Mapping[str, str], results: Results, comparable: bool) -> list[Table]:
    """Replication: three methods on eight tests, the original scores beside the paper's."""

    def cells() -> Iterator[Cell]:
        for method, test, model in _product(("s-SEAT", "w-SEAT", "CEAT"), MAIN, COLUMNS):
            key, level = METHODS[method]
            ours, theirs = _context(method)
            where = {"context": theirs, "level": level, "targets": NAMED[test]}
            for choice in ("orig", "ours"):
                number = printed(3, test, method, model, choice, **where)
                if number.value is None:
                    continue
                keys = {"method": method, "test": test, "which": choice}
                method_here = key if choice == "ours" else "none"
                yield Cell(keys, model, number, MAIN[test], method_here, level, ours)

    note = f"'orig' is what the methods' authors report. {NATURAL} {SHRINKS}"
    index = ("method", "test")
    return _both(
        "table3",
        "Table 3: replication",
        note,
        list(cells()),
        names,
        results,
        index,
        "which",
        comparable,
    )


def table11(names: Mapping[str, str], results: Results, comparable: bool) -> list[Table]:
    """Names or group terms."""

    def cells() -> Iterator[Cell]:
        for test, method, model in _product(MAIN, METHODS, COLUMNS):
            key, level = METHODS[method]
            ours, theirs = _context(method)
            for named in ("names", "terms"):
                tests = chosen(concept=test, named=named, size="full", edition="")
                where = {"context": theirs, "level": "" if key == "LPBS" else level}
                number = printed(11, test, method, model, named, targets=named, **where)
                if tests and number.value is not None:
                    keys = {"test": test, "method": method, "targets": named}
                    yield Cell(keys, model, number, tests[0].name, key, level, ours)

    index = ("test", "method")
    return _both(
        "table11",
        "Table 11: names or group terms",
        NATURAL,
        list(cells()),
        names,
        results,
        index,
        "targets",
        comparable,
    )


def table12(names: Mapping[str, str], results: Results, comparable: bool) -> list[Table]:
    """Template or natural sentences."""

    def cells() -> Iterator[Cell]:
        for test, method, model in _product(MAIN, METHODS, COLUMNS):
            key, level = METHODS[method]
            for context, theirs in (("template", "template"), ("natural", "reddit")):
                where = {"level": "" if key == "LPBS" else level, "targets": NAMED[test]}
                number = printed(12, test, method, model, theirs, context=theirs, **where)
                if number.value is None and (model != "bert" or theirs == "template"):
                    continue
                keys = {"test": test, "method": method, "context": context}
                yield Cell(keys, model, number, MAIN[test], key, level, context)

    note = (
        "The paper's natural sentences are Reddit comments, ours those of the store that was "
        "named; our templates are our own. Natural LPBS takes stored sentences in which a target "
        "and an attribute meet. " + SHRINKS
    )
    return _both(
        "table12",
        "Table 12: template or natural sentences",
        note,
        list(cells()),
        names,
        results,
        ("test", "method"),
        "context",
        comparable,
    )


def table13(names: Mapping[str, str], results: Results, comparable: bool) -> list[Table]:
    """Encoding levels."""

    def cells() -> Iterator[Cell]:
        for test, key, model in _product(MAIN, ("SEAT", "CEAT"), COLUMNS):
            ours, theirs = _context(key)
            for level in LEVELS:
                where = {"context": theirs, "level": level, "targets": NAMED[test]}
                number = printed(13, test, key, model, level, **where)
                if number.value is not None:
                    keys = {"test": test, "method": key, "level": level}
                    yield Cell(keys, model, number, MAIN[test], key, level, ours)

    return _both(
        "table13",
        "Table 13: encoding level",
        NATURAL,
        list(cells()),
        names,
        results,
        ("test", "method"),
        "level",
        comparable,
    )


def _product(*some: Any) -> Iterator[tuple[str, ...]]:
    out: list[tuple[str, ...]] = [()]
    for values in some:
        out = [(*head, v) for head in out for v in values]
    return iter(out)


def _smallest(test: str) -> str:
    """The test whose simplified sets the paper shows: terms where names have none."""
    named = "terms" if test in ("C3", "C6", "Occ") else "names"
    tests = chosen(concept=test, named=named, size="full", edition="")
    return tests[0].name if tests else MAIN[test]


def _of_size(test: str, size: str) -> str:
    return _smallest(test) if size == "simplified" else MAIN[test]


def table4(names: Sequence[str], results: Results, values: Any, comparable: bool) -> Table:
    """LPBS with simplified, reduced and full sets."""
    rows = []
    for test, stated in values["table4"].items():
        for i, size in enumerate(SIZES):
            original = values["table4 orig"].get(test) if size == "simplified" else None
            for m in names or [LPBS_MODEL]:
                estimate = _overall(results, m, "LPBS", _of_size(test, size), size, "template")
                keys = {"test": test, "sets": size, "model": m, "orig": original}
                rows.append(row(keys, stated[i], estimate, same=comparable and m == LPBS_MODEL))
    note = "Published for bert-base-uncased. 'orig' is what Kurita et al. report."
    title = "Table 4: LPBS with simplified, reduced and full sets"
    return Table("table4", title, frame(rows), note)


def table5(names: Sequence[str], results: Results, values: Any) -> Table:
    """Correlations between methods over tests, all and significant ones."""
    rows = []
    for pair, stated in values["table5"].items():
        if pair == "columns":
            continue
        line: dict[str, Any] = {"methods": pair}
        line |= {
            f"published {c}": v for c, v in zip(values["table5"]["columns"], stated, strict=True)
        }
        for m in names:
            line |= _correlated(m, [METHODS[p] for p in pair.split(" | ")], results)
        rows.append(line)
    note = (
        "At most 8 tests: an interval from below 0 to near 1 is the rule. CEAT is on natural "
        "sentences in the paper, here on templates."
    )
    return Table("table5", "Table 5: correlations between methods", frame(rows), note)


def _correlated(model: str, methods: Any, results: Results) -> dict[str, Any]:
    pairs = [
        [results.get((model, key, n, level, "template")) for key, level in methods]
        for n in MAIN.values()
    ]
    both = [(a.overall, b.overall) for a, b in pairs if a and b]
    sure = [(a, b) for a, b in both if (a.p or 0) < SIGNIFICANT and (b.p or 0) < SIGNIFICANT]
    line: dict[str, Any] = {}
    for label, kept in (("all", both), ("sig.", sure)):
        if len(kept) > 2:
            x, y = (np.array([pair[k].value for pair in kept]) for k in (0, 1))
            r = correlation(x, y)
            head = f"{model} {label}"
            line |= {head: r.value, f"{head} low": r.low, f"{head} high": r.high, f"{head} n": r.n}
    return line


def table6(names: Sequence[str], results: Results, values: Any, comparable: bool) -> Table:
    """Nouns or adjectives as LPBS' attributes."""
    rows = []
    for test, stated in values["table6"].items():
        for m in names or [LPBS_MODEL]:
            same = comparable and m == LPBS_MODEL
            for method, which in (("LPBS", "adjective"), ("LPBS nouns", "noun")):
                estimate = _overall(results, m, method, _smallest(test), "simplified", "template")
                original = stated["original noun"] if which == "noun" else None
                keys = {"test": test, "attributes": which, "model": m, "orig": original}
                rows.append(row(keys, stated[which], estimate, same=same))
    note = "Published for bert-base-uncased. 'orig' is what Kurita et al. report."
    return Table("table6", "Table 6: nouns or adjectives as attributes", frame(rows), note)


def table14(names: Sequence[str], results: Results, values: Any) -> Table:
    """Cosine or probability, by size of the sets; natural sentences where there are any."""
    rows = []
    natural = any(key[-1] == "natural" for key in results)
    context = "natural" if natural else "template"
    for test, stated in values["table14"].items():
        if test == "columns":
            continue
        for i, size in enumerate(SIZES):
            base, method = _of_size(test, size), "CEAT" if size == "full" else f"CEAT {size}"
            for m in names or ["bert-base-cased"]:
                pair = (
                    ("cosine", stated[i], (m, method, base, "word-average", context)),
                    ("probability", stated[3 + i], (m, "CEAT-LPBS", base, size, context)),
                )
                for metric, value, key in pair:
                    shown = m if names or metric == "cosine" else LPBS_MODEL
                    keys = {"test": test, "sets": size, "metric": metric, "model": shown}
                    rows.append(row(keys, value, _overall(results, *key), same=False))
    note = f"Published for BERT on Reddit; ours on {context} sentences. {SHRINKS}"
    return Table("table14", "Table 14: cosine or probability", frame(rows), note)
