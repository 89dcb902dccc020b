"""Rows of token ids to tensors."""

from collections.abc import Sequence

import torch


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids [rows, width] filled up with `pad`, and 1 where a token is real."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad)
    real = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        real[i, : len(row)] = 1
    return ids, real
