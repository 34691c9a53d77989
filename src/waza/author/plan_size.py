"""How much a run of a suite takes, and how small a difference it can show (`waza plan`): before it is run.

What it takes is estimated from trials of earlier runs; what nobody has seen yet is not known, and not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from waza.engine.plan import ArmPlan, Plan, make_plan
from waza.graders.base import asks_judge
from waza.kit.stats import Z_95, mean, pooled_variance, variance
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.model.result import SuiteResult, TrialResult
from waza.model.task import Task
from waza.model.trial import Arm
from waza.model.verdict import PAIRWISE, BuiltGrader
from waza.results.assemble import groups_of
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import (
    POWER,
    can_show,
    expected_error,
    fewest_units,
    planned_detectable,
    smallest_detectable,
    tasks_needed,
    trials_needed,
)
from waza.results.comparison.measured import measure, measure_trial
from waza.results.comparison.pairs import pair_tasks
from waza.results.comparison.variance import split_variance
from waza.results.ending import came_to_its_end, run_status

METHOD = "paired difference of mean scores over tasks, t approximation to the sign-flip test (Bloom 1995)"
WORST_TRIAL = 0.25
"""The largest variance that scores from 0 to 1 can have: those of a task that passes half of the time."""
ASSUMED_SPREAD = 0.2
"""The standard deviation between tasks of what a change does to them, where no pair of arms has shown it."""
_METRICS = ("tokens", "duration_ms", "ai_credits", "premium_requests")

Named = Sequence[tuple[str, SuiteResult]]
Source = Literal["measured", "assumed"]


class SizeRange(msgspec.Struct, frozen=True):
    """A number that is known before the run, or two limits of it where trials end by what they show."""

    least: int
    most: int


class SizeEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """A sum over the run by earlier trials; between `lower` and `upper` it is in 19 of 20 runs like those.

    Where trials end by what they show, `lower` is with the fewest of them, `upper` with the most, and `expected` null.
    """

    expected: float | None
    lower: float
    upper: float
    trials: int
    """Earlier trials that it is made from."""
    tasks: int
    """Tasks of the suite that have such trials; the others count as the average of these."""


class Deviation(msgspec.Struct, frozen=True):
    """A standard deviation of scores from 0 to 1, and where it comes from."""

    std_dev: float
    source: Source


class NeededSize(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to show a difference: `tasks` with as many trials as now, or `trials` of the tasks there are.

    None: no number that is worth naming does. Sessions are those of one run, in all of its arms.
    """

    difference: float
    tasks: int | None
    tasks_sessions: int | None
    trials: int | None
    trials_sessions: int | None
    cheaper: Literal["neither", "as it is", "more tasks", "more trials", "alike"]


class PlannedPower(msgspec.Struct, frozen=True, kw_only=True):
    """What two results of this size show, with scores from 0 to 1."""

    tasks: int
    units: int
    """Groups of tasks that change together, else the tasks."""
    trials: int
    """Trials a task in each result; the fewest, where they end by what they show."""
    trial: Deviation
    """Of a trial about the mean of its task."""
    task: Deviation
    """Of true differences between tasks."""
    enough_tasks: bool
    """Whether so many units can show a difference at all."""
    if_alike: float | None
    """The smallest difference that is shown if a change does the same to all tasks; null: there are not enough tasks, or
    trials do not vary, so that any difference shows."""
    smallest_detectable: float | None
    """The same if a change does to tasks what `task` says."""
    alpha: float = ALPHA
    power: float = POWER
    method: str = METHOD
    needed: NeededSize | None = None


class SizePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a suite on a model takes and shows. Scores and differences are from 0 to 1."""

    suite: str
    model: str
    tasks: int
    arms: list[Arm]
    trials: SizeRange
    """Trials of a task in each arm."""
    trigger_prompts: int
    sessions: SizeRange
    """Sessions of the agent: trials in all arms, and prompts of trigger tests. Further attempts are not among them."""
    attempts: int
    """How many sessions a trial has at most, where it fails."""
    judge_calls: SizeRange
    """Questions to judges, without further attempts and trigger tests."""
    workers: int
    runs: list[str]
    """The earlier runs that estimates are made from."""
    tokens: SizeEstimate | None
    """Input and output tokens of agents; null: not known."""
    judge_tokens: SizeEstimate | None
    """Those of judges and responders."""
    cost: SizeEstimate | None
    """Money for agents, judges and responders, at the prices of those runs; null: not known, or in several currencies."""
    currency: str
    """The currency of `cost`."""
    ai_credits: SizeEstimate | None
    premium_requests: SizeEstimate | None
    duration_ms: SizeEstimate | None
    """Wall time, of trials alone, on as many workers."""
    power: PlannedPower
    notes: list[str]


def plan_size(suite: Suite, model: str, history: Named, *, difference: float | None = None) -> SizePlan:
    """Return what a run of a suite on a model takes and shows, by earlier results of it, the newest first."""
    plan, config = make_plan(suite, model), suite.file.config
    rule = config.stop_rule
    trials = SizeRange(rule.min_trials, rule.max_trials) if rule else SizeRange(*[config.trials_per_task] * 2)
    tests = suite.trigger_tests
    prompts = len(tests.should_trigger_prompts) + len(tests.should_not_trigger_prompts) if tests else 0
    tasks = sum(len(arm.tasks) for arm in plan.arms)
    questions = sum(_questions(plan, arm) for arm in plan.arms)
    known = _Known(history)
    wall = known.estimate(
        plan, trials, lambda trial: None if trial.duration_unknown else float(trial.duration_ms)
    )
    return SizePlan(
        suite=suite.name,
        model=model,
        tasks=len(suite.tasks),
        arms=[arm.arm for arm in plan.arms],
        trials=trials,
        trigger_prompts=prompts,
        sessions=SizeRange(tasks * trials.least + prompts, tasks * trials.most + prompts),
        attempts=max(1, config.max_attempts),
        judge_calls=SizeRange(questions * trials.least, questions * trials.most),
        workers=plan.workers,
        runs=[name for name, _ in history],
        tokens=known.estimate(plan, trials, _metric("tokens")),
        judge_tokens=known.estimate(plan, trials, _judge_tokens),
        cost=known.estimate(plan, trials, _cost) if known.currency else None,
        currency=known.currency,
        ai_credits=known.estimate(plan, trials, _metric("ai_credits")),
        premium_requests=known.estimate(plan, trials, _metric("premium_requests")),
        duration_ms=wall and _divided(wall, plan.workers),
        power=_power(suite, model, trials.least, len(plan.arms), known, difference),
        notes=list(_notes(suite, plan, history, known, prompts)),
    )


def _questions(plan: Plan, arm: ArmPlan) -> int:
    """Return how many questions to judges one trial of each task asks."""
    both = plan.has_baseline and arm.arm == "main"
    return sum(_asked(built, both=both) for task in arm.tasks for built in task.all_graders)


def _asked(built: BuiltGrader, *, both: bool) -> int:
    """Return how many questions a grader asks; a pairwise one asks in `both` orders."""
    if not asks_judge(built):
        return 0
    return 2 if both and built.spec.config.get("mode") == PAIRWISE else 1


def _metric(name: str) -> Callable[[TrialResult], float | None]:
    return lambda trial: measure_trial(trial).values.get(name)


def _cost(trial: TrialResult) -> float | None:
    return trial.cost.amount if trial.cost else None


def _judge_tokens(trial: TrialResult) -> float | None:
    used = [session.usage.tokens for session in trial.grader_sessions if session.usage]
    return float(sum(used)) if any(used) else None


def _divided(found: SizeEstimate, workers: int) -> SizeEstimate:
    return msgspec.structs.replace(
        found,
        expected=None if found.expected is None else found.expected / workers,
        lower=found.lower / workers,
        upper=found.upper / workers,
    )


class _Known:
    """What earlier results say of tasks, by arm. Trials that broke are no measurement."""

    def __init__(self, history: Named) -> None:
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


def _power(
    suite: Suite, model: str, trials: int, arms: int, known: _Known, difference: float | None
) -> PlannedPower:
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


def _cheaper(
    by_tasks: int | None, by_trials: int | None, now: int
) -> Literal["neither", "as it is", "more tasks", "more trials", "alike"]:
    found = [one for one in (by_tasks, by_trials) if one is not None]
    if not found:
        return "neither"
    if min(found) <= now:
        return "as it is"
    if by_trials is None or (by_tasks is not None and by_tasks < by_trials):
        return "more tasks"
    return "more trials" if by_tasks is None or by_trials < by_tasks else "alike"


def _notes(suite: Suite, plan: Plan, history: Named, known: _Known, prompts: int) -> Iterator[str]:
    yield from (*plan.warnings, *plan.notices)
    yield from _notes_on_history(plan, history, known)
    config = suite.file.config
    if prompts:
        yield f"tokens and time of {pluralize(prompts, 'trigger prompt')} are not in the estimates"
    if config.max_attempts > 1:
        yield f"a trial that fails has up to {config.max_attempts} attempts, so there may be more sessions"
    if config.stop_when:
        yield "trials end by what they show (stop_when); the difference is that of the fewest of them"
    if suite.tasks and not can_show(count_units(suite, plan.model), ALPHA):
        yield "so few tasks never show a difference, however large it is and however many trials they have"


def _notes_on_history(plan: Plan, history: Named, known: _Known) -> Iterator[str]:
    if not history:
        yield "no earlier run of this suite on this model is known, so what it takes is not known"
    for name, result in history:
        if not came_to_its_end(result):
            yield f"{name} did not come to its end ({run_status(result)}): its finished trials count"
    if history:
        for arm in plan.arms:
            lacking = len(arm.tasks) - known.has(arm.arm, arm.tasks)
            where = " without skills" if arm.arm == "baseline" else ""
            if lacking:
                yield f"no earlier trial{where} of {pluralize(lacking, 'task')}, for which the average of the others counts"
