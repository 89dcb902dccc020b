"""Specs to results: the whole flow on one screen."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from unmask.answer.answer import with_verdicts
from unmask.answer.fitness import assessed
from unmask.data import catalogue
from unmask.errors import NotApplicable, UnmaskError, UnmaskWarning
from unmask.flow import run_model, sequential
from unmask.flow.chat_questions import as_options
from unmask.flow.fit import fitting
from unmask.flow.loading import kind, loaded, look_up
from unmask.flow.prefetch import prefetching
from unmask.flow.progress import Failed, refuse
from unmask.flow.run_model import Job
from unmask.measures import Association, Likelihood, find
from unmask.options import Options, Spec
from unmask.support.store import opened
from unmask.text import contexts
from unmask.types import Dataset, Result

DEFAULT_OPTIONS = Options()
MODELS_AT_A_TIME = 16  # models that a cluster runs at a time
CHOICES = ("pool", "layer", "contexts", "samples")  # of a spec, where its measure takes them


def evaluate(
    specs: Sequence[Spec], options: Options = DEFAULT_OPTIONS, failed: Failed = refuse
) -> list[Result]:
    """Results in the order of the specs; rows and sentences are shared within a model.

    Models, measures and data may be names or objects. Verdicts are corrected for all tests of a
    model in these specs. What cannot be scored is an error, or is reported to `failed`, and the
    rest is done.
    """
    if not isinstance(options, Options):
        raise UnmaskError(f"options are {options!r:.40}; give an unmask.Options.")
    ready = {index: resolved(spec) for index, spec in enumerate(_checked(specs))}
    look_up(by_model(ready))
    with _with_cache(options) as cached:
        if options.until:
            results = sequential.measure_until(ready, cached, failed, measure)
        else:
            results = measure(ready, cached, failed)
    in_order = assessed([results[index] for index in sorted(results)])
    return with_verdicts(in_order)


def measure(specs: Mapping[int, Spec], options: Options, failed: Failed) -> dict[int, Result]:
    """Results by the index of their spec, before any correction."""
    models = by_model(specs)
    if len(models) > 1 and options.plans is None:
        options = replace(options, plans={})
    several = options.engine == "ray" and len(models) > 1
    n_sharing = min(len(models), MODELS_AT_A_TIME) if several else 1
    jobs = [
        Job(model, {i: specs[i] for i in indices}, options, failed, n_sharing)
        for model, indices in models.items()
    ]
    names = [m for m in models if isinstance(m, str)]
    with (
        ThreadPoolExecutor(MODELS_AT_A_TIME) if several else nullcontext() as pool,
        prefetching(options, names, loaded) as prefetch,
        run_model.run_state() as state,
    ):
        run = partial(run_model.run, state=state, prefetch=prefetch)
        for _ in pool.map(run, jobs) if pool else map(run, jobs):
            pass
    return {index: state.results[index] for index in sorted(state.results)}


def _checked(specs: Sequence[Spec]) -> Sequence[Spec]:
    listed = isinstance(specs, Iterable) and not isinstance(specs, Spec)
    if not listed or not all(isinstance(s, Spec) for s in specs):
        raise UnmaskError("specs must be a list of unmask.Spec; put a single one in a list.")
    return specs


@contextmanager
def _with_cache(options: Options) -> Iterator[Options]:
    """Options with an open output cache, if they ask for one; its messages are warnings."""
    if not options.cache or options.store is not None:
        yield options
        return
    with opened() as store:
        yield replace(options, store=store)
    for message in store.messages:
        warnings.warn(message, UnmaskWarning, stacklevel=4)


def resolved(spec: Spec) -> Spec:
    """Replace the names in a spec by objects; of several data sets, take the one that fits.

    The model is not loaded here, but when its turn comes.
    """
    measure_ = find(spec.measure)
    sets = fitting(measure_, catalogue.resolve(spec.data))
    if len(sets) > 1:
        names = ", ".join(d.name for d in sets[:5])
        raise NotApplicable(f"{spec.title}: the name covers several sets; give one of {names}, ...")
    takes: tuple[str, ...] = CHOICES[:3] if isinstance(measure_, Association) else ()
    takes += ("samples",) if measure_.samples else ()
    unused = [k for k in CHOICES if getattr(spec, k) is not None and k not in takes]
    if unused:
        raise NotApplicable(f"{spec.title} takes no {' and no '.join(unused)}; leave it out.")
    if spec.samples is not None:
        measure_ = replace(measure_, samples=spec.samples)
    named_contexts = spec.contexts
    source = (
        contexts.source(str(named_contexts))
        if isinstance(named_contexts, str | Path)
        else named_contexts
    )
    if source is not None and not isinstance(source, contexts.Source):
        raise UnmaskError(f"contexts are {named_contexts!r:.40}; give a name, a path or a Source.")
    data = sets[0]
    if isinstance(measure_, Likelihood) and isinstance(data, Dataset):
        data = as_options(data, measure_)
    return replace(spec, measure=measure_, data=data, contexts=source)


def by_model(specs: Mapping[int, Spec]) -> dict[str | int, list[int]]:
    """Indices of the specs of each model: by name, or by identity if it is loaded already."""
    groups: dict[str | int, list[int]] = {}
    for index, spec in specs.items():
        by_name = isinstance(spec.model, str | Path)
        if not by_name:
            kind(spec.model)  # what is not a model is refused
        groups.setdefault(str(spec.model) if by_name else id(spec.model), []).append(index)
    return groups
