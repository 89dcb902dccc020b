"""Where caches lie: fetched data, and the answers of models."""

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """`UNMASK_CACHE`, or the user's cache directory."""
    return Path(os.environ.get("UNMASK_CACHE") or platformdirs.user_cache_dir("unmask"))
