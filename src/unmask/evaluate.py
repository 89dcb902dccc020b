"""The whole flow: models, measures and data by name; results out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask import sentences
from unmask.data import catalogue
from unmask.measures import LIKELIHOOD
from unmask.models.batches import Budget
from unmask.types import Dataset, Result

SUITE = ("pll", "cps", "sss", "aul", "aula", "all-masked", "cat", "lpbs")
SETS = ("bundled-pairs", "kurita-career", "kurita-math", "kurita-science")
DTYPES = ("float32", "float64", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: nothing here changes a number except the seed and the dtype."""

    seed: int = 0
    dtype: str = "float32"
    device: str | None = None
    tokens: int = 4096
    journal: Path | None = None
    progress: Callable[[str, int, int], None] = lambda what, done, total: None


def evaluate(model: Any, measure: str, data: Any, **options: Any) -> Result:
    """One measure on one data set: `evaluate("bert-base-cased", "aul", "crows-pairs")`.

    `model` is a name or a loaded `models.load.Model`; `data` a name, a path or a `Dataset`.
    """
    return run([model], [measure], [data], **options)[0]


def run(
    models: Sequence[Any] = ("bundled",),
    measures: Sequence[str] | None = None,
    data: Sequence[Any] | None = None,
    **options: Any,
) -> list[Result]:
    """All measures on all data for all models; rows are shared between the measures of a model.

    Without measures the standard suite, without data the package's own sets. Keyword arguments
    are those of `Options`.
    """
    settings = Options(**options)
    rows = [LIKELIHOOD[name] for name in measures or SUITE]
    sets = [_dataset(d) for d in data or SETS]
    return [r for name in models for r in _run_model(name, rows, sets, settings)]


def _dataset(data: Any) -> Dataset:
    if isinstance(data, Dataset):
        return data
    found, note = catalogue.read(str(data))
    return replace(found, about={**found.about, **note})


def _run_model(name: Any, rows: Any, sets: Sequence[Dataset], options: Options) -> Iterator[Result]:
    from unmask.models.journal import Journal  # torch is heavy: only when a model is needed
    from unmask.models.load import Model, load

    model = (
        name
        if isinstance(name, Model)
        else load(str(name), dtype=options.dtype, device=options.device)
    )
    fitting = [(m, d) for d in sets for m in rows if d.shape in m.shapes]
    for m, d in fitting or [(m, d) for d in sets for m in rows]:
        sentences.check(m, d, model.kind)
    cache: sentences.Cache = {}
    planned = [sentences.plan(model, m, d, cache) for m, d in fitting]
    journal = None
    if options.journal is not None:
        salt = f"{model.provenance['weights']} {model.provenance['dtype']}"
        journal = Journal(options.journal, salt)

    done = 0

    def progress(rows: int, total: int) -> None:
        nonlocal done
        done = done % total + rows
        options.progress(model.name, done, total)

    engines = {
        stream: model.engine(
            stream, budget=Budget(options.tokens), journal=journal, progress=progress
        )
        for stream in {m.stream for m, _ in fitting}
    }
    for one, readings in zip(planned, sentences.ask(engines, planned), strict=True):
        result = sentences.score(model, one, readings, options.seed)
        yield replace(result, settings={**result.settings, "rows": readings.rows})


def citations(result: Result) -> list[str]:
    """The keys of what a result rests on: its measure and its data."""
    keys = list(LIKELIHOOD[result.measure].cite) if result.measure in LIKELIHOOD else []
    cards = catalogue.catalogue()
    return keys + (list(cards[result.data].cite) if result.data in cards else [])
