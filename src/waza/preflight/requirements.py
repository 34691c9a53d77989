"""The requirements of tasks in a preflight: their states, and diagnostics of what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.model.preflight import CheckedRequirement, Diagnostic, PreflightCheck, PreflightState, worst
from waza.model.task import Requirement
from waza.preflight.diagnosis import make_diagnostic
from waza.suite.loading import TaskSource
from waza.suite.read import at
from waza.suite.requirements import DeclaredGrader, find_gaps


def find_collisions(
    source: TaskSource, declared: Sequence[DeclaredGrader], task_id: str
) -> Iterator[Diagnostic]:
    """Yield the names that are used in two scopes of a task."""
    for name in dict.fromkeys(grader.name for grader in declared if grader.name):
        scopes = dict.fromkeys(grader.scope for grader in declared if grader.name == name)
        if len(scopes) > 1:
            path = next(grader.path for grader in reversed(declared) if grader.name == name)
            message = f"the grader name {name!r} is used in several scopes of the task: {', '.join(scopes)}"
            hint = "give each its own name, so that their results can be distinguished"
            problem = source.document.problem(
                "grader-collision", at(source.document, *path), path, message, hint
            )
            yield make_diagnostic(problem, "unresolved", task_id=task_id)


def check_requirements(
    source: TaskSource, declared: Sequence[DeclaredGrader], task_id: str
) -> tuple[list[CheckedRequirement], list[Diagnostic]]:
    """Return the requirements of a task with their states and their diagnostics."""
    found, diagnostics = list[CheckedRequirement](), list[Diagnostic]()
    for i, requirement in enumerate(source.file.requirements):
        twins = [other.id for other in source.file.requirements[:i]]
        path = ("requirements", i)
        if source.document.has_error(*path):
            found.append(_describe_requirement(requirement, "invalid", "it has mistakes in its keys"))
            continue
        gaps = find_gaps(requirement, twins, declared, path)
        meaning = "; ".join(gap.message for gap in gaps) or _describe_verified(requirement)
        found.append(_describe_requirement(requirement, worst(gap.state for gap in gaps), meaning))
        for gap in gaps:
            place = at(source.document, *gap.path)
            problem = source.document.problem(gap.code, place, gap.path, gap.message, gap.hint)
            diagnostics.append(
                make_diagnostic(problem, gap.state, task_id=task_id, requirement_id=requirement.id)
            )
    return found, diagnostics


def _describe_verified(requirement: Requirement) -> str:
    if len(requirement.checks) == 1:
        return "its check names one grader"
    return f"each of its {len(requirement.checks)} checks names one grader"


def _describe_requirement(
    requirement: Requirement, state: PreflightState, meaning: str
) -> CheckedRequirement:
    return CheckedRequirement(
        id=requirement.id,
        category=requirement.category,
        description=requirement.description,
        state=state,
        meaning=meaning,
        checks=[
            PreflightCheck(scope=check.scope, grader=check.grader, after_turn=check.after_turn)
            for check in requirement.checks
        ],
    )
