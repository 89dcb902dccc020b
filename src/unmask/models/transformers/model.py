"""A network of transformers: a hub name, `name@revision`, a folder, a GGUF file, or `bundled`."""

import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto

from unmask.errors import ModelError, NotApplicable
from unmask.models.batches import Budget, Progress, budget_for, full_speed
from unmask.models.fast.cpu_layout import lay_out
from unmask.models.fast.direct_layers import untouched
from unmask.models.fast.paths import fast_paths
from unmask.models.output_cache import outputs_of
from unmask.models.protocol import Abilities
from unmask.models.sentence_vectors import Batch, SentenceVectors
from unmask.models.transformers.files import (
    SPREAD,
    attempt,
    first_sentence,
    kind_of,
    source_of,
    spread_options,
    without_weights,
)
from unmask.models.transformers.logprobs import READINGS, Engine
from unmask.models.transformers.next_sentence import NextSentence
from unmask.models.transformers.tokenizer import TokenizerCodec, describe
from unmask.models.transformers.vectors import network_abilities, pooled
from unmask.models.transformers.weights import (
    check_complete,
    checked_hash,
    count,
    device_of,
    devices,
    unused_weights,
)
from unmask.models.unique_rows import masking_rule
from unmask.support.store import Store
from unmask.types import Floats, Kind

OWN_VOCABULARY = 0.8  # of the network's rows, some of which are padding; fewer is suspicious
_AUTO = {
    "masked": transformers.AutoModelForMaskedLM,
    "causal": transformers.AutoModelForCausalLM,
    "permutation": transformers.AutoModelForCausalLM,
    "encoder": transformers.AutoModel,
}


@dataclass(frozen=True, slots=True)
class TransformerModel:
    """A loaded network with its tokenizer, its kind and a record of what it is."""

    name: str
    kind: Kind
    codec: TokenizerCodec
    net: Any
    limit: int
    provenance: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    precision: str = "float32"
    placed: str | None = None  # the requested device
    fast: bool = True  # else every pass is a plain call of the network
    remarks: tuple[str, ...] = ()  # what a reader of its scores must know
    cacheable: bool = True  # whether its hash covers all that determines its outputs

    @property
    def family(self) -> str:
        """The architecture's short name, such as `bert`."""
        return str(self.net.config.model_type)

    def finer(self) -> list["TransformerModel"]:
        """Return the model in finer precisions, float32 last, from its files or from memory.

        On a GPU tf32 comes before float32: it decides most cases that half precision leaves open.
        """
        if self.precision == "tf32":
            return [replace(self, precision="float32")]
        device = device_of(self.net)
        if self.source:
            where = SPREAD if self.placed == SPREAD else str(device)
            full = load(self.name, device=where, fast=self.fast)
        else:
            full = replace(self, net=copy.deepcopy(self.net).float(), precision="float32")
        return [replace(full, precision="tf32"), full] if device.type == "cuda" else [full]

    @property
    def abilities(self) -> Abilities:
        """Queries if it has a head, and vectors of every layer."""
        return network_abilities(
            self.kind,
            self.net.config,
            self.limit,
            self.precision,
            pipelined=device_of(self.net).type == "cuda",
            remarks=self.remarks,
        )

    def close(self) -> None:
        """Do nothing: only memory is held."""

    def vectors(self, *, store: Store | None = None, **settings: Any) -> SentenceVectors:
        """Return the embedding engine."""

        def compute(parts: Sequence[Batch]) -> Iterator[Floats]:
            return (pooled(self.net, self.codec, *part) for part in parts)

        cache = store if self.cacheable else None
        return SentenceVectors.of(self, compute, store=cache, **settings)

    def budget(self, tokens: int | str) -> Budget:
        """Return the limits of one forward pass on the model's device."""
        device = device_of(self.net)
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None
        weights = int(self.provenance.get("parameters", 0))
        layers = int(self.net.config.num_hidden_layers)
        return budget_for(tokens, free, full_speed(weights, layers, self.precision))

    def engine(
        self,
        stream: str = "own",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> Engine | NextSentence:
        """Return the likelihood engine; `stream` as in `Likelihood`.

        Outputs are cached in `store` on a CPU only: on a GPU, recomputing is faster.
        """
        if stream == "next":
            head = next_sentence_net(self)
            return NextSentence(head, self.codec.pad_id, budget or Budget(), progress)
        fast = fast_paths(self.net, self.precision, self.fast)
        show = masking_rule(self.kind, stream, self.codec, fast.prefixes)
        answers = outputs_of(store if self.cacheable else None, self.provenance, stream)
        segments = _untyped if stream == "untyped" else self.codec.segments
        return Engine(
            self.net,
            show,
            self.codec.pad_id,
            budget=budget or Budget(),
            answers=answers,
            progress=progress,
            segments=segments,
            precision=self.precision,
            fast=fast,
            reading=stream if stream in READINGS else "logp",
        )


def _untyped(ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """No extra inputs: some released code calls XLNet with the ids alone."""
    return {}


def load(
    name: str,
    *,
    dtype: str = "float32",
    device: str | None = None,
    bits: str | None = None,
    fast: bool = True,
) -> TransformerModel:
    """Load a model by name; every failure is one sentence.

    The device `auto` spreads it over all GPUs and the CPU; `bits` are 8bit or 4bit, quantised by
    bitsandbytes as it is loaded.
    """
    checkpoint = without_weights(name)
    tokenizer = checkpoint.tokenizer()
    source, options, kind = checkpoint.source, checkpoint.options, checkpoint.kind
    if "gguf_file" not in options:
        options = {**options, "use_safetensors": True}  # a pickle may run any code
    net, report = attempt(
        name,
        _AUTO[kind].from_pretrained,
        source,
        dtype=torch.float32 if dtype == "tf32" else getattr(torch, dtype),
        output_loading_info=True,
        **options,
        **spread_options(device, bits),
    )
    check_complete(name, report)
    unused = unused_weights(name, report)
    known_by = checked_hash(net, name)  # before it moves to a GPU, from which weights would return
    placed = net if device == SPREAD or bits else moved(net, device)
    model = wrap(placed, tokenizer, kind, name, known_by, fast)
    if fast and device_of(placed).type == "cpu" and not hasattr(placed, "hf_device_map"):
        lay_out(placed)
    if dtype == "tf32" and device_of(model.net).type != "cuda":
        raise NotApplicable("tf32 works only on NVIDIA GPUs; use float32 on a CPU.")
    stated = bits or ("tf32" if dtype == "tf32" else "")
    facts = {**model.provenance, "dtype": stated} if stated else model.provenance
    if device == SPREAD:
        facts = {**facts, "devices": devices(net)}
    # No finer precision is available for a quantised model.
    precision = "float32" if bits else dtype
    origin = "" if bits else source
    return replace(
        model,
        source=origin,
        precision=precision,
        provenance=facts,
        placed=device,
        remarks=model.remarks + unused,
        cacheable=True,
    )


def moved(value: Any, device: str | None) -> Any:
    """Move a network or a tensor to a device, by default the best; refuse one that fails."""
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return value.to(where)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise ModelError(
            f"the device {where!r} cannot be used ({first_sentence(error)}); 'cpu' always works."
        ) from error


def next_sentence_net(model: TransformerModel) -> Any:
    """Load the model's own next-sentence head; refuse if its files have none."""
    families = modeling_auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES
    refusal = NotApplicable(
        f"{model.name!r} has no trained next-sentence head; use 'cat-continue', which needs none."
    )
    if model.family not in families or not model.source:
        raise refusal
    _, options = source_of(model.name)
    net, report = attempt(
        model.name,
        transformers.AutoModelForNextSentencePrediction.from_pretrained,
        model.source,
        dtype=next(model.net.parameters()).dtype,
        output_loading_info=True,
        **options,
    )
    if any("seq_relationship" in key or key.startswith("cls") for key in report["missing_keys"]):
        raise refusal
    return net.to(device_of(model.net)).eval()


def in_memory(net: Any, tokenizer: Any, fast: bool = True) -> TransformerModel:
    """Wrap a network of transformers and its tokenizer as they are now.

    A CPU computes half precision hundreds of times more slowly, and with another score: there a
    float32 copy is measured, and a remark says so. A network wrapped for parallel training is
    unwrapped.
    """
    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    net = net.module if isinstance(net, parallel) else net
    name = str(getattr(net.config, "_name_or_path", "")) or type(net).__name__
    kind = kind_of(_of_class(net))
    dtype = next(net.parameters()).dtype
    if device_of(net).type != "cpu" or dtype not in (torch.float16, torch.bfloat16):
        return wrap(net, tokenizer, kind, name, fast=fast)
    model = wrap(copy.deepcopy(net).float(), tokenizer, kind, name, fast=fast)
    half = str(dtype).removeprefix("torch.")
    note = f"{name} is in {half}, which a CPU computes slowly: a float32 copy was measured."
    return replace(model, remarks=(*model.remarks, note))


def _tokenizer_remarks(net: Any, tokenizer: Any, kind: Kind, name: str) -> tuple[str, ...]:
    """Return remarks if the tokenizer may belong to another model; refuse one that cannot fit."""
    rows = net.get_input_embeddings().weight.shape[0]
    largest = max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise ModelError(
            f"the tokenizer of {name!r} has ids up to {largest}, but the network embeds {rows} "
            "tokens; give the tokenizer that the model was trained with."
        )
    notes = []
    if largest + 1 < OWN_VOCABULARY * rows:
        notes.append(
            f"the tokenizer of {name} has {largest + 1} tokens and the network {rows}: make sure "
            "that the model was trained with this tokenizer."
        )
    if kind == "masked" and tokenizer.cls_token_id is None:
        notes.append(f"the tokenizer of {name} adds no start token, unlike BERT's.")
    return tuple(notes)


def _of_class(net: Any) -> Any:
    """Return the config with the network's own class: a new network's config names none."""
    config = copy.copy(net.config)
    config.architectures = [type(net).__name__]
    return config


def wrap(
    net: Any, tokenizer: Any, kind: Kind, name: str, weights: str = "", fast: bool = True
) -> TransformerModel:
    """A model from a network and a tokenizer already in memory; `weights` is their hash."""
    net.eval()
    if len(tokenizer) - len(tokenizer.all_special_ids) < 2:
        raise ModelError(
            f"the tokenizer of {name!r} knows no words; its vocabulary is missing or was not read."
        )
    device = device_of(net)
    provenance = {
        "kind": kind,
        "architecture": type(net).__name__,
        "revision": getattr(net.config, "_commit_hash", None),
        "weights": weights or checked_hash(net, name),
        "config": hashlib.blake2b(
            net.config.to_json_string(use_diff=False).encode(), digest_size=8
        ).hexdigest(),
        "parameters": count(net),
        "dtype": str(next(net.parameters()).dtype).removeprefix("torch."),
        "device": str(device),
        "tokenizer": describe(tokenizer),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    if not fast:
        provenance["path"] = "plain"  # fast paths round differently: cached separately
    codec = TokenizerCodec(tokenizer, kind, name)
    limit, remarks = _limit(net, tokenizer), _tokenizer_remarks(net, tokenizer, kind, name)
    plain = all(map(untouched, net.modules()))
    arguments = (name, kind, codec, net, limit, provenance)
    return TransformerModel(*arguments, fast=fast, remarks=remarks, cacheable=plain)


def _limit(net: Any, tokenizer: Any) -> int:
    """Return the longest row that the model takes, in tokens.

    If positions start after the padding index, as RoBERTa's do, the embedding gives the limit.
    """
    config = net.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    for name, module in net.named_modules():
        first = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and positions and first is not None:
            positions -= int(first) + 1
            break
    stated = tokenizer.model_max_length
    limits = [n for n in (positions, stated) if n and 0 < n < 10**9]
    return min(limits) if limits else 10**9
