"""How small a difference a run can show, and what one of a given size takes."""

from __future__ import annotations

import math

from waza.author.plan.earlier_trials import EarlierTrials
from waza.author.plan.report import Cheaper, Deviation, NeededSize, PlannedPower
from waza.model.loaded import Suite
from waza.results.assemble import groups_of
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import (
    can_show,
    expected_error,
    fewest_units,
    planned_detectable,
    smallest_detectable,
    tasks_needed,
    trials_needed,
)

WORST_TRIAL = 0.25
"""The largest variance that scores from 0 to 1 can have: those of a task that passes half of the time."""
ASSUMED_SPREAD = 0.2
"""The standard deviation between tasks of what a change does to them, where no pair of arms has shown it."""


def plan_power(
    suite: Suite, model: str, trials: int, arms: int, known: EarlierTrials, difference: float | None
) -> PlannedPower:
    """Return what two runs with so many trials a task in each of their arms show, by what earlier ones say of chance.

    `difference` is one to be shown, if any, for which the power has what it takes.
    """
    trial, task = known.trial_variance(), known.task_variance()
    noise = Deviation(
        math.sqrt(WORST_TRIAL if trial is None else trial), "assumed" if trial is None else "measured"
    )
    spread = Deviation(
        ASSUMED_SPREAD if task is None else math.sqrt(task), "assumed" if task is None else "measured"
    )
    tasks, units = len(suite.tasks), count_units(suite, model)
    possible = can_show(units, ALPHA)
    return PlannedPower(
        tasks=tasks,
        units=units,
        trials=trials,
        enough_tasks=possible,
        trial=noise,
        task=spread,
        if_alike=_smallest(0, noise.std_dev**2, tasks, units, trials) if possible else None,
        smallest_detectable=_smallest(spread.std_dev**2, noise.std_dev**2, tasks, units, trials)
        if possible
        else None,
        needed=None
        if difference is None
        else _needed(difference, spread.std_dev**2, noise.std_dev**2, tasks, units, trials, arms),
    )


def count_units(suite: Suite, model: str) -> int:
    """Return how many groups of tasks change together; groups that do not split the tasks do not count."""
    groups = [", ".join(groups_of(suite, task, model)) for task in suite.tasks]
    named = {group for group in groups if group and group != "untagged"}
    alone = sum(group in ("", "untagged") for group in groups)
    return len(named) + alone if len(named) > 1 else len(groups)


def _smallest(task: float, trial: float, tasks: int, units: int, trials: int) -> float | None:
    """Return the smallest difference; tasks of a unit change alike, so that only their trials even out."""
    if units == tasks:
        return planned_detectable(task, trial, tasks=tasks, trials=trials, alpha=ALPHA)
    within = expected_error(0, trial, tasks=tasks, trials=trials).value
    error = expected_error(task, within**2 * units / 2, tasks=units, trials=1)
    return smallest_detectable(error, ALPHA)


def _needed(
    difference: float, task: float, trial: float, tasks: int, units: int, trials: int, arms: int
) -> NeededSize:
    """Return what a difference needs, of tasks that change on their own."""
    least = fewest_units(ALPHA)
    more_tasks = tasks_needed(task, trial, trials=trials, difference=difference, alpha=ALPHA)
    if more_tasks is not None:
        more_tasks = max(least, more_tasks)
    more_trials = None
    if units >= least:
        more_trials = trials_needed(task, trial, tasks=units, difference=difference, alpha=ALPHA)
    by_tasks = None if more_tasks is None else more_tasks * trials * arms
    by_trials = None if more_trials is None else more_trials * tasks * arms
    return NeededSize(
        difference=difference,
        tasks=more_tasks,
        tasks_sessions=by_tasks,
        trials=more_trials,
        trials_sessions=by_trials,
        cheaper=_cheaper(by_tasks, by_trials, tasks * trials * arms),
    )


def _cheaper(by_tasks: int | None, by_trials: int | None, now: int) -> Cheaper:
    found = [one for one in (by_tasks, by_trials) if one is not None]
    if not found:
        return "neither"
    if min(found) <= now:
        return "as it is"
    if by_trials is None or (by_tasks is not None and by_tasks < by_trials):
        return "more tasks"
    return "more trials" if by_tasks is None or by_trials < by_tasks else "alike"
