"""The former name of `unmask.queries`; it goes with 0.3."""

import warnings

from unmask.queries import *  # noqa: F403
from unmask.queries import RowQueries as Ask  # noqa: F401
from unmask.queries import row_queries_of as asks_of  # noqa: F401

warnings.warn(
    "unmask.asking is now unmask.queries; the old name works until 0.3.",
    DeprecationWarning,
    stacklevel=2,
)
