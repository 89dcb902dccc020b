"""Models by their names: of which kind they are, and loaded when their turn comes."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from unmask.errors import ModelError
from unmask.models.cached_model import cached_model, facts_of, remember
from unmask.models.protocol import Abilities, Model
from unmask.options import Options, named
from unmask.support.registry import unknown
from unmask.types import Kind


def loaded(name: str, options: Options, n_sharing: int = 1) -> Model:
    """A model by its name, in the precision and on the device of the options, with progress.

    A cluster is shared by `n_sharing` models.
    """
    if (model := cached_model(str(name), options)) is not None:
        return model
    task = f"loading {name}"
    options.progress(task, 0, 0)
    try:
        from unmask.models.load import form_of, load_any  # torch is heavy: only when one is needed

        settings: dict[str, Any] = {"dtype": options.dtype, "device": options.device}
        if options.engine == "ray" and form_of(str(name)) == "network":
            from unmask.models.ray.remote_model import load_remote  # so is Ray

            settings |= {
                "address": options.address,
                "workers": options.workers,
                "n_sharing": n_sharing,
            }
            return load_remote(str(name), **settings)
        settings |= {"bits": options.load, "fast": options.fast, "progress": options.progress}
        new_model = load_any(str(name), **settings)
        remember(new_model, str(name), options)
        return new_model
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
        if not isinstance(model.name, str):
            raise ModelError(f"the name of a model is {model.name!r:.40}; give it as text.")
        if model.abilities.streams and getattr(model, "codec", None) is None:
            raise ModelError(
                f"{model.name!r} has no codec, which turns text into tokens; give one."
            )
        if not isinstance(model.provenance, Mapping):
            raise ModelError(
                f"the provenance of {named(model)!r} is {model.provenance!r:.40}; give a mapping: "
                "its name, weights, dtype."
            )
        return model.kind
    if (facts := facts_of(str(model))) is not None:
        return facts.kind
    from unmask.models.load import kind_named  # torch is heavy: only when a model is needed

    return kind_named(str(model))


def look_up(models: Iterable[Any]) -> None:
    """Raise for a name that is not a model before another model has run for hours."""
    for model in models:
        if isinstance(model, str):
            kind(model)
