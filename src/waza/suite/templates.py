"""Templates in checks: the graders and expectations of a task, filled in with its variables when it is loaded.

A grader whose config holds a reference is built once for each task, so that what comes of it, such as a
pattern, is checked before an agent starts. Its spec keeps the config as it is written, for the digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from waza.graders.base import ConfigMistake, Grader
from waza.kit.template import Reference, fill, has_references, split_references
from waza.model.task import Expected, Task
from waza.model.verdict import BuiltGrader
from waza.suite.checks import check_expected
from waza.suite.digest import digest_with_graders
from waza.suite.graders import reported_faults
from waza.suite.inputs import check_templates, iter_texts
from waza.suite.loading import Loading, Scope, Template


def fill_graders(loading: Loading, task: Task) -> Task:
    """Return a task with its graders filled in and checked; mistakes are collected."""
    points = tuple(
        msgspec.structs.replace(point, graders=_fill_all(loading, task, point.graders))
        for point in task.checkpoints
    )
    graders = _fill_all(loading, task, task.graders)
    changed = [new for new, old in zip(graders, task.graders, strict=False) if new is not old]
    digest = digest_with_graders(task.digest, changed) if task.digest and changed else task.digest
    return msgspec.structs.replace(task, graders=graders, checkpoints=points, digest=digest)


def fill_expected(scope: Scope, expected: Expected, task: Task) -> Expected:
    """Return the expectations of a task filled in and checked; mistakes are collected."""
    found = len(scope.loading.errors())
    check_templates(scope.child("expected"), expected, _variables(task))
    if len(scope.loading.errors()) == found:
        expected = fill(expected, _variables(task))
    check_expected(scope, expected)
    return expected


def _variables(task: Task) -> dict[str, str]:
    return {"TaskName": task.name, **{f"Vars.{key}": value for key, value in task.variables.items()}}


def _fill_all(loading: Loading, task: Task, graders: Sequence[BuiltGrader]) -> tuple[BuiltGrader, ...]:
    return tuple(new for built in graders if (new := _fill_grader(loading, task, built)) is not None)


def _fill_grader(loading: Loading, task: Task, built: BuiltGrader) -> BuiltGrader | None:
    if id(built) not in loading.templates:
        return built
    template, variables = loading.templates[id(built)], _variables(task)
    if template is None or not isinstance(built.grader, Grader):
        return None
    found = len(loading.errors())
    config = template.scope.child("config")
    check_templates(config, built.spec.config, variables)
    if len(loading.errors()) == found:
        for finding in built.grader.check_variables():
            config.child(*finding.path).error("template", finding.message, finding.hint)
    if len(loading.errors()) > found:
        loading.templates[id(built)] = None  # so that it is reported once
        return None
    with reported_faults(template.scope, built.spec.type):
        return _fill(task, built, built.grader, template)
    loading.templates[id(built)] = None
    return None


def _fill(task: Task, built: BuiltGrader, grader: Grader, template: Template) -> BuiltGrader | None:
    """Return a grader filled in with the variables of a task and checked, None after a mistake."""
    variables, config = _variables(task), template.scope.child("config")
    grader = grader.fill_variables(variables)
    usable = True
    findings = list(grader.check(template.around))
    noted = {finding.path for finding in findings}
    findings += [finding for finding in _find_empty_variables(built, variables) if finding.path not in noted]
    for finding in findings:
        usable = usable and finding.warning
        message = _format_message(task, finding, built.spec.config)
        config.child(*finding.path).report(finding.code, message, finding.hint, warning=finding.warning)
    return BuiltGrader(built.spec, grader.resolve_paths(template.around)) if usable else None


def _find_empty_variables(built: BuiltGrader, variables: dict[str, str]) -> Iterator[ConfigMistake]:
    """Yield the texts of a config in which a variable is empty, so that the check may hold for everything."""
    if isinstance(built.grader, Grader) and built.grader.accepts_empty_variables:
        return
    for path, text in iter_texts(built.spec.config):
        empty = [
            part.text
            for part in split_references(text)
            if isinstance(part, Reference) and not variables[part.name]
        ]
        if empty:
            hint = "give it a value; a check of nothing may always pass"
            yield ConfigMistake(code="template", path=path, message=f"{empty[0]} is empty", hint=hint)


def _format_message(task: Task, finding: ConfigMistake, value: Any) -> str:
    """Return the message of a finding in a config. It names the task, unless the text at its place is the same in all."""
    for part in finding.path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
    return f"{finding.message} (task {task.id!r})" if has_references(value) else finding.message
