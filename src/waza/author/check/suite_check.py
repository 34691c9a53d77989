"""The suite of a skill or agent: whether there is one, and whether `waza run` could load it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.author.check.finding import Finding, of_problem
from waza.author.check.report import FoundSuite, SuiteSchema
from waza.author.check.source import Source
from waza.errors import SuiteError
from waza.model.loaded import Project
from waza.problem import Problem, display_path
from waza.suite.detect import DetectedSkill, read_tested_skill
from waza.suite.discover import is_same_name
from waza.suite.load import examine, sort_problems
from waza.suite.loading import LoadOptions
from waza.suite.locate import SuiteLocator


class SuiteCheck(msgspec.Struct, frozen=True):
    """The suite that was found, the mistakes in it, and both as findings. `schema` is None without a suite."""

    suite: FoundSuite
    schema: SuiteSchema | None
    findings: tuple[Finding, ...]


def check_suite(source: Source, found: DetectedSkill, project: Project) -> SuiteCheck:
    """Look for the suite of a skill or agent, and load it as `waza run` does. Nothing of it is run."""
    locator = SuiteLocator(project)
    path = locator.locate(found)
    if path is None:
        namesake = locator.locate_of_namesake(found)
        other = locator.other_tested(namesake, found) if namesake else None
        but = f"; {display_path(namesake)} tests {display_path(other.path)}" if namesake and other else ""
        evals = project.keys.paths.evals.rstrip("/")
        finding = source.finding(
            "missing-suite",
            "warning",
            f"there is no {project.keys.files.evalFile} for it, so that nothing shows whether it works{but}",
            f"write one into {evals}/{found.name}/, or next to {source.path.name}",
        )
        return SuiteCheck(FoundSuite(found=False), None, (finding,))
    file = display_path(path)
    problems = _load(path, found)
    errors = [problem for problem in problems if problem.severity == "error"]
    tasks: dict[str, tuple[str, ...]] = {}
    for problem in errors:
        if problem.file != file:
            tasks[problem.file] = (*tasks.get(problem.file, ()), str(problem))
    schema = SuiteSchema(
        valid=not errors,
        eval_errors=tuple(str(problem) for problem in errors if problem.file == file),
        task_errors=tasks,
    )
    findings = [*map(of_problem, problems), *_check_tested(path, found)]
    return SuiteCheck(FoundSuite(found=True, path=file), schema, tuple(findings))


def _check_tested(path: Path, found: DetectedSkill) -> Iterator[Finding]:
    """Yield a finding where the suite at the place of a skill or agent tests another one."""
    tested = read_tested_skill(path)
    if tested.name and not any(is_same_name(tested.name, name) for name in (found.name, found.declared)):
        yield Finding(
            code="name-mismatch",
            severity="error",
            file=display_path(path),
            line=tested.line,
            column=tested.column,
            message=f"this suite is at the place of {found.name!r}, and tests {tested.name!r}",
            remedy=f"write 'skill: {found.name}', or move the suite",
        )


def _load(path: Path, found: DetectedSkill) -> list[Problem]:
    try:
        _, loading = examine(path, LoadOptions(skill_dir=found.directory))
    except SuiteError as error:
        return list(error.problems)
    problems = sort_problems(loading)
    own = display_path(found.definition)
    return [_placed(problem, path) for problem in problems if not _is_of(problem, own)]


def _is_of(problem: Problem, file: str) -> bool:
    """Return whether a problem is about the definition, which has findings of its own."""
    return os.path.normpath(problem.file) == os.path.normpath(file)


def _placed(problem: Problem, path: Path) -> Problem:
    """Return a problem of an option of the command line, which nobody gave here, as one of the suite."""
    return (
        msgspec.structs.replace(problem, file=display_path(path))
        if problem.file.startswith("--")
        else problem
    )
