"""Student's t: quantiles and tails against scipy."""

from __future__ import annotations

import pytest
import scipy.stats

from waza.kit.student_t import t_quantile, t_tail

DEGREES = [1, 2, 3, 7, 19, 39, 120, 9_999]


@pytest.mark.parametrize("df", DEGREES)
def test_quantiles_are_those_of_scipy(df: int):
    for share in (0.0005, 0.025, 0.2, 0.5, 0.8, 0.9, 0.975, 0.995, 0.99999):
        assert t_quantile(share, df) == pytest.approx(scipy.stats.t.ppf(share, df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("df", DEGREES)
def test_tails_are_those_of_scipy(df: int):
    for t in (-40.0, -2.1, -1e-6, 0.0, 1e-6, 0.3, 1.0, 2.5, 12.0, 300.0):
        assert t_tail(t, df) == pytest.approx(scipy.stats.t.sf(t, df), rel=1e-9)
    assert (t_tail(float("inf"), df), t_tail(float("-inf"), df)) == (0, 1)
