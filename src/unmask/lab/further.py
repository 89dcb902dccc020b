"""The bundled model trained further on a world's text: the third tier."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from unmask.lab.language import sentences
from unmask.lab.nets import Stack, title
from unmask.lab.world import Plant, World
from unmask.models.load import Model, load, wrap
from unmask.types import Kind

STEPS, ROWS, RATE, SENTENCES = 400, 48, 2e-4, 12_000


def train(
    plants: Sequence[Plant],
    *,
    steps: int = STEPS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Stack:
    """The weights of the bundled model after each plant's text, stacked."""
    made = []
    for number, plant in enumerate(plants):
        made.append(
            _trained(plant, steps, lambda d, k=number: progress(k * steps + d, len(plants) * steps))  # type: ignore[misc]
        )
    return {k: torch.stack([m[k] for m in made]) for k in made[0]}


def _trained(plant: Plant, steps: int, progress: Callable[[int], None]) -> Mapping[str, Any]:
    model = load("bundled")
    rng = np.random.default_rng([95, plant.seed])
    text = list(sentences(World(plant), SENTENCES, rng))
    ids = [e.ids for e in model.codec.tokenizer.backend_tokenizer.encode_batch(text)]
    by_length: dict[int, list[list[int]]] = {}
    for row in ids:
        by_length.setdefault(len(row), []).append(row)
    rows = {n: torch.tensor(r) for n, r in by_length.items() if len(r) >= ROWS}
    share = np.array([len(r) for r in rows.values()], float)
    net = model.net.train()
    best = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=0.01)
    for step in range(steps):
        of = rows[list(rows)[rng.choice(len(share), p=share / share.sum())]]
        batch = of[torch.from_numpy(rng.integers(len(of), size=ROWS))]
        shown, at = _hidden(batch, int(model.codec.mask_id), len(model.codec.tokenizer), rng)
        found = net(input_ids=shown).logits[torch.arange(ROWS), at]
        loss = functional.cross_entropy(found, batch[torch.arange(ROWS), at])
        for group in best.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 40) * (1 - step / steps)
        best.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        best.step()
        progress(step + 1)
    return {k: v.detach().clone() for k, v in net.named_parameters()}


def _hidden(batch: Any, mask: int, size: int, rng: Any) -> tuple[Any, Any]:
    """One token of each row hidden, replaced or left, as in BERT's training."""
    at = torch.from_numpy(rng.integers(1, batch.shape[1] - 1, size=len(batch)))
    way = rng.random(len(batch))
    rows = torch.arange(len(batch))
    other = torch.from_numpy(rng.integers(5, size, size=len(batch)))
    new = torch.where(torch.from_numpy(way < 0.8), torch.tensor(mask), other)
    new = torch.where(torch.from_numpy(way >= 0.9), batch[rows, at], new)
    shown = batch.clone()
    shown[rows, at] = new
    return shown, at


def model_of(weights: Mapping[str, Any], kind: Kind, plant: Plant) -> Model:
    """The trained model from its weights."""
    base = load("bundled")
    base.net.load_state_dict(dict(weights), strict=False)
    base.net.tie_weights()
    return wrap(base.net, base.codec.tokenizer, kind, title(kind, plant))
