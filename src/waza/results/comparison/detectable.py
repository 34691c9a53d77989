"""How small a difference a number of tasks and trials can show, and how many of them a difference needs."""

from __future__ import annotations

import math
from collections.abc import Callable

from waza.kit.student_t import t_quantile
from waza.results.comparison.paired import StandardError
from waza.results.comparison.sign_flip import least_p_value

POWER = 0.8
"""How likely a difference is to be shown, to count as one that the data could have shown."""
_MOST_TASKS = 1_000_000
_MOST_TRIALS = 10_000


def smallest_detectable(error: StandardError, alpha: float, power: float = POWER) -> float | None:
    """Return the smallest true difference that a two-sided test at `alpha` shows with the probability `power`.

    (t[1 - alpha/2] + t[power]) * standard error (Bloom, "Minimum Detectable Effects", 1995). None where no difference
    between tasks was seen at all: nothing is known of the noise then.
    """
    if error.value <= 0:
        return None
    return (t_quantile(1 - alpha / 2, error.df) + t_quantile(power, error.df)) * error.value


def expected_error(task: float, trial: float, *, tasks: int, trials: int) -> StandardError:
    """Return the standard error to expect of `tasks` tasks with `trials` trials in each of two results.

    `task` is the variance of the true differences between tasks, `trial` that of one trial (with its judge) about its
    task: sqrt((task + 2 * trial/trials)/tasks), with tasks - 1 degrees of freedom.
    """
    return StandardError(math.sqrt((task + 2 * trial / trials) / tasks), tasks - 1)


def planned_detectable(task: float, trial: float, *, tasks: int, trials: int, alpha: float) -> float | None:
    """Return the smallest difference that so many tasks and trials will show; variances as `expected_error` has them.

    None with fewer than two tasks, and where nothing is left to chance.
    """
    if tasks < 2:
        return None
    return smallest_detectable(expected_error(task, trial, tasks=tasks, trials=trials), alpha)


def can_show(tasks: int, alpha: float) -> bool:
    """Return whether a difference of so many tasks can be significant at all: five cannot, however large it is."""
    return least_p_value(tasks) <= alpha


def fewest_units(alpha: float) -> int:
    """Return with how many tasks, or groups that change together, a difference can be significant at all: six at 5 %."""
    units = 1
    while not can_show(units, alpha):
        units += 1
    return units


def tasks_needed(task: float, trial: float, *, trials: int, difference: float, alpha: float) -> int | None:
    """Return the least number of tasks with so many trials each, in each of two results, that shows a difference.

    `task` and `trial` are variances as `expected_error` takes them. None: above a million.
    """
    return _least(2, _MOST_TASKS, lambda tasks: _shows(task, trial, tasks, trials, difference, alpha))


def trials_needed(task: float, trial: float, *, tasks: int, difference: float, alpha: float) -> int | None:
    """Return the least number of trials of each of so many tasks, in each of two results, that shows a difference.

    None: above 10,000, or there are fewer than two tasks.
    """
    if tasks < 2:
        return None
    return _least(1, _MOST_TRIALS, lambda trials: _shows(task, trial, tasks, trials, difference, alpha))


def equal_pairs_needed(difference: float, alpha: float) -> int:
    """Return how many pairs of trials that end alike, without one that does not, rule a difference of rates out.

    If two rates differ by d, each pair of trials differs with a probability of at least d, so that n pairs are all
    alike in at most (1 - d)^n of cases (the exact bound behind the rule of three: Hanley and Lippman-Hand, "If Nothing
    Goes Wrong, Is Everything All Right?", 1983). The difference is above 0 and below 1.
    """
    return math.ceil(math.log(alpha) / math.log1p(-difference))


def _shows(task: float, trial: float, tasks: int, trials: int, difference: float, alpha: float) -> bool:
    return (planned_detectable(task, trial, tasks=tasks, trials=trials, alpha=alpha) or 0) <= difference


def _least(first: int, last: int, suffices: Callable[[int], bool]) -> int | None:
    """Return the least number from `first` to `last` that suffices, as all above it do; None if none does."""
    if not suffices(last):
        return None
    while first < last:
        middle = (first + last) // 2
        if suffices(middle):
            last = middle
        else:
            first = middle + 1
    return first
