"""A model that was loaded before: cached outputs need no network, which is loaded only for others.

Its metadata (kind, hashes, tokenizer) is cached under a digest of its files and of the code that
reads them. A run whose outputs are all cached therefore needs neither torch nor transformers,
whose import takes longer than everything else.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from unmask.models.batches import Budget, Progress, budget_for
from unmask.models.names import BUNDLED, BUNDLED_FOLDER, ENTRY_POINTS
from unmask.models.output_cache import CachedOutputs, outputs_of
from unmask.models.protocol import Abilities
from unmask.models.sentence_vectors import Batch, SentenceVectors
from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.models.unique_rows import MaskingRule, UniqueRows, find_unique_rows, masking_rule
from unmask.options import Options
from unmask.queries import LogProbs, Query, Readings, RowQueries, readings, row_queries_of
from unmask.support import store as stored
from unmask.support.store import Store
from unmask.types import Floats, Kind

READ = {".json", ".safetensors", ".txt", ".model", ".jinja"}  # files that determine a model
MOST_BYTES = 4 * 2**30  # maximum bytes of a model's files; reading more takes as long as loading
TOKENS = ("unk", "cls", "sep", "mask", "pad", "bos", "eos")


@dataclass(frozen=True, slots=True)
class Facts:
    """The cached metadata of a model: all that a run needs if the outputs are cached.

    `prefixes`: rows with a common beginning are queried together. `tokens` maps special tokens to
    their text and id; `backend` is the tokenizer as its library serialises it.
    """

    kind: Kind
    family: str
    vocabulary: int
    abilities: Mapping[str, Any]
    provenance: Mapping[str, Any]
    specials: Sequence[int]
    prefixes: bool
    tokens: Mapping[str, tuple[str, int]]
    backend: str


@cache
def _digest_of(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> bytes:
    """Return a digest of a folder's files; `stamps` (size, time) detect changes in this process."""
    digest = hashlib.sha256(stored.code_digest())
    machine = (platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES"))  # they determine the device
    digest.update(repr((machine, [(name, size) for name, size, _ in stamps])).encode())
    for name, _, _ in stamps:
        if Path(name).suffix in READ:
            with (folder / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.digest()


def _key_of(name: str) -> bytes | None:
    """Return the key of a model's metadata, or None if the model is not in a local folder."""
    folder = BUNDLED_FOLDER if name == BUNDLED else Path(name)
    try:
        if name in ENTRY_POINTS or not (folder / "config.json").is_file():
            return None
        loaded = {p.name for p in folder.iterdir() if p.is_file()} | _shards(folder)
        stats = sorted((file, (folder / file).stat()) for file in loaded)
        if sum(s.st_size for _, s in stats) > MOST_BYTES:
            return None
        stamps = tuple((file, s.st_size, s.st_mtime_ns) for file, s in stats)
        return _digest_of(folder, stamps)
    except (OSError, ValueError, AttributeError):  # a file is gone, or an index cannot be read
        return None


def _shards(folder: Path) -> set[str]:
    """The weight files that an index names, which may be in subfolders."""
    indices = (json.loads(path.read_bytes()) for path in folder.glob("*.index.json"))
    return {str(file) for index in indices for file in index.get("weight_map", {}).values()}


def _usual(options: Options) -> bool:
    """Whether a model is loaded locally with default options, and its outputs are cached."""
    on_cpu = options.engine == "local" and options.device in (None, "cpu")
    return (
        on_cpu
        and options.cache
        and options.fast
        and (options.dtype, options.load)
        == (
            "float32",
            None,
        )
    )


def facts_of(name: str) -> Facts | None:
    """Return the cached metadata of a model, or None if its files have changed."""
    if stored.is_empty(stored.MODELS):
        return None  # avoids reading files in vain
    key = _key_of(name)
    content = stored.load(stored.MODELS, key) if key is not None else None
    return None if content is None else Facts(**json.loads(content))


def cached_model(name: str, options: Options) -> "CachedModel | None":
    """Return a model from its cached metadata, or None if there is none for these options."""
    facts = facts_of(name) if _usual(options) else None
    return None if facts is None else CachedModel(name, facts, options)


def remember(model: Any, name: str, options: Options) -> None:
    """Cache the metadata of a loaded network for later runs."""
    able = _usual(options) and getattr(model, "cacheable", False)
    if not able or str(model.provenance["device"]) != "cpu":
        return
    if (key := _key_of(name)) is None:
        return
    tokenizer = model.codec.tokenizer
    named = [(k, getattr(tokenizer, f"{k}_token_id", None)) for k in TOKENS]
    facts = Facts(
        model.kind,
        model.family,
        int(model.net.config.vocab_size),
        asdict(model.abilities),
        dict(model.provenance),
        [int(i) for i in tokenizer.all_special_ids],
        bool(model.engine().fast.prefixes) if model.abilities.streams else False,
        {k: (str(getattr(tokenizer, f"{k}_token")), int(i)) for k, i in named if i is not None},
        tokenizer.backend_tokenizer.to_str(),
    )
    stored.save(stored.MODELS, key, json.dumps(asdict(facts)).encode())


class CachedTokenizer:
    """A tokenizer from its serialised form; the full tokenizer is loaded for anything else."""

    is_fast = True

    def __init__(self, name: str, facts: Facts) -> None:
        self._name = name
        self.backend_tokenizer = tokenizers.Tokenizer.from_str(facts.backend)
        self.all_special_ids = list(facts.specials)
        for kind in TOKENS:
            text, number = facts.tokens.get(kind, (None, None))
            setattr(self, f"{kind}_token", text)
            setattr(self, f"{kind}_token_id", number)

    @cached_property
    def _whole(self) -> Any:
        from unmask.models.transformers.files import without_weights

        return without_weights(self._name).tokenizer()

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(self._whole, attribute)

    def __call__(self, *texts: Any, **options: Any) -> Any:
        """Encode with the full tokenizer."""
        return self._whole(*texts, **options)

    def __len__(self) -> int:
        return len(self._whole)


@dataclass(frozen=True)
class CachedModel:
    """A model from its metadata, with the same interface; the network is loaded when needed."""

    name: str
    facts: Facts
    options: Options

    @property
    def kind(self) -> Kind:
        """Which measures apply."""
        return self.facts.kind

    @property
    def family(self) -> str:
        """The architecture's short name."""
        return self.facts.family

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The record of the model in results."""
        return self.facts.provenance

    @cached_property
    def abilities(self) -> Abilities:
        """What it can do."""
        values: dict[str, Any] = dict(self.facts.abilities)
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return Abilities(**values)

    @cached_property
    def codec(self) -> TokenizerCodec:
        """Its tokenizer."""
        return TokenizerCodec(CachedTokenizer(self.name, self.facts), self.kind, self.name)

    @cached_property
    def whole(self) -> Any:
        """The loaded model."""
        from unmask.models.transformers.model import load

        return load(self.name, device=self.options.device)

    def budget(self, tokens: int | str) -> Budget:
        """Return the limits of one forward pass on a CPU."""
        return budget_for(tokens, None)

    def engine(
        self,
        stream: str = "own",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> LogProbs:
        """Return the likelihood engine: cached outputs, else the model's own engine."""
        answers = outputs_of(store, self.provenance, stream)

        def engine() -> Any:
            return self.whole.engine(stream, budget=budget, store=store, progress=progress)

        if answers is None or stream == "next":
            loaded: LogProbs = engine()
            return loaded
        show = masking_rule(self.kind, stream, self.codec, self.facts.prefixes)
        return CachedEngine(
            engine, show, self.facts.vocabulary, budget or Budget(), answers, progress
        )

    def vectors(self, **settings: Any) -> SentenceVectors:
        """Return the embedding engine: cached vectors, else the model's own engine."""

        def compute(parts: Sequence[Batch]) -> Iterator[Floats]:
            return iter(self.whole.vectors().compute(parts))

        return SentenceVectors.of(self, compute, **settings)

    def finer(self) -> list[Any]:
        """No finer precision: it is in float32."""
        return []

    def close(self) -> None:
        """Do nothing: only memory is held."""


def full_model(model: Any) -> Any:
    """Return the model with its network loaded."""
    return model.whole if isinstance(model, CachedModel) else model


@dataclass(frozen=True, slots=True)
class CachedEngine:
    """An engine of cached outputs; if one is missing, all questions go to the engine of `load`.

    It forms the same batches as the network would, so that a batch is cached as a whole or not at
    all.
    """

    load: Callable[[], Any]
    show: MaskingRule
    vocabulary: int
    budget: Budget
    answers: CachedOutputs
    progress: Progress = field(default=lambda rows, total: None)

    def ask(self, asks: Sequence[RowQueries | Query], attention: Sequence[bool]) -> Readings:
        """Answer all questions, in their order."""
        return self.begin_rows(self.rows(row_queries_of(asks), attention))()

    @property
    def shows(self) -> str:
        """All that determines its rows besides the questions, as for the model itself."""
        return self.show.decides

    def rows(self, asks: Sequence[RowQueries], attention: Sequence[bool]) -> UniqueRows:
        """The distinct rows of some questions."""
        return find_unique_rows(asks, attention, self.show)

    def begin_rows(self, unique: UniqueRows) -> Callable[[], Readings]:
        """Look up all answers; if one is missing, query the model itself."""
        values = np.full((3, len(unique.gold)), np.nan)
        for group, weighted in unique.jobs(self.budget, self.vocabulary):
            if (numbers := self.answers.recall(unique, group, weighted)) is None:
                finish: Callable[[], Readings] = self.load().begin_rows(unique)
                return finish
            values[:, unique.of(group)] = numbers
        self.progress(0, unique.count)
        self.progress(unique.count, unique.count)
        return lambda: readings(values, unique.count)
