"""The result cache: tasks that were judged before, under everything that could change the verdict."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from waza.kit.files import inside, write_atomic
from waza.model.loaded import Suite
from waza.model.result import RunResult
from waza.model.task import Task
from waza.model.trial import Arm
from waza.suite.digest import cache_key, folder_digest


class Entry(msgspec.Struct, frozen=True):
    """All trials of one task."""

    runs: list[RunResult]


class Cache:
    """Task results in files named by their key. An entry that cannot be read is a miss."""

    def __init__(self, directory: Path, suite: Suite, model: str) -> None:
        self.directory, self.suite, self.model = directory, suite, model
        self._off = _why_off(suite)
        self._inputs: dict[Path, str] = {}

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

    def notes(self) -> list[str]:
        """Say what is not cached, and why."""
        if self._off:
            return [f"the cache is not used: {self._off}"]
        reasons = Counter(reason for task in self.suite.tasks for reason in self._why_not(task))
        return [
            f"not cached: {count} {'task' if count == 1 else 'tasks'}, {reason}"
            for reason, count in sorted(reasons.items())
        ]

    def _usable(self, task: Task) -> bool:
        return not self._off and not self._why_not(task)

    def _why_not(self, task: Task) -> list[str]:
        """Return why a task is not cached."""
        why = [f"because {kind} graders may decide anew" for kind in sorted(_unrepeatable(task))]
        if any(len(repo.commit) != 40 for repo in task.inputs.repos):
            why.append("because the commit of a repository is not known")
        outside = [root for root in self._roots(task) if not inside(self.suite.directory, root)]
        if outside:
            hint = "list what it reads, below that folder, under cache_inputs"
            why.append(f"because a program grader is outside of the suite's folder ({outside[0]}); {hint}")
        return why

    def _roots(self, task: Task) -> list[Path]:
        """Return the folders and files that the graders of a task read; modules have a digest of their own."""
        graders = [*task.graders, *(grader for point in task.checkpoints for grader in point.graders)]
        own = [getattr(built.grader, "reads", list) for built in graders if not built.spec.module]
        return sorted({root for reads in own for root in reads()})

    def _input(self, root: Path) -> str:
        if root not in self._inputs:  # as it was when it was first asked for: agents may write there
            self._inputs[root] = folder_digest(root, self.directory.absolute())
        return self._inputs[root]

    def _path(self, task: Task, arm: Arm) -> Path:
        inputs = [self._input(root) for root in self._roots(task)]
        return self.directory / f"{cache_key(self.suite, task, self.model, arm, inputs)}.json"


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
