"""The two arms of an experiment, loaded from their suites."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import UsageError
from waza.experiment.plan import PlannedArm
from waza.model.loaded import Suite
from waza.results.assemble import groups_of
from waza.suite.digest import digest_parts, suite_digest
from waza.suite.load import load
from waza.suite.loading import LoadOptions


class LoadedArm(msgspec.Struct, frozen=True):
    """An arm that can run: its suite, with all tasks, on its model."""

    suite: Suite
    model: str
    executor: str
    """The value of --executor."""
    without_skills: bool

    @property
    def plan(self) -> PlannedArm:
        """What a plan says of the arm."""
        return PlannedArm(
            suite=str(self.suite.path),
            model=self.model,
            executor=self.suite.file.config.executor,
            executor_option=self.executor,
            without_skills=self.without_skills,
            skills=self._skills(),
            parts=digest_parts(self.suite, self.model),
        )

    def _skills(self) -> list[str]:
        targets = {task.target.name for task in self.suite.tasks if task.target}
        folders = {path.name for task in self.suite.tasks for path in task.skill_paths}
        return sorted(targets | folders)

    @property
    def groups(self) -> dict[str, str]:
        """The group of each task, in the order of the suite; empty for none."""
        return {task.id: ", ".join(groups_of(self.suite, task, "")) for task in self.suite.tasks}

    def only(self, tasks: list[str]) -> Suite:
        """Return the suite with these tasks alone."""
        chosen = tuple(task for task in self.suite.tasks if task.id in tasks)
        suite = msgspec.structs.replace(self.suite, tasks=chosen, filtered=True)
        return msgspec.structs.replace(suite, digest=suite_digest(suite))


def load_arm(
    path: Path,
    *,
    model: str = "",
    executor: str = "",
    without_skills: bool = False,
    trials: int | None = None,
) -> LoadedArm:
    """Load an arm. Raises SuiteError for mistakes in its files.

    It runs once, without trigger tests, and is graded by the same graders as the other one: those that come with an
    agent's tool policy, those that compare with a baseline, and those with `only_with_skills` are left out.
    """
    options = LoadOptions(
        executor=executor, models=(model,) if model else (), trials=trials, no_skills=without_skills
    )
    suite = load(path, options)
    if suite.file.config.stop_when:
        raise UsageError(
            f"{path}: an experiment runs a fixed number of trials, not by stop_when; name it with --trials"
        )
    if len(suite.models) > 1:
        raise UsageError(f"{path} names several models; choose one for each arm")
    tasks = tuple(
        msgspec.structs.replace(
            task,
            graders=tuple(one for one in task.graders if not one.spec.needs_skills),
        )
        for task in suite.tasks
    )
    file = msgspec.structs.replace(suite.file, baseline=False, metrics=[])
    suite = msgspec.structs.replace(suite, tasks=tasks, file=file, trigger_tests=None)
    return LoadedArm(suite, suite.models[0], executor, without_skills)
