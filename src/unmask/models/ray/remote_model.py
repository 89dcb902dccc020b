"""A model on the workers of a cluster: its batches run there, everything else here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.models.batches import Budget, Progress
from unmask.models.output_cache import CachedOutputs, outputs_of
from unmask.models.protocol import Abilities
from unmask.models.ray.connect import started
from unmask.models.ray.workers import Workers
from unmask.models.sentence_vectors import Batch, SentenceVectors
from unmask.models.transformers.files import without_weights
from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.models.transformers.vectors import network_abilities
from unmask.models.unique_rows import MaskingRule, UniqueRows, find_unique_rows, masking_rule
from unmask.queries import Query, Readings, RowQueries, readings, row_queries_of
from unmask.support.store import Store
from unmask.types import Floats, Kind


@dataclass(frozen=True, slots=True)
class RemoteEngine:
    """The likelihood engine with its batches on workers: the same batches, so the same numbers."""

    workers: Workers
    dtype: str
    stream: str
    show: MaskingRule
    vocabulary: int
    budget: Budget
    answers: CachedOutputs | None
    progress: Progress

    def ask(self, asks: Sequence[RowQueries | Query], attention: Sequence[bool]) -> Readings:
        """Answer all questions, in their order."""
        if self.stream == "next":
            answers: Readings = self.workers.first("ask", self.dtype, self.stream, asks, attention)
            return answers
        unique = find_unique_rows(row_queries_of(asks), attention, self.show)
        values = np.full((3, len(unique.gold)), np.nan)
        self.progress(0, unique.count)
        jobs_of_rows = unique.jobs(self.budget, self.vocabulary)
        pending = [job for job in jobs_of_rows if not self._recalled(unique, *job, values)]
        jobs = [(self.dtype, self.stream, unique.part(g), weighted) for g, weighted in pending]
        for number, numbers in self.workers.scattered("answer", jobs):
            group, weighted = pending[number]
            values[:, unique.of(group)] = numbers
            if self.answers is not None:
                self.answers.note(unique, group, weighted, numbers)
            self.progress(len(group), unique.count)
        return readings(values, unique.count)

    def _recalled(self, unique: UniqueRows, group: Any, weighted: bool, values: Floats) -> bool:
        numbers = None if self.answers is None else self.answers.recall(unique, group, weighted)
        if numbers is None:
            return False
        values[:, unique.of(group)] = numbers
        self.progress(len(group), unique.count)
        return True


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A transformer on workers, with the interface of a model."""

    name: str
    kind: Kind
    codec: TokenizerCodec
    config: Any
    workers: Workers
    precision: str
    provenance: Mapping[str, Any]
    limit: int
    remarks: tuple[str, ...] = ()
    prefixes: bool = False  # rows with a common beginning are queried together

    @property
    def family(self) -> str:
        """The architecture's short name."""
        return str(self.config.model_type)

    def finer(self) -> list["RemoteModel"]:
        """Return the model in float32 on the same workers: there may be no room for more."""
        return [replace(self, precision="float32", **self.workers.facts("float32"))]

    def close(self) -> None:
        """Stop the workers."""
        self.workers.close()

    @property
    def abilities(self) -> Abilities:
        """The abilities of the network on the workers."""
        arguments = (self.kind, self.config, self.limit, self.precision)
        return network_abilities(*arguments, remarks=self.remarks)

    def budget(self, tokens: int | str) -> Budget:
        """Return the limits of one forward pass on a worker."""
        budget: Budget = self.workers.first("budget", self.precision, tokens)
        return budget

    def engine(
        self,
        stream: str = "own",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> RemoteEngine:
        """Return the likelihood engine."""
        arguments = (self.kind, stream, self.codec, self.prefixes)
        show = MaskingRule() if stream == "next" else masking_rule(*arguments)
        answers = outputs_of(store, self.provenance, stream)
        size = int(self.config.get_text_config().vocab_size)
        fields = (self.workers, self.precision, stream, show, size)
        return RemoteEngine(*fields, budget or Budget(), answers, progress)

    def vectors(self, **settings: Any) -> SentenceVectors:
        """Return the embedding engine; its batches run on workers."""

        def compute(parts: Sequence[Batch]) -> Iterator[Floats]:
            return self.workers.map("pooled", [(self.precision, *part) for part in parts])

        return SentenceVectors.of(self, compute, **settings)


def load_remote(
    name: str,
    *,
    dtype: str = "float32",
    device: str | None = None,
    address: str | None = None,
    workers: int | None = None,
    n_sharing: int = 1,
) -> RemoteModel:
    """Load a transformer on workers of a Ray cluster that `n_sharing` models share."""
    checkpoint = without_weights(name)
    codec = TokenizerCodec(checkpoint.tokenizer(), checkpoint.kind, name)
    place = checkpoint.source if Path(checkpoint.source).exists() else name
    group = Workers(name, place, dtype, device, started(address), workers, n_sharing)
    return RemoteModel(
        name, checkpoint.kind, codec, checkpoint.config, group, dtype, **group.facts(dtype)
    )
