"""Where the noise comes from: tasks that change unequally, trials that differ, judges that waver."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from waza.kit.stats import mean, pooled_variance
from waza.results.comparison.measured import MeasuredTask
from waza.results.comparison.pairs import Pair


class Variance(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the variance, in squares of the metric; None where the data cannot tell.

    `task` is the variance of the true differences between tasks. `trial` is that of one trial about its task's
    mean, without the judge's part where that is known. `judge` is that of the verdicts on one and the same answer, on
    the average over all trials: those that no judge was asked about have none.
    """

    task: float | None = None
    trial: float | None = None
    judge: float | None = None


def split_variance(pairs: Sequence[Pair], *results: Sequence[MeasuredTask], metric: str) -> Variance:
    """Split the variance of paired differences into parts, by the method of moments (Searle, Variance Components).

    Within a task and a result, the squares about the mean, pooled over all and divided by their degrees of freedom,
    give the noise of one trial. A task's difference carries that of both means, v_a/k_a + v_b/k_b; what the
    differences vary beyond it, on the average, is of the tasks (never below 0). The judge's part is pooled likewise,
    over trials of one task with equal answers, and counts for the share of the trials that were judged.
    """
    noise = pooled_variance(values for pair in pairs for values in (pair.a, pair.b))
    judge = _judges(results, metric)
    task = None
    if noise is not None and len(pairs) > 1:
        found = [pair.difference for pair in pairs]
        centre = mean(found)
        seen = math.fsum((value - centre) ** 2 for value in found) / (len(found) - 1)
        task = max(0.0, seen - noise * mean([1 / len(pair.a) + 1 / len(pair.b) for pair in pairs]))
    trial = noise if noise is None or judge is None else max(0.0, noise - judge)
    return Variance(task=task, trial=trial, judge=judge)


def _judges(results: Sequence[Sequence[MeasuredTask]], metric: str) -> float | None:
    wavers = pooled_variance(group for tasks in results for group in _same_answers(tasks, metric))
    if wavers is None:
        return None
    measured = [
        trial for tasks in results for task in tasks for trial in task.trials if metric in trial.values
    ]
    return wavers * sum(bool(trial.answer) for trial in measured) / len(measured)


def _same_answers(tasks: Sequence[MeasuredTask], metric: str) -> Iterable[list[float]]:
    for task in tasks:
        found: dict[str, list[float]] = {}
        for trial in task.trials:
            if trial.answer and metric in trial.values:
                found.setdefault(trial.answer, []).append(trial.values[metric])
        yield from found.values()
