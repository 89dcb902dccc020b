"""Call the layers of DeBERTa, BERT and BERT-like networks directly, without transformers' overhead.

Projections, norms and feed-forward parts are the network's own modules, attention is the function
that they call. Computation that no query needs is skipped. On a CPU the projections of the first
layer are computed once for each token and place, since the rows of a sentence share nearly all of
them. After the keys and values of the last layer, only the queried places are computed. Python
needs 0.7 of the time to call the layers, so a GPU waits less. Without it a whole run takes 2.2 to
2.5 times as long on DeBERTa and 1.1 to 1.2 times on BERT (H200).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import torch
from torch.nn import functional
from torch.nn.modules import module as _hooks

from unmask.models.fast.relative_attention import ByDistance
from unmask.models.fast.short_attention import Heads

Projected: TypeAlias = Callable[[Any], torch.Tensor]  # applies a module to states that it holds

# Families with layers like BERT's: after attention, each place is computed on its own.
LIKE_BERT = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra", "ernie"})
DEBERTA = "deberta-v2"  # its version 3 has the same layers
# Class names of a layer and its parts, after the family's name. None: the self-attention, whose
# class name differs between families.
_PARTS = ("Layer", "Attention", None, "SelfOutput", "Intermediate", "Output")
_IDLE = "transformers.utils.output_capturing"
_OTHERWISE = ("is_decoder", "add_cross_attention", "chunk_size_feed_forward")


@dataclass(frozen=True, slots=True)
class PassInputs:
    """Inputs of a pass: token `ids` [rows, width], and slots given by `row` and place `at`.

    `mask` [rows, 1, 1, width] masks the padding, if any. `each` is the number of slots per row if
    all rows have the same number, else 0.
    """

    ids: torch.Tensor
    row: torch.Tensor
    at: torch.Tensor
    mask: torch.Tensor | None
    each: int


class AttentionKind(Protocol):
    """The attention of a family; `some_queries`: the queries of the slots alone are enough."""

    @property
    def some_queries(self) -> bool:
        """Whether a subset of the queries can be computed."""
        ...

    def named(self, family: str) -> str:
        """Return the class name of the family's self-attention."""
        ...

    def fits(self, encoder: Any, config: Any) -> bool:
        """Whether an encoder uses this attention."""
        ...

    def dropouts(self, self_attn: Any) -> tuple[Any, ...]:
        """Return the dropout modules of a self-attention."""
        ...

    def projections(self, self_attn: Any) -> tuple[Any, Any, Any]:
        """Return the modules that project states to queries, keys and values."""
        ...

    def context(self, self_attn: Any, heads: Heads, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the attention output at the query places [rows, places, d]."""
        ...


@dataclass(frozen=True, slots=True)
class ByContent:
    """BERT's attention."""

    some_queries: bool = True

    def named(self, family: str) -> str:
        """Return the class name of the family's self-attention."""
        return f"{family}SelfAttention"

    def fits(self, encoder: Any, config: Any) -> bool:
        """Whether an encoder uses torch's attention function, in both directions."""
        attentions = (getattr(getattr(m, "attention", None), "self", None) for m in encoder.layer)
        causal = any(getattr(self_attn, "is_causal", False) for self_attn in attentions)
        return bool(config._attn_implementation == "sdpa") and not causal

    def dropouts(self, self_attn: Any) -> tuple[Any, ...]:
        """Return the dropout modules of a self-attention."""
        return (getattr(self_attn, "dropout", None),)

    def projections(self, self_attn: Any) -> tuple[Any, Any, Any]:
        """Return the modules that project states to queries, keys and values."""
        return self_attn.query, self_attn.key, self_attn.value

    def context(self, self_attn: Any, heads: Heads, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the attention output at the query places [rows, places, d]."""
        # Looked up in torch at each call: for short rows the function is replaced during a pass.
        attention = functional.scaled_dot_product_attention
        attended = attention(*heads, attn_mask=mask, scale=self_attn.scaling)
        return attended.transpose(1, 2).flatten(2)


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder whose layers can be called directly, by one thread at a time.

    `home` is the transformers module that defines its classes, `family` the prefix of their names.
    """

    module: Any
    home: Any
    family: str
    config: Any
    attends: AttentionKind = field(default_factory=ByContent)

    @property
    def as_made(self) -> bool:
        """Whether its classes alone determine its behaviour now: no hooks, patches or training."""
        layers = self.module.layer
        if any(getattr(self.config, k, 0) for k in _OTHERWISE):
            return False
        if not self.attends.fits(self.module, self.config):
            return False
        if _hooks._global_forward_hooks or _hooks._global_forward_pre_hooks or not len(layers):
            return False
        return self._is(self.module, f"{self.family}Encoder") and all(map(self._as_made, layers))

    def _as_made(self, layer: Any) -> bool:
        """As `as_made`, for the parts of a layer whose own `forward` is not called."""
        attention = getattr(layer, "attention", None)
        self_attn, behind = getattr(attention, "self", None), getattr(attention, "output", None)
        inner, output = getattr(layer, "intermediate", None), getattr(layer, "output", None)
        parts = (layer, attention, self_attn, behind, inner, output)
        dropouts = [getattr(part, "dropout", None) for part in (behind, output)]
        dropouts += self.attends.dropouts(self_attn)
        names = [self.attends.named(self.family) if k is None else self.family + k for k in _PARTS]
        return all(self._is(part, name) for part, name in zip(parts, names, strict=True)) and all(
            type(d) is torch.nn.Dropout and untouched(d) for d in dropouts
        )

    def _is(self, module: Any, name: str) -> bool:
        return type(module) is vars(self.home).get(name) and untouched(module)

    @contextmanager
    def direct(self, inputs: PassInputs) -> Iterator[None]:
        """Inside, the encoder calls its layers directly and returns states [1, slots, d]."""
        from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

        def forward(states: torch.Tensor, *_: Any, **options: Any) -> Any:
            layers = self.module.layer
            output: Any = called(layers, states, inputs, self.attends)
            # DeBERTa's model reads the last of all states.
            return BaseModelOutputWithPastAndCrossAttentions(output, hidden_states=(output,))

        self.module.forward = forward
        try:
            yield
        finally:
            vars(self.module).pop("forward", None)


def encoder_of(net: Any) -> Encoder | None:
    """Return the encoder if its layers can be called directly, that is, if it is unmodified."""
    encoder = getattr(net.base_model, "encoder", None)
    layers: Any = getattr(encoder, "layer", ())
    if net.config.model_type not in LIKE_BERT | {DEBERTA} or not len(layers):
        return None
    if getattr(net.base_model, "z_steps", 0) > 1:  # DeBERTa's last layer is applied several times
        return None
    if any(hasattr(module, "_hf_hook") for module in net.modules()):  # spread over devices
        return None
    kind = type(layers[0])
    if not kind.__module__.startswith("transformers.models."):
        return None
    home, family = sys.modules[kind.__module__], kind.__name__.removesuffix("Layer")
    attends: AttentionKind = (
        ByDistance(encoder) if net.config.model_type == DEBERTA else ByContent()
    )
    candidate = Encoder(encoder, home, family, net.config, attends)
    return candidate if candidate.as_made else None


def untouched(module: Any) -> bool:
    """Whether a module runs its class's own `forward`, as transformers or torch wrote it.

    Idle hooks that transformers leaves behind are allowed.
    """
    if module.training or "forward" in vars(module) or module._forward_pre_hooks:
        return False
    hooks = module._forward_hooks.values()
    idle = all(getattr(hook, "__module__", "") == _IDLE for hook in hooks)
    return idle and type(module).forward.__module__.startswith(("transformers.", "torch."))


def called(
    layers: Sequence[Any], states: torch.Tensor, inputs: PassInputs, attends: AttentionKind
) -> torch.Tensor:
    """Run all layers on states [rows, width, d]; return those of the slots [1, slots, d]."""
    *before, last = layers
    for number, layer in enumerate(before):
        self_attn = layer.attention.self
        three = attends.projections(self_attn)
        by_token = _by_token(states, inputs.ids) if number == 0 else None
        projected = [layer(states) if by_token is None else by_token(layer) for layer in three]
        heads = Heads(*(_heads(self_attn, p) for p in projected))
        context = attends.context(self_attn, heads, inputs.mask)
        states = _behind(layer, context, states)
    return _last(last, states, inputs, attends).unsqueeze(0)


def _by_token(states: torch.Tensor, ids: torch.Tensor) -> Projected | None:
    """Return a function that projects each distinct token and place once, or None if few repeat.

    None on a GPU: counting the distinct ones would make Python wait for it.
    """
    if states.device.type != "cpu":
        return None
    keys = ids * ids.shape[1] + torch.arange(ids.shape[1])
    distinct, token = torch.unique(keys, return_inverse=True)
    if 2 * len(distinct) > token.numel():
        return None
    index = torch.empty_like(distinct)
    index[token.flatten()] = torch.arange(token.numel())
    few = states.flatten(0, 1)[index]
    # Position embeddings may also depend on the rest of the row.
    return (lambda module: module(few)[token]) if torch.equal(few[token], states) else None


def _heads(self_attn: Any, states: torch.Tensor) -> torch.Tensor:
    """Split projected states [rows, places, d] by head: [rows, heads, places, size]."""
    return states.view(*states.shape[:2], -1, self_attn.attention_head_size).transpose(1, 2)


def _last(
    layer: Any, states: torch.Tensor, inputs: PassInputs, attends: AttentionKind
) -> torch.Tensor:
    """Run the last layer at the slots: [slots, d]."""
    self_attn = layer.attention.self
    to_query, *projections = attends.projections(self_attn)
    key, value = (_heads(self_attn, project(states)) for project in projections)
    last = states[inputs.row, inputs.at]
    if inputs.each and attends.some_queries:
        query = _heads(self_attn, to_query(last.view(len(states), inputs.each, -1)))
        context = attends.context(self_attn, Heads(query, key, value), inputs.mask).flatten(0, 1)
    else:
        query = _heads(self_attn, to_query(states))
        everywhere = attends.context(self_attn, Heads(query, key, value), inputs.mask)
        context = everywhere[inputs.row, inputs.at]
    return _behind(layer, context, last)


def _behind(layer: Any, context: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Run the part of a layer after its attention, where each place is computed on its own."""
    output = layer.attention.output
    states = output.LayerNorm(output.dense(context) + states)
    inner = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(states))
    normed: torch.Tensor = layer.output.LayerNorm(layer.output.dense(inner) + states)
    return normed
