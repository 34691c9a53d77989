"""How small a difference a number of tasks and trials can show."""

from __future__ import annotations

import math

from waza.kit.student_t import t_quantile
from waza.results.comparison.paired import StandardError

POWER = 0.8
"""How likely a difference is to be shown, to count as one that the data could have shown."""


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
