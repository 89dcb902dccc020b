"""The next-sentence head: the probability that a sentence follows a context."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from unmask.errors import ModelError
from unmask.models.batches import Budget, Progress, batches, padded
from unmask.models.transformers.weights import device_of, running
from unmask.queries import Query, Readings, RowQueries, row_queries_of


@dataclass(frozen=True, slots=True)
class NextSentence:
    """A network with a next-sentence head; implements the `LogProbs` protocol.

    A query's row holds both segments, the second from place `at` on; `gold` is a class of the
    head. Equal rows run once.
    """

    net: Any
    pad: int
    budget: Budget = field(default_factory=Budget)
    progress: Progress = lambda rows, total: None

    def ask(self, asks: Sequence[RowQueries | Query], attention: Sequence[bool]) -> Readings:
        """Answer all questions, in their order."""
        queries = [q for a in row_queries_of(asks) for q in a.queries]
        numbers: dict[tuple[tuple[int, ...], int], int] = {}
        index = np.array(
            [numbers.setdefault((q.row, q.at), len(numbers)) for q in queries], np.int64
        )
        rows = list(numbers)
        logp = np.empty((len(rows), 2))
        lengths = [len(ids) for ids, _ in rows]
        self.progress(0, len(rows))
        for group in batches(lengths, [1] * len(rows), self.budget, 2):
            logp[group] = self._forward([rows[i] for i in group])
            self.progress(len(group), len(rows))
        if not np.isfinite(logp).all():
            raise ModelError(
                "the next-sentence head gives probabilities that are not numbers; try --dtype "
                "float32."
            )
        gold = np.array([q.gold for q in queries], np.int64)
        gold_logp = logp[index, gold]
        hit = gold_logp > logp[index, 1 - gold]
        return Readings(gold_logp, hit, np.full(len(queries), np.nan), len(rows))

    @torch.inference_mode()
    def _forward(self, rows: Sequence[tuple[tuple[int, ...], int]]) -> Any:
        """Log-probabilities of the two classes [rows, 2]."""
        ids, real = map(torch.from_numpy, padded([tokens for tokens, _ in rows], self.pad))
        types = torch.zeros_like(ids)
        for i, (tokens, second) in enumerate(rows):
            types[i, second : len(tokens)] = 1
        device = device_of(self.net)
        with running(self.net):
            output = self.net(
                input_ids=ids.to(device),
                attention_mask=real.to(device),
                token_type_ids=types.to(device),
                return_dict=True,
            )
        return output.logits.float().log_softmax(-1).double().cpu().numpy()
