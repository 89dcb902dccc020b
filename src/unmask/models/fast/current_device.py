"""Triton launches on the current GPU: of several, that of what it is given has to be it."""

from contextlib import AbstractContextManager, nullcontext

import torch

_AS_IT_IS: AbstractContextManager[None] = nullcontext()


def current(device: torch.device) -> AbstractContextManager[None]:
    """Inside, a GPU is the current one; where it is already, that costs nothing."""
    if device.index == torch.cuda.current_device():
        return _AS_IT_IS
    there: AbstractContextManager[None] = torch.cuda.device(device)  # type: ignore[no-untyped-call]
    return there
