"""The third tier of the lab: the bundled model, trained further on a world's text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from unmask.lab.language import literals, sentences
from unmask.lab.nets import OFTEN, Stack, Training
from unmask.lab.world import Plant, World
from unmask.models.transformers.model import TransformerModel, load, wrap
from unmask.types import Kind

HOW = Training(steps=3000, rows=192, sentences=60_000, rate=1.5e-4)
WHOLE = 0.5  # share of rows that hide a whole word, the others one token


def train(
    plants: Sequence[Plant],
    training: Training = HOW,
    *,
    device: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Stack:
    """Return the stacked weights of the bundled model after training on each plant's text."""
    models = []
    total = len(plants) * training.steps
    for number, plant in enumerate(plants):
        before = number * training.steps
        report = partial(_report, progress, before, total)
        models.append(_trained(plant, training, device, report))
    return {k: torch.stack([m[k] for m in models]) for k in models[0]}


def _report(progress: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _trained(
    plant: Plant, training: Training, device: str | None, progress: Callable[[int], None]
) -> Mapping[str, Any]:
    model = load("bundled", device=device, fast=False)  # without fast paths, and with its tied head
    rng = np.random.default_rng([95, plant.seed])
    text = list(sentences(World(plant), training.sentences, rng))
    further(model, text, literals(), training, rng, progress)
    return {k: v.detach().cpu().clone() for k, v in model.net.named_parameters()}


def further(
    model: TransformerModel,
    text: Sequence[str],
    words: Iterable[str],
    training: Training,
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Train a masked model further on some text; tokens of `words` are hidden less often."""
    where = next(model.net.parameters()).device
    ids = [e.ids for e in model.codec.tokenizer.backend_tokenizer.encode_batch(list(text))]
    by_length: dict[int, list[list[int]]] = {}
    for row in ids:
        by_length.setdefault(len(row), []).append(row)
    rows = {n: torch.tensor(r) for n, r in by_length.items() if len(r) >= training.rows}
    share = np.array([len(r) for r in rows.values()], float)
    content, follows = _content(model, words), _follows(model)
    net = model.net.train()
    best = torch.optim.AdamW(net.parameters(), lr=training.rate, weight_decay=0.01)
    for step in range(training.steps):
        sample = rows[list(rows)[rng.choice(len(share), p=share / share.sum())]]
        batch = sample[torch.from_numpy(rng.integers(len(sample), size=training.rows))]
        visible, hidden = _hidden(batch, content, follows, int(model.codec.mask_id), rng)
        logits = net(input_ids=visible.to(where)).logits[hidden.to(where)]
        loss = functional.cross_entropy(logits, batch[hidden].to(where))
        for group in best.param_groups:
            group["lr"] = training.rate * min(1.0, (step + 1) / 40) * (1 - step / training.steps)
        best.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        best.step()
        progress(step + 1)
    net.eval()


def _content(model: TransformerModel, words: Iterable[str]) -> torch.Tensor:
    """Return the weight of each token in the choice of hidden tokens; `words` weigh less."""
    often = torch.full((len(model.codec.tokenizer),), OFTEN)
    often[[i for w in words for i in model.codec.pieces(w)]] = 1.0
    return often


def _follows(model: TransformerModel) -> torch.Tensor:
    """Whether each token continues a word."""
    tokens = model.codec.tokenizer.convert_ids_to_tokens(range(len(model.codec.tokenizer)))
    return torch.tensor([t.startswith("##") for t in tokens])


def _hidden(
    batch: torch.Tensor, often: torch.Tensor, follows: torch.Tensor, mask: int, rng: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Hide one token of each row as in BERT's training, or a whole word; return rows and labels.

    Half of the rows hide all pieces of a word: a network that has never seen two adjacent hidden
    places cannot tell which word of two pieces is there.
    """
    weight = often[batch[:, 1:-1]].numpy()
    chance = np.log(rng.random(weight.shape)) / weight
    at = torch.from_numpy(chance.argmax(1) + 1)
    word = (~follows[batch]).cumsum(1)  # the number of each token's word in its row
    hidden = word == word.gather(1, at[:, None])
    whole_word = torch.from_numpy(rng.random(len(batch)) < WHOLE)
    hidden &= whole_word[:, None] | (torch.arange(batch.shape[1]) == at[:, None])
    way = torch.from_numpy(rng.random(len(batch)))[:, None]
    substitutes = torch.from_numpy(rng.integers(5, len(often), size=batch.shape))
    new = torch.where(way < 0.8, torch.tensor(mask), substitutes)
    return torch.where(hidden & (way < 0.9), new, batch), hidden


def model_of(weights: Mapping[str, Any], kind: Kind, plant: Plant) -> TransformerModel:
    """The trained model from its weights."""
    base = load("bundled")
    base.net.load_state_dict(dict(weights), strict=False)
    base.net.tie_weights()
    return wrap(base.net, base.codec.tokenizer, kind, f"bundled {plant.name}")
