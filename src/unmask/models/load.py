"""Loading by the form of a name: a network, a vectors file, ELMo's two files, a served model."""

from pathlib import Path
from typing import Literal

from unmask.errors import NotApplicable
from unmask.models.elmo import ElmoModel, check_elmo, load_elmo
from unmask.models.served.openai_model import Served, Told, found, is_served, load_served
from unmask.models.static_vectors import SUFFIXES, StaticVectors, load_static, open_static
from unmask.models.transformers.model import Model, load, without_weights
from unmask.types import Kind

Form = Literal["network", "vectors", "elmo", "served"]


def form_of(name: str) -> Form:
    """What a name stands for; ELMo is `OPTIONS.json+WEIGHTS.hdf5`."""
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
    progress: Told = lambda what, done, total: None,
) -> Model | StaticVectors | ElmoModel | Served:
    """A model by its name; `told` hears of requests to a server."""
    form = form_of(name)
    if form == "network":
        return load(name, dtype=dtype, device=device, bits=bits)
    if dtype != "float32" or device not in (None, "cpu") or bits is not None:
        manner = "as its server runs it" if form == "served" else "read as it is, on the CPU"
        raise NotApplicable(f"{name!r} is {manner}; leave out --dtype, --device and --load for it.")
    if form == "served":
        return load_served(name, progress)
    return load_elmo(*_two(name), name) if form == "elmo" else load_static(name)


def kind_named(name: str) -> Kind:
    """The kind of a model, from its name and small files: what cannot be loaded is found early."""
    form = form_of(name)
    if form == "served":
        found(name)
        return "causal"
    if form == "elmo":
        check_elmo(*_two(name))
        return "elmo"
    return open_static(name).kind if form == "vectors" else without_weights(name).kind


def _two(name: str) -> tuple[Path, Path]:
    options, _, weights = name.partition("+")
    return Path(options), Path(weights)
