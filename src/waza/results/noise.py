"""What chance does to a run: how often two identical arms would differ as much as a rule forbids.

If two runs are of the same agent, their trials could as well have been in the other one. So trials of each task are
put together and dealt out again, and a rule is applied to what comes of it (a permutation test: Fisher, The Design of
Experiments, 1935; Good, Permutation, Parametric and Bootstrap Tests, 2005). The share of deals that break the rule is
its chance of a false alarm. On the average over runs it is the true one, whatever the number of trials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from random import Random

import msgspec

from waza.kit.share import TOLERANCE
from waza.model.pass_rule import PassRule
from waza.model.result import SuiteResult, TaskResult, TrialStatus
from waza.results.figures import task_status

MOST_DEALS = 4_000
_LEAST_DEALS = 200
_WORK = 400_000  # tasks that are dealt out at most, so that large suites take seconds
ACCEPTED = 0.05
"""The chance of a false alarm above which a limit lies within the noise."""


class ArmTask(msgspec.Struct, frozen=True):
    """A task in one arm: the statuses of its trials, broken ones included."""

    id: str
    golden: bool
    trials: tuple[TrialStatus, ...]
    rule: PassRule

    @property
    def passed(self) -> bool:
        """Whether the task passed by its pass rule."""
        return task_status(self.trials, self.rule) == "passed"


Arm = Sequence[ArmTask]
"""The tasks of a run, as far as they have trials."""


class Pool(msgspec.Struct, frozen=True):
    """All trials of a task, and how many of them each of two arms gets.

    Where there are not enough for both, they are drawn with replacement.
    """

    id: str
    golden: bool
    trials: tuple[TrialStatus, ...]
    sizes: tuple[int, int]
    rules: tuple[PassRule, PassRule]

    @property
    def enough(self) -> bool:
        """Whether there are trials for both arms."""
        return sum(self.sizes) <= len(self.trials)

    def deal(self, chance: Random) -> tuple[ArmTask, ArmTask]:
        """Return the task in two arms of the same agent."""
        first, second = self.sizes
        if len(set(self.trials)) == 1:
            drawn = [self.trials[0]] * (first + second)
        elif self.enough:
            drawn = chance.sample(self.trials, first + second)
        else:
            drawn = chance.choices(self.trials, k=first + second)
        return (
            ArmTask(self.id, self.golden, tuple(drawn[:first]), self.rules[0]),
            ArmTask(self.id, self.golden, tuple(drawn[first:]), self.rules[1]),
        )


def pools_of_pair(baseline: SuiteResult, current: SuiteResult) -> list[Pool]:
    """Return the pools of two runs: of each task of which both have graded trials."""
    before = {task.test_id: task for task in baseline.tasks}
    rules = baseline.config.pass_rule, current.config.pass_rule
    found = ((before[task.test_id], task) for task in current.tasks if task.test_id in before)
    return [
        Pool(new.test_id, old.golden or new.golden, (*a, *b), (len(a), len(b)), rules)
        for old, new in found
        if (a := _graded(old)) and (b := _graded(new))
    ]


def pools_of_runs(results: Sequence[SuiteResult], trials: int | None = None) -> list[Pool]:
    """Return the pools of several runs of one agent, for arms of as many trials a task as the first run has."""
    rule, pooled = results[0].config.pass_rule, dict[str, list[TaskResult]]()
    for result in results:
        for task in result.tasks:
            pooled.setdefault(task.test_id, []).append(task)
    pools = []
    for task_id, tasks in pooled.items():
        found = tuple(status for task in tasks for status in _graded(task))
        size = trials or max(len(_graded(task)) for task in tasks)
        if found:
            golden = any(task.golden for task in tasks)
            pools.append(Pool(task_id, golden, found, (size, size), (rule, rule)))
    return pools


def _graded(task: TaskResult) -> list[TrialStatus]:
    return [trial.status for trial in task.runs if trial.status != "skipped"]


def deals(pools: Sequence[Pool]) -> Iterator[tuple[Arm, Arm]]:
    """Yield pairs of arms of the same agent, as many as tell a chance to about 1 %; of large suites fewer.

    The random numbers follow from the data: equal runs give equal pairs.
    """
    ordered = sorted(pools, key=lambda pool: pool.id)
    plain = [(pool.id, sorted(pool.trials), pool.sizes) for pool in ordered]
    chance = Random(hashlib.sha256(msgspec.json.encode(plain)).digest())  # noqa: S311  statistics, not secrets
    certain = all(len(set(pool.trials)) == 1 for pool in ordered)
    for _ in range(1 if certain else max(_LEAST_DEALS, min(MOST_DEALS, _WORK // len(ordered)))):
        pairs = [pool.deal(chance) for pool in ordered]
        yield [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def pass_rate(arm: Arm) -> float:
    """Return the share of the tasks that passed; 0 without tasks."""
    return sum(task.passed for task in arm) / len(arm) if arm else 0.0


def regression(first: Arm, second: Arm) -> float:
    """Return by how many percentage points the pass rate fell; 0 where it did not."""
    return max(0.0, pass_rate(first) - pass_rate(second)) * 100


class FalseAlarm(msgspec.Struct, frozen=True, kw_only=True):
    """How a gate does between two identical arms."""

    probability: float
    """How often it fails the second one."""
    deals: int
    """In how many pairs that was looked at."""
    quiet_limit_pct: float
    """The least limit of a regression that identical arms exceed in no more than 5 % of cases."""


def false_alarm(pools: Sequence[Pool], max_regression_pct: float, *, golden: bool) -> FalseAlarm | None:
    """Return how often a gate with this limit, and with `golden` tasks that must pass, fails an identical arm.

    None where nothing is known of trials.
    """
    if not pools:
        return None
    hits, falls = 0, list[float]()
    for first, second in deals(pools):
        fall = regression(first, second)
        falls.append(fall)
        hits += fall > max_regression_pct + TOLERANCE or (golden and not golden_pass(second))
    falls.sort()
    quiet = falls[min(len(falls) - 1, int((1 - ACCEPTED) * len(falls)))]
    return FalseAlarm(probability=hits / len(falls), deals=len(falls), quiet_limit_pct=round(quiet, 6))


def golden_pass(arm: Arm) -> bool:
    """Return whether all golden tasks passed."""
    return all(task.passed for task in arm if task.golden)
