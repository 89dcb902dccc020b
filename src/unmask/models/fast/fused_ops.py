"""Replace multi-step functions of transformers by one kernel each.

Each step reads and writes all states once more, and a GPU waits for that. GELU by tanh takes eight
steps (GPT-2, ALBERT, BLOOM). On a GPU there are also RMS norms and rotary positions (ModernBERT,
Llama and similar). The functions are the same, but rounded once. Without it a whole run takes 1.8
times as long on ModernBERT, 1.2 times on Llama, and as long on BERT (H200).
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import torch
from torch.nn import functional
from transformers.activations import NewGELUActivation

from unmask.models.fast.direct_layers import untouched
from unmask.models.fast.rotary import rotate
from unmask.models.transformers.weights import device_of

Forward: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
ROUGH = "BloomGelu"  # its constant has eight digits: enough for float32, not for float64
LIKE_LLAMA = ("llama", "mistral", "qwen2", "qwen3")
_ROTARY = "apply_rotary_pos_emb"


@dataclass(frozen=True, slots=True)
class FusedOps:
    """Replaced `forward` functions by module, and the modules whose rotary function is replaced."""

    forwards: tuple[tuple[Any, Forward], ...] = ()
    homes: tuple[Any, ...] = ()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, the modules use their one-step functions."""
        before = [getattr(home, _ROTARY) for home in self.homes]
        # `setattr` is avoided: it checks for each value whether it is a weight or a module.
        for module, step in self.forwards:
            vars(module)["forward"] = step
        for home, usual in zip(self.homes, before, strict=True):
            setattr(home, _ROTARY, partial(rotate, usual))
        try:
            yield
        finally:
            for module, _ in self.forwards:
                vars(module).pop("forward", None)
            for home, usual in zip(self.homes, before, strict=True):
                setattr(home, _ROTARY, usual)


def fused_ops(net: Any) -> FusedOps:
    """Return the one-step functions that a network can use."""
    forwards: list[tuple[Any, Forward]] = []
    homes: dict[str, Any] = {}
    gpu = device_of(net).type == "cuda" and not hasattr(net, "hf_device_map")
    for module in net.modules():
        if not untouched(module):
            continue
        name, kind = type(module).__module__, type(module).__name__
        if (step := _gelu(module)) is not None:
            forwards.append((module, step))
        elif gpu and _family(module) in LIKE_LLAMA and kind.endswith("RMSNorm"):
            forwards.append((module, partial(_rms_norm, module)))
        if gpu and _family(module) and kind.endswith("Attention"):
            homes[name] = sys.modules[name]
    return FusedOps(tuple(forwards), tuple(homes.values()))


def _gelu(module: Any) -> Forward | None:
    """Return a one-step GELU by tanh for a module that computes it in several steps, else None."""
    kind = type(module)
    bloom = kind.__name__ == ROUGH and kind.__module__.startswith("transformers.models.bloom.")
    if kind is NewGELUActivation or bloom:
        return partial(_tanh_gelu, module, exact=not bloom)
    return None


def _tanh_gelu(module: Any, x: torch.Tensor, exact: bool) -> torch.Tensor:
    if x.dtype == torch.float64 and not exact:
        usual: torch.Tensor = type(module).forward(module, x)
        return usual
    return functional.gelu(x, approximate="tanh")


def _family(module: Any) -> str:
    """Return the module's family if its functions can be replaced, else an empty string."""
    name = type(module).__module__
    families = (*LIKE_LLAMA, "modernbert")
    return next((f for f in families if name == f"transformers.models.{f}.modeling_{f}"), "")


def _rms_norm(module: Any, x: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, module.weight.shape, module.weight, module.variance_epsilon)
