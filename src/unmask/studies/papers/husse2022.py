"""Mind Your Bias (Husse and Spitz 2022): replication and the effect of design choices."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from unmask.data.packaged import published
from unmask.data.templates import from_stimuli
from unmask.data.wordsets import chosen, groups, stimuli
from unmask.errors import UnmaskError
from unmask.flow.evaluate import evaluate
from unmask.options import Options, Spec
from unmask.report.page import Figure, Study, Table
from unmask.studies.papers import husse2022_figures as figures
from unmask.studies.papers import husse2022_tables as tables
from unmask.studies.papers.beside import by_tags, frame
from unmask.studies.papers.husse2022_tables import KEY, MAIN
from unmask.studies.papers.request import Request
from unmask.text.contexts import Contexts, Source, WordTest, source
from unmask.types import Stimuli

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
LIKELY = ("masked", "causal", "permutation")


def run(models: Sequence[Any], request: Request) -> Study:
    """All tables for the given models; natural contexts from a store if one is named."""
    options, quick = request.options, request.quick
    samples = 500 if quick else 10_000
    tests = [t for t in groups()["husse2022"] if not quick or t in MAIN.values()]
    skipped: dict[str, str] = {}

    def failed(spec: Spec, error: UnmaskError) -> None:
        what = ", ".join(str(spec.tags[k]) for k in KEY)
        skipped[what] = str(error)

    specs = [s for m in models for s in _specs(m, tests, samples, quick, request.contexts)]
    if quick:
        skipped |= {f"{m.name}, LPBS on full and reduced sets": "quick run" for m in models}
    made = evaluate(specs, options, failed)
    results = by_tags(made, *KEY)
    timing = [line for m in models for line in _timed(m, options, samples)]
    if request.contexts is None:
        skipped["natural contexts"] = "no store was named; build one and give --contexts"
    remarks = [
        "0 is ideal. Our templates are our own, so scores differ from the paper's even on "
        "its models; signs and sizes are comparable."
    ]
    drawn = _figures(models, results, request, samples)
    names = [m.name for m in models]
    made_tables = _tables(names, results, timing)
    return Study("Mind your bias (husse2022)", made_tables, drawn, remarks, skipped, made)


def _specs(
    model: Any, tests: Sequence[str], samples: int, quick: bool, store: str | None
) -> Iterator[Spec]:
    yield from _templates(model, tests, samples)
    if model.kind in LIKELY:
        yield from _lpbs(model, quick)
    if store is not None:
        yield from _natural(model, tests, store, samples)


def _spec(model: Any, method: str, test: Stimuli, level: str, context: str, **more: Any) -> Spec:
    """A spec with the tags that the tables read: full sets carry the name of their own test."""
    facts = {"concept": test.concept, "named": test.named, "edition": test.edition}
    base = chosen(size="full", **facts)[0]
    values = (model.name, method, base.name, level, context)
    return Spec(model, tags=dict(zip(KEY, values, strict=True)) | facts, **more)


def _templates(model: Any, tests: Sequence[str], samples: int) -> Iterator[Spec]:
    """All levels of all tests, and CEAT on smaller sets."""
    for name in tests:
        for (method, level), (measure, pool) in LEVELS.items():
            test = stimuli()[name]
            yield _spec(
                model,
                method,
                test,
                level,
                "template",
                measure=measure,
                data=WordTest(test),
                pool=pool,
                samples=samples,
            )
    for test in smaller():
        yield _spec(
            model,
            f"CEAT {test.size}",
            test,
            "word-average",
            "template",
            measure="ceat",
            data=WordTest(test),
            pool="word-mean",
            samples=samples,
        )


def smaller() -> list[Stimuli]:
    """Word tests with reduced or simplified sets."""
    return [t for t in stimuli().values() if t.concept and t.size != "full" and not t.edition]


def _lpbs(model: Any, quick: bool) -> Iterator[Spec]:
    """LPBS and its combination with CEAT, on full, reduced and simplified sets."""
    full = [t for n in groups()["husse2022"] if not (t := stimuli()[n]).edition]
    for test in [*full, *smaller()]:
        if quick and test.size != "simplified":
            continue
        data = from_stimuli(test)
        for method, measure in (("LPBS", "lpbs"), ("CEAT-LPBS", "ceat-lpbs")):
            yield _spec(model, method, test, test.size, "template", measure=measure, data=data)
        if test.size == "simplified" and test.adjectives:
            nouns = from_stimuli(test, nouns=True)
            yield _spec(
                model, "LPBS nouns", test, test.size, "template", measure="lpbs", data=nouns
            )


def _natural(model: Any, tests: Sequence[str], store: str, samples: int) -> Iterator[Spec]:
    """SEAT and CEAT on the sentences of a store, at most `MOST` a word."""
    met = source(store)

    def some(test: Stimuli) -> Contexts:
        return {word: mentions[:MOST] for word, mentions in met.of(test).items()}

    natural = Source("natural", some)
    for name in tests:
        for method, level in NATURAL:
            measure, pool = LEVELS[method, level]
            test = stimuli()[name]
            yield _spec(
                model,
                method,
                test,
                level,
                "natural",
                measure=measure,
                data=WordTest(test),
                pool=pool,
                contexts=natural,
                samples=samples,
            )


def _timed(model: Any, options: Options, samples: int) -> list[dict[str, Any]]:
    """Seconds of each method on C1 and C6, embedding and scoring, loading left out."""
    out = []
    for test in ("C1", "C6"):
        for measure in ("s-seat", "w-seat", "ceat"):
            start = time.perf_counter()
            data = WordTest(stimuli()[MAIN[test]])
            evaluate([Spec(model, measure, data, samples=samples)], options)
            line = {"model": model.name, "test": test, "method": measure}
            out.append(line | {"measured": time.perf_counter() - start})
    return out


def _tables(
    names: Sequence[str], results: tables.Results, timing: list[dict[str, Any]]
) -> list[Table]:
    values, every = published("husse2022"), published("husse2022.csv")
    return [
        tables.table1(values),
        tables.table3(names, results, every),
        tables.table4(names, results, values),
        tables.table5(names, results, values),
        tables.table6(names, results, values),
        _runtimes(values, timing),
        tables.table10(values),
        tables.design_table(names, results, every, "targets"),
        tables.design_table(names, results, every, "contexts"),
        tables.design_table(names, results, every, "level"),
        tables.table14(names, results, values),
    ]


def _runtimes(values: Any, timing: list[dict[str, Any]]) -> Table:
    labels = list(values["models"])
    stated = {"C1": values["table7"], "C6": values["table8"]}
    method = {"s-seat": "s-SEAT", "w-seat": "w-SEAT", "ceat": "CEAT"}
    rows = []
    for line in timing:
        printed = stated[line["test"]][method[line["method"]]]
        rows.append(line | {f"published {k}": v for k, v in zip(labels, printed, strict=True)})
    note = (
        "Published: C1 (Table 7) and C6 (Table 8), one CPU, ten runs, without LPBS. "
        "Measured once, loading left out."
    )
    return Table("runtimes", "Tables 7 and 8: runtimes in seconds", frame(rows), note)


def _figures(
    models: Sequence[Any], results: tables.Results, request: Request, samples: int
) -> list[Figure]:
    made = [
        figures.retained(models),
        figures.distribution(models[0], samples, request.options),
        figures.scatter([m.name for m in models], results),
    ]
    if request.contexts is not None:
        made.insert(2, figures.windows(models[0], request.contexts, request.options))
    return made
