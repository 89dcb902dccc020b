"""DeBERTa's attention, limited to the relative positions that occur in a row.

The score of place q for place k is the scaled sum of three products: query with key; query with the
key of the distance q - k; key with the query of that distance (He et al. 2021, equation 4).
transformers computes the second and third for all 512 distances of the network, and repeats their
keys and queries for each row; a row of 16 places has only 31. With the direct layers a whole run of
DeBERTa takes 1 / 2.5 of the time (H200).
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from unmask.models.fast.fp32_split import ALIGNED
from unmask.models.fast.short_attention import Heads, attended_from

_BOTH = frozenset({"c2p", "p2c"})
LEAST = 32  # minimum number of places per row for which distances are computed
_NUMBERS = count()


class Distances(NamedTuple):
    """Keys and queries of the distances from `far` - 1 down to - `far`: [heads, n, size].

    A few zeros follow them; `made_of` identifies the weights that they were computed from.
    """

    far: int
    made_of: tuple[int, ...]
    keys: torch.Tensor
    queries: torch.Tensor

    def within(self, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the keys and queries for a row of that width, with a few more for alignment."""
        start = self.far - width
        end = start + 2 * width - 1
        end += (start - end) % ALIGNED
        return self.keys[:, start:end], self.queries[:, start:end]


@dataclass(frozen=True, slots=True)
class ByDistance:
    """DeBERTa's attention; `distances` caches those of each layer."""

    encoder: Any
    distances: dict[int, Distances] = field(default_factory=dict)
    some_queries: bool = False  # each query has its own distances, so all are computed together

    def named(self, family: str) -> str:
        """Return the class name of the self-attention."""
        return "DisentangledSelfAttention"

    def fits(self, encoder: Any, config: Any) -> bool:
        """Whether an encoder uses distances in both directions, and no convolution."""
        attentions = [getattr(getattr(m, "attention", None), "self", None) for m in encoder.layer]
        both = all({*getattr(self_attn, "pos_att_type", ())} == _BOTH for self_attn in attentions)
        relative = all(getattr(self_attn, "relative_attention", False) for self_attn in attentions)
        return both and relative and encoder.conv is None

    def dropouts(self, self_attn: Any) -> tuple[Any, ...]:
        """Return the dropout modules of a self-attention."""
        return getattr(self_attn, "dropout", None), getattr(self_attn, "pos_dropout", None)

    def projections(self, self_attn: Any) -> tuple[Any, Any, Any]:
        """Return the modules that project states to queries, keys and values."""
        return self_attn.query_proj, self_attn.key_proj, self_attn.value_proj

    def context(self, self_attn: Any, heads: Heads, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the attention output at all places [rows, places, d]."""
        query, key, _ = heads
        width, size = query.shape[2:]
        keys, queries = self._distances(self_attn, query).within(width)
        by_key = skewed(_products(query, keys), width)
        by_query = skewed(_products(key, queries), width).transpose(2, 3)
        scale = 1 / float(np.sqrt(np.float32(size * (1 + len(_BOTH)))))  # as transformers rounds it
        attended = attended_from(heads, (by_key, by_query), mask, scale)
        return attended.transpose(1, 2).flatten(2)

    def _distances(self, self_attn: Any, query: torch.Tensor) -> Distances:
        modules = (
            (self_attn.key_proj, self_attn.query_proj)
            if self_attn.share_att_key
            else (self_attn.pos_key_proj, self_attn.pos_query_proj)
        )
        made_of = _made_of(modules, self.encoder)
        entry = self.distances.get(id(self_attn))
        if entry is not None and entry.far >= query.shape[2] and made_of == entry.made_of:
            return entry
        self.distances[id(self_attn)] = distances = self._made(self_attn, modules, query, made_of)
        return distances

    def _made(
        self,
        self_attn: Any,
        modules: tuple[Any, Any],
        query: torch.Tensor,
        made_of: tuple[int, ...],
    ) -> Distances:
        """Compute the distances of a layer for rows up to a power of two.

        transformers maps them to the network's distances: far ones share theirs.
        """
        heads, width, size = query.shape[1:]
        distance = max(LEAST, 1 << (width - 1).bit_length())
        between = self.encoder.get_rel_pos(query.new_empty(1, distance + 1, 1))[0]  # [from, to]
        away = torch.cat([between[:distance, 0].flip(0), between[0, 1:]])
        span, all_of_them = self_attn.pos_ebd_size, self.encoder.get_rel_embedding()
        tables = []
        for module, index in zip(modules, (away + span, span - away), strict=True):
            states = module(all_of_them[index.clamp(0, 2 * span - 1)])
            filled = functional.pad(states, (0, 0, 0, ALIGNED))
            tables.append(filled.view(-1, heads, size).transpose(0, 1).contiguous())
        return Distances(distance, made_of, *tables)


def _made_of(modules: tuple[Any, Any], encoder: Any) -> tuple[int, ...]:
    """Return a key that changes when the distances would; with hooks it is always new."""
    norm = getattr(encoder, "LayerNorm", None)
    parts = [*modules, encoder.rel_embeddings, *([] if norm is None else [norm])]
    weights = [p for m in parts for p in m._parameters.values() if p is not None]
    hooked = any(m._forward_hooks or m._forward_pre_hooks for m in parts)
    versions = (0 if p.is_inference() else p._version for p in weights)
    return (*map(id, parts), *map(id, weights), *versions, *([next(_NUMBERS)] if hooked else []))


def _products(states: torch.Tensor, distances: torch.Tensor) -> torch.Tensor:
    """Multiply states [rows, heads, places, size] by distances [heads, n, size].

    Returns [heads, rows, places, n]: one product for each head, not for each head and row.
    """
    rows, heads, width, _ = states.shape
    flat = states.transpose(1, 2).flatten(0, 1).transpose(0, 1)
    return torch.bmm(flat, distances.transpose(1, 2)).view(heads, rows, width, -1)


def skewed(products: torch.Tensor, width: int) -> torch.Tensor:
    """View products by distance [heads, rows, places, n] as by place [rows, heads, places, w].

    For place q, place k is in column k - q + w - 1; each following q starts one column earlier.
    """
    products = products.contiguous()
    heads, rows, places, many = products.shape
    strides = (places * many, rows * places * many, many - 1, 1)
    return products.as_strided((rows, heads, places, width), strides, width - 1)
