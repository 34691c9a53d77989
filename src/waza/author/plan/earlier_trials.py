"""What earlier runs say of a run that has not begun: figures of their trials, and how much these vary."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from waza.author.plan.report import SizeEstimate, SizeRange
from waza.engine.plan import ArmPlan, Plan
from waza.kit.stats import Z_95, mean, pooled_variance, variance
from waza.model.result import SuiteResult, TrialResult
from waza.model.task import Task
from waza.model.trial import Arm
from waza.results.combine import NamedResult
from waza.results.comparison.measured import measure, measure_trial
from waza.results.comparison.pairs import pair_tasks
from waza.results.comparison.variance import split_variance


class EarlierTrials:
    """What earlier results say of tasks, by arm. Trials that broke are no measurement."""

    def __init__(self, history: Sequence[NamedResult]) -> None:
        self.results = [result for _, result in history]
        self._trials: dict[Arm, dict[str, list[TrialResult]]] = {"main": {}, "baseline": {}}
        for result in self.results:
            self._add("main", result)
            if result.baseline_outcome is not None:
                self._add("baseline", result.baseline_outcome)

    def _add(self, arm: Arm, result: SuiteResult) -> None:
        for task in result.tasks:
            graded = [trial for trial in task.runs if trial.status in ("passed", "failed")]
            if task.cached:  # what an answer from the cache cost is not what it costs to have one
                graded = [msgspec.structs.replace(trial, cost=None) for trial in graded]
            self._trials[arm].setdefault(task.test_id, []).extend(graded)

    @property
    def currency(self) -> str:
        """The currency of what trials cost; "" where none has a price, or they have several."""
        trials = (trial for tasks in self._trials.values() for found in tasks.values() for trial in found)
        found = {trial.cost.currency for trial in trials if trial.cost}
        return found.pop() if len(found) == 1 else ""

    def has(self, arm: Arm, tasks: Sequence[Task]) -> int:
        """Return how many of the tasks have trials in an arm."""
        return sum(bool(self._trials[arm].get(task.id)) for task in tasks)

    def trial_variance(self) -> float | None:
        """Return the variance of scores about the mean of their task, over both arms; None without two of one task."""
        return pooled_variance(
            [measure_trial(trial).values["score"] for trial in trials]
            for tasks in self._trials.values()
            for trials in tasks.values()
        )

    def task_variance(self) -> float | None:
        """Return the variance of true differences between tasks, as the newest pair of arms shows it."""
        for result in self.results:
            if result.baseline_outcome is not None:
                arms = measure(result.baseline_outcome.tasks), measure(result.tasks)
                return split_variance(pair_tasks(*arms, "score").pairs, metric="score").task
        return None

    def estimate(
        self, plan: Plan, trials: SizeRange, value: Callable[[TrialResult], float | None]
    ) -> SizeEstimate | None:
        """Return the sum of a figure over a run.

        Each task counts with the mean of its own trials, one without trials with the mean of the others. The range is
        that of a normal distribution with the variance k*v + k^2*v/m for k new trials of a task with m earlier ones, v
        being the variance within tasks; a task without trials has that between the means of tasks besides.
        """
        parts = [self._arm(arm, value) for arm in plan.arms]
        if not any(parts):
            return None
        within = pooled_variance(values for part in parts for values in part.values()) or 0.0
        least, most, spread = 0.0, 0.0, [0.0, 0.0]
        for arm, part in zip(plan.arms, parts, strict=True):
            known = part or next(one for one in parts if one)
            means = {task: mean(values) for task, values in known.items()}
            average, between = mean(list(means.values())), variance(list(means.values()))
            for task in arm.tasks:
                centre, seen = means.get(task.id, average), len(known.get(task.id, ()))
                least, most = least + centre * trials.least, most + centre * trials.most
                for place, count in enumerate((trials.least, trials.most)):
                    spread[place] += count * within
                    spread[place] += count**2 * (within / seen if seen else between + within)
        tasks = {task for part in parts for task in part}
        return SizeEstimate(
            expected=least if trials.least == trials.most else None,
            lower=max(0.0, least - Z_95 * math.sqrt(spread[0])),
            upper=most + Z_95 * math.sqrt(spread[1]),
            trials=sum(len(values) for part in parts for values in part.values()),
            tasks=sum(task.id in tasks for task in plan.suite.tasks),
        )

    def _arm(self, arm: ArmPlan, value: Callable[[TrialResult], float | None]) -> Mapping[str, list[float]]:
        """Return the figures of the tasks of an arm that have any."""
        of_suite = ((task.id, self._trials[arm.arm].get(task.id, ())) for task in arm.tasks)
        found = {task: [one for one in map(value, trials) if one is not None] for task, trials in of_suite}
        return {task: values for task, values in found.items() if values}
