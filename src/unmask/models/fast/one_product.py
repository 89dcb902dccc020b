"""Several layers that read the same states, as one product, on a GPU.

Queries, keys and values are three projections of one thing: together they are launched once, and
in float32 what they read is parted into halves once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from unmask.models.fast.fp32_split import MIN_ROWS, SplitProducts, Weight

Product: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
_PARTS = ("weight", "bias")


def plain(layer: Any) -> bool:
    """Whether a layer is torch's own, with a bias, and nothing hung onto it."""
    if type(layer) is not torch.nn.Linear or layer._forward_hooks or layer._forward_pre_hooks:
        return False
    weight, bias = (layer._parameters.get(name) for name in _PARTS)
    return type(weight) is type(bias) is torch.nn.Parameter  # quantised ones are of other types


def able(states: torch.Tensor) -> bool:
    """Whether it is worth it: on a GPU, for more than a few places."""
    return states.is_cuda and states.numel() >= MIN_ROWS * states.shape[-1]


@dataclass(frozen=True, slots=True)
class OneProduct:
    """Layers put together, at first use; `split` says which of them multiply in parts."""

    split: SplitProducts = field(default_factory=lambda: SplitProducts(()))
    made: dict[int, tuple[Product, list[int]]] = field(default_factory=dict)

    def of(self, layers: Sequence[Any], states: torch.Tensor) -> Sequence[torch.Tensor]:
        """What each layer makes of the states [..., d]."""
        if not able(states) or not all(map(plain, layers)) or not self._alike(layers):
            return [layer(states) for layer in layers]
        if id(layers[0]) not in self.made:
            self.made[id(layers[0])] = self._made(layers), [len(m.weight) for m in layers]
        product, sizes = self.made[id(layers[0])]
        return product(states).split(sizes, -1)

    def _alike(self, layers: Sequence[Any]) -> bool:
        """Whether all multiply in parts, or none does, nor otherwise than their class."""
        ways = [vars(layer).get("forward") for layer in layers]
        if not any(ways):
            return True
        return all(getattr(way, "func", None) == self.split.forward for way in ways)

    def _made(self, layers: Sequence[Any]) -> Product:
        weight, bias = (torch.cat([getattr(m, k).detach() for m in layers]) for k in _PARTS)
        if "forward" in vars(layers[0]):
            return Weight.of(SimpleNamespace(weight=weight, bias=bias))
        return partial(functional.linear, weight=weight, bias=bias)
