"""Specs to results: the whole flow on one screen."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any, get_args

from unmask.data import catalogue
from unmask.errors import DataError, ModelError, NotApplicable, UnmaskError, UnmaskWarning
from unmask.flow import run_association, run_likelihood
from unmask.flow.fit import check_fit, fitting
from unmask.flow.load_ahead import Ahead, loading_ahead
from unmask.flow.progress import Failed, refuse
from unmask.flow.run_family import judged_as_one
from unmask.flow.sequential import evaluate_until, stops_early
from unmask.measures import Association, find
from unmask.models.answer_cache import opened
from unmask.models.fast.allocator import keep_freed_memory
from unmask.models.names import offered
from unmask.models.protocol import Abilities, Model
from unmask.models.remembered import known, remember, remembered
from unmask.options import Options, Spec, named
from unmask.stats.verdict import corrected_verdicts
from unmask.support.registry import unknown
from unmask.text import contexts
from unmask.types import Dataset, Kind, Result

DEFAULT_OPTIONS = Options()
MODELS_AT_A_TIME = 16  # models that a cluster runs at a time
CONTEXTS = 4  # sentences for a word, about
CHOICES = ("pool", "layer", "contexts", "samples")  # of a spec, where its measure takes them


def evaluate(
    specs: Sequence[Spec], options: Options = DEFAULT_OPTIONS, failed: Failed = refuse
) -> list[Result]:
    """Results in the order of the specs; rows and sentences are shared within a model.

    Models, measures and data may be names or objects. Verdicts are corrected over all tests of a
    model in these specs, or, with `options.family` row, over the categories of a score and the
    word tests of a measure.
    What cannot be scored is an error, or is reported to `failed`, and the rest is done.
    """
    if isinstance(specs, Spec) or not all(isinstance(s, Spec) for s in specs):
        raise UnmaskError("specs are a list of unmask.Spec; give one in a list of its own.")
    if options.cache and options.store is None:
        with opened() as store:
            results = evaluate(specs, replace(options, store=store), failed)
        for message in store.said:
            warnings.warn(message, UnmaskWarning, stacklevel=2)
        return results
    ready = [resolved(spec) for spec in specs]
    by_place: dict[int, Result] = {}
    early = {i: s for i, s in enumerate(ready) if options.until and stops_early(s)}
    if early:
        look_up(_by_model(ready))
        rest = [s for i, s in enumerate(ready) if i not in early]
        by_place |= _early(early, options, failed, 1 if rest else 0)
        whole = replace(options, until=None, family="row")
        others = evaluate(rest, whole, failed) if rest else []
        if options.family == "run":  # one share of a model's error is theirs
            shares = 1 + max(Counter(r.model for r in by_place.values()).values(), default=0)
            others = judged_as_one(others, options.least, options.resampling, shares)
        by_place |= _placed(ready, early, others)
        return [by_place[i] for i in sorted(by_place)]
    by_model = _by_model(ready)
    look_up(by_model)
    if len(by_model) > 1 and options.plans is None:
        options = replace(options, plans={})
    several = options.engine == "ray" and len(by_model) > 1
    with ThreadPoolExecutor(MODELS_AT_A_TIME) if several else nullcontext() as pool:
        among = min(len(by_model), MODELS_AT_A_TIME) if several else 1
        jobs = [
            (model, {i: ready[i] for i in places}, options, failed, among)
            for model, places in by_model.items()
        ]
        with loading_ahead(options, [m for m in by_model if isinstance(m, str)], loaded) as ahead:
            done = partial(_done, ahead=ahead)
            for part in pool.map(done, *zip(*jobs, strict=True)) if pool else starmap(done, jobs):
                by_place |= part
    results = corrected_verdicts([by_place[i] for i in sorted(by_place)], options.least)
    if options.family == "run":
        results = judged_as_one(results, options.least, options.resampling)
    return results


def _early(
    specs: Mapping[int, Spec], options: Options, failed: Failed, others: int
) -> dict[int, Result]:
    """The results of specs that stop early; each model is loaded once for all of its looks.

    The error rate is divided among a model's specs, and the `others` that are asked whole.
    """
    out: dict[int, Result] = {}
    places = list(specs)
    for model, some in _by_model(list(specs.values())).items():
        mine = {places[k]: specs[places[k]] for k in some}
        if not isinstance(model, str):
            mine = _fitting(mine, failed)
            out |= evaluate_until(mine, options, failed, evaluate, len(mine) + others)
            continue
        try:
            own = loaded(model, options)
        except (ModelError, NotApplicable) as error:
            for spec in mine.values():
                failed(spec, error)
            continue
        try:
            ready = _fitting({i: replace(s, model=own) for i, s in mine.items()}, failed)
            out |= evaluate_until(ready, options, failed, evaluate, len(ready) + others)
        finally:
            if not offered(model):
                own.close()
    return out


def _placed(
    ready: Sequence[Spec], early: Mapping[int, Spec], others: Sequence[Result]
) -> dict[int, Result]:
    """The results of the specs that were not asked early, by their place."""
    places = [i for i in range(len(ready)) if i not in early]
    out: dict[int, Result] = {}
    for result in others:  # in the order of the specs; some may be missing
        while places:
            place = places.pop(0)
            if ready[place].in_names() == result.spec:
                out[place] = result
                break
    return out


def _done(
    model: str | int,
    specs: Mapping[int, Spec],
    options: Options,
    failed: Failed,
    among: int,
    ahead: Ahead,
) -> dict[int, Result]:
    """The results of one model; where it fails, that is reported, and costs no other model."""
    own: Model | None = None
    try:
        if isinstance(model, str):
            own = ahead.taken(model) or loaded(model, options, among)
            specs = {i: replace(s, model=own) for i, s in specs.items()}
            ahead.begin(model, own)
    except (ModelError, NotApplicable) as error:
        for spec in specs.values():
            failed(spec, error)
        return {}
    try:
        results: dict[int, Result] = {}
        for part in _parted(_fitting(specs, failed)):
            results |= _of_part(part, options, failed)
        return results
    finally:
        if own is not None and not offered(model):
            own.close()


def _of_part(specs: Mapping[int, Spec], options: Options, failed: Failed) -> dict[int, Result]:
    """The results of specs that are asked together; what comes before a failure is kept."""
    results: dict[int, Result] = {}
    reported: set[int] = set()

    def tell(spec: Spec, error: UnmaskError) -> None:
        failed(spec, error)
        reported.add(id(spec))

    first = specs[min(specs)]
    of_words = isinstance(first.measure, Association)
    loop = run_association.run if of_words else run_likelihood.run
    try:
        for place, result in loop(first.model, specs, options, tell):
            results[place] = result
            options.decided(result)
    except (ModelError, NotApplicable) as error:
        for spec in (s for i, s in specs.items() if i not in results and id(s) not in reported):
            failed(spec, error)
    return results


def _fitting(specs: Mapping[int, Spec], failed: Failed) -> dict[int, Spec]:
    """The specs whose measure fits the model and the data; the others are reported to `failed`."""
    kept = {}
    for place, spec in specs.items():
        try:
            check_fit(spec.measure, spec.data, spec.model)
            kept[place] = spec
        except (DataError, NotApplicable) as error:
            failed(spec, error)
    return kept


def _parted(specs: Mapping[int, Spec]) -> list[dict[int, Spec]]:
    """Specs that are asked together, those of few sentences first, so that some results come soon.

    On a CPU likelihood measures by the shape of their data, whose sets share rows; a GPU is given
    all of them at once. Association measures by themselves.
    """
    parts: dict[object, dict[int, Spec]] = {}
    for place, spec in specs.items():
        of_words = isinstance(spec.measure, Association)
        shape = "" if run_likelihood.on_gpu(spec.model) else getattr(spec.data, "shape", "")
        parts.setdefault((of_words, "" if of_words else shape), {})[place] = spec
    return sorted(parts.values(), key=lambda part: sum(map(_sentences, part.values())))


def _sentences(spec: Spec) -> int:
    """How many sentences a spec has, about."""
    if isinstance(spec.data, Dataset):
        return sum(len(item.texts) for item in spec.data.items)
    stimuli = spec.data.stimuli
    return CONTEXTS * sum(map(len, (*stimuli.targets.values(), *stimuli.attributes.values())))


def resolved(spec: Spec) -> Spec:
    """Names to objects; a name that stands for several things gives the one that the measure fits.

    The model stays as it is: it is loaded when its turn comes.
    """
    measure = find(spec.measure)
    sets = fitting(measure, catalogue.resolve(spec.data))
    if len(sets) > 1:
        names = ", ".join(d.name for d in sets[:5])
        raise NotApplicable(f"{spec.title}: the name stands for several sets ({names}, ...).")
    takes: tuple[str, ...] = CHOICES[:3] if isinstance(measure, Association) else ()
    takes += ("samples",) if measure.samples else ()
    unused = [k for k in CHOICES if getattr(spec, k) is not None and k not in takes]
    if unused:
        raise NotApplicable(f"{spec.title} takes no {' and no '.join(unused)}; leave it out.")
    if spec.samples is not None:
        measure = replace(measure, samples=spec.samples)
    given = spec.contexts
    source = contexts.source(str(given)) if isinstance(given, str | Path) else given
    if source is not None and not isinstance(source, contexts.Source):
        raise UnmaskError(f"contexts are {given!r:.40}; give a name, a path or a Source.")
    return replace(spec, measure=measure, data=sets[0], contexts=source)


def _by_model(specs: Sequence[Spec]) -> dict[str | int, list[int]]:
    """Places of the specs of each model: by name, or by identity if it is loaded already."""
    groups: dict[str | int, list[int]] = {}
    for place, spec in enumerate(specs):
        given = isinstance(spec.model, str | Path)
        if not given:
            kind(spec.model)  # what is not a model is refused
        groups.setdefault(str(spec.model) if given else id(spec.model), []).append(place)
    return groups


def loaded(name: str, options: Options, among: int = 1) -> Model:
    """A model by its name, in the precision and on the device of the options, with progress.

    A cluster is shared `among` that many models.
    """
    if (model := remembered(str(name), options)) is not None:
        return model
    task = f"loading {name}"
    options.progress(task, 0, 0)
    try:
        keep_freed_memory()
        from unmask.models.load import form_of, load_any  # torch is heavy: only when one is needed

        settings: dict[str, Any] = {"dtype": options.dtype, "device": options.device}
        if options.engine == "ray" and form_of(str(name)) == "network":
            from unmask.models.ray.remote_model import load_remote  # so is Ray

            settings |= {"address": options.address, "workers": options.workers, "among": among}
            return load_remote(str(name), **settings)
        settings |= {"bits": options.load, "fast": options.fast, "progress": options.progress}
        own = load_any(str(name), **settings)
        remember(own, str(name), options)
        return own
    finally:
        options.progress(task, 1, 0)


def kind(model: str | Path | Model) -> Kind:
    """The kind of a model, loaded or given by its name; a name that is none is an error."""
    if not isinstance(model, str | Path):
        if not isinstance(getattr(model, "abilities", None), Abilities):
            raise ModelError(
                f"{model!r:.40} is not a model; give a name, a loaded model, or a network with its "
                "tokenizer: (network, tokenizer)."
            )
        if model.kind not in get_args(Kind):
            raise ModelError(
                f"{named(model)!r}: {unknown('kind', str(model.kind), get_args(Kind))}"
            )
        return model.kind
    keep_freed_memory()
    if (facts := known(str(model))) is not None:
        return facts.kind
    from unmask.models.load import kind_named  # torch is heavy: only when a model is needed

    return kind_named(str(model))


def look_up(models: Iterable[Any]) -> None:
    """Refuse a name that is not a model's: before another model has worked for hours."""
    for model in models:
        if isinstance(model, str):
            kind(model)
