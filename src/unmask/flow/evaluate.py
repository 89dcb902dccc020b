"""Specs to results: the whole flow on one screen."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from unmask.answer.fitness import assessed
from unmask.data import catalogue
from unmask.errors import ModelError, NotApplicable, UnmaskError, UnmaskWarning
from unmask.flow import run_model
from unmask.flow.fit import fitting
from unmask.flow.load_ahead import loading_ahead
from unmask.flow.loading import kind, loaded, look_up
from unmask.flow.progress import Failed, refuse
from unmask.flow.run_family import judged_as_one
from unmask.flow.run_model import Gathered, Job, fitting_specs
from unmask.flow.sequential import evaluate_until, stops_early
from unmask.measures import Association, find
from unmask.models.answer_cache import opened
from unmask.models.names import offered
from unmask.options import Options, Spec
from unmask.stats.verdict import corrected_verdicts
from unmask.text import contexts
from unmask.types import Result

DEFAULT_OPTIONS = Options()
MODELS_AT_A_TIME = 16  # models that a cluster runs at a time
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
    listed = isinstance(specs, Iterable) and not isinstance(specs, Spec)
    if not listed or not all(isinstance(s, Spec) for s in specs):
        raise UnmaskError("specs are a list of unmask.Spec; give one in a list of its own.")
    if options.cache and options.store is None:
        with opened() as store:
            results = evaluate(specs, replace(options, store=store), failed)
        for message in store.said:
            warnings.warn(message, UnmaskWarning, stacklevel=2)
        return results
    ready = [resolved(spec) for spec in specs]
    early = {i: s for i, s in enumerate(ready) if options.until and stops_early(s)}
    if early:
        look_up(_by_model(ready))
        rest = [s for i, s in enumerate(ready) if i not in early]
        by_place = _early(early, options, failed, 1 if rest else 0)
        whole = replace(options, until=None, family="row")
        others = evaluate(rest, whole, failed) if rest else []
        if options.family == "run":  # one share of a model's error is theirs
            shares = 1 + max(Counter(r.model for r in by_place.values()).values(), default=0)
            others = judged_as_one(others, options.least, options.resampling, shares)
        by_place |= _placed(ready, early, others)
        return assessed([by_place[i] for i in sorted(by_place)])
    by_model = _by_model(ready)
    look_up(by_model)
    if len(by_model) > 1 and options.plans is None:
        options = replace(options, plans={})
    several = options.engine == "ray" and len(by_model) > 1
    among = min(len(by_model), MODELS_AT_A_TIME) if several else 1
    jobs = [
        Job(model, {i: ready[i] for i in places}, options, failed, among)
        for model, places in by_model.items()
    ]
    gathered = Gathered(judged=options.family == "run")
    names = [m for m in by_model if isinstance(m, str)]
    with (
        ThreadPoolExecutor(MODELS_AT_A_TIME) if several else nullcontext() as pool,
        loading_ahead(options, names, loaded) as ahead,
    ):
        run = partial(run_model.run, gathered=gathered, ahead=ahead)
        try:
            for _ in pool.map(run, jobs) if pool else map(run, jobs):
                pass
        finally:  # whatever ends it, what was answered is told
            gathered.catch_up()
    places = sorted(gathered.results)
    fit_or_not = assessed([gathered.results[i] for i in places])
    results = corrected_verdicts(fit_or_not, options.least)
    if options.family == "run":
        pulls = [gathered.pulls.get(i, {}) for i in places]
        results = judged_as_one(results, options.least, options.resampling, pulls=pulls)
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
            mine = fitting_specs(mine, failed)
            out |= evaluate_until(mine, options, failed, evaluate, len(mine) + others)
            continue
        try:
            own = loaded(model, options)
        except (ModelError, NotApplicable) as error:
            for spec in mine.values():
                failed(spec, error)
            continue
        try:
            ready = fitting_specs({i: replace(s, model=own) for i, s in mine.items()}, failed)
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
