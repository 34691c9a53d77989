"""From the problems of a suite to diagnostics: their codes, their states, and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from waza.model.preflight import Diagnostic, Severity, State, worst
from waza.problem import Code, Problem
from waza.registry.lock import FILE as LOCK
from waza.suite.loading import Loading
from waza.suite.trigger_tests import FILE as TRIGGER_TESTS

AGAIN = "correct it there, then run `waza preflight` again"
_GET = "run `waza get` with the suite's file"

# The diagnostic codes of problems that have the same one wherever they are.
_BY_PROBLEM: dict[Code, str] = {
    "changed-module": "grader.cache_integrity",
    "dataset": "tasks.csv",
    "grader-config": "grader.configuration",
    "invalid-lock": "grader.lock",
    "invalid-module": "grader.cache",
    "invalid-ref": "grader.ref",
    "missing-lock": "grader.lock",
    "missing-module": "grader.cache_missing",
    "no-task": "tasks.empty",
    "not-locked": "grader.lock_entry",
    "preset-conflict": "grader.merge",
    "skill-definition": "skill.definition",
    "unknown-executor": "runtime.executor",
    "unknown-grader": "grader.configuration",
    "unknown-tool": "skill.definition",
    "unmatched-pattern": "tasks.pattern",
    "untrusted-module": "grader.trust",
}
# Other problems have that of their place: the first that is the place, or above it, without the numbers of items.
_PLACES = (
    ("graders", "grader.configuration"),
    ("checkpoints.graders", "grader.configuration"),
    ("config.executor", "runtime.executor"),
    ("config.required_skills", "skill.required"),
    ("config.skill_directories", "skill.directory"),
    ("skill_directories", "skill.directory"),
    ("config.instruction_files", "instruction.file"),
    ("instruction_files", "instruction.file"),
    ("inputs.context.fixture", "context.fixture"),
    ("context_dir", "context.path"),
    ("inputs.files", "resource.file"),
    ("inputs.prompt_file", "resource.file"),
    ("inputs.repos", "dependency.repository"),
    ("fixtures", "resource.file"),
    ("mcp_mocks", "mock.mcp"),
    ("command_mocks", "mock.command"),
    ("requirements", "requirement.invalid"),
    ("tasks_from", "tasks.csv"),
    ("range", "tasks.csv"),
    ("tasks", "tasks.pattern"),
    ("skill", "skill.target"),
    ("id", "task.id"),
)
# The same for mistakes in other files than those of the suite and its tasks.
_FILES = {LOCK: "grader.lock", TRIGGER_TESTS: "trigger.configuration"}
_ENDINGS = {".md": "skill.definition", ".json": "mock.mcp"}

# Warnings that the list of capabilities replaces.
_OF_CAPABILITIES = ("config.mcp_servers", "mcp_mocks")

_SEVERITIES: dict[State, Severity] = {"unresolved": "warning", "unsupported": "warning", "invalid": "error"}
_REMEDIES = {
    "eval.read": "name the file of a suite that can be read",
    "grader.lock": _GET,
    "grader.lock_entry": _GET,
    "grader.cache_missing": _GET,
    "grader.cache_integrity": f"look at what changed, remove the cached module, and {_GET}",
    "grader.trust": "look at the program, then run `waza registry add REF --allow-exec`",
}


def make_diagnostic(
    problem: Problem,
    code: str,
    state: State,
    task_id: str = "",
    requirement_id: str = "",
    severity: Severity | None = None,
) -> Diagnostic:
    """Return a problem as a diagnostic; its message is what a run would print of it.

    `severity` is by the state unless it is given.
    """
    bare = msgspec.structs.replace(problem, hint="", severity="error")
    return Diagnostic(
        code=code,
        problem=problem.code,
        state=state,
        severity=severity or _SEVERITIES[state],
        source=problem.file,
        task_id=task_id,
        requirement_id=requirement_id,
        message=str(bare),
        remediation=problem.hint or _REMEDIES.get(code, AGAIN),
    )


def diagnose_unreadable(problem: Problem) -> Diagnostic:
    """Return why nothing of a suite could be read."""
    return make_diagnostic(problem, "eval.schema" if problem.line else "eval.read", "invalid")


class LoaderDiagnostics:
    """The diagnostics that follow from the problems that the loader found."""

    def __init__(self, loading: Loading, problems: list[Problem]) -> None:
        self._loading, self._problems = loading, problems
        self._documents = {source.document.file: source for source in loading.sources}

    def diagnostics(self) -> list[Diagnostic]:
        """Return it as diagnostics; those of a task's file name its task."""
        return [
            self._diagnostic(problem)
            for problem in self._problems
            if not self._is_reported_elsewhere(problem)
        ]

    def state(self, file: str, path: str) -> State:
        """Return the state of the value at a path of a file."""
        below = (f"{path}.", f"{path}[")
        return worst(
            self._state(problem, self._code(problem))
            for problem in self._loading.problems
            if problem.file == file and (problem.path == path or problem.path.startswith(below))
        )

    def has_broken_definition(self) -> bool:
        """Return whether a skill or agent that was found could not be read."""
        return any(problem.file.endswith(".md") for problem in self._loading.errors())

    def _is_reported_elsewhere(self, problem: Problem) -> bool:
        return problem.severity == "warning" and problem.path in _OF_CAPABILITIES

    def _diagnostic(self, problem: Problem) -> Diagnostic:
        code = self._code(problem)
        source = self._documents.get(problem.file)
        task_id = source.tasks[0].id if source and source.tasks else ""
        return make_diagnostic(problem, code, self._state(problem, code), task_id)

    @staticmethod
    def _state(problem: Problem, code: str) -> State:
        to_be_fetched = code == "grader.cache_missing"
        return "unresolved" if to_be_fetched or problem.severity == "warning" else "invalid"

    def _code(self, problem: Problem) -> str:
        if problem.code in _BY_PROBLEM:
            return _BY_PROBLEM[problem.code]
        of_suite = problem.file == self._loading.document.file
        if not of_suite and problem.file not in self._documents:
            return self._code_of_file(problem)
        place = re.sub(r"\[\d+\]", "", problem.path)
        for start, code in _PLACES:
            if place == start or place.startswith(f"{start}."):
                return code
        document = self._loading.document if of_suite else self._documents[problem.file].document
        level = "eval" if of_suite else "task"
        return f"{level}.schema" if problem.path in document.error_paths else f"{level}.configuration"

    def _code_of_file(self, problem: Problem) -> str:
        """Return the code of a mistake in a file that is neither the suite's nor one of a readable task."""
        path = Path(problem.file)
        code = _FILES.get(path.name) or _ENDINGS.get(path.suffix)
        if code:
            return code
        if self._loading.file.tasks_from:
            return "tasks.csv"
        return "task.schema" if problem.line else "task.read"
