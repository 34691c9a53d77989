"""Change points: found where the level changes, and as rarely as promised where it does not."""

from __future__ import annotations

from random import Random

import pytest
from scipy.stats import binom

from waza.results.change_points import change_points

ALPHA, SERIES = 0.05, 400


def rates(random: Random, size: int, rate: float, tasks: int = 20) -> list[float]:
    return [sum(random.random() < rate for _ in range(tasks)) / tasks for _ in range(size)]


@pytest.mark.parametrize("size", [8, 30])
def test_series_without_a_change_have_one_as_rarely_as_promised(size):
    random = Random(1)
    alarms = sum(bool(change_points(rates(random, size, 0.8), ALPHA)) for _ in range(SERIES))
    # At most that many, with a probability of 99.9 %, if a false alarm has the probability ALPHA.
    assert alarms <= binom.ppf(0.999, SERIES, ALPHA)
    assert alarms > 0, "a rule that never speaks shows nothing"


def test_skewed_figures_give_no_more_false_alarms():
    random = Random(2)
    series = ([random.lognormvariate(0, 2) for _ in range(25)] for _ in range(SERIES))
    assert sum(bool(change_points(values, ALPHA)) for values in series) <= binom.ppf(0.999, SERIES, ALPHA)


def test_a_change_is_found_where_it_is():
    random = Random(3)
    found = [change_points([*rates(random, 15, 0.9), *rates(random, 15, 0.5)], ALPHA) for _ in range(50)]
    first = [points[0].index for points in found if points]
    assert len(first) == 50
    assert sum(abs(index - 15) <= 1 for index in first) >= 45


def test_a_rise_and_a_fall_are_two_changes_with_their_levels():
    values = [0.5, 0.51] * 6 + [0.9, 0.91] * 6 + [0.5, 0.51] * 6
    first, second = change_points(values, 0.01)
    assert (first.index, second.index) == (12, 24)
    assert (first.before, first.after, second.after) == pytest.approx((0.505, 0.905, 0.505))
    assert 0 < first.p_value <= 0.01


def test_equal_series_have_equal_change_points():
    values = rates(Random(4), 40, 0.7) + rates(Random(5), 40, 0.6)
    assert change_points(values, ALPHA) == change_points(list(values), ALPHA)


@pytest.mark.parametrize("values", [[], [1], [0, 1, 1], [0.3] * 50, [0, 1, 0, 1]])
def test_what_cannot_show_a_change_has_none(values):
    assert change_points(values, ALPHA) == []
