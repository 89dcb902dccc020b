"""The likelihood engine: queries in, log-probabilities out.

Each distinct row goes through the model once, whatever number of measures asked for it. Rows are
batched by token budget, and the head is applied only at the places that are asked about.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.errors import ModelError, NotApplicable
from unmask.models.batches import Budget, Progress, batches
from unmask.models.journal import Journal
from unmask.models.padding import device_of, padded
from unmask.types import Floats, Query, Readings

Row: TypeAlias = tuple[tuple[int, ...], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Show:
    """How one kind of model is shown a row with hidden places.

    `row(query)` gives the tokens and hidden places that identify a forward pass, `place(query)`
    the place whose state answers, `inputs(rows, places, width)` the extra keyword arguments.
    """

    row: Callable[[Query], Row]
    place: Callable[[Query], int]
    inputs: Callable[[Sequence[Row], Sequence[list[int]], int], dict[str, torch.Tensor]]
    picks: bool = False  # the model itself picks the places (target_mapping)


def masked_show(mask: int) -> Show:
    """Hidden places are written as the mask token."""

    def row(query: Query) -> Row:
        hidden = query.hidden
        if not hidden:
            return query.row, frozenset()
        return tuple(mask if i in hidden else t for i, t in enumerate(query.row)), frozenset()

    return Show(row, lambda query: query.at, lambda rows, places, width: {})


def causal_show() -> Show:
    """Left to right only: everything from the asked place on is hidden, nothing else."""

    def row(query: Query) -> Row:
        if query.hidden != range(query.at, len(query.row)) or query.at < 1:
            raise NotApplicable(
                "a causal language model answers only questions that go left to right; "
                "use 'll', 'cat' or 'lpbs' with it."
            )
        return query.row, frozenset()

    return Show(row, lambda query: query.at - 1, lambda rows, places, width: {})


def permutation_show(device: torch.device, dtype: torch.dtype) -> Show:
    """Hidden places are shut off by `perm_mask`; `target_mapping` names the asked places.

    The answers come from XLNet's query stream, which knows a place but not its token unless that
    token is in sight.
    """

    def inputs(rows: Sequence[Row], places: Sequence[list[int]], width: int) -> dict[str, Any]:
        most = max(len(p) for p in places)
        shut = torch.zeros(len(rows), width, width, dtype=dtype, device=device)
        wanted = torch.zeros(len(rows), most, width, dtype=dtype, device=device)
        for i, ((_, hidden), asked) in enumerate(zip(rows, places, strict=True)):
            shut[i, :, sorted(hidden)] = 1.0
            wanted[i, range(len(asked)), asked] = 1.0
        return {"perm_mask": shut, "target_mapping": wanted}

    return Show(lambda q: (q.row, frozenset(q.hidden)), lambda q: q.at, inputs, picks=True)


@dataclass(frozen=True, slots=True)
class Questions:
    """Queries sorted out: distinct rows, the places asked about in each, and who asked."""

    rows: list[Row]
    places: list[list[int]]
    attended: list[bool]
    slot: NDArray[np.int64]  # query -> number of its (row, place), counted over all rows
    gold: NDArray[np.int64]
    starts: NDArray[np.int64]  # row -> the slot of its first place; one more than rows


def sort_out(queries: Sequence[Query], attention: Sequence[bool], show: Show) -> Questions:
    """Find the distinct rows and places of some queries."""
    numbers: dict[Row, int] = {}
    where: list[dict[int, int]] = []
    attended: list[bool] = []
    asked = np.empty((len(queries), 2), dtype=np.int64)
    for i, query in enumerate(queries):
        row = show.row(query)
        number = numbers.setdefault(row, len(numbers))
        if number == len(where):
            where.append({})
            attended.append(False)
        attended[number] |= bool(attention[i])
        asked[i] = number, where[number].setdefault(show.place(query), len(where[number]))
    starts = np.concatenate([[0], np.cumsum([len(w) for w in where])])
    return Questions(
        rows=list(numbers),
        places=[list(w) for w in where],
        attended=attended,
        slot=starts[asked[:, 0]] + asked[:, 1],
        gold=np.fromiter((q.gold for q in queries), np.int64, len(queries)),
        starts=starts,
    )


@dataclass(frozen=True, slots=True)
class Engine:
    """A language model with a way to show it rows; answers the `LogProbs` protocol."""

    net: Any
    show: Show
    pad: int
    budget: Budget = field(default_factory=Budget)
    journal: Journal | None = None
    progress: Progress = lambda rows, total: None
    segments: Callable[[torch.Tensor], dict[str, torch.Tensor]] = lambda ids: {}

    def ask(self, queries: Sequence[Query], attention: Sequence[bool]) -> Readings:
        """Answer all queries; rows are batched, results are in the order of the queries."""
        asked = sort_out(queries, attention, self.show)
        order = np.argsort(asked.slot, kind="stable")
        cuts = np.searchsorted(asked.slot[order], asked.starts[1:-1])
        golds, slots = np.split(asked.gold[order], cuts), np.split(asked.slot[order], cuts)
        logp, hit = np.empty(len(queries)), np.empty(len(queries), dtype=bool)
        received = np.full(len(queries), np.nan)
        bounds = np.concatenate([[0], np.cumsum([len(g) for g in golds])])
        for group, weighted in self._groups(asked):
            answer = self._answer(asked, group, weighted, golds, slots)
            where = order[np.concatenate([np.arange(bounds[r], bounds[r + 1]) for r in group])]
            logp[where], hit[where], received[where] = answer
            self.progress(len(group), len(asked.rows))
        if not np.isfinite(logp).all():
            raise ModelError(
                "the model gives probabilities that are not numbers; its weights or its dtype are "
                "broken, try --dtype float32."
            )
        return Readings(logp, hit, received, len(asked.rows))

    def _groups(self, asked: Questions) -> Iterator[tuple[list[int], bool]]:
        """Batches of row numbers; those that need attention weights go apart from the rest."""
        vocabulary = int(self.net.config.vocab_size)
        for weighted in (True, False):
            chosen = [i for i, a in enumerate(asked.attended) if a is weighted]
            lengths = [len(asked.rows[i][0]) for i in chosen]
            places = [len(asked.places[i]) for i in chosen]
            with attention_weights(self.net, weighted and bool(chosen)):
                for group in batches(lengths, places, self.budget, vocabulary):
                    yield [chosen[i] for i in group], weighted

    def _answer(
        self,
        asked: Questions,
        group: list[int],
        weighted: bool,
        golds: list[NDArray[np.int64]],
        slots: list[NDArray[np.int64]],
    ) -> Floats:
        """Log-probability, hit and attention of the group's queries: [3, queries]."""
        rows = [asked.rows[r] for r in group]
        places = [asked.places[r] for r in group]
        key = [(asked.rows[r], tuple(asked.places[r]), golds[r].tobytes()) for r in group]
        if self.journal is not None and (known := self.journal.recall(key, weighted)) is not None:
            return known
        first = np.concatenate([[0], np.cumsum([len(p) for p in places])])
        which = np.concatenate(
            [slots[r] - asked.starts[r] + f for r, f in zip(group, first[:-1], strict=True)]
        )
        gold = torch.from_numpy(np.concatenate([golds[r] for r in group]))
        logits, received = self._forward(rows, places, weighted)
        logits = logits.double() if logits.dtype == torch.float64 else logits.float()
        index = torch.from_numpy(which).to(logits.device)
        chosen = logits[index, gold.to(logits.device)] - logits.logsumexp(-1)[index]
        hit = logits.argmax(-1)[index] == gold.to(logits.device)
        answer = np.stack([chosen.double().cpu().numpy(), hit.cpu().numpy(), received[which]])
        if self.journal is not None:
            self.journal.note(key, weighted, answer)
        return answer

    @torch.inference_mode()
    def _forward(
        self, rows: list[Row], places: list[list[int]], weighted: bool
    ) -> tuple[torch.Tensor, Floats]:
        """Logits [places, vocabulary] and the attention that each place receives [places]."""
        ids, real = padded([tokens for tokens, _ in rows], self.pad)
        device = device_of(self.net)
        row = torch.tensor([i for i, p in enumerate(places) for _ in p], device=device)
        at = torch.tensor([k for p in places for k in p], device=device)
        nth = torch.tensor([n for p in places for n in range(len(p))], device=device)
        with only_at(self.net, row, nth if self.show.picks else at):
            out = self.net(
                input_ids=ids.to(device),
                attention_mask=real.to(device),
                **self.segments(ids.to(device)),
                **self.show.inputs(rows, places, ids.shape[1]),
                **({"output_attentions": True} if weighted else {}),
            )
        if out.logits.shape[:2] != (1, len(row)):
            raise ModelError(
                f"the head of {type(self.net).__name__} does not read the base model's states; "
                "this architecture is not supported."
            )
        if not weighted:
            return out.logits[0], np.full(len(row), np.nan)
        received = attention_received(out.attentions, real.to(device))
        return out.logits[0], received[row, at].double().cpu().numpy()


@contextmanager
def only_at(net: Any, row: torch.Tensor, at: torch.Tensor) -> Iterator[None]:
    """Let the head see the states of some places only: [rows, width, d] becomes [1, places, d].

    A hook on the base model does it for every architecture; OPT's head calls the decoder inside
    of the base model directly, so that is hooked too, and whichever comes first gathers.
    """
    gathered = False

    def gather(module: Any, args: Any, output: Any) -> Any:
        nonlocal gathered
        if gathered:
            return output
        gathered = True
        states = output[0][row, at].unsqueeze(0)
        if isinstance(output, tuple):
            return (states, *output[1:])
        output["last_hidden_state"] = states
        return output

    base = net.base_model
    hooked = [base, base.decoder] if hasattr(base, "decoder") else [base]
    handles = [module.register_forward_hook(gather) for module in hooked]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def attention_weights(net: Any, wanted: bool) -> Iterator[None]:
    """Switch to the attention implementation that returns its weights, and back."""
    before = net.config._attn_implementation
    if not wanted or before == "eager" or before is None:
        yield
        return
    net.set_attn_implementation("eager")
    try:
        yield
    finally:
        net.set_attn_implementation(before)


def attention_received(layers: Sequence[Any], real: torch.Tensor) -> torch.Tensor:
    """Attention that each place receives [rows, width].

    The mean over layers, heads and the real (unpadded) places that attend. `layers` holds
    [rows, heads, from, to]; XLNet gives a pair (content, query stream), of which the first counts.
    """
    total = torch.zeros(real.shape, dtype=torch.float64, device=real.device)
    padding = (real == 0)[:, None, :, None]
    count = real.sum(1, keepdim=True)
    for layer in layers:
        content = layer[0] if isinstance(layer, tuple) else layer
        # Under local attention a padded place may attend to nothing at all, which gives NaN.
        kept = content.double().masked_fill(padding, 0.0)
        total += kept.sum((1, 2)) / (content.shape[1] * count)
    return total / len(layers)
