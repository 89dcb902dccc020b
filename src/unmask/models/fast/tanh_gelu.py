"""GELU by a tanh in one step, where transformers writes it out in eight.

GPT-2, ALBERT, BLOOM and others have it so; each step reads and writes all states once more. The
function is the same, and is rounded once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn import functional
from transformers.activations import NewGELUActivation

from unmask.models.fast.direct_layers import untouched

ROUGH = "BloomGelu"  # whose constant has eight digits: as good in float32, not in float64


@dataclass(frozen=True, slots=True)
class TanhGelu:
    """The modules of a network that write it out."""

    modules: tuple[Any, ...] = ()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, they do it in one step."""
        step = partial(functional.gelu, approximate="tanh")
        for module in self.modules:
            module.forward = step
        try:
            yield
        finally:
            for module in self.modules:
                vars(module).pop("forward", None)


def tanh_gelu(net: Any) -> TanhGelu:
    """What can be done in one step in a network."""
    exact = next(net.parameters()).dtype == torch.float64
    found = (m for m in net.modules() if _written_out(m) and untouched(m))
    return TanhGelu(tuple(m for m in found if not (exact and type(m).__name__ == ROUGH)))


def _written_out(module: Any) -> bool:
    kind = type(module)
    bloom = kind.__name__ == ROUGH and kind.__module__.startswith("transformers.models.bloom.")
    return kind is NewGELUActivation or bloom
