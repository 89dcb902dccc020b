"""Load a model by the form of its name: a network, word vectors, ELMo, a server, or a package's."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from unmask.errors import ModelError, NotApplicable
from unmask.models.names import CHAT_MARK, ENTRY_POINTS
from unmask.models.protocol import Abilities, Model
from unmask.models.served.chat_model import load_chat
from unmask.models.served.openai_model import is_served, load_served, served_record
from unmask.models.static_vectors import SUFFIXES, load_static, open_static
from unmask.models.transformers.files import without_weights
from unmask.models.transformers.model import load
from unmask.types import Kind

Form = Literal["network", "vectors", "elmo", "served", "package"]
Progress: TypeAlias = Callable[[str, int, int], None]


def form_of(name: str) -> Form:
    """Return what kind of name this is; ELMo is `OPTIONS.json+WEIGHTS.hdf5`."""
    if name in ENTRY_POINTS:
        return "package"
    if is_served(name):
        return "served"
    options, plus, weights = name.partition("+")
    if plus and weights and options.endswith(".json"):
        return "elmo"
    return "vectors" if Path(name).suffix in SUFFIXES else "network"


def load_any(
    name: str,
    *,
    dtype: str = "float32",
    device: str | None = None,
    bits: str | None = None,
    fast: bool = True,
    progress: Progress = lambda what, done, total: None,
) -> Model:
    """Load a model by name; requests to a server are reported to `progress`."""
    form = form_of(name)
    if form == "network":
        return load(name, dtype=dtype, device=device, bits=bits, fast=fast)
    if dtype != "float32" or device not in (None, "cpu") or bits is not None:
        manner = {"served": "used as its server runs it", "package": "used as its package loads it"}
        raise NotApplicable(
            f"{name!r} is {manner.get(form, 'used as stored, on the CPU')}; leave out --dtype, "
            "--device and --load for it."
        )
    if form == "package":
        return _from_plugin(name)
    if form == "served":
        return (load_chat if CHAT_MARK in name else load_served)(name, progress)
    if form == "elmo":
        from unmask.models.elmo import load_elmo  # a network of its own, which few runs need

        return load_elmo(*_two_paths(name), name)
    return load_static(name)


def kind_named(name: str) -> Kind:
    """Return the kind of a model from its name and small files, to fail early if it cannot load."""
    form = form_of(name)
    if form == "package":
        return _from_plugin(name).kind
    if form == "served":
        served_record(name)
        return "causal"
    if form == "elmo":
        from unmask.models.elmo import check_elmo

        check_elmo(*_two_paths(name))
        return "elmo"
    return open_static(name).kind if form == "vectors" else without_weights(name).kind


@cache
def _from_plugin(name: str) -> Model:
    """Return a model of an installed package: an object, or the result of a function.

    It is created once per process and belongs to its package, so a run does not close it.
    """
    maker: Any = ENTRY_POINTS.load(name)
    if isinstance(maker, type) or not isinstance(getattr(maker, "abilities", None), Abilities):
        try:
            maker = maker()
        except (Exception, SystemExit) as error:  # a package of others may fail in any way
            raise ModelError(
                f"the model {name!r} of the package {ENTRY_POINTS.package(name)!r} cannot be "
                f"loaded ({type(error).__name__}: {error}); fix or remove that package."
            ) from error
    if not isinstance(getattr(maker, "abilities", None), Abilities):
        raise ModelError(
            f"the model {name!r} of the package {ENTRY_POINTS.package(name)!r} does not "
            f"implement the model protocol (its type is {type(maker).__name__}); see "
            "unmask.check_model."
        )
    model: Model = maker
    return model


def _two_paths(name: str) -> tuple[Path, Path]:
    options, _, weights = name.partition("+")
    return Path(options), Path(weights)
