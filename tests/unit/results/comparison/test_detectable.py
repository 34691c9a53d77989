"""How much data a difference needs."""

from __future__ import annotations

import pytest
import scipy.stats

from waza.results.comparison.detectable import (
    equal_pairs_needed,
    expected_error,
    smallest_detectable,
    tasks_needed,
    trials_needed,
)


@pytest.mark.parametrize(("difference", "pairs"), [(0.1, 29), (0.05, 59), (0.01, 299), (0.5, 5)])
def test_equal_pairs_rule_a_difference_out(difference: float, pairs: int) -> None:
    assert equal_pairs_needed(difference, 0.05) == pairs
    # By scipy: the chance that none of so many pairs differs, and that of one less.
    assert (
        scipy.stats.binom.pmf(0, pairs, difference) <= 0.05 < scipy.stats.binom.pmf(0, pairs - 1, difference)
    )


def test_the_least_number_of_trials_and_of_tasks() -> None:
    trials = trials_needed(0.001, 0.2, tasks=20, difference=0.1, alpha=0.05)
    assert trials is not None
    tasks = tasks_needed(0.001, 0.2, trials=3, difference=0.1, alpha=0.05)
    assert tasks is not None

    def shown(tasks: int, trials: int) -> float:
        return smallest_detectable(expected_error(0.001, 0.2, tasks=tasks, trials=trials), 0.05) or 0

    assert shown(20, trials) <= 0.1 < shown(20, trials - 1)
    assert shown(tasks, 3) <= 0.1 < shown(tasks - 1, 3)


def test_trials_are_no_help_where_tasks_differ_too_much() -> None:
    assert trials_needed(1.0, 0.2, tasks=10, difference=0.1, alpha=0.05) is None
    assert trials_needed(0.0, 0.2, tasks=1, difference=0.1, alpha=0.05) is None
