"""Tests of stats/multiplicity."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from unmask.stats.multiplicity import corrected


def test_holm_by_hand_and_by_statsmodels():
    p = [0.01, 0.04, 0.03]
    # sorted .01 x 3, .03 x 2, .04 x 1, made monotone
    assert corrected(p) == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.01, np.nan, 0.04]).tolist() == pytest.approx(
        [0.02, np.nan, 0.04], nan_ok=True
    )
    assert corrected(p, "bh") == pytest.approx(multipletests(p, method="fdr_bh")[1])
