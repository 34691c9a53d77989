"""From a suite to its plan: which tasks run, in which arms, on how many workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import msgspec

from waza.kit.os_errors import max_open_files
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.trial import Arm

AUTOMATIC = 8  # workers at most, when their number is left to us
_FILES_OF_OURS = 32  # that may be open besides those of the workers: journals, locks, shared processes
_FILES_OF_A_WORKER = 10  # while it starts a process, or copies a file beside a connection
PAIRWISE = "pairwise"


def workers_of(suite: Suite) -> tuple[int, str]:
    """Return the number of workers, and a notice when fewer are used than were asked for."""
    config, jobs = suite.file.config, _trials_at_once(suite)
    if not config.parallel:
        return 1, ""
    if config.workers > jobs:
        said = "no more trials can run at once"
        return min(jobs, _affordable()), f"{config.workers} workers were asked for, {jobs} are used: {said}"
    return min(_asked(suite), jobs, _affordable()), ""


def fewer_workers(suites: Sequence[Suite]) -> str:
    """Return a notice if the limit on open files allows fewer workers than suites would use, else nothing."""
    parallel = [suite for suite in suites if suite.file.config.parallel]
    wanted = max((min(_asked(suite), _trials_at_once(suite)) for suite in parallel), default=1)
    if wanted <= _affordable():
        return ""
    return (
        f"{_affordable()} of {wanted} workers are used: no more than {max_open_files()} files may be open "
        "(ulimit -n); raise that limit for more"
    )


def shared_workers(suites: Sequence[Suite]) -> int:
    """Return how many trials of suites that run at the same time may run at once."""
    if not all(suite.file.config.parallel for suite in suites):
        return 1
    return min(max(map(_asked, suites)), sum(map(_trials_at_once, suites)), _affordable())


def _asked(suite: Suite) -> int:
    workers = suite.file.config.workers
    return workers if workers > 0 else min(os.cpu_count() or 1, AUTOMATIC)


def _affordable() -> int:
    """Return how many workers the limit on open files allows."""
    limit = max_open_files()
    return sys.maxsize if limit is None else max(1, (limit - _FILES_OF_OURS) // _FILES_OF_A_WORKER)


def _trials_at_once(suite: Suite) -> int:
    """Return how many trials of a suite could run at once."""
    trials = suite.file.config.trials_per_task
    return max(1, sum(1 if in_order(suite, task) else trials for task in suite.tasks))


def in_order(suite: Suite, task: Task) -> bool:
    """Tell whether the trials of a task run one after another: they share what its hooks set up, or a repository."""
    return bool(suite.file.hooks.before_task or task.inputs.repos)


def trigger_workers_of(suite: Suite, prompts: int) -> int:
    """Return how many trigger tests run at once: they share nothing, so `parallel` is not asked."""
    return max(1, min(_asked(suite), prompts, _affordable()))


def arms_of(suite: Suite) -> tuple[list[Arm], str]:
    """Return the arms in the order in which they run, and a warning when an A/B run makes no sense.

    Pairwise graders compare with the answers without skills, so that arm runs first where there are any.
    """
    if not suite.file.baseline:
        return ["main"], ""
    if suite.skills_off:
        return ["main"], "--baseline compares with and without skills, but all skills are off; running once"
    targets = any(task.target for task in suite.tasks)
    if not (suite.skill_paths or targets or suite.file.config.required_skills):
        return (
            ["main"],
            "--baseline needs a skill, config.skill_directories or required_skills; running once, with what there is",
        )
    return (["baseline", "main"] if any(map(has_pairwise, suite.tasks)) else ["main", "baseline"]), ""


def has_pairwise(task: Task) -> bool:
    """Tell whether a task is graded against the answer without skills."""
    return any(grader.spec.config.get("mode") == PAIRWISE for grader in task.graders)


def tasks_of(suite: Suite, arm: Arm) -> Sequence[Task]:
    """Return the tasks of an arm. Without skills there is no target, no policy, and nothing to compare with."""
    if arm == "main":
        return suite.tasks
    return [_without_skills(task) for task in suite.tasks]


def _without_skills(task: Task) -> Task:
    kept = [
        grader
        for grader in task.graders
        if not grader.spec.implicit and grader.spec.config.get("mode") != PAIRWISE
    ]
    return msgspec.structs.replace(task, skill_paths=(), no_skills=True, target=None, graders=tuple(kept))
