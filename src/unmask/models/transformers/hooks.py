"""Hooks into a network: which states its head sees, and the attention that places receive."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from inspect import signature
from typing import Any

import torch

from unmask.models.fast.direct_layers import LIKE_BERT


def padding_mask(net: Any, real: torch.Tensor, fast: bool = True) -> torch.Tensor:
    """Return the attention mask for padding, from the `real` tokens [rows, width].

    With a mask of two dimensions transformers checks whether it is needed, and Python waits for the
    GPU. A mask of four dimensions avoids this; it is used for known architectures.
    """
    config = net.config
    ready = config._attn_implementation == "sdpa" and not getattr(config, "is_decoder", False)
    like_bert = config.model_type in LIKE_BERT
    return real.bool()[:, None, None, :] if fast and ready and like_bert else real


@contextmanager
def only_at(net: Any, row: torch.Tensor, at: torch.Tensor, fast: bool = True) -> Iterator[None]:
    """Inside, the head sees the states of some places: [rows, width, d] becomes [1, places, d].

    A hook on the base model works for every architecture. OPT's head calls the decoder inside the
    base model directly, so that is hooked, too, and whichever runs first gathers. In BERT-like
    networks the last attention is hooked: what follows it is then computed for these places only.
    """
    gathered = False

    def gather(module: Any, args: Any, output: Any) -> Any:
        nonlocal gathered
        if gathered:
            return output
        gathered = True
        where = output[0].device  # the last layer's device, if several are used
        states = output[0][row.to(where), at.to(where)].unsqueeze(0)
        if isinstance(output, tuple):
            return (states, *output[1:])
        output["last_hidden_state"] = states
        return output

    base = net.base_model
    hooked = [base, base.decoder] if hasattr(base, "decoder") else [base]
    hooked += _last_attention(net) if fast else []
    handles = [module.register_forward_hook(gather) for module in hooked]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def own_precision(net: Any) -> Iterator[None]:
    """Compute XLNet's positions in its own precision: transformers always returns float32."""
    base, dtype = net.base_model, next(net.parameters()).dtype
    original = getattr(base, "relative_positional_encoding", None)
    if original is None or dtype == torch.float32:
        yield
        return
    base.relative_positional_encoding = lambda *args, **more: original(*args, **more).to(dtype)
    try:
        yield
    finally:
        vars(base).pop("relative_positional_encoding", None)


@cache
def keeps_nothing(forward: Callable[..., Any]) -> dict[str, bool]:
    """Return the option that turns off the key-value cache: each row is used once."""
    return {"use_cache": False} if "use_cache" in signature(forward).parameters else {}


@contextmanager
def no_search_for_padding(net: Any) -> Iterator[None]:
    """Turn off the padding check of transformers, which makes Python wait for a GPU.

    GPT-2, DeBERTa and others check in order to warn. Without a mask there is no padding here.
    """
    base = net.base_model
    base.warn_if_padding_and_no_attention_mask = lambda *args, **more: None
    try:
        yield
    finally:
        vars(base).pop("warn_if_padding_and_no_attention_mask", None)


def _last_attention(net: Any) -> list[Any]:
    """Return the last layer's attention, if each place is computed on its own after it."""
    layers = getattr(getattr(net.base_model, "encoder", None), "layer", ())
    chunked = getattr(net.config, "chunk_size_feed_forward", 0)
    if net.config.model_type not in LIKE_BERT or chunked or not len(layers):
        return []
    attentions = [getattr(layer, "attention", None) for layer in layers]
    # Layers may share one module: then it is not only the last.
    return (
        [attentions[-1]]
        if attentions[-1] is not None and attentions.index(attentions[-1]) == len(attentions) - 1
        else []
    )


@contextmanager
def attention_weights(net: Any, needed: bool) -> Iterator[None]:
    """Switch to the attention implementation that returns its weights, and back."""
    before = net.config._attn_implementation
    if not needed or before == "eager" or before is None:
        yield
        return
    net.set_attn_implementation("eager")
    try:
        yield
    finally:
        net.set_attn_implementation(before)


def attention_received(layers: Sequence[Any], real: torch.Tensor) -> torch.Tensor:
    """Return the attention that each place receives [rows, width].

    It is the mean over layers, heads and the real (unpadded) places that attend. `layers` holds
    [rows, heads, from, to]; XLNet gives pairs (content, query stream), of which the first counts.
    """
    total = torch.zeros(real.shape, dtype=torch.float64, device=real.device)
    padding = (real == 0)[:, None, :, None]
    count = real.sum(1, keepdim=True)
    for layer in layers:
        content = layer[0] if isinstance(layer, tuple) else layer
        # Under local attention a padded place may attend to nothing at all, which gives NaN.
        weights = content.double().masked_fill(padding, 0.0)
        total += weights.sum((1, 2)) / (content.shape[1] * count)
    return total / len(layers)


@contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """Compute float32 matrix products in full precision on a GPU, or in tf32 if requested."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
