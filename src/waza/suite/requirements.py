"""Requirements of tasks: whether each check names exactly one grader of its scope, and what results keep of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from waza.kit.decode import Document
from waza.kit.names import did_you_mean
from waza.model.preflight import PreflightState
from waza.model.requirement import RecordedCheck, RecordedRequirement
from waza.model.suite import GraderEntry
from waza.model.task import Requirement, RequirementCheck, TaskFile
from waza.problem import Code
from waza.suite.loading import Loading

CATEGORIES = ("outcome", "boundary", "recovery", "quality")
SCOPES = ("eval", "task", "checkpoint")

INVALID: Code = "requirement"
UNCOVERED: Code = "uncovered-requirement"
REFERENCES: Code = "requirement-reference"

Path = tuple[str | int, ...]


class DeclaredGrader(NamedTuple):
    """A grader as a requirement can name it.

    `name` is empty where it is not known: it is in a module that is not available, or has mistakes.
    `after_turn` is that of its checkpoint; None means any, where the checkpoints have mistakes.
    """

    scope: str
    after_turn: int | None
    name: str
    path: Path


class Gap(NamedTuple):
    """What keeps a requirement from being verified, and where in the task's file."""

    code: Code
    state: PreflightState
    path: Path
    message: str
    hint: str = ""


def declared_graders(loading: Loading, document: Document, file: TaskFile) -> list[DeclaredGrader]:
    """Return the graders that requirements of a task can name: the suite's, the task's, its checkpoints'."""
    replaced = {entry.name for entry in file.graders if entry.override}
    suite = _declared_in(loading, loading.document, loading.file.graders, ("eval", None), ("graders",))
    found = [grader for grader in suite if grader.name not in replaced]
    found += _declared_in(loading, document, file.graders, ("task", None), ("graders",))
    for i, point in enumerate(file.checkpoints):
        scope, path = ("checkpoint", point.after_turn), ("checkpoints", i, "graders")
        found += _declared_in(loading, document, point.graders, scope, path)
    if document.has_error("checkpoints"):
        found.append(DeclaredGrader("checkpoint", None, "", ("checkpoints",)))
    return found


def _declared_in(
    loading: Loading,
    document: Document,
    entries: Sequence[GraderEntry],
    scope: tuple[str, int | None],
    path: Path,
) -> Iterator[DeclaredGrader]:
    for i, entry in enumerate(entries):
        default = loading.ref_names.get(entry.ref, "") if entry.ref else entry.type
        yield DeclaredGrader(*scope, entry.name or default, (*path, i))
    if document.has_error(*path):
        yield DeclaredGrader(*scope, "", path)  # what could not be read may be the one


def record_requirements(
    loading: Loading, document: Document, file: TaskFile
) -> tuple[RecordedRequirement, ...]:
    """Return the requirements of a task as results keep them, with what is wrong with each check."""
    if not file.requirements:
        return ()
    declared = declared_graders(loading, document, file)
    return tuple(
        RecordedRequirement(
            id=one.id,
            category=one.category,
            description=one.description,
            checks=[
                RecordedCheck(
                    scope=check.scope,
                    grader=check.grader,
                    after_turn=check.after_turn,
                    fault="; ".join(gap.message for gap in find_check_gaps(one, i, declared, ())),
                )
                for i, check in enumerate(one.checks)
            ],
        )
        for one in file.requirements
    )


def find_gaps(
    requirement: Requirement, twins: Sequence[str], declared: Sequence[DeclaredGrader], path: Path
) -> list[Gap]:
    """Return what is wrong with a requirement and its checks; `twins` are the ids of those before it."""
    gaps = list(_check_shape(requirement, twins, path))
    if not requirement.checks:
        hint = "add checks: [{scope: task, grader: NAME}]; expected.outcomes is no check"
        gaps.append(Gap(UNCOVERED, "unresolved", (*path, "checks"), "no check covers it", hint))
    for i in range(len(requirement.checks)):
        gaps += find_check_gaps(requirement, i, declared, path)
    return gaps


def find_check_gaps(
    requirement: Requirement, number: int, declared: Sequence[DeclaredGrader], path: Path
) -> list[Gap]:
    """Return what is wrong with one of the checks of a requirement."""
    check, where = requirement.checks[number], (*path, "checks", number)
    if check in requirement.checks[:number]:
        message = f"duplicate: the check of {check.grader!r} in scope {check.scope}"
        return [Gap(INVALID, "invalid", where, message, "keep one of them")]
    return _check_keys(check, where) or _check_reference(check, declared, where)


def _check_shape(requirement: Requirement, twins: Sequence[str], path: Path) -> Iterator[Gap]:
    """Yield what is wrong with a requirement itself."""
    if not requirement.id or requirement.id != requirement.id.strip():
        message = f"the id {requirement.id!r} is empty, or has blanks around it"
        yield Gap(INVALID, "invalid", (*path, "id"), message, "give the requirement an id of its own")
    elif requirement.id in twins:
        message = f"duplicate id {requirement.id!r} in this task"
        yield Gap(INVALID, "invalid", (*path, "id"), message, "give each requirement its own id")
    if not requirement.category:
        hint = f"add category: {' or '.join(CATEGORIES)}"
        yield Gap(INVALID, "invalid", path, "'category' is missing", hint)
    elif requirement.category not in CATEGORIES:
        message = f"{requirement.category!r} is not a category"
        hint = did_you_mean(requirement.category, CATEGORIES)
        yield Gap(INVALID, "invalid", (*path, "category"), message, hint)
    if not requirement.description.strip():
        hint = "say what has to hold"
        yield Gap(INVALID, "invalid", (*path, "description"), "the description is empty", hint)


def _check_keys(check: RequirementCheck, path: Path) -> list[Gap]:
    gaps = []
    if check.scope not in SCOPES:
        hint = did_you_mean(check.scope, SCOPES)
        gaps.append(Gap(INVALID, "invalid", (*path, "scope"), f"{check.scope!r} is not a scope", hint))
    elif check.scope == "checkpoint" and check.after_turn is None:
        message = "'after_turn' is missing: a check of scope checkpoint names the turn of its checkpoint"
        gaps.append(Gap(INVALID, "invalid", path, message, "add after_turn: 1, or the turn that is meant"))
    elif check.scope != "checkpoint" and check.after_turn is not None:
        message = f"'after_turn' is for checks of scope checkpoint; this one is of scope {check.scope}"
        gaps.append(Gap(INVALID, "invalid", (*path, "after_turn"), message, "remove it"))
    if not check.grader.strip():
        gaps.append(Gap(INVALID, "invalid", (*path, "grader"), "names no grader", "write its name"))
    return gaps


def _check_reference(check: RequirementCheck, declared: Sequence[DeclaredGrader], path: Path) -> list[Gap]:
    scope = [one for one in declared if (one.scope, one.after_turn) == (check.scope, check.after_turn)]
    where = f"scope {check.scope}" + (f" after turn {check.after_turn}" if check.after_turn else "")
    found = [one.name for one in scope].count(check.grader)
    if found == 1:
        return []
    if found:
        message = f"{found} graders are called {check.grader!r} in {where}"
        return [Gap(REFERENCES, "invalid", path, message, "give each grader its own name")]
    turns = (check.after_turn, None)
    if any(one.scope == check.scope and one.after_turn in turns and not one.name for one in declared):
        message = f"whether there is a grader {check.grader!r} in {where} is not known yet"
        return [Gap(REFERENCES, "unresolved", path, message, "correct the graders of that scope first")]
    if check.after_turn and not scope:
        known = sorted({one.after_turn for one in declared if one.after_turn})
        message = f"there is no checkpoint after turn {check.after_turn}"
        hint = (
            f"checkpoints are after turn {', '.join(map(str, known))}" if known else "add it to checkpoints"
        )
        return [Gap(REFERENCES, "invalid", (*path, "after_turn"), message, hint)]
    elsewhere = [one.scope for one in declared if one.name == check.grader]
    hint = f"there is one in scope {elsewhere[0]}" if elsewhere else _suggest_names(scope, check.grader)
    message = f"there is no grader {check.grader!r} in {where}"
    return [Gap(REFERENCES, "invalid", (*path, "grader"), message, hint)]


def _suggest_names(scope: Sequence[DeclaredGrader], wanted: str) -> str:
    names = [one.name for one in scope]
    return did_you_mean(wanted, names) if names else "the scope has no grader; add one to 'graders'"
