"""The Python API: models, measures and data by name or as objects; results out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from rich.console import Console

from unmask.answer.answer import answers
from unmask.answer.evidence import left_out
from unmask.answer.scales import scale_of
from unmask.data import catalogue, defects
from unmask.data.catalogue import Data
from unmask.errors import DataError, ModelError, NotApplicable, UnmaskError
from unmask.flow.evaluate import CHOICES
from unmask.flow.evaluate import evaluate as evaluate_specs
from unmask.flow.fit import meant_for, takes
from unmask.flow.loading import kind
from unmask.measures import MEASURES, SUITES, Association, Measure, check_own_name, find
from unmask.models.names import CHAT_MARK
from unmask.models.protocol import Model
from unmask.options import Options, Spec, checked_names, takes_options
from unmask.options import named as named_as
from unmask.reports.progress_bars import bars
from unmask.reports.results import load, save  # noqa: F401  the door is here
from unmask.support.wording import counted
from unmask.text import contexts
from unmask.types import Dataset, Result, Results

# A name, a loaded model, or a network of transformers with its tokenizer.
ModelLike: TypeAlias = str | Path | Model | tuple[Any, Any]
Models: TypeAlias = ModelLike | Iterable[ModelLike]
NOTABLE_GAP = 10.0  # percentage points between the groups of a pair


@takes_options
def evaluate(model: ModelLike, measure: Any, data: Any, **options: Any) -> Result:
    """Run one measure on one data set: `evaluate("bert-base-cased", "aul", "crows-pairs")`.

    `model` is a name, a loaded model, or a network of transformers with its tokenizer,
    `(net, tokenizer)`, as in a training loop; `measure` a name or a row; `data` a name, a path, a
    `Dataset`, `Stimuli`, or a frame of pairs (pandas, `datasets`). An error is raised if nothing
    can be scored, or if a name covers several sets: use `run` for those. With `exclude_flagged`
    the result is for the items without visible defects.
    """
    results = run([model], [measure], [data], **options)
    subset = [r for r in results if r.provenance["data"].get("unflagged")] or list(results)
    if len(subset) > 1:
        names = ", ".join(r.data for r in subset[:5])
        raise NotApplicable(f"{data!r:.40} covers several sets ({names}, ...); use unmask.run.")
    return replace(subset[0], notes=(*subset[0].notes, *results.notes))


@takes_options
def run(
    models: Models = ("bundled",),
    measures: Any = None,
    data: Any = None,
    **options: Any,
) -> Results:
    """Run all measures on all data that they fit, for all models.

    Rows and sentences are shared between the measures of a model. Without measures, the standard
    suite is run; without data, the package's sets are used. Keyword arguments are those of
    `Options`; `progress=True` shows a bar. `notes` says what was requested but could not be run; if
    nothing could be run, an error is raised.
    """
    with _with_progress(options) as options_used, _resting(models):
        return _run(models, measures, data, options_used)


def _run(models: Models, measures: Any, data: Any, options: Mapping[str, Any]) -> Results:
    checked_names(options)
    settings = Options(**options)
    measure_list, data_list = _several(measures), _several(data)
    named_models, name_notes = _named_apart([_loaded(m, settings) for m in _several(models)])
    if not named_models:
        raise UnmaskError("no model was given; give a name, a folder or a loaded model.")
    suites = {} if measure_list else {id(m): _suite(m) for m in named_models}
    rows = _rows(measure_list or [n for s in suites.values() for n in s])
    sets, set_notes = _sets(data_list or catalogue.SUITE, settings, named_models)
    named_both = bool(measure_list and data_list)
    pairs = [(m, d) for d in sets for m in rows if takes(m, d) and (named_both or meant_for(m, d))]
    notes = name_notes + set_notes
    notes += _unmatched(rows, sets, pairs, bool(measure_list), bool(data_list))
    notes += _unused(settings, pairs)
    pairs.sort(key=lambda pair: isinstance(pair[0], Association))
    specs = [
        spec(model, m, d, settings)
        for model in named_models
        for m, d in pairs
        if measure_list or m.name in suites[id(model)]
    ]
    failures: list[tuple[Spec, UnmaskError]] = []
    results = evaluate_specs(specs, settings, lambda s, error: failures.append((s, error)))
    if not results:
        raise failures[0][1]
    lost, failure_notes = _failed(failures, bool(measure_list))
    notes += failure_notes
    notes += _following(results) + _unsided(results) + _not_people(results) + _whole_run(results)
    return Results(results, notes, lost)


def _suite(model: Any) -> tuple[str, ...]:
    """The standard suite for a model; one that only replies is asked to choose."""
    streams = getattr(getattr(model, "abilities", None), "streams", ())
    replies = streams == ("reply",) or (isinstance(model, str) and CHAT_MARK in model)
    return ("choice",) if replies else SUITES[kind(model)]


def _sets(
    names: Sequence[Any], settings: Options, models: Sequence[str | Path | Model]
) -> tuple[list[Data], list[str]]:
    """The data sets as the options want them, and notes on excluded items."""
    reading = {k: getattr(settings, k) for k in ("exclude_flagged", "encoding", "cluster")}
    sets = _told_apart(d for name in names for d in catalogue.resolve(name, **reading))
    sets, notes = _excluding(sets, settings.exclude, models)
    if settings.limit is not None:
        sets = [catalogue.limited(d, settings.limit, settings.seed) for d in sets]
    return sets, notes


def _failed(
    failures: Sequence[tuple[Spec, UnmaskError]], named: bool
) -> tuple[tuple[str, ...], list[str]]:
    """The models that failed, and a note on each failure.

    A measure of a suite that does not apply to a model is no failure: nobody `named` it.
    """
    lost = {s.in_names().model: e for s, e in failures if isinstance(e, ModelError)}
    notes = [f"{model} failed: {error}" for model, error in lost.items()]
    for failed_spec, error in failures:
        in_suite = not named and isinstance(error, NotApplicable)
        if not in_suite and not isinstance(error, ModelError):
            model = failed_spec.in_names().model
            notes.append(f"{failed_spec.title} was not scored for {model}: {error}")
    return tuple(lost), notes


def _excluding(
    sets: list[Data], file: Any, models: Sequence[str | Path | Model]
) -> tuple[list[Data], list[str]]:
    """The sets without the items that a file names, and a note on each that lost some.

    Items that a model's own answers chose may not be left out for that model: what is left would
    agree with itself by construction.
    """
    if file is None:
        return sets, []
    ids, name = defects.excluded(Path(file)), Path(file).name
    choosers = sorted(defects.chosen_on(Path(file)) & {named_as(m) for m in models})
    if choosers:
        raise DataError(
            f"the items in {name} were selected on {choosers[0]} itself, so its score on the "
            "remaining items would look more certain than it is; exclude them only for other "
            "models, or select items with 'unmask reliability' on other models."
        )
    subsets = [defects.without(d, ids, name) if isinstance(d, Dataset) else d for d in sets]
    lost = [(a, b) for a, b in zip(sets, subsets, strict=True) if a is not b]
    if not lost:
        raise DataError(
            f"{str(file)!r} contains no item id of this data; give a table with a column 'item'."
        )
    return subsets, [
        f"{b.name}: {counted(b.about['excluded']['items'], 'item is', 'items are')} excluded, "
        f"as listed in {name}."
        for _, b in lost
    ]


def _following(results: Sequence[Result]) -> list[str]:
    """A note for each data set on the measures whose preference follows the groups' words."""
    groups: dict[str, list[Result]] = {}
    for r in results:
        gap = r.extras.get("word_preference")
        score = r.extras.get("score", r.overall)
        if gap is not None and gap.value >= max(NOTABLE_GAP, 2 * abs(score.value - 50)):
            groups.setdefault(r.data, []).append(r)
    notes = []
    for data, group in groups.items():
        rates = sorted(r.extras["word_preference"].value for r in group)
        names = ", ".join(dict.fromkeys(r.measure for r in group))
        span = " to ".join(dict.fromkeys(f"{rate:.0f}" for rate in (rates[0], rates[-1])))
        notes.append(
            f"On {data} the model prefers one group's word regardless of the stereotype (gap "
            f"{span} pp under {names}). The bias-type scores correct for this."
        )
    return notes


def _unsided(results: Sequence[Result]) -> list[str]:
    """A note on data whose items do not say which group they are about."""
    subset = [r for r in results if scale_of(r).paired and r.verdicts]
    names = dict.fromkeys(r.data for r in subset if "word_preference" not in r.extras)
    if not names:
        return []
    return [
        f"{', '.join(names)}: no items about both groups of a group pair, so a stereotype cannot "
        "be separated from a preference for a group's word; the verdict is on the uncorrected "
        "score."
    ]


def _not_people(results: Sequence[Result]) -> list[str]:
    """A note on tests that the answer does not count."""
    titles = left_out(results)
    return [f"Not about people and left out of the answer: {', '.join(titles)}."] * bool(titles)


def _whole_run(results: Sequence[Result]) -> list[str]:
    """A note on the error rate of the run as a whole."""
    count = max((a.tests for a in answers(results)), default=0)
    if count < 2:
        return []
    rate = 100 * (1 - results[0].overall.level)
    return [
        f"Verdicts are corrected for all {count} tests of a model. About {rate:g} % of unbiased "
        'models would get any "biased" verdict.'
    ]


def spec(model: str | Path | Model, measure: Measure, data: Data, options: Options) -> Spec:
    """A spec with the choices of some options, where they apply to the measure."""
    samples = options.samples if measure.samples else None
    if not isinstance(measure, Association):
        return Spec(model, measure, data, samples=samples)
    source = None if options.contexts is None else contexts.source(options.contexts)
    return Spec(model, measure, data, options.pool, options.layer, source, samples)


def _several(value: Any) -> list[Any]:
    """Return a list without duplicates; a single name, path or object becomes a list of one."""
    if value is None:
        return []
    single = isinstance(value, str | Path) or hasattr(value, "to_dict") or _is_pair(value)
    many = isinstance(value, Iterable) and not single and not hasattr(value, "to_pandas")
    values = list(value) if many else [value]
    keys = [str(t) if isinstance(t, str | Path) else id(t) for t in values]
    return list(dict(zip(keys, values, strict=True)).values())


def _is_pair(value: Any) -> bool:
    """Whether this is a network with its tokenizer, as transformers loads them."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and hasattr(value[0], "named_parameters")
        and hasattr(value[1], "convert_ids_to_tokens")
    )


def _loaded(model: ModelLike, options: Options) -> str | Path | Model:
    """A model as the flow takes it: a name stays one, a network in memory is wrapped."""
    if hasattr(model, "named_parameters"):
        raise ModelError(
            f"a {type(model).__name__} is a network without its tokenizer; give both as "
            "(network, tokenizer)."
        )
    if not isinstance(model, tuple) or not _is_pair(model):
        return cast("str | Path | Model", model)  # anything else is refused when it is used
    usual = Options()
    for name in ("dtype", "device", "load", "engine"):
        if getattr(options, name) != getattr(usual, name):
            raise UnmaskError(
                f"a network in memory keeps its own dtype and device: leave out {name}, change the "
                "network (net.to(...)), or give the name of a model."
            )
    # torch is heavy: only when a network is given
    from unmask.models.transformers.model import in_memory

    return in_memory(*model, options.fast)


@contextmanager
def _resting(models: Models) -> Iterator[None]:
    """Restore the training mode of networks in memory, and their tokenizers' settings.

    They are measured in evaluation mode, without dropout, and may be trained on afterwards.
    """
    pairs = [m for m in _several(models) if _is_pair(m)]
    modes = [(part, part.training) for net, _ in pairs for part in net.modules()]
    backends = [t.backend_tokenizer for _, t in pairs if hasattr(t, "backend_tokenizer")]
    cuts = [(b, b.truncation, b.padding) for b in backends]
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
        for backend, truncation, padding in cuts:
            backend.enable_truncation(**truncation) if truncation else backend.no_truncation()
            backend.enable_padding(**padding) if padding else backend.no_padding()


@contextmanager
def _with_progress(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Options with a bar on the screen where `progress` is True."""
    if options.get("progress") is not True:
        yield {k: v for k, v in options.items() if k != "progress" or v not in (False, None)}
        return
    with bars(Console(stderr=True)) as advance:
        yield {**options, "progress": advance}


def _rows(measures: Iterable[Any]) -> list[Measure]:
    """The row of each measure once; two different rows of one name could not be told apart."""
    rows_by_name: dict[str, Measure] = {}
    for row in map(find, measures):
        check_own_name(row)
        if rows_by_name.setdefault(row.name, row) != row:
            raise UnmaskError(f"two measures are named {row.name!r}; give them different names.")
    return list(rows_by_name.values())


def _named_apart(models: list[Any]) -> tuple[list[Any], list[str]]:
    """Loaded models of one name get a number, and a note says so."""
    counts: Counter[str] = Counter()
    unique_models, notes = [], []
    for model in models:
        name = str(getattr(model, "name", model))
        counts[name] += 1
        if counts[name] > 1 and is_dataclass(model) and not isinstance(model, type):
            number = f"{name}#{counts[name]}"
            notes.append(f"two models are named {name!r}; the later one is called {number!r} here.")
            model = replace(model, name=number)  # type: ignore[type-var]
        unique_models.append(model)
    return unique_models, notes


def _told_apart(sets: Iterable[Data]) -> list[Data]:
    """Sets of one name and shape get a number, so that their results can be told apart."""
    sets_read = list(sets)
    names_used: set[tuple[str, str]] = set()
    names = {d.name for d in sets_read}
    unique_sets = []
    for data in sets_read:
        name, shape, number = data.name, catalogue.shape(data), 1
        while (name, shape) in names_used or (number > 1 and name in names):
            number += 1
            name = f"{data.name}#{number}"
        names_used.add((name, shape))
        unique_sets.append(data if name == data.name else catalogue.renamed(data, name))
    return unique_sets


def _unmatched(
    rows: Sequence[Measure],
    sets: Sequence[Data],
    pairs: Sequence[tuple[Measure, Data]],
    named: bool,
    explicit: bool,
) -> list[str]:
    """A note for each measure and data set without a match; an error if there is no match at all.

    Measures of the standard suite that do not fit need no note.
    """
    shapes = ", ".join(f"{d.name!r} ({catalogue.shape(d)})" for d in sets)
    if not pairs:
        kinds = " or ".join(dict.fromkeys(s for m in rows for s in m.shapes))
        names = [m.name for m in MEASURES.values() if {*m.shapes} & {*map(catalogue.shape, sets)}]
        raise NotApplicable(
            f"{shapes} cannot be used with {', '.join(repr(m.name) for m in rows)}; give {kinds}; "
            f"measures that fit: {', '.join(names)}."
        )
    paired = {id(member) for pair in pairs for member in pair}
    matched = {d.name for _, d in pairs}
    notes = [
        f"{m.name} was not run: it needs {' or '.join(m.shapes)}, and the data are {shapes}."
        for m in rows
        if named and id(m) not in paired
    ]
    return notes + [
        f"{d.name} was not used: no requested measure takes {catalogue.shape(d)}."
        for d in sets
        if explicit and id(d) not in paired and d.name not in matched
    ]


def _unused(options: Options, pairs: Sequence[tuple[Measure, Data]]) -> list[str]:
    """A note for each choice that none of the measures has."""
    rows = [m for m, _ in pairs]
    draws, embeds = any(m.samples for m in rows), any(isinstance(m, Association) for m in rows)
    notes = []
    if options.limit is not None and all(catalogue.shape(d) == "word tests" for _, d in pairs):
        notes.append("limit was not used: it does not apply to word tests.")
    for name in CHOICES:
        takes = draws if name == "samples" else embeds
        if getattr(options, name) is not None and not takes:
            notes.append(f"{name} was not used: no measure that was run takes it.")
    return notes
