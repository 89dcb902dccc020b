"""Locate a model's files, and read what they tell before its weights are loaded."""

import logging
import os
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import modeling_auto

from unmask.errors import ModelError, NotApplicable
from unmask.models.names import BUNDLED, BUNDLED_FOLDER, ENTRY_POINTS, KNOWN
from unmask.models.transformers import hub
from unmask.support.registry import unknown
from unmask.types import Kind

TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "source.spm",
)
SPREAD = "auto"  # the device name for all devices together


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model before its weights are read; `options` are those to load it with."""

    name: str
    source: str
    options: Mapping[str, Any]
    config: Any
    kind: Kind

    def tokenizer(self) -> Any:
        """Its tokenizer."""
        loader = transformers.AutoTokenizer.from_pretrained
        return attempt(self.name, loader, self.source, **self.options)


def without_weights(name: str) -> ModelFacts:
    """Return the config of a model by name, and the location of its other files."""
    source, options = source_of(name)
    config = attempt(name, transformers.AutoConfig.from_pretrained, source, **options)
    kind = kind_of(config)
    check_files(name, source, options)
    return ModelFacts(name, source, options, config, kind)


def kind_of(config: Any) -> Kind:
    """Return the kind of a config's architecture: masked, causal, permutation or encoder."""
    family = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise NotApplicable(
            f"a {family} model is sequence-to-sequence: it scores a target given a source, and "
            "no published measure defines the two for a sentence pair; give a masked or a causal "
            "model."
        )
    if family == "xlnet":
        return "permutation"
    named = (config.architectures or [""])[0]
    masked = family in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    causal = family in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if masked and (named.endswith("ForMaskedLM") or named.endswith("ForPreTraining")):
        return "encoder" if family == "electra" and "PreTraining" in named else "masked"
    if causal and named.endswith(("ForCausalLM", "LMHeadModel")):
        if masked and family != "xlm" and not getattr(config, "is_decoder", True):
            raise ModelError(
                f"a {named} whose config has no is_decoder sees the tokens after a word, so it is "
                "not a causal model; set is_decoder if it was trained as one, or give it as "
                "ForMaskedLM."
            )
        return "causal"
    if named.endswith("Model"):
        return "causal" if causal and not masked else "encoder"
    if causal and not masked:
        return "causal"
    return "masked" if masked and not named else "encoder"


def spread_options(device: str | None, bits: str | None) -> dict[str, Any]:
    """Return options for placing a large model; refuse if a needed package is missing."""
    needed = (["accelerate"] if device == SPREAD or bits else []) + ["bitsandbytes"] * bool(bits)
    for package in needed:
        if find_spec(package) is None:
            raise ModelError(f"this needs {package}; install it with: pip install 'unmask[large]'.")
        logging.getLogger(package).setLevel(logging.ERROR)  # one of them logs at every layer
    options: dict[str, Any] = {"device_map": "auto"} if device == SPREAD else {}
    if bits:
        bits_options = {"load_in_8bit": bits == "8bit", "load_in_4bit": bits == "4bit"}
        options["quantization_config"] = transformers.BitsAndBytesConfig(**bits_options)
        options.setdefault("device_map", "auto" if device is None else device)
    return options


def check_files(name: str, source: str, options: Mapping[str, Any]) -> None:
    """Refuse a folder without a tokenizer (every word would be unknown), or with pickles only."""
    folder = Path(source)
    if not folder.is_dir() or "gguf_file" in options:
        return
    if (folder / "adapter_config.json").is_file():
        raise ModelError(
            f"the folder {name!r} holds an adapter, which would not be used; merge it into the "
            "weights (merge_and_unload) and save the whole model."
        )
    if not any((folder / file).is_file() for file in TOKENIZER_FILES):
        raise ModelError(
            f"the folder {name!r} has no tokenizer ({', '.join(TOKENIZER_FILES[:3])}, ...); "
            "save it there with tokenizer.save_pretrained."
        )
    if not list(folder.glob("*.safetensors")) and list(folder.glob("*.bin")):
        raise ModelError(
            f"the weights of {name!r} are a pickle, which may run any code and is not loaded; "
            "if you trust them, convert them once: "
            "AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER)."
        )


def source_of(name: str) -> tuple[str, dict[str, Any]]:
    """Return the source of a name and the options to load it with. No hub code is ever run."""
    options: dict[str, Any] = {"trust_remote_code": False}
    if not name.strip():
        raise ModelError("the name of a model is empty; give a hub name, a folder or 'bundled'.")
    if name == BUNDLED:
        return str(BUNDLED_FOLDER), options | {"local_files_only": True}
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
        raise ModelError(
            f"there is no model folder {name!r}; give a folder, or a hub name such as "
            "'bert-base-cased'."
        )
    base, _, revision = name.partition("@")
    if "/" not in base and get_close_matches(base.lower(), [BUNDLED], cutoff=0.8):
        raise ModelError(f"{unknown('model', name, [BUNDLED])}")
    options |= {"revision": revision} if revision else {}
    return base, options | ({} if hub.reachable() else {"local_files_only": True})


def attempt(name: str, loader: Any, source: str, **options: Any) -> Any:
    """Call a loader, and turn its failures into one sentence."""
    if loader.__self__ is transformers.AutoConfig and "gguf_file" in options:
        options.setdefault("trust_remote_code", False)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    level = transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    # The reader of GGUF files draws progress bars of its own.
    silent = redirect_stderr(StringIO()) if "gguf_file" in options else nullcontext()
    try:
        with silent:
            return loader(source, **options)
    except ImportError as error:
        raise ModelError(_lacking(name, error)) from error
    except Exception as error:  # safetensors and tokenizers raise classes of their own
        if isinstance(error, OSError) and not Path(source).exists():
            raise ModelError(_not_found(name, error)) from error
        raise ModelError(f"cannot load the model {name!r}: {first_sentence(error)}") from error
    finally:
        transformers.logging.set_verbosity(level)
        if bars:
            transformers.logging.enable_progress_bar()


def _lacking(name: str, error: ImportError) -> str:
    """Return what to install for a model: unmask's own extra if there is one."""
    reason = first_sentence(error)
    for extra in ("gguf", "sentencepiece"):
        if extra in reason.lower() or (extra == "gguf" and name.endswith(".gguf")):
            return f"{name!r} needs a package that is missing: pip install 'unmask[{extra}]'."
    return f"{name!r} needs a package that is missing: {reason}."


def _not_found(name: str, error: BaseException) -> str:
    """Return the error for a name that is not found, with a suggestion if one is close."""
    where = (
        f"the hub did not provide it ({first_sentence(error)})"
        if hub.reachable()
        else "the hub cannot be reached; check the connection, or give a folder"
    )
    suggestion = "" if name.partition("@")[0] in KNOWN else _guess(name)
    guess = (
        f"; {suggestion}" if "did you mean" in suggestion else ""
    )  # a list of known names limits nothing
    message = f"cannot find the model {name!r}: it is not a local folder, and {where}{guess}"
    return message if message.endswith((".", "?")) else message + "."


def _guess(name: str) -> str:
    """The nearest names of known models, and of those that packages offer."""
    return unknown("model", name, [*KNOWN, *ENTRY_POINTS])


def first_sentence(error: BaseException) -> str:
    """The first sentence of an error, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.split(". ")[0][:200].rstrip(".")
