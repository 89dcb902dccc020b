"""Whether the hub is reachable; checked once, so that a wrong name fails fast without a network."""

import os
import socket
from functools import cache
from urllib.parse import urlsplit

CONNECT_TIMEOUT = 3.0  # seconds


@cache
def reachable() -> bool:
    """Whether the model hub answers; `HF_HUB_OFFLINE` says no."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        return False
    address = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    if any(os.environ.get(k) for k in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY")):
        return True  # a proxy answers for it
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=CONNECT_TIMEOUT):
            return True
    except OSError:
        return False
