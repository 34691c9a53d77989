"""What chance does to a run: how often two identical arms would differ as much as a rule forbids.

If two runs are of the same agent, their trials could as well have been in the other one. So trials of each task are
put together and dealt out again, and a rule is applied to what comes of it (a permutation test: Fisher, The Design of
Experiments, 1935; Good, Permutation, Parametric and Bootstrap Tests, 2005). The share of deals that break the rule is
its chance of a false alarm. On the average over runs it is the true one, whatever the number of trials.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb
from random import Random
from typing import NamedTuple

import msgspec

from waza.kit.share import TOLERANCE
from waza.model.pass_rule import PassRule, trials_needed
from waza.model.result import SuiteResult, TaskResult, TaskStatus, TrialResult, TrialStatus
from waza.results.comparison.measured import measure_trial
from waza.results.figures import task_status

MOST_DEALS = 4_000
_LEAST_DEALS = 100
_WORK, _FAST_WORK = 400_000, 4_000_000  # tasks that are dealt out at most, so that large suites take seconds
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
        return self.recorded or task_status(tuple(trial.status for trial in self.trials), self.rule)

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
    ordered = sorted((pool for pool in pools if not pool.steady), key=lambda pool: pool.id)
    chance = _chance(
        [(pool.id, sorted(map(msgspec.json.encode, pool.trials)), pool.sizes) for pool in ordered]
    )
    steady = [pool.deal(chance) for pool in pools if pool.steady]  # as well once as each time
    fixed = [tuple(msgspec.structs.replace(task, recorded=task.status) for task in pair) for pair in steady]
    first, second = [pair[0] for pair in fixed], [pair[1] for pair in fixed]
    for _ in range(_count(len(ordered), _WORK)):
        pairs = [pool.deal(chance) for pool in ordered]
        yield [*first, *(pair[0] for pair in pairs)], [*second, *(pair[1] for pair in pairs)]


def _chance(data: object) -> Random:
    return Random(hashlib.sha256(repr(data).encode()).digest())  # noqa: S311  statistics, not secrets


def _count(unsteady: int, work: int) -> int:
    """Return how many pairs are dealt: one is enough where nothing is left to chance."""
    return max(_LEAST_DEALS, min(MOST_DEALS, work // unsteady)) if unsteady else 1


class Dealt(NamedTuple):
    """What a regression gate looks at in a pair of dealt arms."""

    fall: float
    """By how many percentage points the pass rate fell; 0 where it did not."""
    golden_pass: bool
    """Whether all golden tasks of the second arm passed."""


def deal_statuses(pools: Sequence[Pool]) -> Iterator[Dealt]:
    """Yield what a regression gate looks at in pairs of dealt arms: as `deals`, and much faster.

    Whether a task passes in either arm depends on how many of its passed trials are there alone. So outcomes of a task
    are drawn with their exact chances, and those of equal tasks together.
    """
    groups = Counter((pool.first.golden or pool.second.golden, outcome_chances(pool)) for pool in pools)
    certain = [(key, count) for key, count in groups.items() if 1.0 in key[1]]
    open_ = sorted((key, count) for key, count in groups.items() if 1.0 not in key[1])
    fixed = sum(count * _FALLS[chances.index(1.0)] for (_, chances), count in certain)
    fixed_golden = all(_PASSES[chances.index(1.0)] for (golden, chances), _ in certain if golden)
    chance = _chance((open_, fixed, len(pools)))
    for _ in range(_count(sum(count for _, count in open_), _FAST_WORK)):
        fall, passed = fixed, fixed_golden
        for (golden, chances), count in open_:
            drawn = Counter(chance.choices(range(len(chances)), chances, k=count))
            fall += sum(_FALLS[outcome] * number for outcome, number in drawn.items())
            passed = passed and not (golden and any(not _PASSES[outcome] for outcome in drawn))
        yield Dealt(max(0.0, fall) / len(pools) * 100, passed)


_FALLS = (0, -1, 1, 0)  # what a task takes from the pass rate, by its outcome in both arms: -- -+ +- ++
_PASSES = (False, True, False, True)  # whether it passes in the second


def outcome_chances(pool: Pool) -> tuple[float, ...]:
    """Return how likely a task passes in neither arm, the second, the first, and both.

    Of N trials, k passed ones, arms of a and b trials get x and y passed ones with the chance of the multivariate
    hypergeometric distribution, C(k,x) C(N-k,a-x)/C(N,a) * C(k-x,y) C(N-k-a+x,b-y)/C(N-a,b); of trials that are drawn
    with replacement they are binomial.
    """
    total, hits = len(pool.trials), sum(trial.status == "passed" for trial in pool.trials)
    a, b = pool.sizes
    needed = trials_needed(pool.first.rule, a), trials_needed(pool.second.rule, b)
    found = [Fraction(0)] * 4
    for x in range(a + 1):
        for y in range(b + 1):
            if pool.enough:
                share = _share(total, hits, a, x)
                share *= _share(total - a, hits - x, b, y) if share else 0
            else:
                rate = Fraction(hits, total)
                share = comb(a, x) * comb(b, y) * rate ** (x + y) * (1 - rate) ** (a + b - x - y)
            found[2 * (x >= needed[0]) + (y >= needed[1])] += share
    return tuple(map(float, found))


def _share(total: int, hits: int, drawn: int, wanted: int) -> Fraction:
    """Return how likely `drawn` of `total` trials have `wanted` of the `hits`."""
    if wanted > hits or drawn - wanted > total - hits:
        return Fraction(0)
    return Fraction(comb(hits, wanted) * comb(total - hits, drawn - wanted), comb(total, drawn))


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
    exceeded: float
    """How often the limit of a regression alone does."""
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
    for dealt, broken in _deal(pools, breaks):
        falls.append(dealt.fall)
        hits += dealt.fall > max_regression_pct + TOLERANCE or (golden and not dealt.golden_pass) or broken
    falls.sort()
    quiet = falls[min(len(falls) - 1, int((1 - ACCEPTED) * len(falls)))]
    return FalseAlarm(
        probability=hits / len(falls),
        exceeded=sum(fall > max_regression_pct + TOLERANCE for fall in falls) / len(falls),
        deals=len(falls),
        quiet_limit_pct=round(quiet, 6),
    )


def _deal(pools: Sequence[Pool], breaks: Callable[[Arm, Arm], bool] | None) -> Iterator[tuple[Dealt, bool]]:
    """Yield pairs of arms as a gate sees them, and whether they break its policy."""
    if breaks is None:
        yield from ((dealt, False) for dealt in deal_statuses(pools))
        return
    for first, second in deals(pools):
        yield Dealt(regression(first, second), golden_pass(second)), breaks(first, second)


def golden_pass(arm: Arm) -> bool:
    """Return whether all golden tasks passed."""
    return all(task.passed for task in arm if task.golden)
