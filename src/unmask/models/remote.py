"""A model that workers of a cluster hold: its batches run there, all else happens here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmask.asking import Ask, Query, Readings, asks_of
from unmask.models.answers import Answers, Store, VectorAnswers
from unmask.models.batches import Budget, Progress
from unmask.models.cluster import Workers
from unmask.models.codec import TokenizerCodec
from unmask.models.logprobs import readings
from unmask.models.questions import (
    Questions,
    Show,
    causal_show,
    masked_show,
    permutation_show,
    sort_out,
)
from unmask.models.vectors import Batch, TransformerVectors
from unmask.options import POOLS
from unmask.types import Floats, Kind


@dataclass(frozen=True, slots=True)
class RemoteEngine:
    """The likelihood engine with its batches on workers: the same batches, so the same numbers."""

    workers: Workers
    stream: str
    show: Show
    vocabulary: int
    budget: Budget
    answers: Answers | None
    progress: Progress

    def ask(self, asks: Sequence[Ask | Query], attention: Sequence[bool]) -> Readings:
        """Answer all questions, in their order."""
        if self.stream == "next":
            found: Readings = self.workers.one("ask", self.stream, asks, attention)
            return found
        asked = sort_out(asks_of(asks), attention, self.show)
        out = np.full((3, len(asked.gold)), np.nan)
        self.progress(0, asked.count)
        left = [job for job in self._groups(asked) if not self._recalled(asked, *job, out)]
        jobs = [(self.stream, asked.part(group), weighted) for group, weighted in left]
        for number, found_ in self.workers.scattered("answer", jobs):
            group, weighted = left[number]
            out[:, asked.of(group)] = found_
            if self.answers is not None:
                self.answers.note(asked, group, weighted, found_)
            self.progress(len(group), asked.count)
        return readings(out, asked.count)

    def _groups(self, asked: Questions) -> Iterator[tuple[Any, bool]]:
        for weighted in (True, False):
            for group in asked.batches(self.budget, self.vocabulary, weighted):
                yield group, weighted

    def _recalled(self, asked: Questions, group: Any, weighted: bool, out: Floats) -> bool:
        known = None if self.answers is None else self.answers.recall(asked, group, weighted)
        if known is None:
            return False
        out[:, asked.of(group)] = known
        self.progress(len(group), asked.count)
        return True


@dataclass(frozen=True, slots=True)
class Remote:
    """A transformer on workers, as the flow sees it."""

    name: str
    kind: Kind
    codec: TokenizerCodec
    config: Any
    workers: Workers
    again: Callable[[str], "Remote"]  # the same in another precision
    precision: str = "float32"
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The architecture's short name."""
        return str(self.config.model_type)

    @property
    def limit(self) -> int:
        """The longest row, in tokens."""
        return int(self.workers.facts["limit"])

    def finer(self) -> list["Remote"]:
        """The same in float32."""
        return [self.again("float32")]

    def close(self) -> None:
        """Let the workers go."""
        self.workers.close()

    def accepts(self, option: str) -> tuple[Any, ...]:
        """The values that an option of word vectors may have here: `pool` or `layer`."""
        depth = int(self.config.num_hidden_layers)
        return tuple(POOLS) if option == "pool" else tuple(range(-depth - 1, depth + 1))

    def budget(self, tokens: int | str) -> Budget:
        """What one forward pass may hold on a worker."""
        made: Budget = self.workers.one("budget", tokens)
        return made

    def _salt(self, stream: str) -> str:
        names = ("weights", "config", "tokenizer", "dtype")
        return repr([stream, *(self.provenance.get(k) for k in names)])

    def engine(
        self,
        stream: str = "own",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> RemoteEngine:
        """The likelihood engine."""
        if self.kind == "causal":
            show = causal_show()
        elif self.kind == "permutation" and stream == "own":
            show = permutation_show()
        else:
            show = masked_show(self.codec.mask_id) if stream != "next" else Show()
        kept = store is not None and str(self.provenance["device"]) == "cpu"
        answers = Answers(store, self._salt(stream)) if store is not None and kept else None
        size = int(self.config.get_text_config().vocab_size)
        return RemoteEngine(self.workers, stream, show, size, budget or Budget(), answers, progress)

    def vectors(
        self,
        *,
        layer: int | None = None,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> TransformerVectors:
        """The embedding engine; its batches run on workers."""
        known = VectorAnswers(store, self._salt("vectors")) if store is not None else None

        def elsewhere(parts: Sequence[Batch]) -> Iterator[Floats]:
            return self.workers.map("pooled", parts)

        return TransformerVectors(
            None,
            self.codec,
            self.limit,
            -1 if layer is None else layer,
            budget or Budget(),
            known,
            progress,
            elsewhere,
        )
