"""Tests of stats/cluster_pulls: a plain loop beside it, and items that are lost or out of order."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from unmask.errors import DataError
from unmask.stats.cluster_pulls import pulls_of

LABELS = ("stereotype", "antistereotype")


def result(rng, sided=True):
    """Pairs of three categories, each with families of two sides; some could not be scored."""
    rows = []
    for n in range(80):
        category = f"c{n % 3}"
        side = f"s{rng.integers(2)}" if sided else ""
        facts = {"item": f"i{n}", "category": category, "cluster": f"w{rng.integers(12)}"}
        facts |= {"family": f"{category}-{n % 2}" if sided else None, "side": side, "frame": None}
        reason = "too long" if n % 17 == 5 else None
        rows += [{**facts, "label": k, "score": rng.integers(9), "reason": reason} for k in LABELS]
    verdicts = dict.fromkeys(["", "c0", "c1", "c2"])
    settings = {"items": pd.DataFrame(rows), "verdicts": verdicts, "data": "some:part"}
    return SimpleNamespace(compared="preference", settings={}, **settings)


def plain(given, name):
    """Each item's answer less the mean of its cell, by its weight, summed by cluster."""
    pairs = []
    for _, item in given.items[given.items.reason.isna()].groupby("item"):
        score = item.set_index("label").score
        wins = float(score[LABELS[0]] > score[LABELS[1]]) + (score.nunique() == 1) / 2
        one = item.iloc[0]
        cell = (one.family, one.side) if one.side else (one.category, one.category)
        pairs.append((one.category, one.cluster, *cell, wins))
    mine = [p for p in pairs if name in ("", p[0])]
    out = {}
    for _, cluster, family, side, wins in mine:
        mean = np.mean([p[4] for p in pairs if p[2:4] == (family, side)])
        of_family = [p for p in mine if p[2] == family]
        sides = len({p[3] for p in of_family})
        size = sum(p[3] == side for p in of_family)
        weight = len(of_family) / len(mine) / sides / size
        key = f"some/{cluster}"
        out[key] = out.get(key, 0.0) + weight * (wins - mean)
    return out


@pytest.mark.parametrize("sided", [True, False])
def test_pulls_are_those_of_a_plain_loop(rng, sided):
    given = result(rng, sided)
    pulls = pulls_of(given)
    assert list(pulls) == ["", "c0", "c1", "c2"]
    for name, of_clusters in pulls.items():
        expected = plain(given, name)
        assert list(of_clusters) == sorted(expected)
        assert of_clusters == pytest.approx(expected, abs=1e-12)


def test_the_order_of_rows_changes_nothing(rng):
    given = result(rng)
    shuffled = given.items.sample(frac=1, random_state=1)
    other = SimpleNamespace(**{**vars(given), "items": shuffled})
    for name, of_clusters in pulls_of(given).items():
        assert pulls_of(other)[name] == pytest.approx(of_clusters, abs=1e-12)


def test_an_item_without_its_other_sentence_is_refused(rng):
    given = result(rng)
    lost = SimpleNamespace(**{**vars(given), "items": given.items.drop(index=3)})
    with pytest.raises(DataError, match="no antistereotype"):
        pulls_of(lost)
