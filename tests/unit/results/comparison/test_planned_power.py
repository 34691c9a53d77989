"""Figures of plans, held against simulated runs that the tests of `waza compare` judge."""

from __future__ import annotations

import math
from random import Random

import pytest

from waza.kit.stats import mean
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import (
    POWER,
    can_show,
    planned_detectable,
    tasks_needed,
    trials_needed,
)
from waza.results.comparison.sign_flip import sign_flip

RUNS = 400
ERROR = 3 * math.sqrt(POWER * (1 - POWER) / RUNS)  # three standard errors of a simulated power


def shown(difference: float, task: float, trial: float, tasks: int, trials: int, chance: Random) -> float:
    """Return in which share of simulated pairs of runs a difference is significant."""
    hits = 0
    for _ in range(RUNS):
        differences = []
        for _ in range(tasks):
            change = chance.gauss(difference, math.sqrt(task))
            arms = [
                mean([chance.gauss(centre, math.sqrt(trial)) for _ in range(trials)])
                for centre in (0.0, change)
            ]
            differences.append([arms[1] - arms[0]])
        hits += sign_flip(differences).p_value <= ALPHA
    return hits / RUNS


@pytest.mark.parametrize(
    ("task", "trial", "tasks", "trials"), [(0.0, 0.25, 12, 3), (0.04, 0.1, 20, 2), (0.04, 0.25, 18, 5)]
)
def test_the_smallest_difference_is_shown_in_four_of_five_cases(
    task: float, trial: float, tasks: int, trials: int
):
    smallest = planned_detectable(task, trial, tasks=tasks, trials=trials, alpha=ALPHA)
    assert smallest is not None
    power = shown(smallest, task, trial, tasks, trials, Random(tasks))
    assert abs(power - POWER) < ERROR
    assert shown(smallest / 2, task, trial, tasks, trials, Random(1)) < POWER - ERROR
    assert shown(0, task, trial, tasks, trials, Random(2)) < ALPHA + ERROR


def test_scores_of_0_and_1_that_pass_half_of_the_time_have_the_worst_noise():
    smallest = planned_detectable(0, 0.25, tasks=20, trials=4, alpha=ALPHA)
    assert smallest is not None
    chance, hits = Random(5), 0
    rates = 0.5 - smallest / 2, 0.5 + smallest / 2
    for _ in range(RUNS):
        passed = [[sum(chance.random() < rate for _ in range(4)) / 4 for rate in rates] for _ in range(20)]
        hits += sign_flip([[after - before] for before, after in passed]).p_value <= ALPHA
    assert hits / RUNS > POWER - ERROR


def test_what_is_needed_is_the_least_that_shows_it():
    for trials in (1, 4):
        tasks = tasks_needed(0.02, 0.1, trials=trials, difference=0.1, alpha=ALPHA)
        assert tasks is not None
        before, now = (
            planned_detectable(0.02, 0.1, tasks=tasks - less, trials=trials, alpha=ALPHA) for less in (1, 0)
        )
        assert before is not None
        assert now is not None
        assert before > 0.1 >= now
    trials = trials_needed(0.02, 0.1, tasks=40, difference=0.1, alpha=ALPHA) or 0
    few, enough = (
        planned_detectable(0.02, 0.1, tasks=40, trials=trials - less, alpha=ALPHA) for less in (1, 0)
    )
    assert few is not None
    assert enough is not None
    assert few > 0.1 >= enough
    assert (
        trials_needed(0.04, 0.1, tasks=40, difference=0.05, alpha=ALPHA) is None
    )  # tasks change too unequally
    assert [can_show(tasks, ALPHA) for tasks in (1, 5, 6, 50)] == [False, False, True, True]
