"""From a suite to its plan: which tasks run in which arms, and on how many workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import msgspec

from waza.kit.os_errors import max_open_files
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.trial import Arm
from waza.model.verdict import PAIRWISE

MAX_DEFAULT_WORKERS = 8  # where the suite does not say how many
_OWN_FILES = 32  # that may be open besides those of the workers: journals, locks, shared processes
_FILES_OF_A_WORKER = 10  # while it starts a process, or copies a file beside a connection


class ArmPlan(msgspec.Struct, frozen=True):
    """One arm of a run, and its tasks in the order of the suite."""

    arm: Arm
    tasks: tuple[Task, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A run before it starts: everything about it that does not depend on what happens.

    `arms` are in the order in which they run. `workers` is how many trials run at the same time at most,
    `trigger_workers` the same for trigger tests. `warnings` say what of the suite makes no sense as it is, `notices`
    where the plan differs from what was asked for.
    """

    suite: Suite
    model: str
    arms: tuple[ArmPlan, ...]
    workers: int
    trigger_workers: int
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def has_baseline(self) -> bool:
        """Whether the tasks also run without skills."""
        return len(self.arms) > 1

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to run: a shard may have no task."""
        return self.suite.trigger_tests is None and not any(arm.tasks for arm in self.arms)


def make_plan(suite: Suite, model: str) -> Plan:
    """Return the plan of a run of a suite on a model."""
    arms, warning = _arms(suite)
    workers, notice = _workers(suite)
    return Plan(
        suite=suite,
        model=model,
        arms=tuple(ArmPlan(arm, _tasks(suite, arm)) for arm in arms),
        workers=workers,
        trigger_workers=_trigger_workers(suite),
        warnings=(warning,) if warning else (),
        notices=(notice,) if notice else (),
    )


def _workers(suite: Suite) -> tuple[int, str]:
    """Return the number of workers, and a notice when fewer are used than were asked for."""
    config, trials = suite.file.config, _concurrent_trials(suite)
    if not config.parallel:
        return 1, ""
    if config.workers > trials:
        workers = min(trials, _affordable_workers())
        return (
            workers,
            f"{workers} of {config.workers} workers are used: no more trials can run at the same time",
        )
    return min(_requested_workers(suite), trials, _affordable_workers()), ""


def _trigger_workers(suite: Suite) -> int:
    """Return how many trigger tests run at the same time: they share nothing, so `parallel` has no effect."""
    tests = suite.trigger_tests
    prompts = len(tests.should_trigger_prompts) + len(tests.should_not_trigger_prompts) if tests else 0
    return max(1, min(_requested_workers(suite), prompts, _affordable_workers()))


def worker_notice(suites: Sequence[Suite]) -> str:
    """Return a notice if the limit on open files allows fewer workers than suites would use, else an empty text."""
    parallel = [suite for suite in suites if suite.file.config.parallel]
    wanted = max((min(_requested_workers(suite), _concurrent_trials(suite)) for suite in parallel), default=1)
    affordable = _affordable_workers()
    if wanted <= affordable:
        return ""
    return (
        f"{affordable} of {wanted} workers are used: no more than {max_open_files()} files may be open "
        "(ulimit -n); raise that limit for more"
    )


def shared_workers(suites: Sequence[Suite]) -> int:
    """Return how many trials of suites that run at the same time may run at once."""
    if not all(suite.file.config.parallel for suite in suites):
        return 1
    return min(
        max(map(_requested_workers, suites)), sum(map(_concurrent_trials, suites)), _affordable_workers()
    )


def _requested_workers(suite: Suite) -> int:
    workers = suite.file.config.workers
    return workers if workers > 0 else min(os.cpu_count() or 1, MAX_DEFAULT_WORKERS)


def _affordable_workers() -> int:
    """Return how many workers the limit on open files allows."""
    limit = max_open_files()
    return sys.maxsize if limit is None else max(1, (limit - _OWN_FILES) // _FILES_OF_A_WORKER)


def _concurrent_trials(suite: Suite) -> int:
    """Return how many trials of a suite could run at the same time."""
    trials = suite.file.config.trials_per_task
    return max(1, sum(1 if runs_in_order(suite, task) else trials for task in suite.tasks))


def runs_in_order(suite: Suite, task: Task) -> bool:
    """Tell whether the trials of a task run one after another: they share what its hooks set up, or a repository."""
    return bool(suite.file.hooks.before_task or task.inputs.repos)


def _arms(suite: Suite) -> tuple[list[Arm], str]:
    """Return the arms in the order in which they run, and a warning when a comparison makes no sense.

    Pairwise graders compare with the answers without skills, so that arm runs first where there are any.
    """
    if not suite.file.baseline:
        return ["main"], ""
    if suite.skills_off:
        return ["main"], "--baseline compares with and without skills, but all skills are off; running once"
    targets = any(task.target for task in suite.all_tasks)
    if not (suite.skill_paths or targets or suite.file.config.required_skills):
        return (
            ["main"],
            "--baseline needs a skill, config.skill_directories or required_skills; running once, with what there is",
        )
    return (["baseline", "main"] if any(map(has_pairwise, suite.all_tasks)) else ["main", "baseline"]), ""


def has_pairwise(task: Task) -> bool:
    """Tell whether a task is graded against the answer without skills."""
    return any(grader.spec.config.get("mode") == PAIRWISE for grader in task.graders)


def _tasks(suite: Suite, arm: Arm) -> tuple[Task, ...]:
    """Return the tasks of an arm. Without skills there is no target, no policy, and nothing to compare with."""
    tasks = suite.tasks if arm == "main" else tuple(map(_without_skills, suite.tasks))
    return tuple(map(_with_own_script, tasks))


def _without_skills(task: Task) -> Task:
    graders = tuple(grader for grader in task.graders if not grader.spec.needs_skills)
    if not graders:  # a task that nothing grades would pass
        graders = tuple(grader for grader in task.graders if grader.spec.only_with_skills)
    return msgspec.structs.replace(task, skill_paths=(), no_skills=True, target=None, graders=graders)


def _with_own_script(task: Task) -> Task:
    """Return a task with the script for agents without skills, if it has one and is such a task."""
    if not (task.no_skills and task.mock and task.mock.without_skills):
        return task
    return msgspec.structs.replace(task, mock=task.mock.without_skills.over(task.mock))
