"""One switch for the fast paths that a network takes, or none.

Each path gives the numbers of the plain one, up to rounding; `tests/models` compares them.
"""

from dataclasses import dataclass, field
from typing import Any

from unmask.models.fast.direct_layers import Encoder, encoder_of, untouched
from unmask.models.fast.fp32_split import SplitProducts, split_products
from unmask.models.fast.fused_ops import FusedOps, fused_ops
from unmask.models.fast.pass_queue import PassQueue
from unmask.models.fast.short_attention import ShortAttention, short_attention
from unmask.models.prefix_trees import LARGEST
from unmask.models.transformers.weights import device_of

# Batches queued on a GPU; beyond about a thousand launches, Python would have to wait.
PASSES_AHEAD = 8


@dataclass(frozen=True, slots=True)
class FastPaths:
    """The fast paths of a network.

    `encoder`: its layers are called directly. `split`: its float32 products are split into halves.
    `queue`: the passes in progress. `gathers`: the head sees only the queried places, and if
    possible so does everything after the last attention. `attention`: short rows share tiles.
    `prefixes`: what rows have in common at the start is computed once. `steps`: functions of many
    steps use one kernel.
    """

    encoder: Encoder | None = None
    split: SplitProducts = field(default_factory=lambda: SplitProducts(()))
    queue: PassQueue = field(default_factory=lambda: PassQueue(1))
    gathers: bool = False
    attention: ShortAttention = field(default_factory=ShortAttention)
    prefixes: bool = False
    steps: FusedOps = field(default_factory=FusedOps)


# Families whose attention accepts a mask for each token, and positions that are not consecutive.
READ_TREES = frozenset({"gpt2", "llama", "opt", "mistral", "qwen2", "qwen3", "gpt_neox", "phi"})


def reads_trees(net: Any) -> bool:
    """Whether a causal network, unmodified, can be given rows as trees."""
    original = type(net).__module__.startswith("transformers.models.") and untouched(net)
    usual = net.config._attn_implementation == "sdpa" and not _looks_less_far(net.config)
    return original and usual and net.config.model_type in READ_TREES


def _looks_less_far(config: Any) -> bool:
    """Whether a sliding window limits a token to fewer earlier ones than a tree may have."""
    window = getattr(config, "sliding_window", None)
    used = "sliding_attention" in (getattr(config, "layer_types", None) or ["sliding_attention"])
    return used and window is not None and window < LARGEST


def fast_paths(net: Any, precision: str, enabled: bool = True) -> FastPaths:
    """Return the fast paths that a network can take; none unless `enabled`."""
    if not enabled:
        return FastPaths()
    queue = PassQueue(PASSES_AHEAD if device_of(net).type == "cuda" else 1)
    split = split_products(net, precision)
    encoder = encoder_of(net)
    short, trees, steps = short_attention(net), reads_trees(net), fused_ops(net)
    return FastPaths(encoder, split, queue, True, short, trees, steps)
