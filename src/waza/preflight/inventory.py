"""`inventory`: what a suite holds and needs, by reading its files and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.model.loaded import Suite
from waza.model.preflight import CheckedRequirement, Diagnostic, ListedTask, Preflight
from waza.model.task import Task
from waza.preflight.capabilities import check_capabilities, report_capabilities
from waza.preflight.dependencies import (
    Dependencies,
    check_pack_refs,
    report_replaced,
    report_unconfirmed,
)
from waza.preflight.diagnosis import LoaderDiagnostics, make_diagnostic
from waza.preflight.requirements import check_requirements, find_collisions
from waza.preflight.tasks import find_id_faults, report_descriptions
from waza.problem import display_path
from waza.suite.load import examine, sort_problems
from waza.suite.loading import Loading, LoadOptions, TaskSource
from waza.suite.requirements import declared_graders
from waza.suite.tasks import fixtures_directory


def inventory(path: Path, request: LoadOptions) -> Preflight:
    """Return the report on a suite: complete, or with diagnostics of all that is missing, unsure or wrong.

    Starts no engine and no program, and asks no network. Never raises for mistakes in people's files.
    """
    source = display_path(path.absolute())
    try:
        suite, loading = examine(path, request)
    except SuiteError as error:
        found = [make_diagnostic(problem, "invalid") for problem in error.problems]
        return Preflight(source=source, diagnostics=_sort(found))
    check_pack_refs(loading)
    problems = LoaderDiagnostics(loading, sort_problems(loading))
    needs = Dependencies(suite, loading, problems).all()
    offered = check_capabilities(suite, needs)
    tasks, diagnostics = _list_tasks(suite, loading)
    diagnostics += [
        *problems.diagnostics(),
        *report_unconfirmed(needs, loading),
        *report_replaced(suite, loading),
        *report_capabilities(offered, suite, source),
    ]
    report = Preflight(
        source=source,
        executor=loading.file.config.executor,
        tasks=tasks,
        capabilities=offered,
        dependencies=needs,
        diagnostics=_sort(diagnostics),
    )
    complete = all(state == "verified" for state in report.states())
    return msgspec.structs.replace(report, complete=complete)


def _sort(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    return sorted(diagnostics, key=lambda one: one.order)


def _list_tasks(suite: Suite, loading: Loading) -> tuple[list[ListedTask], list[Diagnostic]]:
    """Return all tasks, disabled ones too, and the diagnostics of the requirements of the others."""
    if loading.file.tasks_from:
        return [_list_task(task, []) for task in suite.tasks], []
    tasks, diagnostics = list[ListedTask](), list[Diagnostic]()
    for source in loading.sources:
        declared = declared_graders(loading, source.document, source.file)
        task_id = source.tasks[0].id if source.tasks else ""
        requirements, gaps_found = check_requirements(source, declared, task_id)
        if source.tasks:
            tasks += [_list_task(task, requirements) for task in source.tasks]
            diagnostics += [*gaps_found, *find_collisions(source, declared, task_id)]
            diagnostics += report_descriptions(source, task_id)
        else:
            tasks.append(_list_disabled(loading, source, requirements))
    return tasks, [*diagnostics, *find_id_faults(loading)]


def _list_task(task: Task, requirements: list[CheckedRequirement]) -> ListedTask:
    return ListedTask(
        id=task.id,
        name=task.name,
        source=task.file,
        enabled=True,
        context_dir=display_path(task.fixtures),
        requirements=requirements,
    )


def _list_disabled(
    loading: Loading, source: TaskSource, requirements: list[CheckedRequirement]
) -> ListedTask:
    name = source.file.name or source.file.id or source.path.stem
    return ListedTask(
        id=source.file.id or name,
        name=name,
        source=source.document.file,
        enabled=False,
        context_dir=display_path(fixtures_directory(loading, source.file)),
        requirements=requirements,
    )
