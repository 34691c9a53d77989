"""Confidence sequences: an interval that may be looked at after each trial."""

from __future__ import annotations

import math
from random import Random

import pytest

from waza.kit.confidence_sequence import fewest_trials, rate_bounds
from waza.kit.stats import wilson


def looks(rate: float, trials: int, chance: Random) -> tuple[bool, bool]:
    """Look after each of so many trials; return whether the sequence, and Wilson's interval, ever left the rate out."""
    passed, out, wilson_out = 0, False, False
    for total in range(1, trials + 1):
        passed += chance.random() < rate
        lower, upper = rate_bounds(passed, total)
        out = out or not lower <= rate <= upper
        low, high = wilson(passed, total)
        wilson_out = wilson_out or not low <= rate <= high
    return out, wilson_out


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.8, 0.95, 1.0])
def test_it_leaves_the_true_rate_out_in_no_more_than_5_percent_of_runs_however_often_one_looks(rate: float):
    chance, runs = Random(int(rate * 100)), 600
    missed = [looks(rate, 150, chance) for _ in range(runs)]
    assert sum(out for out, _ in missed) / runs <= 0.05
    if 0.1 < rate < 0.9:  # which is why no fixed-n interval will do
        assert sum(out for _, out in missed) / runs > 0.15


def test_it_holds_for_the_mean_of_scores_between_0_and_1():
    chance, runs, missed = Random(7), 400, 0
    for _ in range(runs):
        total, out = 0.0, False
        for count in range(1, 100):
            total += chance.betavariate(2, 1)  # of mean 2/3
            lower, upper = rate_bounds(total, count)
            out = out or not lower <= 2 / 3 <= upper
        missed += out
    assert missed / runs <= 0.05


def test_its_edges_are_where_the_mixture_reaches_20():
    def mixture(passed: int, failed: int, rate: float) -> float:
        ways = math.gamma(passed + 0.5) * math.gamma(failed + 0.5) / math.gamma(passed + failed + 1) / math.pi
        return ways / (rate**passed * (1 - rate) ** failed)

    for passed, failed in ((7, 3), (1, 9), (25, 25)):
        for edge in rate_bounds(passed, passed + failed):
            assert mixture(passed, failed, edge) == pytest.approx(20, rel=1e-5)
    lower, upper = rate_bounds(20, 20)
    assert upper == 1
    assert mixture(20, 0, lower) == pytest.approx(20, rel=1e-5)


def test_it_is_symmetric_and_begins_knowing_nothing():
    assert rate_bounds(0, 0) == (0, 1)
    lower, upper = rate_bounds(3, 10)
    assert rate_bounds(7, 10) == pytest.approx((1 - upper, 1 - lower))


def test_nothing_is_narrow_before_the_fewest_trials():
    for half_width in (0.05, 0.1, 0.3):
        fewest = fewest_trials(half_width, 1_000_000)
        before = [rate_bounds(passed, fewest - 1).half_width for passed in range(fewest)]
        assert min(before) > half_width >= rate_bounds(fewest, fewest).half_width
    assert fewest_trials(0.05, 10) == 10
