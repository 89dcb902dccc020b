"""A network's weights, also if spread over devices: validation, hash, layout for the CPU."""

import hashlib
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from unmask.errors import ModelError, UnmaskError

HASH_PIECE = 2**20  # weights that are hashed at a time
THREADS = min(16, os.cpu_count() or 1)
# Weights that no measure reads.
_HARMLESS = re.compile(r"(^|\.)pooler\.|position_ids$|inv_freq$|seq_relationship")


def device_of(net: Any) -> torch.device:
    """Return the device of a network's input: the first, if it is spread over several."""
    for module in net.modules() if hasattr(net, "_hf_hook") else ():
        for hook in _hooks(module):
            if (where := getattr(hook, "execution_device", None)) is not None:
                return torch.device(where)
    return next(net.parameters()).device


def devices(net: Any) -> list[str]:
    """Return all devices that hold weights of a spread network; `disk` may be one."""
    places = set(getattr(net, "hf_device_map", {"": device_of(net)}).values())
    return sorted(p if isinstance(p, str) else str(torch.device(p)) for p in places)


def weights(net: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and values in the order of the names, one at a time.

    Parts of a spread network that no GPU holds have empty weights; accelerate stores their values
    separately until they run.
    """
    modules = dict(net.named_modules(remove_duplicate=False))
    for key, value in sorted(net.state_dict().items()):
        yield key, _beside(modules, key) if value.is_meta else value.detach()


def _hooks(module: Any) -> tuple[Any, ...]:
    """Return the hooks that accelerate has attached to a module."""
    hook = getattr(module, "_hf_hook", None)
    return tuple(getattr(hook, "hooks", (hook,)))


def _beside(modules: Mapping[str, Any], key: str) -> torch.Tensor:
    """Return a weight that accelerate stores for its module, or for a module around it."""
    parts = key.split(".")
    for cut in range(len(parts) - 1, -1, -1):
        for hook in _hooks(modules[".".join(parts[:cut])]):
            if getattr(hook, "weights_map", None) is not None:
                return torch.as_tensor(hook.weights_map[".".join(parts[cut:])])
    raise ModelError(f"the weight {key!r} has no values; load the network's weights first.")


def count(net: Any) -> int:
    """Count the weights; tied weights count once."""
    if not any(p.is_meta for p in net.parameters()):
        return int(net.num_parameters())
    tied = getattr(net, "all_tied_weights_keys", None) or {}
    return sum(p.numel() for k, p in net.named_parameters() if k not in tied)


def checked_hash(net: Any, name: str) -> str:
    """Return a hash of all weights by name, shape and bytes; refuse NaN and infinity.

    Pieces are hashed in parallel (SHA-256, which processors support), and their hashes are hashed
    in order: all cores work, and only a few pieces are copied at a time.
    """
    digest = hashlib.sha256()
    parameters = {k for k, _ in net.named_parameters(remove_duplicate=False)}
    waiting: deque[tuple[str, bytes, Future[tuple[bytes, bool]]]] = deque()

    def take() -> None:
        key, label, future = waiting.popleft()
        piece_hash, finite = future.result()
        if not finite:
            raise ModelError(
                f"the weights of {name!r} are not all numbers ({key} has NaN or infinity); "
                "fetch or save the model again."
            )
        digest.update(label + piece_hash)

    with ThreadPoolExecutor(THREADS) as pool:
        for key, value in weights(net):
            name_and_shape = f"{key}{tuple(value.shape)}{value.dtype}".encode()
            for piece in value.contiguous().view(-1).split(HASH_PIECE):
                waiting.append(
                    (key, name_and_shape, pool.submit(_looked_at, piece, key in parameters))
                )
                if len(waiting) > 4 * THREADS:
                    take()
        while waiting:
            take()
    return digest.hexdigest()[:32]


def _looked_at(piece: torch.Tensor, check: bool) -> tuple[bytes, bool]:
    """Hash some weights, and return whether all are finite, if `check` is set."""
    on_cpu = piece.cpu()
    finite = not check or not on_cpu.numel() or _finite(on_cpu)
    return hashlib.sha256(on_cpu.view(torch.uint8).numpy().data).digest(), finite


def _finite(values: torch.Tensor) -> bool:
    if values.is_complex():
        values = torch.view_as_real(values)
    if not values.is_floating_point():
        return True
    if values.dtype in (torch.float32, torch.float64):  # in this thread only, unlike torch
        numbers = values.numpy()
        return bool(np.isfinite(numbers.min()) and np.isfinite(numbers.max()))
    values = values.float() if values.itemsize == 1 else values  # float8
    return bool(torch.stack(torch.aminmax(values)).isfinite().all())


@contextmanager
def running(net: Any) -> Iterator[None]:
    """Turn any error of a forward pass, except running out of memory, into one sentence.

    torch turns oneDNN off for the whole process when one of its products fails, as bfloat16 does on
    CPUs without it. It is turned on again, or later float32 results would be rounded differently.
    """
    onednn = torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled
    try:
        yield
    except (UnmaskError, torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:150] or type(error).__name__
        raise ModelError(
            f"the network {type(net).__name__} fails in a forward pass ({type(error).__name__}: "
            f"{reason}); its config, weights or tokenizer do not fit one another, or try --no-fast."
        ) from error
    finally:
        if onednn and not torch.backends.mkldnn.enabled:
            torch.backends.mkldnn.set_flags(True)


# Heads and buffers that a checkpoint may hold in addition to those that are needed.
_OTHER_HEADS = re.compile(
    r"seq_relationship|pooler|position_ids|masked_bias|attn\.bias|inv_freq|classifier|score\."
    r"|qa_outputs|discriminator|generator|^cls\.|lm_head|predictions|nsp|mlm_head|vocab_"
)
_ADAPTER = re.compile(r"lora_|adapter|prompt_encoder|ia3_")
_LAYER = re.compile(r"(?:layers?|h|blocks?)\.\d+\.")


def unused_weights(name: str, report: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note on weights that the network does not use; refuse adapters and unused layers."""
    unused = sorted(map(str, report.get("unexpected_keys") or ()))
    if adapters := [k for k in unused if _ADAPTER.search(k)]:
        raise ModelError(
            f"the files of {name!r} hold an adapter ({adapters[0]}) that the network would not "
            "use; merge it into the weights (merge_and_unload) and save the whole model."
        )
    if layers := [k for k in unused if _LAYER.search(k) and k.rpartition(".")[2] != "bias"]:
        raise ModelError(
            f"the files of {name!r} hold layers that its config does not name ({layers[0]}); "
            "correct the config, or the files."
        )
    reported = [k for k in unused if not _OTHER_HEADS.search(k)]
    if not reported:
        return ()
    more = f" and {len(reported) - 3} more" if len(reported) > 3 else ""
    return (
        f"weights in the files that the network does not use: {', '.join(reported[:3])}{more}.",
    )


def check_complete(name: str, report: Mapping[str, Any]) -> None:
    """Refuse a checkpoint with missing weights: they would be random."""
    missing = sorted(k for k in report["missing_keys"] if not _HARMLESS.search(k))
    mismatched = sorted(str(k) for k in report.get("mismatched_keys") or [])
    if missing or mismatched:
        names = ", ".join([*missing, *mismatched][:3])
        more = len(missing) + len(mismatched) - 3
        raise ModelError(
            f"the files of {name!r} lack weights that would be filled at random: {names}"
            + (f" and {more} more" if more > 0 else "")
            + "; give a checkpoint of the whole model with its language-modelling head."
        )
