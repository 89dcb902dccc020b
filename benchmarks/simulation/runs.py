"""Studies over several results: the joint test of `vary`, and the ranks of models."""

from collections.abc import Iterator

import numpy as np

from simulation import pairs
from simulation.harness import Draw, Random, Row, p_only, repeated
from simulation.pairs import Liking
from unmask.options import Resampling
from unmask.stats.clustering import Design
from unmask.stats.ranks import ranks
from unmask.stats.specification_curve import joint_signs


def curves(times: int) -> Iterator[Row]:
    """The joint test of `vary`, with groups far apart."""
    columns = pairs.bundled()
    design = Design.of(columns)
    assert design.strata is not None
    strata = np.zeros(design.count, np.int64)
    strata[design.clusters] = design.strata
    for bias in (0.0, 0.6):

        def draw(rng: Random, seed: int) -> Draw:
            liking = Liking(2.0, 0.0, template=0.0)
            leads = [
                ((pairs.margins(rng, columns, liking, bias) > 0) - 0.5, design.clusters)
                for _ in range(5)
            ]
            how = Resampling(draws=400, seed=seed)
            return p_only(joint_signs(leads, design.count, strata, how), bias == 0)

        about = f"5 specifications, word preference 2 nats, bias {bias:g}"
        yield repeated("vary: joint test", about, True, times, draw)


def ranked(times: int) -> Iterator[Row]:
    """Four models on six measures: all true ranks within their intervals."""
    for name, true in (("apart", [0.0, 1, 2, 4]), ("alike", [1.0, 1, 1, 1])):
        truth = np.repeat(np.array(true)[:, None], 6, axis=1)
        first = np.array([1 + sum(o < t for o in true) for t in true])
        last = np.array([len(true) - sum(o > t for o in true) for t in true])

        def draw(rng: Random, seed: int) -> Draw:
            seen = truth + rng.normal(size=truth.shape)
            how = Resampling(draws=500, seed=seed)
            _, low, high = ranks(seen, np.ones_like(truth), how)
            held = bool((low <= last).all() and (high >= first).all())
            return Draw(0.0, 0.0 if held else 9.0, 1.0)

        yield repeated("ranks of models", f"4 models {name}, 6 measures", True, times, draw)
