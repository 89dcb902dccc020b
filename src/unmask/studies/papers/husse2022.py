"""Mind Your Bias (Husse and Spitz 2022): replication and the effect of design choices."""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from unmask.data import catalogue
from unmask.data.cards import release_files
from unmask.data.packaged import published
from unmask.data.templates import from_sentences, from_stimuli
from unmask.data.wordsets import groups, matching, stimuli
from unmask.errors import DataError
from unmask.flow.evaluate import evaluate
from unmask.measures import ASSOCIATION
from unmask.models.cached_model import full_model
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.reports.figures.drawing import Figure
from unmask.reports.html.study_page import Study, Table
from unmask.studies.papers import claims
from unmask.studies.papers import husse2022_appendix as appendix
from unmask.studies.papers import husse2022_figures as figures
from unmask.studies.papers import husse2022_tables as tables
from unmask.studies.papers.husse2022_appendix import FEWER, RATIO
from unmask.studies.papers.husse2022_claims import CLAIMS
from unmask.studies.papers.husse2022_tables import KEY, MAIN
from unmask.studies.papers.paper_table import by_tags, reported
from unmask.studies.papers.request import Request
from unmask.text.contexts import WordTest, limited, source
from unmask.types import Dataset, Stimuli

# Level of the paper, and the pooling that gives it; a sentence's vector is that of s-seat.
POOLS = {"word-average": "word-mean", "word-start": "word-first", "word-end": "word-last"}
LEVELS = ("sent", *POOLS)
MEASURES = {"SEAT": "w-seat", "CEAT": "ceat"}
LIKELY = ("masked", "causal", "permutation")
WINDOW, APART = 4, 18  # of appendix B.5: words on either side, words between two stimuli


def run(models: Sequence[Model], request: Request) -> Study:
    """All tables for the given models; natural contexts from a store if one is named."""
    quick, samples = request.quick, 500 if request.quick else 10_000
    names = [t for t in groups()["husse2022"] if not quick or t in MAIN.values()]
    skipped, failed = reported(*KEY)
    specs: list[Spec] = []
    for model in models:
        specs += _templates(model, names, samples)
        specs += _lpbs(model, quick, samples) if model.kind in LIKELY else []
        if request.contexts is not None:
            specs += _natural(model, names, request, samples, skipped)
        specs += _release(model, samples, quick, skipped)
    specs += appendix.as_characters(models, list(MAIN.values()))
    evaluated = evaluate(specs, replace(request.options, keep=("samples", "sentences")), failed)
    results = by_tags(evaluated, *KEY)
    clocked = ("C6",) if quick else ("C1", "C6")
    timing = [line for m in models for line in _timed(m, clocked, request.options, samples)]
    if request.contexts is None:
        skipped["natural contexts"] = "no store was named; build one and pass --contexts"
    tested = {key: tables.published_p(result) for key, result in results.items()}
    run = tables.HusseRun({m.name: m.kind for m in models}, results, not quick, tested)
    study_tables = _tables(run, timing, samples)
    drawn = _figures(models, run, request)
    remarks = _remarks(request)
    return Study("Mind your bias (husse2022)", study_tables, drawn, remarks, skipped, evaluated)


def _remarks(request: Request) -> list[str]:
    remarks = [
        "0 is ideal. Our templates differ from the paper's, so scores differ even on its models. "
        "Compare the table of the release's own sentences."
    ]
    if request.contexts is not None:
        remarks.append(
            f"At most {request.sentences} natural sentences per word are used (--sentences); the "
            "paper takes 1,000 for SEAT and 10,000 for CEAT. As in the paper, sentences for CEAT "
            "are cut to four words on each side, and sentences for LPBS have at most "
            f"{APART} words between target and attribute."
        )
    remarks.append(
        "The paper says that all experiments used the modified sets of C9 and Dis. Of its 162 "
        "printed cosine values for these in Tables 11 to 13, 157 equal those of the unmodified "
        "sets in the release. For 76, the release also has the modified sets, and 55 of them "
        "differ. Its appendix C says that w-SEAT takes a word's last piece; the code of Tan and "
        "Celis takes the first."
    )
    if request.quick:
        remarks.append(
            "A quick run: the main tests only, LPBS on simplified sets, 500 samples. Agreement "
            "with the published values is not assessed."
        )
    return remarks


def _spec(
    model: Model, method: str, test: Stimuli, level: str, context: str, **options: Any
) -> Spec:
    """A spec with the tags that the tables read: smaller sets carry the name of the full test."""
    facts = {"concept": test.concept, "named": test.named}
    base = matching(size="full", edition="m" if test.edition.endswith("m") else "", **facts)[0]
    values = (model.name, method, base.name, level, context)
    tags = dict(zip(KEY, values, strict=True)) | facts | {"edition": test.edition}
    return Spec(model, tags=tags, **options)


def _pool(model: Model, level: str) -> str:
    return POOLS.get(level) or ASSOCIATION["s-seat"].pool_for(model.kind)


def _cosine(
    model: Model, method: str, test: Stimuli, level: str, context: str, samples: int, **options: Any
) -> Spec:
    """SEAT, or CEAT on sets of some size, at a level; CEAT alone draws samples."""
    measure = MEASURES[method.split()[0]]
    facts = {"measure": measure, "data": WordTest(test), "pool": _pool(model, level)} | options
    if method.startswith("CEAT"):
        facts["samples"] = samples
    return _spec(model, method, test, level, context, **facts)


def _levels(model: Model) -> tuple[str, ...]:
    """The levels that a model has: ELMo's words are one token each."""
    return LEVELS[:2] if model.kind == "elmo" else LEVELS


def _templates(model: Model, names: Sequence[str], samples: int) -> Iterator[Spec]:
    """All levels of all tests, and CEAT on smaller sets, in our templates."""
    for test in (stimuli()[n] for n in names):
        for level in _levels(model):
            yield _cosine(model, "SEAT", test, level, "template", samples)
        yield _cosine(model, "CEAT", test, "word-average", "template", samples)
    for test in smaller():
        yield _cosine(model, f"CEAT {test.size}", test, "word-average", "template", samples)


def smaller() -> list[Stimuli]:
    """Word tests with reduced or simplified sets."""
    return [t for t in stimuli().values() if t.concept and t.size != "full" and not t.edition]


def _lpbs(model: Model, quick: bool, samples: int) -> Iterator[Spec]:
    """LPBS and its combination with CEAT, on full, reduced and simplified sets."""
    full = [t for n in groups()["husse2022"] if not (t := stimuli()[n]).edition]
    for test in [*full, *smaller()]:
        if quick and test.size != "simplified":
            continue
        yield from _both_lpbs(model, test, "template", from_stimuli(test), samples)
        if test.size == "simplified" and test.adjectives:
            nouns = from_stimuli(test, nouns=True)
            yield _spec(
                model, "LPBS nouns", test, test.size, "template", measure="lpbs", data=nouns
            )


def _both_lpbs(
    model: Model, test: Stimuli, context: str, data: Dataset, samples: int
) -> Iterator[Spec]:
    """LPBS, and its effect sizes over samples of one sentence a word."""
    facts = {"test": test, "level": test.size, "context": context, "data": data}
    yield _spec(model, "LPBS", **facts, measure="lpbs")  # type: ignore[arg-type]
    yield _spec(model, "CEAT-LPBS", **facts, measure="ceat-lpbs", samples=samples)  # type: ignore[arg-type]


def _natural(
    model: Model, names: Sequence[str], request: Request, samples: int, skipped: dict[str, str]
) -> Iterator[Spec]:
    """SEAT, CEAT and LPBS on the sentences of a store."""
    natural_contexts = source(str(request.contexts))

    place: Any = ("natural", samples)
    most = request.sentences
    natural, fewer = (limited(natural_contexts, most=n) for n in (most, -(-most // RATIO)))
    cut = limited(natural_contexts, words=WINDOW, most=most)
    for test in (stimuli()[n] for n in names):
        for level in LEVELS[:2]:
            yield _cosine(model, "SEAT", test, level, *place, contexts=natural)
            yield _cosine(model, "SEAT", test, level, FEWER, samples, contexts=fewer)
        for level in _levels(model):
            yield _cosine(model, "CEAT", test, level, *place, contexts=cut)
    for test in smaller():
        method = f"CEAT {test.size}"
        yield _cosine(model, method, test, "word-average", *place, contexts=cut)
    if model.kind not in LIKELY:
        return
    for test in [*(stimuli()[n] for n in names), *smaller()]:
        try:
            data = from_sentences(test, natural.of(test), distance=APART)
        except DataError as error:
            skipped[f"{model.name}, LPBS, {test.name}, natural"] = str(error)
            continue
        yield from _both_lpbs(model, test, "natural", data, samples)


def _release(model: Model, samples: int, quick: bool, skipped: dict[str, str]) -> Iterator[Spec]:
    """The release's own words in its own sentences, by the variants that do as it does."""
    if model.kind not in ("masked", "causal"):
        return
    for test, name in MAIN.items():
        if quick and test not in ("C6", "C9"):
            continue
        try:
            words, both = catalogue.resolve(_released_name(stimuli()[name]))
        except DataError as error:
            skipped["the release's own sentences"] = str(error)
            return
        assert isinstance(words, WordTest)
        facts = words.stimuli
        for level, method in itertools.product(LEVELS, MEASURES):
            released = {"measure": f"{MEASURES[method]}@husse2022", "data": words}
            yield _cosine(model, method, facts, level, "release", samples, **released)
        if model.kind == "masked":
            yield _spec(
                model, "LPBS", facts, "full", "release", measure="lpbs@husse2022", data=both
            )


def _released_name(test: Stimuli) -> str:
    """The release's own files of a test of ours."""
    facts = {"concept": test.concept, "named": test.named, "size": test.size, "edition": "release"}
    files = (c for c in release_files().values() if facts.items() <= c.meta.items())
    return next(files).name


def _timed(
    model: Model, tests: Sequence[str], options: Options, samples: int
) -> list[dict[str, Any]]:
    """Seconds of each method on some tests: the model's, and the rest; loading left out."""
    model = full_model(model)
    rows = []
    for test in tests:
        words = stimuli()[MAIN[test]]
        methods: dict[str, tuple[str, Any]] = {
            "s-SEAT": ("s-seat", WordTest(words)),
            "w-SEAT": ("w-seat", WordTest(words)),
            "CEAT": ("ceat", WordTest(words)),
        }
        if model.kind in LIKELY:
            methods["LPBS"] = ("lpbs", from_stimuli(words))
        for method, (measure, data) in methods.items():
            clock = _Clock()
            spec = Spec(model, measure, data, samples=samples if method == "CEAT" else None)
            evaluate([spec], replace(options, cache=False, store=None, progress=clock))
            line = {"model": model.name, "test": test, "method": method}
            rows.append(line | clock.seconds())
    return rows


class _Clock:
    """Notes when the model was done: what comes after is the method's own work."""

    def __init__(self) -> None:
        self.start = self.last = time.perf_counter()

    def __call__(self, name: str, done: int, total: int) -> None:
        self.last = time.perf_counter()

    def seconds(self) -> dict[str, float]:
        end = time.perf_counter()
        return {"model's seconds": self.last - self.start, "method's seconds": end - self.last}


def _tables(run: tables.HusseRun, timing: list[dict[str, Any]], samples: int) -> list[Table]:
    values = published("husse2022")
    plain = tables.described(values)
    claim_tables = [claims.table(CLAIMS, run, list(run.kinds))] if run.kinds else []
    return [
        *claim_tables,
        plain[1],
        plain[2],
        *tables.of_all_models(3, run),
        *tables.of_all_models(4, run),
        *tables.table5(run, values),
        *tables.of_all_models(6, run),
        *tables.runtimes(values, timing, samples),
        plain[9],
        plain[10],
        *(table for number in (11, 12, 13, 14) for table in tables.of_all_models(number, run)),
        appendix.sentences(run),
        *appendix.implementation_error(run),
        *tables.released(run),
    ]


def _figures(models: Sequence[Model], run: tables.HusseRun, request: Request) -> list[Figure]:
    drawn = figures.significant(run)
    if models:
        drawn += [figures.retained(models), figures.distribution(models[0].name, run)]
    drawn.append(figures.windows(models[:1], request))
    return [*drawn, figures.scatter(run)]
