"""Loading: a hub name, `name@revision`, a local folder, a GGUF file, or `bundled`."""

import copy
import hashlib
import logging
import os
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto

from unmask.errors import ModelError, NotApplicable
from unmask.models.answer_cache import Store, VectorAnswers, answers_of, salt
from unmask.models.batches import Budget, Progress, budget_for
from unmask.models.fast.direct_layers import encoder_of
from unmask.models.fast.fp32_split import split_products
from unmask.models.fast.pass_queue import PassQueue
from unmask.models.names import BUNDLED, KNOWN
from unmask.models.transformers import hub
from unmask.models.transformers.logprobs import AHEAD, Engine
from unmask.models.transformers.next_sentence import NextSentence
from unmask.models.transformers.tokenizer import TokenizerCodec, describe
from unmask.models.transformers.vectors import TransformerVectors, accepted
from unmask.models.transformers.weights import (
    check_complete,
    checked_hash,
    count,
    device_of,
    devices,
    lay_out,
)
from unmask.models.unique_rows import masking_rule
from unmask.support.registry import unknown
from unmask.types import Kind

_AUTO = {
    "masked": transformers.AutoModelForMaskedLM,
    "causal": transformers.AutoModelForCausalLM,
    "permutation": transformers.AutoModelForCausalLM,
    "encoder": transformers.AutoModel,
}


_TOKENIZERS = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "source.spm",
)
SPREAD = "auto"  # the device that is all of them


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded network with its tokenizer, its kind and a record of what it is."""

    name: str
    kind: Kind
    codec: TokenizerCodec
    net: Any
    limit: int
    provenance: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    precision: str = "float32"
    placed: str | None = None  # the device it was asked for

    @property
    def family(self) -> str:
        """The architecture's short name, such as `bert`."""
        return str(self.net.config.model_type)

    def finer(self) -> list["Model"]:
        """The same model in finer precisions, float32 last: from its files or from its memory.

        On a GPU bfloat16 and float16 have tf32 before it, which decides most of what they do not.
        """
        if self.precision == "tf32":
            return [replace(self, precision="float32")]
        device = device_of(self.net)
        if self.source:
            full = load(self.name, device=SPREAD if self.placed == SPREAD else str(device))
        else:
            full = replace(self, net=copy.deepcopy(self.net).float(), precision="float32")
        return [replace(full, precision="tf32"), full] if device.type == "cuda" else [full]

    def accepts(self, option: str) -> tuple[Any, ...]:
        """The values that an option of word vectors may have here: `pool` or `layer`."""
        return accepted(self.net.config, option)

    def vectors(
        self,
        *,
        layer: int | None = None,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> TransformerVectors:
        """The embedding engine; without a layer, the last."""
        chosen = -1 if layer is None else layer
        known = (
            VectorAnswers(store, salt(self.provenance, "vectors")) if store is not None else None
        )
        return TransformerVectors(
            self.net, self.codec, self.limit, chosen, budget or Budget(), known, progress
        )

    def budget(self, tokens: int | str) -> Budget:
        """What one forward pass may hold on the model's device."""
        device = device_of(self.net)
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None
        return budget_for(tokens, free)

    def engine(
        self,
        stream: str = "own",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> Engine | NextSentence:
        """The likelihood engine; `stream` as in `Likelihood`.

        Answers are kept in a `store` on a CPU only: a GPU gives them faster than a file does.
        """
        if stream == "next":
            head = next_sentence_net(self)
            return NextSentence(head, self.codec.pad_id, budget or Budget(), progress)
        show = masking_rule(self.kind, stream, self.codec)
        answers = answers_of(store, self.provenance, stream)
        budget, segments = budget or Budget(), self.codec.segments
        return Engine(
            self.net,
            show,
            self.codec.pad_id,
            budget=budget,
            answers=answers,
            progress=progress,
            segments=segments,
            precision=self.precision,
            encoder=encoder_of(self.net),
            parts=split_products(self.net, self.precision),
            line=PassQueue(AHEAD if device_of(self.net).type == "cuda" else 1),
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model before its weights; `options` are those to load it with."""

    name: str
    source: str
    options: Mapping[str, Any]
    config: Any
    kind: Kind

    def tokenizer(self) -> Any:
        """Its tokenizer."""
        loader = transformers.AutoTokenizer.from_pretrained
        return _attempt(self.name, loader, self.source, **self.options)


def without_weights(name: str) -> Known:
    """The config of a model by name, and where its other files are."""
    source, options = _source(name)
    config = _attempt(name, transformers.AutoConfig.from_pretrained, source, **options)
    kind = kind_of(config)
    _check_files(name, source, options)
    return Known(name, source, options, config, kind)


def load(
    name: str,
    *,
    dtype: str = "float32",
    device: str | None = None,
    bits: str | None = None,
) -> Model:
    """Load a model by name; every failure is one sentence.

    The device `auto` spreads it over all GPUs and the CPU; `bits` are 8bit or 4bit, quantised by
    bitsandbytes as it is loaded.
    """
    known = without_weights(name)
    tokenizer = known.tokenizer()
    source, options, kind = known.source, known.options, known.kind
    if "gguf_file" not in options:
        options = {**options, "use_safetensors": True}  # a pickle may run any code
    net, report = _attempt(
        name,
        _AUTO[kind].from_pretrained,
        source,
        dtype=torch.float32 if dtype == "tf32" else getattr(torch, dtype),
        output_loading_info=True,
        **options,
        **_spread(device, bits),
    )
    check_complete(name, report)
    known_by = checked_hash(net, name)  # before they go to a GPU: they need not come back for it
    placed = net if device == SPREAD or bits else moved(net, device)
    model = wrap(placed, tokenizer, kind, name, known_by)
    if dtype == "tf32" and device_of(model.net).type != "cuda":
        raise NotApplicable("tf32 is a way of computing on NVIDIA GPUs; use float32 on a CPU.")
    stated = bits or ("tf32" if dtype == "tf32" else "")
    facts = {**model.provenance, "dtype": stated} if stated else model.provenance
    if device == SPREAD:
        facts = {**facts, "devices": devices(net)}
    # A quantised model is what it is: there is no finer one to hold it against.
    precision = "float32" if bits else dtype
    origin = "" if bits else source
    return replace(model, source=origin, precision=precision, provenance=facts, placed=device)


def _spread(device: str | None, bits: str | None) -> dict[str, Any]:
    """How transformers is to place a large model; what it needs is asked for before it loads."""
    needed = (["accelerate"] if device == SPREAD or bits else []) + ["bitsandbytes"] * bool(bits)
    for package in needed:
        if find_spec(package) is None:
            raise ModelError(f"this needs {package}; install it with: pip install 'unmask[large]'.")
        logging.getLogger(package).setLevel(logging.ERROR)  # one speaks at every layer
    out: dict[str, Any] = {"device_map": "auto"} if device == SPREAD else {}
    if bits:
        bits_options = {"load_in_8bit": bits == "8bit", "load_in_4bit": bits == "4bit"}
        out["quantization_config"] = transformers.BitsAndBytesConfig(**bits_options)
        out.setdefault("device_map", "auto" if device is None else device)
    return out


def _check_files(name: str, source: str, options: Mapping[str, Any]) -> None:
    """Refuse a folder without a tokenizer, which would read every word as unknown, or pickles."""
    folder = Path(source)
    if not folder.is_dir() or "gguf_file" in options:
        return
    if not any((folder / file).is_file() for file in _TOKENIZERS):
        raise ModelError(
            f"the folder {name!r} has no tokenizer ({', '.join(_TOKENIZERS[:3])}, ...); save it "
            "there with tokenizer.save_pretrained."
        )
    if not list(folder.glob("*.safetensors")) and list(folder.glob("*.bin")):
        raise ModelError(
            f"the weights of {name!r} are a pickle, which may run any code and is not loaded; "
            "convert them once, where you trust them: "
            "AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER)."
        )


def moved(thing: Any, device: str | None) -> Any:
    """A network or a tensor on a device, or on the best there is; one that fails is refused."""
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return thing.to(where)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise ModelError(
            f"the device {where!r} cannot be used ({_first(error)}); 'cpu' always can."
        ) from error


def next_sentence_net(model: Model) -> Any:
    """The model's own next-sentence head; refused where its files have none."""
    known = modeling_auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES
    refusal = NotApplicable(
        f"{model.name!r} has no trained next-sentence head; use 'cat-continue', which needs none."
    )
    if model.family not in known or not model.source:
        raise refusal
    _, options = _source(model.name)
    net, report = _attempt(
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


def in_memory(net: Any, tokenizer: Any) -> Model:
    """A network of transformers with its tokenizer, as it is now."""
    name = str(getattr(net.config, "_name_or_path", "")) or type(net).__name__
    return wrap(net, tokenizer, kind_of(_of_class(net)), name)


def _of_class(net: Any) -> Any:
    """Its config, with the network's own class as the architecture: one made anew names none."""
    config = copy.copy(net.config)
    config.architectures = [type(net).__name__]
    return config


def wrap(net: Any, tokenizer: Any, kind: Kind, name: str, weights: str = "") -> Model:
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
    if device.type == "cpu" and not hasattr(net, "hf_device_map"):
        lay_out(net)
    codec = TokenizerCodec(tokenizer, kind, name)
    return Model(name, kind, codec, net, _limit(net.config, tokenizer), provenance)


def kind_of(config: Any) -> Kind:
    """What a config's architecture can answer: masked, causal, permutation, or encoder."""
    family = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise NotApplicable(
            f"a {family} model is sequence-to-sequence: it gives a target's likelihood from a "
            "source, and no published measure says what either is for a sentence; give a masked "
            "or a causal model."
        )
    if family == "xlnet":
        return "permutation"
    named = (config.architectures or [""])[0]
    masked = family in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    causal = family in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if masked and (named.endswith("ForMaskedLM") or named.endswith("ForPreTraining")):
        return "encoder" if family == "electra" and "PreTraining" in named else "masked"
    if causal and named.endswith(("ForCausalLM", "LMHeadModel")):
        return "causal"
    if named.endswith("Model"):
        return "causal" if causal and not masked else "encoder"
    if causal and not masked:
        return "causal"
    return "masked" if masked and not named else "encoder"


def _limit(config: Any, tokenizer: Any) -> int:
    """The longest row the model takes, in tokens."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if config.model_type in {"roberta", "xlm-roberta", "camembert"} and positions:
        positions -= config.pad_token_id + 1  # positions start behind the padding index
    stated = tokenizer.model_max_length
    limits = [n for n in (positions, stated) if n and 0 < n < 10**9]
    return min(limits) if limits else 10**9


def _source(name: str) -> tuple[str, dict[str, Any]]:
    """Where a name points, and the options to load it with. No code is ever run from a hub."""
    options: dict[str, Any] = {"trust_remote_code": False}
    if not name.strip():
        raise ModelError("the name of a model is empty; give a hub name, a folder or 'bundled'.")
    if name == BUNDLED:
        return str(Path(__file__).parents[1] / "bundled_model"), options | {
            "local_files_only": True
        }
    path = Path(name)
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ModelError(f"there is no file {name!r}; give the path of a GGUF file.")
        return str(path.parent), options | {"gguf_file": path.name}
    if path.is_dir():
        if not (path / "config.json").exists():
            raise ModelError(
                f"the folder {name!r} has no config.json; give a folder that save_pretrained made."
            )
        return name, options | {"local_files_only": True}
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix:
        raise ModelError(f"there is no model folder {name!r}; {unknown('model', name, KNOWN)}")
    base, _, revision = name.partition("@")
    if "/" not in base and get_close_matches(base.lower(), [BUNDLED], cutoff=0.8):
        raise ModelError(f"{unknown('model', name, [BUNDLED])}")
    options |= {"revision": revision} if revision else {}
    return base, options | ({} if hub.reachable() else {"local_files_only": True})


def _attempt(name: str, loader: Any, source: str, **options: Any) -> Any:
    """Call a loader and turn its failures into one sentence."""
    if loader.__self__ is transformers.AutoConfig and "gguf_file" in options:
        options.setdefault("trust_remote_code", False)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    level = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    # What reads GGUF files draws bars of its own.
    silent = redirect_stderr(StringIO()) if "gguf_file" in options else nullcontext()
    try:
        with silent:
            return loader(source, **options)
    except ImportError as error:
        raise ModelError(_lacking(name, error)) from error
    except Exception as error:  # safetensors and tokenizers raise classes of their own
        if isinstance(error, OSError) and not Path(source).exists():
            raise ModelError(_not_found(name, error)) from error
        raise ModelError(f"cannot load the model {name!r}: {_first(error)}") from error
    finally:
        transformers.logging.set_verbosity(level)


def _lacking(name: str, error: ImportError) -> str:
    """What to install for a model, by our own extra where there is one."""
    reason = _first(error)
    for extra in ("gguf", "sentencepiece"):
        if extra in reason.lower() or (extra == "gguf" and name.endswith(".gguf")):
            return f"{name!r} needs a package that is missing: pip install 'unmask[{extra}]'."
    return f"{name!r} needs a package that is missing: {reason}."


def _not_found(name: str, error: BaseException) -> str:
    """A name that is nowhere: no guess for a right one, no hub's words where there is none."""
    where = f"the hub did not provide it ({_first(error)})" if hub.reachable() else "no hub answers"
    guess = "" if name.partition("@")[0] in KNOWN else f"; {unknown('model', name, KNOWN)}"
    message = f"cannot find the model {name!r}: it is no local folder, and {where}{guess}"
    return message if message.endswith((".", "?")) else message + "."


def _first(error: BaseException) -> str:
    """The first sentence of an error, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.split(". ")[0][:200].rstrip(".")
