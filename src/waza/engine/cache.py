"""The result cache: tasks that were judged before, under everything that could change the verdict."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.kit.files import write_atomic
from waza.model.loaded import Suite
from waza.model.result import RunResult
from waza.model.task import Task
from waza.model.trial import Arm
from waza.suite.digest import cache_key


class Entry(msgspec.Struct, frozen=True):
    """All trials of one task."""

    runs: list[RunResult]


class Cache:
    """Task results in files named by their key. An entry that cannot be read is a miss."""

    def __init__(self, directory: Path, suite: Suite, model: str) -> None:
        self.directory, self.suite, self.model = directory, suite, model
        self._off = _why_off(suite)

    def get(self, task: Task, arm: Arm) -> list[RunResult] | None:
        """Return the trials of a task, or None when they are not known or may not be reused."""
        if not self._usable(task):
            return None
        try:
            entry = msgspec.json.decode(self._path(task, arm).read_bytes(), type=Entry)
        except (OSError, msgspec.MsgspecError):
            return None
        return entry.runs if len(entry.runs) == self.suite.file.config.trials_per_task else None

    def put(self, task: Task, arm: Arm, runs: list[RunResult]) -> None:
        """Keep the trials of a task, unless one of them broke. Raises WazaError if they cannot be written."""
        if self._usable(task) and all(run.status in ("passed", "failed") for run in runs):
            write_atomic(self._path(task, arm), msgspec.json.encode(Entry(runs), enc_hook=str))

    def why_off(self) -> str:
        """Say why the suite as a whole is not cached, or nothing."""
        return self._off

    def _usable(self, task: Task) -> bool:
        moving = any(len(repo.commit) != 40 for repo in task.inputs.repos)  # a branch may move
        return not (self._off or moving or _unrepeatable(task))

    def _path(self, task: Task, arm: Arm) -> Path:
        return self.directory / f"{cache_key(self.suite, task, self.model, arm)}.json"


def _why_off(suite: Suite) -> str:
    if suite.file.scenario is not None:
        return "scenario suites are not cached"
    if not suite.capabilities.repeatable:
        return f"what the agent behind {suite.file.config.executor} is now cannot be known"
    kinds = set.intersection(*map(_unrepeatable, suite.tasks)) if suite.tasks else set()
    return f"{' and '.join(sorted(kinds))} graders are not cached" if kinds else ""


def _unrepeatable(task: Task) -> set[str]:
    """Return the types of a task's graders whose verdict is not a matter of the inputs alone."""
    graders = [*task.graders, *(grader for point in task.checkpoints for grader in point.graders)]
    return {built.spec.type for built in graders if not getattr(built.grader, "repeatable", True)}
