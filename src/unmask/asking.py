"""The former name of `unmask.queries`; it goes with 0.3."""

import warnings

from unmask.queries import *  # noqa: F403

warnings.warn(
    "unmask.asking is now unmask.queries; the old name works until 0.3.",
    DeprecationWarning,
    stacklevel=2,
)
