"""The layers of BERT and its kin, called with nothing around them.

Projections, norms and feed-forward parts are the network's own modules, attention is the function
that they call. Left out is what an answer does not need: the projections of the first layer are
done once for each token and place (on a CPU; the rows of a sentence have nearly all of them in
common), and behind the keys and values of the last layer there are only the places that are asked
about. Python takes seven tenths as long to call the layers so, and a GPU waits that much less.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch.nn import functional
from torch.nn.modules import module as _hooks

from unmask.models.fast.fp32_split import SplitProducts
from unmask.models.fast.one_product import OneProduct
from unmask.models.fast.sum_norm import normed_sum

Projected: TypeAlias = Callable[[Any], torch.Tensor]  # by a module, from states that it knows

# Families with layers like BERT's: behind attention, each place is on its own.
LIKE_BERT = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra", "ernie"})
# What the classes of a layer and of its parts are named, behind the family's name.
_PARTS = ("Layer", "Attention", "SelfAttention", "SelfOutput", "Intermediate", "Output")
_IDLE = "transformers.utils.output_capturing"
_OTHERWISE = ("is_decoder", "add_cross_attention", "chunk_size_feed_forward")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a pass: token `ids` [rows, width], and slots by their `row` and place `at`.

    `mask` [rows, 1, 1, width] shuts off the padding, if there is some. `each` is the number of
    slots of a row where all have as many, else 0.
    """

    ids: torch.Tensor
    row: torch.Tensor
    at: torch.Tensor
    mask: torch.Tensor | None
    each: int


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder whose layers can be called directly, by one thread at a time.

    `home` is the module of transformers that has its classes, `family` what their names begin with.
    """

    module: Any
    home: Any
    family: str
    one_product: OneProduct = field(default_factory=OneProduct)

    @property
    def as_made(self) -> bool:
        """Whether its classes alone decide what it does, now: no hooks, patches or training."""
        config, layers = self.module.config, self.module.layer
        if config._attn_implementation != "sdpa" or any(getattr(config, k, 0) for k in _OTHERWISE):
            return False
        if _hooks._global_forward_hooks or _hooks._global_forward_pre_hooks or not len(layers):
            return False
        return self._is(self.module, "Encoder") and all(map(self._as_made, layers))

    def _as_made(self, layer: Any) -> bool:
        """The same for the parts of a layer whose own `forward` is not called."""
        attention = getattr(layer, "attention", None)
        own, behind = getattr(attention, "self", None), getattr(attention, "output", None)
        inner, output = getattr(layer, "intermediate", None), getattr(layer, "output", None)
        parts = (layer, attention, own, behind, inner, output)
        dropouts = (getattr(part, "dropout", None) for part in (own, behind, output))
        return (
            all(self._is(part, name) for part, name in zip(parts, _PARTS, strict=True))
            and all(type(d) is torch.nn.Dropout and untouched(d) for d in dropouts)
            and not getattr(own, "is_causal", False)
        )

    def _is(self, module: Any, name: str) -> bool:
        return type(module) is vars(self.home).get(self.family + name) and untouched(module)

    @contextmanager
    def direct(self, asked: Asked) -> Iterator[None]:
        """Let it give the states of the slots alone, [1, slots, d], by calling its layers."""
        from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

        def forward(states: torch.Tensor, *_: Any, **options: Any) -> Any:
            states_at_slots = called(self.module.layer, states, asked, self.one_product)
            return BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=states_at_slots)  # type: ignore[arg-type]

        self.module.forward = forward
        try:
            yield
        finally:
            vars(self.module).pop("forward", None)


def encoder_of(net: Any, split: SplitProducts | None = None) -> Encoder | None:
    """The encoder whose layers can be called directly, or None: only as transformers made it.

    `split` says which of its layers multiply in parts.
    """
    encoder = getattr(net.base_model, "encoder", None)
    layers: Any = getattr(encoder, "layer", ())
    if net.config.model_type not in LIKE_BERT or not len(layers):
        return None
    if any(hasattr(module, "_hf_hook") for module in net.modules()):  # spread over devices
        return None
    kind = type(layers[0])
    if not kind.__module__.startswith("transformers.models."):
        return None
    home, family = sys.modules[kind.__module__], kind.__name__.removesuffix("Layer")
    candidate = Encoder(encoder, home, family, OneProduct(split) if split else OneProduct())
    return candidate if candidate.as_made else None


def untouched(module: Any) -> bool:
    """Whether a module does what its class says, and that what transformers or torch wrote.

    Hooks that transformers leaves behind, idle, may be there.
    """
    if module.training or "forward" in vars(module) or module._forward_pre_hooks:
        return False
    hooks = module._forward_hooks.values()
    idle = all(getattr(hook, "__module__", "") == _IDLE for hook in hooks)
    return idle and type(module).forward.__module__.startswith(("transformers.", "torch."))


def called(
    layers: Sequence[Any], states: torch.Tensor, asked: Asked, one_product: OneProduct
) -> torch.Tensor:
    """The states [rows, width, d] behind all layers, at the slots: [1, slots, d]."""
    *before, last = layers
    for number, layer in enumerate(before):
        own = layer.attention.self
        three = (own.query, own.key, own.value)
        by_token = _by_token(states, asked.ids) if number == 0 else None
        projected = one_product.of(three, states) if by_token is None else map(by_token, three)
        query, key, value = (_heads(own, p) for p in projected)
        context = _context(own, query, key, value, asked.mask)
        states = _behind(layer, context, states)
    return _last(last, states, asked).unsqueeze(0)


def _by_token(states: torch.Tensor, ids: torch.Tensor) -> Projected | None:
    """A way to project states [rows, width, d] once for each token and place, if that is fewer.

    Not on a GPU: to count what is distinct, Python would have to wait for it.
    """
    if states.device.type != "cpu":
        return None
    keys = ids * ids.shape[1] + torch.arange(ids.shape[1])
    distinct, which = torch.unique(keys, return_inverse=True)
    if 2 * len(distinct) > which.numel():
        return None
    one = torch.empty_like(distinct)
    one[which.flatten()] = torch.arange(which.numel())
    few = states.flatten(0, 1)[one]
    # Positions may also hang on what else is in the row.
    return (lambda module: module(few)[which]) if torch.equal(few[which], states) else None


def _heads(own: Any, states: torch.Tensor) -> torch.Tensor:
    """Projected states [rows, places, d] by head: [rows, heads, places, size]."""
    return states.view(*states.shape[:2], -1, own.attention_head_size).transpose(1, 2)


def _context(
    own: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """What the places of the query [rows, heads, places, size] attend to: [rows, places, d]."""
    # By its name in torch, where short rows have a form of their own while a pass is under way.
    attention = functional.scaled_dot_product_attention
    attended = attention(query, key, value, attn_mask=mask, scale=own.scaling)
    return attended.transpose(1, 2).flatten(2)


def _last(layer: Any, states: torch.Tensor, asked: Asked) -> torch.Tensor:
    """The last layer, at the slots: [slots, d]."""
    own = layer.attention.self
    key, value = (_heads(own, project(states)) for project in (own.key, own.value))
    chosen = states[asked.row, asked.at]
    if asked.each:
        query = own.query(chosen.view(len(states), asked.each, -1))
        context = _context(own, _heads(own, query), key, value, asked.mask).flatten(0, 1)
    else:
        query = own.query(states)
        everywhere = _context(own, _heads(own, query), key, value, asked.mask)
        context = everywhere[asked.row, asked.at]
    return _behind(layer, context, chosen)


def _behind(layer: Any, context: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """What a layer does behind its attention, where each place is on its own."""
    output = layer.attention.output
    states = _normed(output.LayerNorm, output.dense(context), states)
    inner = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(states))
    return _normed(layer.output.LayerNorm, layer.output.dense(inner), states)


def _normed(norm: Any, one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    """The norm of a sum, in one kernel where the norm is torch's own and nothing hangs on it."""
    if type(norm) is torch.nn.LayerNorm and untouched(norm):
        return normed_sum(norm, one, two)
    plain: torch.Tensor = norm(one + two)
    return plain
