"""The whole flow: models, measures and data by name; results out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from unmask import sentences, words
from unmask.data import cards, catalogue, controls, flags, seat, stimuli, templates
from unmask.errors import DataError, NotApplicable
from unmask.measures import ASSOCIATION, LIKELIHOOD, Association, Likelihood
from unmask.models.batches import Budget
from unmask.registry import Registry
from unmask.text import contexts
from unmask.text.contexts import WordTest
from unmask.types import Dataset, Result, Stimuli

SUITE = ("pll", "cps", "sss", "aul", "aula", "all-masked", "cat", "lpbs", "w-seat")
SETS = ("bundled-pairs", "kurita-career", "kurita-math", "kurita-science",
        "weat-1", "weat-6", "weat-7", "weat-8")  # fmt: skip
DTYPES = ("float32", "float64", "bfloat16", "float16")
MEASURES: Registry[Likelihood | Association] = Registry(
    "measure", [*LIKELIHOOD.items(), *ASSOCIATION.items()]
)
Data: TypeAlias = Dataset | WordTest


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. `pool`, `layer`, `contexts` and `samples` override a row's own choice."""

    seed: int = 0
    dtype: str = "float32"
    device: str | None = None
    tokens: int = 4096
    pool: str | None = None
    layer: int = -1
    contexts: str | None = None
    samples: int | None = None
    exclude_flagged: bool = False
    journal: Path | None = None
    progress: Callable[[str, int, int], None] = lambda what, done, total: None


def evaluate(model: Any, measure: str, data: Any, **options: Any) -> Result:
    """One measure on one data set: `evaluate("bert-base-cased", "aul", "crows-pairs")`.

    `model` is a name or a loaded model; `data` a name, a path, a `Dataset` or `Stimuli`.
    """
    return run([model], [measure], [data], **options)[0]


def run(
    models: Sequence[Any] = ("bundled",),
    measures: Sequence[str] | None = None,
    data: Sequence[Any] | None = None,
    **options: Any,
) -> list[Result]:
    """All measures on all data that they fit, for all models.

    Rows and sentences are shared between the measures of a model. Without measures the standard
    suite, without data the package's own sets. Keyword arguments are those of `Options`.
    """
    settings = Options(**options)
    rows = [MEASURES[name] for name in measures or SUITE]
    given = list(data or SETS)
    names = [n for d in given for n in (stimuli.expand([d]) if isinstance(d, str) else [d])]
    sets = [s for n in names for s in resolve(n, settings)]
    pairs = [(m, d) for d in sets for m in rows if _fits(m, d)]
    _complain(rows, sets, pairs)
    return [r for name in models for r in _run_model(name, pairs, settings)]


def resolve(data: Any, options: Options) -> list[Data]:
    """The sentence set and the word test that a name stands for; most are one or the other."""
    if isinstance(data, Dataset | WordTest):
        return [data]
    if isinstance(data, Stimuli):
        return [_word_test(data, options)]
    name = str(data)
    if name in stimuli.stimuli():
        test = stimuli.stimuli()[name]
        sides: list[Data] = [_word_test(test, options)]
        return sides + ([templates.from_stimuli(test)] if templates.has_templates(test) else [])
    if name in seat.files():
        return [seat.read(name)]
    if name.endswith(".json"):
        return [_word_test(_file(name), options)]
    base, _, control = name.partition(":")
    others = [*stimuli.stimuli(), *stimuli.groups(), *seat.files()]
    found, note = catalogue.read(base, others)
    found = replace(flags.flagged(found), about={**found.about, **note})
    sets: list[Data] = [controls.controlled(found, control) if control else found]
    if options.exclude_flagged:
        sets.append(flags.without_flagged(found))
    return sets


def _file(name: str) -> Stimuli:
    if not Path(name).is_file():
        raise DataError(f"there is no file {name!r}; give the path of a word test in JSON.")
    return stimuli.read_stimuli(Path(name))


def _word_test(test: Any, options: Options) -> WordTest:
    about = {"source": test.meta.get("source", "user")}
    if options.contexts is None:
        return WordTest(test, about=about)
    if options.contexts in contexts.SOURCES:
        return WordTest(test, contexts.SOURCES[options.contexts], options.contexts, about)
    path = Path(options.contexts)
    return WordTest(test, contexts.stored(path), f"natural ({path.name})", about)


def _fits(measure: Likelihood | Association, data: Data) -> bool:
    if isinstance(measure, Association):
        return isinstance(data, WordTest)
    return isinstance(data, Dataset) and data.shape in measure.shapes


def _complain(rows: Sequence[Any], sets: Sequence[Data], pairs: Sequence[tuple[Any, Data]]) -> None:
    """Each measure and each data set must have found a partner, unless defaults were taken."""
    used = {m.name for m, _ in pairs}
    for row in rows:
        if row.name not in used and (len(rows) == 1 or not pairs):
            kind = "word tests" if isinstance(row, Association) else " or ".join(row.shapes)
            shapes = [f"{d.name!r} ({_shape(d)})" for d in sets]
            fit = [m.name for m in MEASURES.values() if any(_fits(m, d) for d in sets)]
            raise NotApplicable(
                f"{row.name!r} needs {kind}, which is not what {', '.join(shapes)} has; measures "
                f"that fit: {', '.join(fit)}."
            )


def _shape(data: Data) -> str:
    return "a word test" if isinstance(data, WordTest) else data.shape


def _run_model(name: Any, pairs: Sequence[tuple[Any, Data]], options: Options) -> Iterator[Result]:
    from unmask.models.load import load_any  # torch is heavy: only when a model is needed

    model = name
    if isinstance(name, str | Path):
        model = load_any(str(name), dtype=options.dtype, device=options.device)
    asking = [(m, d) for m, d in pairs if isinstance(m, Likelihood)]
    angles = [(m, d) for m, d in pairs if isinstance(m, Association)]
    for m, _ in asking:
        m.plan_for(model.kind)
    if asking:
        yield from _likelihood(model, asking, options)
    if angles:
        yield from _association(model, angles, options)


def _bar(model: Any, options: Options) -> Callable[[int, int], None]:
    done = 0

    def progress(rows: int, total: int) -> None:
        nonlocal done
        done = done % total + rows
        options.progress(model.name, done, total)

    return progress


def engines(model: Any, streams: Iterable[str], options: Options) -> dict[str, Any]:
    """The model's engine for each stream; with a journal, a killed run goes on where it was."""
    from unmask.models.journal import Journal

    budget, progress = Budget(options.tokens), _bar(model, options)
    made = {}
    for stream in sorted(set(streams)):
        journal = None
        if options.journal is not None:
            # The streams of a permutation model answer the same row differently.
            facts = (model.provenance["weights"], model.provenance["dtype"], stream)
            journal = Journal(options.journal, " ".join(facts))
        made[stream] = model.engine(stream, budget=budget, journal=journal, progress=progress)
    return made


def _likelihood(
    model: Any, pairs: Sequence[tuple[Likelihood, Any]], options: Options
) -> Iterator[Result]:
    cache: sentences.Cache = {}
    planned = [sentences.plan(model, m, d, cache) for m, d in pairs]
    answering = engines(model, (m.stream for m, _ in pairs), options)
    for one, readings in zip(planned, sentences.ask(answering, planned), strict=True):
        result = sentences.score(model, one, readings, options.seed)
        yield replace(result, settings={**result.settings, "rows": readings.rows})


def _association(
    model: Any, pairs: Sequence[tuple[Association, Any]], options: Options
) -> Iterator[Result]:
    for _, result in associate(model, [(m, t, options.pool) for m, t in pairs], options):
        yield result


Wish: TypeAlias = tuple[Association, WordTest, str | None]


def associate(
    model: Any,
    wanted: Sequence[Wish],
    options: Options,
    failed: Callable[[int, DataError], None] | None = None,
) -> Iterator[tuple[int, Result]]:
    """Measures on word tests, each with its pooling (its own if None); sentences are shared.

    Yields the place in `wanted` with each result. What cannot be scored is an error, or is told
    to `failed` with its place, and the rest goes on.
    """

    def fail(place: int, error: DataError) -> None:
        if failed is None:
            raise error
        failed(place, error)

    known: Callable[[str], bool] = lambda word: True  # noqa: E731
    if model.kind == "static":
        asked_for = {w for _, t, _ in wanted for ws in t.stimuli.sets.values() for w in ws}
        known = model.has(asked_for).__contains__
        engine = model
    elif model.kind == "elmo":
        engine = replace(model, progress=_bar(model, options))
    else:
        engine = model.vectors(
            layer=options.layer, budget=Budget(options.tokens), progress=_bar(model, options)
        )
    asked = {}
    for i, (m, t, pool) in enumerate(wanted):
        try:
            asked[i] = words.prepare(m, t, model.kind, pool=pool, seed=options.seed, known=known)
        except DataError as error:
            fail(i, error)
    if not asked:
        return
    embedded = words.embed_all(engine, list(asked.values()))
    for (i, one), vectors in zip(asked.items(), embedded, strict=True):
        try:
            result = words.score(model, one, vectors, seed=options.seed, samples=options.samples)
        except DataError as error:
            fail(i, error)
            continue
        yield i, replace(result, settings={**result.settings, "layer": options.layer})


def citations(result: Result) -> list[str]:
    """The keys of what a result rests on: its measure and its data."""
    keys = list(MEASURES[result.measure].cite) if result.measure in MEASURES else []
    if result.data in stimuli.stimuli():
        return [*keys, str(stimuli.stimuli()[result.data].meta["source"])]
    known, base = cards.catalogue(), result.data.partition(":")[0]
    return keys + (list(known[base].cite) if base in known else [])
