"""What chance does to a run: how often two identical arms would differ as much as a rule forbids.

If two runs are of the same agent, their trials could as well have been in the other one. So trials of each task are
put together and dealt out again, and a rule is applied to what comes of it (a permutation test: Fisher, The Design of
Experiments, 1935; Good, Permutation, Parametric and Bootstrap Tests, 2005). The share of deals that break the rule is
its chance of a false alarm. On the average over runs it is the true one, whatever the number of trials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

import msgspec

from waza.kit.share import TOLERANCE
from waza.model.pass_rule import PassRule
from waza.model.result import SuiteResult, TaskResult, TaskStatus, TrialResult, TrialStatus
from waza.results.comparison.measured import measure_trial
from waza.results.figures import task_status

MOST_DEALS = 4_000
_LEAST_DEALS = 200
_WORK = 400_000  # tasks that are dealt out at most, so that large suites take seconds
ACCEPTED = 0.05
"""The chance of a false alarm above which a limit lies within the noise."""


class ArmTrial(msgspec.Struct, frozen=True):
    """A trial: its status, and its figures by name (`comparison.measured`), which a broken trial does not have."""

    status: TrialStatus
    values: Mapping[str, float] = {}


class ArmTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task in one arm, with its graded trials, broken ones included. `recorded` is the status without trials."""

    id: str
    golden: bool
    trials: tuple[ArmTrial, ...]
    rule: PassRule
    groups: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    recorded: TaskStatus | None = None

    @property
    def status(self) -> TaskStatus:
        """The status of the task, by its pass rule."""
        return self.recorded or task_status([trial.status for trial in self.trials], self.rule)

    @property
    def passed(self) -> bool:
        """Whether the task passed."""
        return self.status == "passed"

    @property
    def flaky(self) -> bool:
        """Whether it passed in some trials and not in others."""
        return len({trial.status == "passed" for trial in self.trials}) > 1

    def values(self, key: str) -> list[float]:
        """Return a figure of its trials, those without it left out."""
        return [trial.values[key] for trial in self.trials if key in trial.values]


Arm = Sequence[ArmTask]
"""The tasks of a run."""


def arm_of(result: SuiteResult) -> list[ArmTask]:
    """Return the tasks of a run with the figures of their trials."""
    rule = result.config.pass_rule
    return [_arm_task(task, rule, figures=True, recorded=task.status) for task in result.tasks]


def _arm_task(
    task: TaskResult, rule: PassRule, *, figures: bool, recorded: TaskStatus | None = None
) -> ArmTask:
    return ArmTask(
        id=task.test_id,
        golden=task.golden,
        trials=tuple(_arm_trial(trial, figures=figures) for trial in task.runs if trial.status != "skipped"),
        rule=rule,
        groups=tuple(task.group.split(", ")) if task.group else (),
        tags=tuple(task.tags),
        recorded=recorded,
    )


def _arm_trial(trial: TrialResult, *, figures: bool) -> ArmTrial:
    if not figures or trial.status not in ("passed", "failed"):
        return ArmTrial(trial.status)
    return ArmTrial(trial.status, measure_trial(trial).values)


class Pool(msgspec.Struct, frozen=True):
    """A task in two arms of the same agent: all of its trials, and how many of them each arm gets.

    Where there are not enough for both, they are drawn with replacement.
    """

    first: ArmTask
    second: ArmTask
    trials: tuple[ArmTrial, ...]
    sizes: tuple[int, int]

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.first.id

    @property
    def enough(self) -> bool:
        """Whether there are trials for both arms."""
        return sum(self.sizes) <= len(self.trials)

    @property
    def steady(self) -> bool:
        """Whether all trials are equal, so that nothing is left to chance."""
        return all(trial == self.trials[0] for trial in self.trials)

    def deal(self, chance: Random) -> tuple[ArmTask, ArmTask]:
        """Return the task in two arms of the same agent."""
        size, total = self.sizes[0], sum(self.sizes)
        drawn = chance.sample(self.trials, total) if self.enough else chance.choices(self.trials, k=total)
        return (
            msgspec.structs.replace(self.first, trials=tuple(drawn[:size])),
            msgspec.structs.replace(self.second, trials=tuple(drawn[size:])),
        )


def pools_of_pair(baseline: SuiteResult, current: SuiteResult, *, figures: bool = False) -> list[Pool]:
    """Return the pools of two runs: of each task of which both have graded trials, with their `figures` or without."""
    rules = baseline.config.pass_rule, current.config.pass_rule
    before = {task.test_id: _arm_task(task, rules[0], figures=figures) for task in baseline.tasks}
    after = (_arm_task(task, rules[1], figures=figures) for task in current.tasks)
    pairs = ((before[task.id], task) for task in after if task.id in before)
    return [
        Pool(
            old,
            msgspec.structs.replace(new, golden=old.golden or new.golden),
            (*old.trials, *new.trials),
            (len(old.trials), len(new.trials)),
        )
        for old, new in pairs
        if old.trials and new.trials
    ]


def pools_of_runs(results: Sequence[SuiteResult], trials: int | None = None) -> list[Pool]:
    """Return the pools of several runs of one agent, for arms of as many trials a task as the longest run has."""
    rule, pooled = results[0].config.pass_rule, dict[str, list[ArmTask]]()
    for result in results:
        for task in result.tasks:
            pooled.setdefault(task.test_id, []).append(_arm_task(task, rule, figures=False))
    pools = []
    for tasks in pooled.values():
        found = tuple(trial for task in tasks for trial in task.trials)
        size = trials or max(len(task.trials) for task in tasks)
        if found:
            pools.append(Pool(tasks[0], tasks[0], found, (size, size)))
    return pools


def deals(pools: Sequence[Pool]) -> Iterator[tuple[Arm, Arm]]:
    """Yield pairs of arms of the same agent, as many as tell a chance to about 1 %; of large suites fewer.

    The random numbers follow from the data: equal runs give equal pairs.
    """
    ordered = sorted(pools, key=lambda pool: pool.id)
    plain = [(pool.id, sorted(map(msgspec.json.encode, pool.trials)), pool.sizes) for pool in ordered]
    chance = Random(hashlib.sha256(repr(plain).encode()).digest())  # noqa: S311  statistics, not secrets
    certain = all(pool.steady for pool in ordered)
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


def false_alarm(
    pools: Sequence[Pool],
    max_regression_pct: float,
    *,
    golden: bool,
    breaks: Callable[[Arm, Arm], bool] | None = None,
) -> FalseAlarm | None:
    """Return how often a gate with this limit, and with `golden` tasks that must pass, fails an identical arm.

    `breaks` says whether the second of two arms breaks a policy. None where nothing is known of trials.
    """
    if not pools:
        return None
    hits, falls = 0, list[float]()
    for first, second in deals(pools):
        fall = regression(first, second)
        falls.append(fall)
        hits += (
            fall > max_regression_pct + TOLERANCE
            or (golden and not golden_pass(second))
            or (breaks is not None and breaks(first, second))
        )
    falls.sort()
    quiet = falls[min(len(falls) - 1, int((1 - ACCEPTED) * len(falls)))]
    return FalseAlarm(probability=hits / len(falls), deals=len(falls), quiet_limit_pct=round(quiet, 6))


def golden_pass(arm: Arm) -> bool:
    """Return whether all golden tasks passed."""
    return all(task.passed for task in arm if task.golden)
