"""The layers of BERT and its kin, called with nothing around them.

Every product is done by the network's own modules, with their own weights. Left out is what an
answer does not need: the projections of the first layer are done once for each token and place (on
a CPU; the rows of a sentence have nearly all of them in common), and behind the keys and values of
the last layer there are only the places that are asked about. Python takes a third as long to call
the layers so, which is what keeps a GPU from waiting.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.nn.functional import scaled_dot_product_attention

Projected: TypeAlias = Callable[[Any], torch.Tensor]  # by a module, from states that it knows

# Families with layers like BERT's: behind attention, each place is on its own.
LIKE_BERT = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra", "ernie"})
_LAYERS = frozenset(
    {"BertLayer", "RobertaLayer", "XLMRobertaLayer", "CamembertLayer", "ElectraLayer", "ErnieLayer"}
)


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


def encoder_of(net: Any) -> Any | None:
    """The encoder whose layers can be called directly, or None: only as transformers made them."""
    config, encoder = net.config, getattr(net.base_model, "encoder", None)
    layers = getattr(encoder, "layer", ())
    other = ("is_decoder", "add_cross_attention", "chunk_size_feed_forward")
    special = net.training or any(getattr(config, name, False) for name in other)
    if config.model_type not in LIKE_BERT or special or not len(layers):
        return None
    spread = any(hasattr(module, "_hf_hook") for module in net.modules())  # over devices
    return encoder if not spread and _untouched(encoder) and all(map(_as_made, layers)) else None


def _as_made(layer: Any) -> bool:
    own = type(layer).__name__ in _LAYERS and type(layer).__module__.startswith("transformers.")
    attention = getattr(layer, "attention", None)
    parts = (layer, attention, getattr(attention, "self", None), getattr(attention, "output", None))
    return own and all(map(_untouched, (*parts, layer.intermediate, layer.output)))


def _untouched(module: Any) -> bool:
    """Whether nothing but the class decides what a module does; idle hooks of transformers may."""
    if module is None or "forward" in vars(module) or module._forward_pre_hooks:
        return False
    hooks = module._forward_hooks.values()
    return all(hook.__module__ == "transformers.utils.output_capturing" for hook in hooks)


@contextmanager
def direct(encoder: Any, asked: Asked) -> Iterator[None]:
    """Let an encoder give the states of the slots alone, [1, slots, d], by calling its layers."""
    from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

    def forward(states: torch.Tensor, *_: Any, **more: Any) -> Any:
        found = called(encoder.layer, states, asked)
        return BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=found)  # type: ignore[arg-type]

    encoder.forward = forward
    try:
        yield
    finally:
        vars(encoder).pop("forward", None)


def called(layers: Sequence[Any], states: torch.Tensor, asked: Asked) -> torch.Tensor:
    """The states [rows, width, d] behind all layers, at the slots: [1, slots, d]."""
    *before, last = layers
    for number, layer in enumerate(before):
        own = layer.attention.self
        project = _by_token(states, asked.ids) if number == 0 else None
        project = project or _all(states)
        query, key, value = (_heads(own, project(p)) for p in (own.query, own.key, own.value))
        context = _context(own, query, key, value, asked.mask)
        states = _behind(layer, context, states)
    return _last(last, states, asked).unsqueeze(0)


def _all(states: torch.Tensor) -> Projected:
    return lambda module: module(states)


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
    size = (*states.shape[:2], own.num_attention_heads, own.attention_head_size)
    return states.view(size).transpose(1, 2)


def _context(
    own: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """What the places of the query [rows, heads, places, size] attend to: [rows, places, d]."""
    found = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=own.scaling)
    return found.transpose(1, 2).flatten(2)


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
        found = _context(own, _heads(own, query), key, value, asked.mask)
        context = found[asked.row, asked.at]
    return _behind(layer, context, chosen)


def _behind(layer: Any, context: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """What a layer does behind its attention, where each place is on its own."""
    output = layer.attention.output
    states = output.LayerNorm(output.dense(context).add_(states))
    inner = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(states))
    done: torch.Tensor = layer.output.LayerNorm(layer.output.dense(inner).add_(states))
    return done
