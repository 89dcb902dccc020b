"""Ray: connected to a cluster that is named, or to one of this machine."""

import logging
import os
from typing import Any

from unmask.errors import UnmaskError


def started(address: str | None = None) -> Any:
    """Ray itself, connected: to an address, to RAY_ADDRESS, or to a cluster that it starts here."""
    # One that may run here is not looked for: where it is gone, that would wait for minutes.
    there = address or os.environ.get("RAY_ADDRESS")
    try:
        import ray
    except ImportError as error:
        raise UnmaskError("--engine ray needs: pip install 'unmask[ray]'.") from error
    if not ray.is_initialized():
        try:
            options: dict[str, Any] = {} if there else {"include_dashboard": False}
            ray.init(
                address=there or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **options,
            )
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            if not there:
                raise UnmaskError(f"Ray does not start: {_first(error)}.") from error
            raise UnmaskError(
                f"no Ray cluster answers at {there!r} ({_first(error)}); start one with: ray "
                "start --head. If the cluster requires a token (Ray 2.60 and later, if one is "
                "set), set RAY_AUTH_MODE=token."
            ) from error
    return ray


def _first(error: BaseException) -> str:
    return " ".join(str(error).split()).split(". ")[0][:150]
