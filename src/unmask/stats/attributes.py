"""Attribute words are a sample too: how far would others move the effect?"""

from unmask.stats.design import Variance
from unmask.types import Floats


def attribute_variance(cells: Floats, sizes: tuple[int, int, int, int]) -> Variance:
    """The variance that other attribute words would add to the difference of means.

    `cells` [words of X and Y, words of A and B] are mean cosines of two words; the difference of
    means is bilinear in the two kinds of words, so its variance is that of the target words (the
    attributes fixed), plus that of the attribute words (the targets fixed), less what both count:
    their interplay.
    """
    n, m, p, q = sizes
    halves = [slice(0, n), slice(n, n + m)], [slice(0, p), slice(p, p + q)]
    by_attribute = cells[halves[0][0]].mean(0) - cells[halves[0][1]].mean(0)
    over = sum(float(by_attribute[c].var(ddof=1)) / len(by_attribute[c]) for c in halves[1])
    both = sum(_interplay(cells[r, c]) for r in halves[0] for c in halves[1])
    return Variance(max(over - both, 0.0), float(p + q - 2))


def _interplay(block: Floats) -> float:
    """The part of the variance of a block's mean that is neither its rows' nor its columns'."""
    rows, columns = block.shape
    apart = block - block.mean(0) - block.mean(1)[:, None] + block.mean()
    return float((apart**2).sum()) / ((rows - 1) * (columns - 1)) / (rows * columns)
