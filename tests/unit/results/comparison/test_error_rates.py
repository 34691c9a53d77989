"""How often the comparison errs, by simulation: false alarms of the test, and intervals that miss the truth.

Each rate is checked with its exact binomial interval (Clopper and Pearson) of 99.9 % confidence. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
import scipy.stats

from waza.results.comparison.detectable import expected_error, smallest_detectable
from waza.results.comparison.paired import mean_interval
from waza.results.comparison.sign_flip import sign_flip

pytestmark = pytest.mark.slow

ALPHA, RUNS = 0.05, 1500
Clusters = list[list[float]]


def bounds(hits: int, runs: int) -> tuple[float, float]:
    """Return the interval of a rate of which `hits` of `runs` were seen."""
    found = scipy.stats.binomtest(hits, runs).proportion_ci(0.999)
    return float(found.low), float(found.high)


def passes(draw: Random, tasks: int, shift: float = 0.0) -> Clusters:
    """Return differences of pass rates over three trials of each task, whose difficulty differs."""
    found = []
    for _ in range(tasks):
        rate = draw.random() * (1 - shift)
        a, b = (sum(draw.random() < p for _ in range(3)) / 3 for p in (rate, rate + shift))
        found.append([b - a])
    return found


def scores(draw: Random, tasks: int) -> Clusters:
    """Return differences of scores without a true one, of tasks that vary unequally."""
    return [[draw.gauss(0, draw.choice([0.1, 0.5]))] for _ in range(tasks)]


def groups(draw: Random, count: int) -> Clusters:
    """Return groups of four tasks that share most of their difference."""
    return [
        [part + draw.gauss(0, 0.1) for _ in range(4)] for part in (draw.gauss(0, 0.3) for _ in range(count))
    ]


@pytest.mark.parametrize(
    ("make", "units"), [(passes, 8), (passes, 20), (passes, 30), (scores, 12), (scores, 25), (groups, 10)]
)
def test_the_test_gives_no_more_false_alarms_than_its_level(
    make: Callable[[Random, int], Clusters], units: int
):
    draw = Random(units)
    runs = RUNS if units <= 20 else RUNS // 10  # each draws 9,999 ways
    alarms = sum(sign_flip(make(draw, units)).p_value <= ALPHA for _ in range(runs))
    assert bounds(alarms, runs)[0] <= ALPHA


def test_forgetting_the_groups_would_give_more():
    """The check above can fail: tasks that change together, taken for independent ones."""
    draw = Random(3)
    alarms = sum(
        sign_flip([[value] for group in groups(draw, 5) for value in group]).p_value <= ALPHA
        for _ in range(RUNS)
    )
    assert bounds(alarms, RUNS)[0] > 2 * ALPHA


@pytest.mark.parametrize(
    ("make", "units"), [(passes, 20), (passes, 40), (scores, 12), (groups, 10), (groups, 30)]
)
def test_intervals_hold_the_truth_as_often_as_they_say(make: Callable[[Random, int], Clusters], units: int):
    draw = Random(units + 1)
    held = 0
    for _ in range(RUNS):
        interval = mean_interval(make(draw, units), 1 - ALPHA)
        assert interval is not None
        held += interval.lower <= 0 <= interval.upper
    lower, upper = bounds(held, RUNS)
    assert lower <= 1 - ALPHA <= upper


def test_a_difference_that_should_show_shows_four_times_in_five():
    draw, tasks, trials = Random(8), 20, 3
    size = smallest_detectable(expected_error(0.04, 0.09, tasks=tasks, trials=trials), ALPHA)
    assert size is not None
    shown = 0
    for _ in range(RUNS):
        found = [
            [size + draw.gauss(0, 0.2) + (draw.gauss(0, 0.3 * 2**0.5) / trials**0.5)] for _ in range(tasks)
        ]
        shown += sign_flip(found).p_value <= ALPHA
    lower, upper = bounds(shown, RUNS)
    assert lower <= 0.8 <= upper + 0.02  # the test of signs is a little less sharp than the interval
