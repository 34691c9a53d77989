"""What the parts of the loader share: where they are, what was asked for, and the list of mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit.decode import Document
from waza.model.mock import MockScript
from waza.model.suite import SuiteFile
from waza.model.task import Task, TaskFile
from waza.model.verdict import BuiltGrader
from waza.problem import Problem, Severity
from waza.registry.lock import read_lock
from waza.registry.resolve import Modules
from waza.suite.read import Keys, at
from waza.suite.version import Version

RUN_VARIABLES = ("JobID", "TaskName", "Iteration", "Attempt", "Timestamp")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks of a suite, over what its file says. None and empty: nothing asked."""

    executor: str = ""
    models: tuple[str, ...] = ()
    judge_model: str = ""
    trials: int | None = None
    timeout: int | None = None
    parallel: bool = False
    workers: int = 0
    baseline: bool = False
    no_skills: bool = False
    context_dir: str = ""
    default_skill_dirs: tuple[Path, ...] = ()
    tasks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class TaskSource(msgspec.Struct, frozen=True, kw_only=True):
    """A task file as it was read, and the tasks that it makes: none where it is disabled."""

    path: Path
    document: Document
    file: TaskFile
    tasks: tuple[Task, ...] = ()


class Loading(msgspec.Struct, kw_only=True):
    """A suite while it is being loaded. The lists and mappings grow; nothing else changes after it was set.

    `ids` holds the task ids so far, with the place that each was taken at; `ref_names` the names of the
    graders that refs stand for; `ref_faults` the faults of those that cannot be used, by file and path;
    `sources` the task files that could be read.
    """

    path: Path
    document: Document
    request: Request
    version: Version
    keys: Keys
    file: SuiteFile = SuiteFile()
    fixtures: Path = Path()
    graders: tuple[BuiltGrader, ...] = ()
    mock: MockScript | None = None
    skills_off: bool = False
    problems: list[Problem] = []
    ids: dict[str, str] = {}
    ref_names: dict[str, str] = {}
    ref_faults: dict[tuple[str, str], str] = {}
    sources: list[TaskSource] = []
    _modules: list[Modules | None] = []

    def modules(self) -> Modules | None:
        """Return the graders from elsewhere that `waza.lock` pins, read once; None if the lock has mistakes.

        These are collected.
        """
        if not self._modules:
            try:
                self._modules.append(Modules(read_lock(self.directory), os.environ))
            except SuiteError as error:
                self.problems.extend(error.problems)
                self._modules.append(None)
        return self._modules[0]

    @property
    def directory(self) -> Path:
        """The suite's directory."""
        return self.path.parent

    @property
    def hooks_may_create(self) -> bool:
        """Whether missing inputs may still be made by a hook before the run."""
        return bool(self.file.hooks.before_run)

    def say(
        self,
        document: Document,
        path: tuple[str | int, ...],
        message: str,
        hint: str = "",
        *,
        warning: bool = False,
    ) -> None:
        """Note a problem at a place of a document."""
        severity: Severity = "warning" if warning else "error"
        self.problems.append(document.problem(at(document, *path), path, message, hint, severity))

    def variables(self, *more: str) -> frozenset[str]:
        """Return the names that templates may use: those of every run, the suite's inputs, and `more` inputs."""
        return frozenset((*RUN_VARIABLES, *(f"Vars.{key}" for key in (*self.file.inputs, *more))))

    def errors(self) -> list[Problem]:
        """Return the problems that the suite cannot be run with."""
        return [problem for problem in self.problems if problem.severity == "error"]
