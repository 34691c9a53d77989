"""What the parts of the loader share: where they are, what was asked for, and the list of mistakes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from waza.errors import SuiteError
from waza.graders.base import ConfigMistake, ExactName, GraderLocation
from waza.kit import yaml
from waza.kit.decode import Document
from waza.kit.text import list_choices
from waza.model.capabilities import EVERYTHING, NOUNS, Capabilities
from waza.model.cost import PriceKeys
from waza.model.mock import MockScript
from waza.model.shard import ShardRequest
from waza.model.suite import SuiteFile
from waza.model.task import Task, TaskFile
from waza.model.verdict import BuiltGrader
from waza.plugins import executors_with
from waza.problem import Code, Problem, Severity
from waza.registry.lock import read_lock
from waza.registry.resolve import Modules
from waza.suite.read import UnknownKeyRule, at, child
from waza.suite.version import Version

RUN_VARIABLES = frozenset(("JobID", "TaskName", "Iteration", "Attempt", "Timestamp"))


Place: TypeAlias = tuple[str | int, ...]


class PackTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The task files of a pack, and the file with the script of an agent for each of them, or None.

    `agent` is a script that an agent follows in all tasks, where there is no such file.
    """

    name: str
    files: tuple[Path, ...]
    scripts: Path | None = None
    agent: MockScript | None = None


class LoadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks of a suite, over what its file says. None and empty: nothing asked.

    `skill_dir` is the directory of the skill that the suite was found by. `elsewhere`: the sessions of the agent ran
    elsewhere and are only graded, so that the executor need do no more than judge. `packs`: their tasks are run by the
    agent of the suite, in the place of its own tasks (see `waza.suite.packs`), with `without_graders` also in the place of
    its own graders. `shard`: of the tasks that are chosen only those of this shard are run.
    """

    executor: str = ""
    models: tuple[str, ...] = ()
    judge_model: str = ""
    trials: int | None = None
    timeout: int | None = None
    parallel: bool | None = None
    workers: int = 0
    baseline: bool = False
    no_skills: bool = False
    context_dir: str = ""
    skill_dir: Path | None = None
    tasks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    expression: str | None = None
    warnings_as_errors: bool = False
    elsewhere: bool = False
    skill: str = ""
    without_graders: bool = False
    packs: tuple[PackTasks, ...] = ()
    shard: ShardRequest | None = None
    wire: str = ""
    cassettes: str = ""


class TaskSource(msgspec.Struct, frozen=True, kw_only=True):
    """A task file as it was read, and the tasks that it makes: none where it is disabled."""

    path: Path
    document: Document
    file: TaskFile
    tasks: tuple[Task, ...] = ()

    @property
    def name(self) -> str:
        """The name of the task, which need not be written."""
        return self.file.name or self.file.id or self.path.stem


# The codes of what an executor lacks, by capability; others have the general one.
_CODES: dict[str, Code] = {"mcp": "mcp-servers", "tool_policy": "tool-boundary"}


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A grader with references in its config, and where it is declared."""

    built: BuiltGrader
    scope: Scope
    around: GraderLocation


class Loading(msgspec.Struct, kw_only=True):
    """A suite while it is being loaded. The lists and mappings grow; nothing else changes after it was set.

    `capabilities` are those of the executor: ask `Scope.require`, so that all refusals are worded and weighed alike.
    `ids` holds the task ids so far, with the place that each was taken at; `ref_names` the names of the
    graders that refs stand for; `sources` the task files that could be read, `unread` those that could not; `mock_files` the fixture files of mocked servers; `templates` the graders
    that each task fills in, by identity; None for those with mistakes in their references; `exact_names` the names that are compared
    letter by letter, with their places.
    """

    path: Path
    document: Document
    request: LoadOptions
    version: Version
    keys: UnknownKeyRule
    file: SuiteFile = SuiteFile()
    capabilities: Capabilities = EVERYTHING
    fixtures: Path = Path()
    project_skills: tuple[Path, ...] = ()
    graders: tuple[BuiltGrader, ...] = ()
    mock: MockScript | None = None
    prices: PriceKeys = PriceKeys()
    skills_off: bool = False
    problems: list[Problem] = []
    ids: dict[str, str] = {}
    ref_names: dict[str, str] = {}
    sources: list[TaskSource] = []
    unread: list[str] = []
    mock_files: list[str] = []
    templates: dict[int, Template | None] = {}
    exact_names: list[tuple[Scope, ExactName]] = []
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

    def at(self, *path: str | int) -> Scope:
        """Return the place at a path of the suite's own document."""
        return Scope(self, self.document, path)

    def lack(
        self, capability: str, hint: str = "remove it", *, lenient: bool = False
    ) -> ConfigMistake | None:
        """Return the mistake of something that needs a capability, or None where the executor has it.

        An error, since a check, a mock or a limit would silently not be there. With a scripted executor that
        the command line asked for it is a warning, as it is with any scripted one where that is `lenient`.
        """
        if getattr(self.capabilities, capability):
            return None
        name = self.file.config.executor
        asked = bool(self.request.executor or self.request.packs)
        warning = self.capabilities.scripted and (lenient or asked)
        needs = f"needs {NOUNS[capability]}, which the executor {name!r} does not offer"
        return ConfigMistake(
            code=_CODES.get(capability, "capability"),
            message=f"has no effect with the executor {name!r}" if warning else needs,
            hint="" if warning else f"use executor: {list_choices(executors_with(capability))}, or {hint}",
            warning=warning,
        )

    def variables(self, *more: str) -> frozenset[str]:
        """Return the names that templates may use: those of every run, the suite's inputs, and `more` inputs."""
        return frozenset((*RUN_VARIABLES, *(f"Vars.{key}" for key in (*self.file.inputs, *more))))

    def errors(self) -> list[Problem]:
        """Return the problems that the suite cannot be run with."""
        return [problem for problem in self.problems if problem.severity == "error"]


class Scope(msgspec.Struct, frozen=True):
    """A place in a document of a suite that is being loaded, and where mistakes at it are collected."""

    loading: Loading
    document: Document
    path: Place = ()

    def child(self, *parts: str | int) -> Scope:
        """Return the place below this one."""
        return Scope(self.loading, self.document, (*self.path, *parts))

    @property
    def node(self) -> yaml.Node | None:
        """What is written at the place, or None."""
        return child(self.document.root, *self.path)

    @property
    def keys(self) -> Mapping[str, yaml.Node]:
        """The keys that are written at the place, with their values."""
        node = self.node
        return node.entries if isinstance(node, yaml.Mapping) else {}

    @property
    def has_error(self) -> bool:
        """Whether decoding found a mistake at the place or below it."""
        return self.document.has_error(*self.path)

    @property
    def is_blank(self) -> bool:
        """Whether the value at the place only replaces one that is wrong or missing."""
        return self.document.is_placeholder(*self.path)

    def error(self, code: Code, message: str, hint: str = "") -> None:
        """Report an error at the place."""
        self.report(code, message, hint, warning=False)

    def warn(self, code: Code, message: str, hint: str = "") -> None:
        """Report a warning at the place."""
        self.report(code, message, hint, warning=True)

    def report(self, code: Code, message: str, hint: str = "", *, warning: bool) -> None:
        """Report a problem at the place, unless its value only replaces one that is wrong or missing."""
        if self.is_blank:
            return
        severity: Severity = "warning" if warning else "error"
        node = at(self.document, *self.path)
        self.loading.problems.append(self.document.problem(code, node, self.path, message, hint, severity))

    def require(self, capability: str, hint: str = "remove it", *, lenient: bool = False) -> None:
        """Report that the value at the place needs a capability of the executor, if the executor lacks it."""
        lack = self.loading.lack(capability, hint, lenient=lenient)
        if lack is not None:
            self.report(lack.code, lack.message, lack.hint, warning=lack.warning)

    def compare_exactly(self, name: ExactName) -> None:
        """Note that the name at the place is compared letter by letter."""
        self.loading.exact_names.append((self, name))
