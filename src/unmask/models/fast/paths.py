"""The one switch: which fast paths a network takes, or none.

Every path gives the numbers of the plain one, within rounding; `tests/models` holds both equal.
"""

from dataclasses import dataclass, field
from typing import Any

from unmask.models.fast.direct_layers import Encoder, encoder_of, untouched
from unmask.models.fast.fp32_split import SplitProducts, split_products
from unmask.models.fast.one_step import OneStep, one_step
from unmask.models.fast.pass_queue import PassQueue
from unmask.models.fast.short_attention import ShortAttention, short_attention
from unmask.models.prefix_trees import LARGEST
from unmask.models.transformers.weights import device_of

# Batches that a GPU has before it; more launches than a thousand would have to wait.
PASSES_AHEAD = 8


@dataclass(frozen=True, slots=True)
class FastPaths:
    """How a network is called faster than plainly.

    `encoder`: its layers are called directly. `split`: its float32 products are made from halves.
    `queue`: passes that are under way at a time. `gathers`: the head, and where it is known how,
    all behind the last attention, sees only the places that are asked about. `attention`: short
    rows share its tiles. `prefixes`: what rows begin with is computed once for all of them.
    `steps`: what is written out in many is done in one.
    """

    encoder: Encoder | None = None
    split: SplitProducts = field(default_factory=lambda: SplitProducts(()))
    queue: PassQueue = field(default_factory=lambda: PassQueue(1))
    gathers: bool = False
    attention: ShortAttention = field(default_factory=ShortAttention)
    prefixes: bool = False
    steps: OneStep = field(default_factory=OneStep)


# Families whose attention takes what each token sees, and places that are not in a row.
READ_TREES = frozenset({"gpt2", "llama", "opt", "mistral", "qwen2", "qwen3", "gpt_neox", "phi"})


def reads_trees(net: Any) -> bool:
    """Whether a causal network, as transformers made it, can be shown rows as trees."""
    original = type(net).__module__.startswith("transformers.models.") and untouched(net)
    usual = net.config._attn_implementation == "sdpa" and not _looks_less_far(net.config)
    return original and usual and net.config.model_type in READ_TREES


def _looks_less_far(config: Any) -> bool:
    """Whether a token sees only so many before it, fewer than a tree may have."""
    window = getattr(config, "sliding_window", None)
    used = "sliding_attention" in (getattr(config, "layer_types", None) or ["sliding_attention"])
    return used and window is not None and window < LARGEST


def fast_paths(net: Any, precision: str, enabled: bool = True) -> FastPaths:
    """The fast paths that a network can take; none unless they are `enabled`."""
    if not enabled:
        return FastPaths()
    queue = PassQueue(PASSES_AHEAD if device_of(net).type == "cuda" else 1)
    split = split_products(net, precision)
    encoder = encoder_of(net)
    short, trees, steps = short_attention(net), reads_trees(net), one_step(net)
    return FastPaths(encoder, split, queue, True, short, trees, steps)
