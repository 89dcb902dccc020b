"""Connect to a Ray cluster: one that is named, or a new one on this machine."""

import logging
import os
from typing import Any

from unmask.errors import UnmaskError


def started(address: str | None = None) -> Any:
    """Return the connected Ray module: to an address, to RAY_ADDRESS, or to a new local cluster."""
    # Ray's own search for a local cluster is skipped: if that is gone, it would wait for minutes.
    cluster = address or os.environ.get("RAY_ADDRESS")
    try:
        import ray
    except ImportError as error:
        raise UnmaskError("--engine ray needs: pip install 'unmask[ray]'.") from error
    if not ray.is_initialized():
        try:
            options: dict[str, Any] = {} if cluster else {"include_dashboard": False}
            ray.init(
                address=cluster or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **options,
            )
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            if not cluster:
                raise UnmaskError(f"Ray failed to start: {_first(error)}.") from error
            raise UnmaskError(
                f"no Ray cluster answers at {cluster!r} ({_first(error)}); start one with: ray "
                "start --head. If the cluster requires a token (Ray 2.60 and later, if one is "
                "set), set RAY_AUTH_MODE=token."
            ) from error
    return ray


def _first(error: BaseException) -> str:
    return " ".join(str(error).split()).split(". ")[0][:150]
