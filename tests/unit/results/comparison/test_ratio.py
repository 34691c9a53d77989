"""The interval of a ratio, held against its definition: a search over all ratios that a t test does not rule out."""

from __future__ import annotations

import pytest
import scipy.stats

from waza.results.comparison.ratio import ratio_interval

LIFTS = [1.0, 0.5, 0.0, 1.0, 0.75, 0.25, 1.0, 0.5]
RATES = [1.0, 0.75, 0.25, 1.0, 1.0, 0.5, 1.0, 0.75]


def p_value(ratio: float) -> float:
    """How compatible the data are with a ratio, by scipy's t test of one sample."""
    rests = [lift - ratio * rate for lift, rate in zip(LIFTS, RATES, strict=True)]
    return float(scipy.stats.ttest_1samp(rests, 0).pvalue)


def test_both_ends_are_where_a_t_test_begins_to_rule_the_ratio_out() -> None:
    found = ratio_interval([[one] for one in LIFTS], [[one] for one in RATES], 0.95)
    assert found is not None
    assert found.lower < sum(LIFTS) / sum(RATES) < found.upper
    assert [p_value(found.lower), p_value(found.upper)] == pytest.approx([0.05, 0.05], rel=0, abs=1e-9)


def test_a_cluster_counts_as_a_whole() -> None:
    paired = ([LIFTS[i : i + 2] for i in range(0, 8, 2)], [RATES[i : i + 2] for i in range(0, 8, 2)])
    found, alone = (
        ratio_interval(*paired, 0.95),
        ratio_interval([[one] for one in LIFTS], [[one] for one in RATES], 0.95),
    )
    assert found is not None
    assert alone is not None
    assert (found.lower, found.upper) != (alone.lower, alone.upper)


def test_of_a_constant_rate_it_is_the_interval_of_the_mean() -> None:
    found = ratio_interval([[one] for one in LIFTS], [[0.5]] * 8, 0.95)
    assert found is not None
    sem = scipy.stats.sem(LIFTS)
    low, high = scipy.stats.t.interval(0.95, 7, sum(LIFTS) / 8, sem)
    assert (found.lower, found.upper) == pytest.approx((low / 0.5, high / 0.5), rel=0, abs=1e-9)


@pytest.mark.parametrize(
    ("lifts", "rates"),
    [([1.0], [1.0]), ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), ([0.0, 0.0], [0.0, 0.0])],
)
def test_there_is_none_where_the_rate_may_be_zero(lifts: list[float], rates: list[float]) -> None:
    assert ratio_interval([[one] for one in lifts], [[one] for one in rates], 0.95) is None
