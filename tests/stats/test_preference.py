"""Tests of stats/preference."""

import numpy as np
import pytest

from unmask.errors import DataError
from unmask.stats import intervals, preference


def test_nothing_is_an_error_never_50():
    with pytest.raises(DataError):
        intervals.share(np.array([]), [])
    scores = {"stereotype": np.ones(3), "antistereotype": np.ones(3)}
    with pytest.raises(DataError, match="ties"):
        preference.summarise(scores, list("abc"), ties="drop")


def test_tie_rules_by_hand():
    pro, anti = np.array([2, 1, 1, np.nan]), np.array([1, 1, 2, 0.0])
    assert preference.preferred(pro, anti).tolist() == [1, 0, 0, 0]
    assert preference.preferred(pro, anti, "half").tolist() == [1, 0.5, 0, 0]
    assert np.isnan(preference.preferred(pro, anti, "drop")[1])


def test_stereoset_scores_by_hand():
    """Two terms: a with ss 1/2 and lms 3/4, b with ss 1 and lms 1."""
    scores = {
        "stereotype": np.array([3.0, 1.0, 5.0]),
        "antistereotype": np.array([2.0, 2.0, 4.0]),
        "unrelated": np.array([1.0, 1.5, 0.0]),
    }
    found = preference.summarise(scores, ["a", "a", "b"], macro=True)
    assert found["score"].value == pytest.approx(75)
    assert found["lms"].value == pytest.approx(100 * (0.75 + 1) / 2)
    assert found["icat"].value == pytest.approx(87.5 * 25 / 50)
    assert found["log_ratio"].value == pytest.approx(((1 - 1) / 2 + 1) / 2)
