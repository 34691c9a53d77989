"""From the problems of a suite to diagnostics: their codes, their states, and what to do."""

from __future__ import annotations

import re

import msgspec

from waza.model.preflight import Diagnostic, PreflightState, Severity, worst
from waza.problem import Code, Problem, display_path
from waza.suite.loading import Loading
from waza.suite.trigger_tests import FILE as TRIGGER_TESTS

AGAIN = "correct it there, then run `waza preflight` again"
_MOCK_FILE = "mock"  # a kind of file, not the executor of that name
_GET = "run `waza get` with the suite's file"

# The diagnostic code of each problem. Problems with another one have that of their part of the file: see `_code`.
_CODES: dict[Code, str] = {
    "ambiguous-skill": "skill.target",
    "capability": "runtime.capability",
    "changed-module": "grader.cache_integrity",
    "context-fixture": "context.fixture",
    "dataset": "tasks.csv",
    "descriptive": "expected.descriptive",
    "disabled-skill": "skill.target",
    "duplicate-grader": "grader.configuration",
    "duplicate-task": "task.id",
    "grader-collision": "grader.result_collision",
    "grader-config": "grader.configuration",
    "invalid-lock": "grader.lock",
    "invalid-module": "grader.cache",
    "invalid-ref": "grader.ref",
    "mcp-servers": "runtime.mcp",
    "missing-context-dir": "context.path",
    "missing-file": "resource.file",
    "missing-instructions": "instruction.file",
    "missing-lock": "grader.lock",
    "missing-module": "grader.cache_missing",
    "missing-repository": "dependency.repository",
    "mock-fixture": "mock.mcp",
    "mocked-server": "mock.mcp_override",
    "never-invoked": "skill.target",
    "no-task": "tasks.empty",
    "not-a-directory": "context.directory",
    "not-locked": "grader.lock_entry",
    "outside-path": "resource.path",
    "preset-conflict": "grader.merge",
    "required-skill": "skill.required",
    "requirement": "requirement.invalid",
    "requirement-reference": "requirement.references",
    "skill-definition": "skill.definition",
    "skill-directory": "skill.directory",
    "skill-not-found": "skill.target",
    "skills-off": "skills.discovery_disabled",
    "tool-boundary": "runtime.tool_boundary",
    "trigger-tests": "trigger.configuration",
    "uncovered-requirement": "requirement.uncovered",
    "unconfirmed-executor": "runtime.availability",
    "unconfirmed-hook": "hooks.execution",
    "unconfirmed-program": "grader.execution",
    "unconfirmed-repository": "dependency.repository",
    "unconfirmed-server": "dependency.live",
    "unknown-executor": "runtime.executor",
    "unknown-grader": "grader.configuration",
    "unknown-tool": "skill.definition",
    "unmatched-pattern": "tasks.pattern",
    "unreadable-file": "resource.file",
    "untrusted-module": "grader.trust",
}
# Those of problems in the files of tasks that have another one there.
_TASK_CODES: dict[Code, str] = {"capability": "task.executor", "version": "task.version"}
# The diagnostic codes of parts of files, by the beginnings of their paths without the numbers of items.
_PARTS = {
    "checkpoints.graders": "grader.configuration",
    "config.mcp_servers": "dependency.mcp_configuration",
    "graders": "grader.configuration",
    "mcp_mocks": "mock.mcp",
    "requirements": "requirement.invalid",
}
# What is wrong with the form of a file: with its keys and values one by one.
_OF_SCHEMA = frozenset[Code](
    ("duplicate-key", "invalid-value", "missing-key", "syntax", "unknown-key", "wrong-type")
)

# What the executor lacks.
_LACKS = frozenset[Code](("capability", "mcp-servers", "tool-boundary"))

_SEVERITIES: dict[PreflightState, Severity] = {
    "unresolved": "warning",
    "unsupported": "warning",
    "invalid": "error",
}
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
    state: PreflightState,
    *,
    task_id: str = "",
    requirement_id: str = "",
    severity: Severity | None = None,
    level: str = "eval",
) -> Diagnostic:
    """Return a problem as a diagnostic; its message is what a run would print of it.

    `severity` is by the state unless it is given. `level` is the kind of the file: `eval`, `task`, `trigger` or `mock`.
    """
    bare = msgspec.structs.replace(problem, hint="", severity="error")
    code = _code(problem, level)
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


def _code(problem: Problem, level: str) -> str:
    part = re.sub(r"\[\d+\]", "", problem.path)
    if level == _MOCK_FILE:
        return "mock.input_schema" if part.endswith("input_schema") else "mock.mcp"
    if problem.code in ("missing-file", "unreadable-file") and not problem.path:
        return f"{level}.read"  # the file itself
    if problem.code == "outside-path" and part.endswith("instruction_files"):
        return "instruction.path"
    if level == "task" and part == "id":
        return "task.id"
    if level == "task" and problem.code in _TASK_CODES:
        return _TASK_CODES[problem.code]
    if problem.code in _CODES:
        return _CODES[problem.code]
    for start, code in _PARTS.items():
        if part == start or part.startswith(f"{start}."):
            return "mock.input_schema" if start == "mcp_mocks" and part.endswith(".input_schema") else code
    return f"{level}.schema" if problem.code in _OF_SCHEMA else f"{level}.configuration"


class LoaderDiagnostics:
    """The diagnostics that follow from the problems that the loader found."""

    def __init__(self, loading: Loading, problems: list[Problem]) -> None:
        self._loading, self._problems = loading, problems
        self._documents = {source.document.file: source for source in loading.sources}
        self._levels = {display_path(loading.directory / TRIGGER_TESTS): "trigger"}
        self._levels |= dict.fromkeys((*loading.unread, *self._documents), "task")
        self._levels |= dict.fromkeys(loading.mock_files, _MOCK_FILE)

    def diagnostics(self) -> list[Diagnostic]:
        """Return it as diagnostics; those of a task's file name its task."""
        return [
            self._diagnostic(problem) for problem in self._problems if not _is_reported_as_capability(problem)
        ]

    def state(self, file: str, path: str) -> PreflightState:
        """Return the state of the value at a path of a file."""
        below = (f"{path}.", f"{path}[")
        return worst(
            _state(problem)
            for problem in self._loading.problems
            if problem.file == file and (problem.path == path or problem.path.startswith(below))
        )

    def has_broken_definition(self) -> bool:
        """Return whether a skill or agent that was found could not be read."""
        return any(problem.code == "skill-definition" for problem in self._loading.errors())

    def _diagnostic(self, problem: Problem) -> Diagnostic:
        source = self._documents.get(problem.file)
        task_id = source.tasks[0].id if source and source.tasks else ""
        level = self._levels.get(problem.file, "eval")
        return make_diagnostic(problem, _state(problem), task_id=task_id, level=level)


def _state(problem: Problem) -> PreflightState:
    if problem.code == "missing-module":
        return "unresolved"  # it is only to be fetched
    if problem.code == "unmatched-pattern":
        return "invalid"  # a run goes on without the tasks that were meant
    if problem.severity == "error":
        return "invalid"
    return "unsupported" if problem.code in _LACKS else "unresolved"


def _is_reported_as_capability(problem: Problem) -> bool:
    return problem.code == "mcp-servers" and problem.severity == "warning"
