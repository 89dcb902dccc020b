"""Mind Your Bias (Husse and Spitz 2022): replication and the effect of design choices."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.data.stimuli import groups, stimuli
from unmask.data.templates import from_stimuli
from unmask.errors import DataError
from unmask.evaluate import Options, associate
from unmask.evaluate import run as run_all
from unmask.measures import ASSOCIATION
from unmask.papers import husse2022_figures as figures
from unmask.papers import husse2022_tables as tables
from unmask.papers.husse2022_tables import MAIN
from unmask.papers.pages import Study, Table, frame, published
from unmask.text import contexts as sources
from unmask.text.contexts import Contexts, WordTest
from unmask.types import Result, Stimuli

# Level of the paper, and the measure and pooling that give it; CEAT takes the word's mean.
LEVELS: dict[tuple[str, str], tuple[str, str | None]] = {
    ("SEAT", "sent"): ("s-seat", None),
    ("SEAT", "word-average"): ("w-seat", "word-mean"),
    ("SEAT", "word-start"): ("w-seat", "word-first"),
    ("SEAT", "word-end"): ("w-seat", "word-last"),
    ("CEAT", "word-average"): ("ceat", "word-mean"),
}
NATURAL = [("SEAT", "sent"), ("SEAT", "word-average"), ("CEAT", "word-average")]
MOST = 100  # natural sentences a word: all tests are embedded together

_Found = dict[tuple[str, ...], Result]


def run(models: Sequence[Any], options: Options, *, quick: bool = False,
        corpus: Sequence[str] = (), contexts: str | None = None) -> Study:  # fmt: skip
    """All tables for the given models; natural contexts from a store if one is named."""
    options = replace(options, samples=500 if quick else 10_000, contexts=None, pool=None)
    tests = [t for t in groups()["husse2022"] if not quick or t in MAIN.values()]
    skipped: dict[str, str] = {}
    results: _Found = {}
    timing: list[dict[str, Any]] = []
    for model in models:
        _templates(model, tests, options, results, skipped)
        if model.kind in ("masked", "causal", "permutation"):
            _lpbs(model, results, options, quick, skipped)
        if contexts is not None:
            _natural(model, tests, contexts, options, results, skipped)
        timing += _timed(model, options)
    if contexts is None:
        skipped["natural contexts"] = "no store was named; build one and give --contexts"
    remarks = ["0 is ideal. Our templates are our own, so scores differ from the paper's even on "
               "its models; signs and sizes are comparable."]  # fmt: skip
    return Study(
        "Mind your bias (husse2022)",
        _tables([m.name for m in models], results, timing),
        _figures(models, results, contexts, options),
        remarks,
        skipped,
    )


def _templates(model: Any, tests: Sequence[str], options: Options, results: _Found,
               skipped: dict[str, str]) -> None:  # fmt: skip
    """All levels of all tests at once, so that each sentence is encoded once."""
    keys = [(name, name, method, level) for name in tests for method, level in LEVELS]
    keys += [(name, base, f"CEAT {sets}", "word-average") for name, base, sets in _smaller()]
    wanted = [
        (ASSOCIATION[measure], WordTest(stimuli()[name]), pool)
        for name, _, method, level in keys
        for measure, pool in (LEVELS[method.split()[0], level],)
    ]

    def failed(place: int, error: DataError) -> None:
        name, _, method, level = keys[place]
        skipped[f"{model.name}, {method} ({level}) on {name}"] = str(error)

    for i, result in associate(model, wanted, options, failed):
        _, base, method, level = keys[i]
        results[model.name, method, base, level, "template"] = result


def _smaller() -> list[tuple[str, str, str]]:
    """Word tests with reduced or simplified sets: name, the test they belong to, and which."""
    found = []
    for name in stimuli():
        base, _, sets = name.rpartition("-")
        if name.startswith("husse-") and sets in ("reduced", "simplified") and "-m-" not in name:
            found.append((name, base, sets))
    return found


def _lpbs(
    model: Any, results: _Found, options: Options, quick: bool, skipped: dict[str, str]
) -> None:
    """LPBS and its combination with CEAT, on full, reduced and simplified sets."""
    settings = {"seed": options.seed, "tokens": options.tokens, "journal": options.journal,
                "progress": options.progress}  # fmt: skip
    full = [n for n in groups()["husse2022"] if not n.endswith("-m")]
    for name, base, sets in [*((n, n, "full") for n in full), *_smaller()]:
        test = stimuli()[name]
        if quick and sets != "simplified":
            skipped[f"{model.name}, LPBS on {name}"] = "quick run"
            continue
        data = from_stimuli(test)
        for r in run_all([model], ["lpbs", "ceat-lpbs"], [data], **settings):
            key = "LPBS" if r.measure == "lpbs" else "CEAT-LPBS"
            results[model.name, key, base, sets, "template"] = r
        if sets == "simplified" and test.meta["adjectives"]:
            nouns = run_all([model], ["lpbs"], [from_stimuli(test, nouns=True)], **settings)[0]
            results[model.name, "LPBS nouns", base, sets, "template"] = nouns


def _natural(model: Any, tests: Sequence[str], store: str, options: Options, results: _Found,
             skipped: dict[str, str]) -> None:  # fmt: skip
    """SEAT and CEAT on the sentences of a store, at most `MOST` a word.

    A test whose words it lacks is skipped.
    """
    met = sources.stored(Path(store))

    def some(test: Stimuli) -> Contexts:
        return {word: mentions[:MOST] for word, mentions in met(test).items()}

    keys = [(name, *key) for name in tests for key in NATURAL]
    wanted = [
        (ASSOCIATION[measure], WordTest(stimuli()[name], some, "natural"), pool)
        for name, *key in keys
        for measure, pool in (LEVELS[key[0], key[1]],)
    ]

    def failed(place: int, error: DataError) -> None:
        skipped[f"{model.name}, {keys[place][0]}, natural"] = str(error)

    for i, result in associate(model, wanted, options, failed):
        name, method, level = keys[i]
        results[model.name, method, name, level, "natural"] = result


def _timed(model: Any, options: Options) -> list[dict[str, Any]]:
    """Seconds of each method on C1 and C6, embedding and scoring, loading left out."""
    out = []
    for test in ("C1", "C6"):
        for measure in ("s-seat", "w-seat", "ceat"):
            start = time.perf_counter()
            wanted = [(ASSOCIATION[measure], WordTest(stimuli()[MAIN[test]]), None)]
            list(associate(model, wanted, options))
            out.append({"model": model.name, "test": test, "method": measure,
                        "measured": time.perf_counter() - start})  # fmt: skip
    return out


def _tables(names: Sequence[str], results: _Found, timing: list[dict[str, Any]]) -> list[Table]:
    values, every = published("husse2022"), published("husse2022.csv")
    return [
        tables.table1(values),
        tables.table3(names, results, every),
        tables.table4(names, results, values),
        tables.table5(names, results, values),
        tables.table6(names, results, values),
        _runtimes(values, timing),
        tables.table10(values),
        tables.choice(names, results, every, "targets"),
        tables.choice(names, results, every, "contexts"),
        tables.choice(names, results, every, "level"),
        tables.table14(names, results, values),
    ]  # fmt: skip


def _runtimes(values: Any, timing: list[dict[str, Any]]) -> Table:
    labels = list(values["models"])
    stated = {"C1": values["table7"], "C6": values["table8"]}
    method = {"s-seat": "s-SEAT", "w-seat": "w-SEAT", "ceat": "CEAT"}
    rows = [
        line | {f"published {label}": value for label, value in
                zip(labels, stated[line["test"]][method[line["method"]]], strict=True)}
        for line in timing
    ]  # fmt: skip
    return Table("runtimes", "Tables 7 and 8: runtimes in seconds", frame(rows),
                 "Published: C1 (Table 7) and C6 (Table 8), one CPU, ten runs, without LPBS. "
                 "Measured once, loading left out.")  # fmt: skip


def _figures(
    models: Sequence[Any], results: _Found, contexts: str | None, options: Options
) -> list[Any]:
    names = [m.name for m in models]
    made = [
        figures.retained(models),
        figures.distribution(models[0], options.samples or 10_000),
        figures.scatter(names, results),
    ]
    if contexts is not None:
        made.insert(2, figures.windows(models[0], contexts, options))
    return made
