"""Vectors by their direction. Needs numpy alone, so that the table of measures loads fast."""

import numpy as np

from unmask.errors import DataError
from unmask.types import Floats

ROUNDING = 1e-12  # cosines and log-odds are of order 1: a smaller spread is rounding


def unit(vectors: Floats) -> Floats:
    """Vectors [n, d] scaled to length 1; a zero vector has no angle and is refused."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.all(length > 0):
        raise DataError("a vector of length zero has no angle; remove its word.")
    return np.asarray(vectors / length)
