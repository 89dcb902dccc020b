"""The likelihood engine: questions in, log-probabilities out.

Each distinct row goes through the model once, whatever the number of measures that query it. Rows
are batched by token budget, and the head is applied only at the queried places. While a GPU works
on one batch, the next one is prepared.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from unmask.errors import ModelError
from unmask.models.batches import Budget, Progress
from unmask.models.fast.direct_layers import PassInputs
from unmask.models.fast.pass_queue import Passes, StartedPass
from unmask.models.fast.paths import FastPaths
from unmask.models.output_cache import CachedOutputs
from unmask.models.prefix_trees import grown, padded_rows
from unmask.models.transformers.hooks import (
    attention_received,
    attention_weights,
    keeps_nothing,
    matmul_precision,
    no_search_for_padding,
    only_at,
    own_precision,
    padding_mask,
)
from unmask.models.transformers.weights import device_of, running
from unmask.models.unique_rows import MaskingRule, UniqueRows, find_unique_rows
from unmask.queries import (
    Ints,
    Query,
    Readings,
    RowQueries,
    ranges,
    readings,
    row_queries_of,
)
from unmask.types import Floats


@dataclass(frozen=True, slots=True)
class PendingValues:
    """Results that are copied from a GPU asynchronously, in the order of the passes."""

    values: torch.Tensor
    event: Any = None

    @classmethod
    def of(cls, values: torch.Tensor) -> "PendingValues":
        """Start the copy of values from a device."""
        if values.device.type != "cuda":
            return cls(values.cpu())
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(values.device))
        return cls(host, event)

    def done(self) -> bool:
        """Whether the copy is complete."""
        return self.event is None or bool(self.event.query())

    def fetch(self) -> Floats:
        """Wait for the copy, and return the numbers."""
        if self.event is not None:
            self.event.synchronize()
        numbers: Floats = self.values.numpy()
        return numbers


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward pass: the rows of a batch, and what is read from it.

    `ids` and `real` [rows, width]; `row` and `at` [slots]: where the head reads; `nth` [slots]:
    the number of a slot within its row; `index` and `gold` [questions]: the slot and token of each
    question; `questions`: their numbers. `each` is the number of slots per row if all rows have the
    same, else 0. For trees, `places` are the positions in the sentences and `sees` is the mask.
    """

    rows: Ints
    questions: Ints
    padded: bool
    each: int
    ids: torch.Tensor
    real: torch.Tensor
    row: torch.Tensor
    at: torch.Tensor
    nth: torch.Tensor
    index: torch.Tensor
    gold: torch.Tensor
    places: torch.Tensor | None = None
    sees: torch.Tensor | None = None


def prepare_trees(unique: UniqueRows, group: Ints, pad: int, device: torch.device) -> Pass:
    """Build the tensors of a batch of trees; a place that several rows share is one slot."""
    assert unique.trees is not None
    lengths = unique.lengths[group]
    tokens = unique.tokens[ranges(unique.starts[group], lengths)]
    rows = padded_rows(tokens, np.concatenate([[0], np.cumsum(lengths)]))
    trees = grown(rows, lengths, unique.trees.number[group], pad)
    counts = unique.slots[group + 1] - unique.slots[group]
    row = np.repeat(np.arange(len(group)), counts)
    node = trees.node[row, unique.places[ranges(unique.slots[group], counts)]]
    width = trees.ids.shape[1]
    where, slot = np.unique(trees.tree[row] * width + node, return_inverse=True)
    numbers = unique.of(group)
    before = np.cumsum(counts) - counts
    shift = np.repeat(before - unique.slots[group], unique.first[group + 1] - unique.first[group])
    arrays = (
        trees.ids,
        np.ones_like(trees.ids),
        where // width,
        where % width,
        np.zeros(len(where), np.int64),
        slot[unique.slot[numbers] + shift],
        unique.gold[numbers],
        trees.places,
    )
    *sent, places = _sent(arrays, device)
    sees = torch.from_numpy(trees.sees)[:, None]
    sees = sees.pin_memory() if device.type == "cuda" else sees
    sees = sees.to(device, non_blocking=True)
    return replace(Pass(group, numbers, True, 0, *sent), places=places, sees=sees)


def prepare(unique: UniqueRows, group: Ints, pad: int, device: torch.device) -> Pass:
    """Build the tensors of a batch by indexing; they are copied to a GPU while it works."""
    lengths = unique.lengths[group]
    real = np.arange(int(lengths.max())) < lengths[:, None]
    ids = np.full(real.shape, pad, np.int64)
    ids[real] = unique.tokens[ranges(unique.starts[group], lengths)]
    counts = unique.slots[group + 1] - unique.slots[group]
    before = np.cumsum(counts) - counts
    numbers = unique.of(group)
    shift = np.repeat(before - unique.slots[group], unique.first[group + 1] - unique.first[group])
    arrays = (
        ids,
        real.astype(np.int64),
        np.repeat(np.arange(len(group)), counts),
        unique.places[ranges(unique.slots[group], counts)],
        ranges(np.zeros(len(group), np.int64), counts),
        unique.slot[numbers] + shift,
        unique.gold[numbers],
    )
    per_row = int(counts[0]) if (counts == counts[0]).all() else 0
    return Pass(group, numbers, not real.all(), per_row, *_sent(arrays, device))


def _sent(arrays: Sequence[Ints], device: torch.device) -> list[torch.Tensor]:
    """Copy arrays to a device as tensors; to a GPU in one asynchronous transfer."""
    if device.type != "cuda":
        return [torch.from_numpy(a).to(device) for a in arrays]
    sizes = [a.size for a in arrays]
    buffer = torch.empty(sum(sizes), dtype=torch.int64, pin_memory=True)
    np.concatenate([a.reshape(-1) for a in arrays], out=buffer.numpy())
    parts = buffer.to(device, non_blocking=True).split(sizes)
    return [part.view(a.shape) for part, a in zip(parts, arrays, strict=True)]


# ---------------------------------------------------------------- readings other than log p


def rank(
    logits: torch.Tensor, total: torch.Tensor, index: torch.Tensor, gold: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return minus the log rank of the token, 1 for the likeliest; ties share the better rank."""
    gold_logit = logits[index, gold]
    chunks = zip(index.split(RANKED), gold_logit.split(RANKED), strict=True)
    above = torch.cat([(logits[i] > c[:, None]).sum(-1) for i, c in chunks])
    return -torch.log1p(above.double()), torch.full_like(gold_logit, torch.nan)


def gap(
    logits: torch.Tensor, total: torch.Tensor, index: torch.Tensor, gold: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ln p of the token minus ln p of the likeliest one."""
    gold_logit = logits[index, gold]
    return gold_logit - logits.amax(-1)[index], torch.full_like(gold_logit, torch.nan)


def top(
    logits: torch.Tensor, total: torch.Tensor, index: torch.Tensor, gold: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ln p of the token of rank `gold` from 0, and its id in place of the attention."""
    best = logits.topk(int(gold.max()) + 1, dim=-1)
    return best.values[index, gold] - total[index], best.indices[index, gold]


RANKED = 256  # questions whose logits are ranked at a time
READINGS = {"rank": rank, "gap": gap, "top": top}


@dataclass(frozen=True, slots=True)
class Engine:
    """A language model with a rule for presenting rows; implements the `LogProbs` protocol.

    `reading` is what is computed from the logits: log-probabilities, or one of READINGS.
    """

    net: Any
    show: MaskingRule
    pad: int
    budget: Budget = field(default_factory=Budget)
    answers: CachedOutputs | None = None
    progress: Progress = lambda rows, total: None
    segments: Callable[[torch.Tensor], dict[str, torch.Tensor]] = lambda ids: {}
    precision: str = "float32"
    fast: FastPaths = field(default_factory=FastPaths)
    reading: str = "logp"

    @property
    def products(self) -> str:
        """A note on how its layers multiply, empty if as usual."""
        return self.fast.split.record

    def ask(self, asks: Sequence[RowQueries | Query], attention: Sequence[bool]) -> Readings:
        """Answer all questions; rows are batched, results are in the order of the questions."""
        return self.begin(asks, attention)()

    def begin(
        self, asks: Sequence[RowQueries | Query], attention: Sequence[bool]
    ) -> Callable[[], Readings]:
        """Queue all questions, and return a function that waits for the answers.

        A few batches are queued on a GPU, so that it need not wait for Python.
        """
        return self.begin_rows(self.rows(row_queries_of(asks), attention))

    @property
    def shows(self) -> str:
        """All that determines its rows besides the questions."""
        return self.show.decides

    def rows(self, asks: Sequence[RowQueries], attention: Sequence[bool]) -> UniqueRows:
        """The distinct rows of some questions."""
        return find_unique_rows(asks, attention, self.show)

    def begin_rows(self, unique: UniqueRows) -> Callable[[], Readings]:
        """Queue the questions about some rows, and return a function that waits for the answers."""
        values = np.full((3, len(unique.gold)), np.nan)
        vocabulary = int(self.net.config.vocab_size)
        if len(unique.gold) and unique.gold.max() >= vocabulary:
            raise ModelError(
                f"a plan asks for the token {unique.gold.max()}, and the model's vocabulary has "
                f"{vocabulary:,}; ask for ids of its tokenizer."
            )
        self.progress(0, unique.count)
        finish = self.fast.queue.add(self._passes(unique, values))

        def answers() -> Readings:
            finish()
            return readings(values, unique.count)

        return answers

    def tend(self) -> None:
        """Keep the device busy; to be called regularly during longer work between questions."""
        self.fast.queue.tend()

    def start_all(self) -> None:
        """Start all queued passes, so that only the answers remain to be waited for."""
        self.fast.queue.start_all()

    def _passes(self, unique: UniqueRows, values: Floats) -> Passes:
        """Yield passes as they are started; cached outputs need none."""
        vocabulary = int(self.net.config.vocab_size)
        for group, weighted in unique.jobs(self.budget, vocabulary):
            if (numbers := self._known(unique, group, weighted)) is not None:
                values[:, unique.of(group)] = numbers
                self.progress(len(group), unique.count)
                continue
            for batch, answer in self._started(unique, group, weighted):
                fetch = partial(self._fetch, unique, batch, answer, weighted, values)
                yield StartedPass(answer.done, fetch)

    def _known(self, unique: UniqueRows, group: Ints, weighted: bool) -> Floats | None:
        return None if self.answers is None else self.answers.recall(unique, group, weighted)

    def _started(
        self, unique: UniqueRows, group: Ints, weighted: bool
    ) -> Iterator[tuple[Pass, "PendingValues"]]:
        """Start a batch; if it does not fit into memory, its halves one after the other."""
        in_trees = unique.trees is not None and not weighted and not unique.trees.alone[group].all()
        fill = prepare_trees if in_trees else prepare
        batch = fill(unique, group, self.pad, device_of(self.net))
        try:
            with (
                matmul_precision(self.precision),
                self.fast.split.used(),
                self.fast.attention.used(),
                self.fast.steps.used(),
                attention_weights(self.net, weighted),
            ):
                answer = PendingValues.of(self._outputs(unique, batch, weighted))
            yield batch, answer
            return
        except torch.OutOfMemoryError as error:
            if len(group) == 1:
                raise ModelError(
                    f"a row of {batch.ids.shape[1]} tokens does not fit into the device's memory; "
                    "use a smaller model or --device cpu."
                ) from error
        del batch
        torch.cuda.empty_cache()
        for half in np.array_split(group, 2):
            yield from self._started(unique, half, weighted)

    def _fetch(
        self,
        unique: UniqueRows,
        batch: Pass,
        answer: "PendingValues",
        weighted: bool,
        values: Floats,
    ) -> None:
        numbers = answer.fetch()
        if self.answers is not None:
            self.answers.note(unique, batch.rows, weighted, numbers)
        self.progress(len(batch.rows), unique.count)
        values[:, batch.questions] = numbers

    def outputs(self, unique: UniqueRows, weighted: bool) -> Floats:
        """Log-probability, hit and attention of all questions of one batch: [3, questions]."""
        values = np.full((3, len(unique.gold)), np.nan)
        for batch, answer in self._started(unique, np.arange(unique.count), weighted):
            values[:, batch.questions] = answer.fetch()
        return values

    @torch.inference_mode()
    def _outputs(self, unique: UniqueRows, batch: Pass, weighted: bool) -> torch.Tensor:
        """Log-probability, hit and attention of a batch's questions: [3, questions]."""
        logits, received = self._forward(unique, batch, weighted)
        logits = logits.double() if logits.dtype == torch.float64 else logits.float()
        index, gold = batch.index.to(logits.device), batch.gold.to(logits.device)
        most, gold_logit = logits.amax(-1, keepdim=True), logits[index, gold]
        # Only a token likelier than all others is a hit: a network without weights ties them all.
        unique_most = (logits == most).sum(-1) == 1
        hit = (gold_logit == most[index, 0]) & unique_most[index]
        # `logsumexp` without computing the maximum a second time.
        total = (logits - most).exp_().sum(-1).log_().add_(most[:, 0])
        values = gold_logit - total[index]
        weights = received.to(logits.device)[index]
        if self.reading in READINGS:
            values, weights = READINGS[self.reading](logits, total, index, gold)
        return torch.stack([values.double(), hit.double(), weights.double()])

    def _forward(
        self, unique: UniqueRows, batch: Pass, weighted: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits [slots, vocabulary] and the attention that each slot's place receives [slots]."""
        picked = unique.hidden is not None
        with (
            running(self.net),
            own_precision(self.net),
            no_search_for_padding(self.net),
            self._gathered(batch, picked, weighted),
        ):
            output = self.net(
                input_ids=batch.ids,
                attention_mask=self._mask(batch, weighted),
                **({} if batch.places is None else {"position_ids": batch.places}),
                **self.segments(batch.ids),
                **(self._permutation(unique, batch) if picked else {}),
                **({"output_attentions": True} if weighted else {}),
                **keeps_nothing(type(self.net).forward),
                return_dict=True,  # whatever the config says
            )
            shape = output.logits.shape[:2]
        if shape != (1, len(batch.row)):
            raise ModelError(
                f"the head of {type(self.net).__name__} does not read the base model's states; "
                "this architecture is not supported."
            )
        if not weighted:
            return output.logits[0], torch.full_like(batch.row, torch.nan, dtype=torch.float64)
        return output.logits[0], attention_received(output.attentions, batch.real)[
            batch.row, batch.at
        ]

    def _mask(self, batch: Pass, weighted: bool) -> torch.Tensor | None:
        """Return the attention mask of a batch, or None if the network's default is right."""
        if batch.sees is not None:
            return batch.sees
        # Without padding no mask is needed, and attention is faster. Padding follows all queried
        # places, where a causal network does not look. With a mask, transformers would check
        # whether it is needed, and Python would wait for the GPU.
        unseen = self.show.trees and not weighted
        if unseen or not batch.padded:
            return None
        return padding_mask(self.net, batch.real, self.fast.gathers)

    def _gathered(self, batch: Pass, picked: bool, weighted: bool) -> AbstractContextManager[None]:
        """Return a context in which the head sees the states of the slots only."""
        encoder = self.fast.encoder
        if encoder is None or weighted or not encoder.as_made:
            return only_at(
                self.net, batch.row, batch.nth if picked else batch.at, self.fast.gathers
            )
        real = batch.real.bool()[:, None, None] if batch.padded else None
        return encoder.direct(PassInputs(batch.ids, batch.row, batch.at, real, batch.each))

    def _permutation(self, unique: UniqueRows, batch: Pass) -> dict[str, torch.Tensor]:
        """XLNet's inputs: hidden places shut off by `perm_mask`, `target_mapping` for the slots.

        The answers come from the query stream, which knows a place but not its token unless that
        token is in sight.
        """
        assert unique.hidden is not None
        rows, width = batch.ids.shape
        factory = {"dtype": next(self.net.parameters()).dtype, "device": batch.ids.device}
        shut = torch.zeros(rows, width, width, **factory)
        hidden = [unique.hidden[r] for r in batch.rows.tolist()]
        row_index = np.repeat(np.arange(rows), [len(places) for places in hidden])
        where = np.array([place for places in hidden for place in places], np.int64)
        row, place = _sent((row_index, where), batch.ids.device)
        shut[row, :, place] = 1.0
        most = int(batch.nth.max()) + 1
        targets = torch.zeros(rows, most, width, **factory)
        targets[batch.row, batch.nth, batch.at] = 1.0
        return {"perm_mask": shut, "target_mapping": targets}
