"""Many small language models trained at once: their weights are stacked.

Each is a BERT with two layers or more: masked, or causal with the same layers and a causal mask. A
step runs each model on a batch of its own, as batched matrix products; this keeps a CPU or a GPU
busy with models this small. The weights have transformers' own names, so that a slice of the stack
is a model that any tool can load.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
import transformers
from torch.nn import functional

from unmask.errors import UnmaskError
from unmask.lab.language import CONTENT, LONGEST, SIZE, SPECIALS, corpus, tokenizer_of
from unmask.lab.patterns import Rows
from unmask.lab.world import Plant
from unmask.models.transformers.model import TransformerModel, wrap
from unmask.types import Kind

Stack: TypeAlias = dict[str, torch.Tensor]
LAYERS, WIDTH, HEADS = 2, 128, 4
DEEPEST = 24
INITIAL = 0.05  # near 1 / sqrt(width); with far less, attention takes long to start learning
TWO = 0.1  # share of steps that predict two tokens per row, the others one
OFTEN = 20.0  # factor by which slot words are predicted more often than frame words
PAD, UNKNOWN, CLS, SEP, MASK = range(len(SPECIALS))


@dataclass(frozen=True, slots=True)
class Training:
    """How the models are made and trained: layers, steps, rows per step, and sentences."""

    steps: int = 2500
    rows: int = 256
    sentences: int = 100_000
    rate: float = 1e-3
    matrix_rate: float = 0.005
    layers: int = LAYERS

    def __post_init__(self) -> None:
        for name in ("steps", "rows", "sentences", "layers"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise UnmaskError(f"{name} is {value!r}; give a whole number of at least 1.")
        if self.layers > DEEPEST:
            raise UnmaskError(f"layers is {self.layers}; give at most {DEEPEST}.")


def config(kind: Kind, layers: int = LAYERS) -> Any:
    """The shape of every model."""
    return transformers.BertConfig(
        vocab_size=SIZE,
        hidden_size=WIDTH,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH,
        hidden_act="relu",  # its gradient costs a CPU nothing, that of gelu a fifth of a step
        max_position_embeddings=LONGEST,
        type_vocab_size=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=PAD,
        initializer_range=INITIAL,
        is_decoder=kind == "causal",
    )


def network(kind: Kind, seed: int, layers: int = LAYERS) -> Any:
    """A network with random weights."""
    torch.manual_seed(seed)
    sort = transformers.BertLMHeadModel if kind == "causal" else transformers.BertForMaskedLM
    return sort(config(kind, layers))


def depth(weights: Mapping[str, Any]) -> int:
    """Return the number of layers in some weights."""
    return sum(name.endswith("attention.self.query.weight") for name in weights)


def stacked(kind: Kind, seeds: Sequence[int], layers: int = LAYERS) -> Stack:
    """The weights of new networks, each name with the models in front [models, ...]."""
    parts = [dict(network(kind, 1000 + s, layers).named_parameters()) for s in seeds]
    return {name: torch.stack([p[name].detach() for p in parts]) for name in parts[0]}


def _linear(x: torch.Tensor, w: Stack, name: str) -> torch.Tensor:
    """[models, n, in] to [models, n, out], each model with its own matrix."""
    return torch.baddbmm(w[f"{name}.bias"][:, None], x, w[f"{name}.weight"].mT)


def _norm(x: torch.Tensor, w: Stack, name: str) -> torch.Tensor:
    plain = functional.layer_norm(x, (WIDTH,), eps=1e-12)
    return plain * w[f"{name}.weight"][:, None] + w[f"{name}.bias"][:, None]


def states(
    w: Stack, ids: torch.Tensor, causal: bool, places: torch.Tensor | None = None
) -> torch.Tensor:
    """The last states of all models for ids [models, rows, length].

    They are [models, rows * length, width], or with `places` [models, rows, k] those alone, and
    the last layer computes no others.
    """
    models, rows, length = ids.shape
    base = "bert.embeddings"
    index = ids.reshape(models, -1, 1).expand(-1, -1, WIDTH)
    x = torch.gather(w[f"{base}.word_embeddings.weight"], 1, index)
    place = w[f"{base}.position_embeddings.weight"][:, :length]
    place = place + w[f"{base}.token_type_embeddings.weight"]
    x = x + place[:, None].expand(-1, rows, -1, -1).reshape(models, -1, WIDTH)
    x = _norm(x, w, f"{base}.LayerNorm")
    layers = depth(w)
    for k in range(layers):
        queries = x
        if places is not None and k == layers - 1:
            at = places + length * torch.arange(rows, device=ids.device)[:, None]
            queries = torch.gather(x, 1, at.reshape(models, -1, 1).expand(-1, -1, WIDTH))
        x = _layer(w, f"bert.encoder.layer.{k}", x, queries, models * rows, causal)
    return x


def _layer(
    w: Stack, name: str, x: torch.Tensor, queries: torch.Tensor, rows: int, causal: bool
) -> torch.Tensor:
    """One layer: the states `queries` look at all states `x` of their row."""
    query, key, value = (
        _linear(inputs, w, f"{name}.attention.self.{part}")
        .view(rows, -1, HEADS, WIDTH // HEADS)
        .transpose(1, 2)
        for part, inputs in (("query", queries), ("key", x), ("value", x))
    )
    attended = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
    attended = attended.transpose(1, 2).reshape(queries.shape)
    attended = _linear(attended, w, f"{name}.attention.output.dense")
    x = _norm(attended + queries, w, f"{name}.attention.output.LayerNorm")
    inner = functional.relu(_linear(x, w, f"{name}.intermediate.dense"))
    inner = _linear(inner, w, f"{name}.output.dense")
    return _norm(inner + x, w, f"{name}.output.LayerNorm")


def logits(w: Stack, x: torch.Tensor) -> torch.Tensor:
    """Scores of all tokens for some states [models, n, width] to [models, n, vocabulary]."""
    head = "cls.predictions"
    x = functional.relu(_linear(x, w, f"{head}.transform.dense"))
    x = _norm(x, w, f"{head}.transform.LayerNorm")
    return torch.baddbmm(
        w[f"{head}.bias"][:, None], x, w["bert.embeddings.word_embeddings.weight"].mT
    )


def loss(w: Stack, ids: torch.Tensor, kind: Kind, draw: torch.Generator) -> torch.Tensor:
    """The sum over models of the mean loss of each on its own rows [models, rows, length]."""
    models, rows, length = ids.shape
    if kind == "causal":
        x = states(w, ids, True).view(models, rows, length, WIDTH)[:, :, :-1]
        scores = logits(w, x.reshape(models, -1, WIDTH))
        gold = ids[:, :, 1:].reshape(-1)
    else:
        visible, places = hide(ids, draw)
        scores = logits(w, states(w, visible, False, places))
        gold = torch.gather(ids, 2, places).reshape(-1)
    return functional.cross_entropy(scores.view(-1, SIZE), gold) * models


def hide(ids: torch.Tensor, draw: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows with some tokens hidden, replaced or left, and the places to predict [.., k]."""
    pair = torch.rand(1, generator=draw, device=ids.device) < TWO
    chance = torch.rand(ids.shape, generator=draw, device=ids.device)[:, :, 1:-1]
    often = torch.where(ids[:, :, 1:-1] >= CONTENT, OFTEN, 1.0)
    places = (chance.log() / often).topk(1 + int(pair), 2).indices + 1  # drawn with these weights
    way = torch.rand(places.shape, generator=draw, device=ids.device)
    substitutes = torch.randint(len(SPECIALS), SIZE, way.shape, generator=draw, device=ids.device)
    new = torch.where(way < 0.8, MASK, torch.where(way < 0.9, substitutes, ids.gather(2, places)))
    return ids.scatter(2, places, new), places


def train(
    plants: Sequence[Plant],
    kind: Kind,
    training: Training,
    *,
    texts: Sequence[Mapping[int, Rows]] | None = None,
    device: str = "cpu",
    checkpoint: Callable[[int, Mapping[str, torch.Tensor]], None] | None = None,
    begun: tuple[int, Mapping[str, torch.Tensor]] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Stack:
    """Train a model on the text of each plant (or on given texts), all at once.

    Every step draws its rows from its number, so that a training resumed from `begun` continues as
    if it had never stopped; `checkpoint` receives the weights and moments regularly. The rows of a
    step have one length, drawn by the share of tokens that all texts have at that length.
    """
    texts = texts or [corpus(p, training.sentences) for p in plants]
    lengths = [n for n in texts[0] if all(len(t.get(n, ())) for t in texts)]
    weight = np.array([sum(t[n].size for t in texts) for n in lengths], float)
    fresh = stacked(kind, [p.seed for p in plants], training.layers)
    w = {k: v.to(device) for k, v in fresh.items()}
    moments = {f"{m}/{k}": torch.zeros_like(v) for k, v in w.items() for m in ("first", "second")}
    start = 0
    if begun is not None:
        start = begun[0]
        for k, v in begun[1].items():
            (moments if "/" in k else w)[k].copy_(v)
    for v in w.values():
        v.requires_grad_()
    total = training.rows * float(np.average(lengths, weights=weight))  # tokens of a step and model
    for step in range(start, training.steps):
        rng = np.random.default_rng([81, step])
        length = int(rng.choice(lengths, p=weight / weight.sum()))
        size = max(8, round(total / length))
        ids = np.stack([t[length][rng.integers(len(t[length]), size=size)] for t in texts])
        draw = torch.Generator(device).manual_seed(step)
        losses = loss(w, torch.from_numpy(ids).to(device), kind, draw)
        grads = torch.autograd.grad(losses, list(w.values()))
        _step(w, moments, grads, step, training)
        progress(step + 1, training.steps)
        if checkpoint is not None:
            checkpoint(step + 1, {**{k: v.detach() for k, v in w.items()}, **moments})
    return {k: v.detach() for k, v in w.items()}


def _step(w: Stack, moments: Stack, grads: Sequence[Any], step: int, training: Training) -> None:
    """Muon for the layers' matrices, AdamW for the rest: neither mixes the stacked models."""
    warm = min(1.0, (step + 1) / 50)
    fade = warm * 0.5 * (1 + math.cos(math.pi * step / training.steps))
    named = dict(zip(w, grads, strict=True))
    inner = [k for k in w if ".layer." in k and w[k].ndim == 3]
    with torch.no_grad():
        outer = {k: g for k, g in named.items() if k not in inner}
        _adam(w, moments, outer, step, fade * training.rate)
        for shape in {w[k].shape for k in inner}:
            _muon(
                w,
                moments,
                {k: named[k] for k in inner if w[k].shape == shape},
                fade * training.matrix_rate,
            )


def _adam(w: Stack, moments: Stack, grads: Stack, step: int, rate: float) -> None:
    first = [moments[f"first/{k}"] for k in grads]
    second = [moments[f"second/{k}"] for k in grads]
    gradients = list(grads.values())
    torch._foreach_lerp_(first, gradients, 0.1)
    torch._foreach_mul_(second, 0.98)
    torch._foreach_addcmul_(second, gradients, gradients, 0.02)
    root = torch._foreach_div(second, 1 - 0.98 ** (step + 1))
    torch._foreach_sqrt_(root)
    torch._foreach_add_(root, 1e-8)
    torch._foreach_addcdiv_([w[k] for k in grads], first, root, -rate / (1 - 0.9 ** (step + 1)))


def _muon(w: Stack, moments: Stack, grads: Stack, rate: float) -> None:
    """Momentum with orthogonalised updates (Jordan et al. 2024): weak directions learn as fast."""
    buffers = [moments[f"first/{k}"] for k in grads]
    gradients = list(grads.values())
    torch._foreach_lerp_(buffers, gradients, 0.05)
    x = orthogonalise(torch.cat(torch._foreach_lerp(gradients, buffers, 0.95)), rounds=4)
    scale = rate * 0.2 * math.sqrt(max(x.shape[1:]))
    for k, update in zip(grads, x.split(len(w[next(iter(grads))])), strict=True):
        w[k].add_(update, alpha=-scale)


def orthogonalise(x: torch.Tensor, rounds: int = 5) -> torch.Tensor:
    """Newton-Schulz iteration towards the nearest semi-orthogonal matrices; [n, rows, columns]."""
    flip = x.shape[1] > x.shape[2]
    x = x.mT if flip else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(rounds):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.mT if flip else x


def model_of(weights: Mapping[str, torch.Tensor], kind: Kind, plant: Plant) -> TransformerModel:
    """A loaded model from one slice of a stack."""
    net = network(kind, 0, depth(weights))
    net.load_state_dict(dict(weights), strict=False)
    net.tie_weights()
    return wrap(net, tokenizer_of(plant.seed), kind, f"lab-{kind} {plant.name}")
