"""Student's t: scipy's functions without the cost of its distribution objects."""

import math

from scipy.special import ndtr, ndtri, stdtr, stdtrit


def quantile(p: float, df: float) -> float:
    """The value that t with `df` degrees of freedom stays below with probability p."""
    return float(ndtri(p) if math.isinf(df) else stdtrit(df, p))


def upper_tail(value: float, df: float) -> float:
    """The probability that t with `df` degrees of freedom is above a value."""
    return float(ndtr(-value) if math.isinf(df) else stdtr(df, -value))
