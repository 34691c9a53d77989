"""What is to be said of task files that does not keep a suite from running."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit import yaml
from waza.kit.text import pluralize
from waza.model.preflight import Diagnostic
from waza.preflight.diagnosis import make_diagnostic
from waza.suite.loading import Loading, TaskSource
from waza.suite.read import at, child


def report_descriptions(source: TaskSource, task_id: str) -> Iterator[Diagnostic]:
    """Yield what of a task only describes, so that nobody takes it for a check."""
    document, expected = source.document, source.file.expected
    hint = "name graders that observe it under requirements, if it is to be checked"
    described = [("outcomes", pluralize(len(expected.outcomes), "outcome"))] if expected.outcomes else []
    described += [("tool_calls", "tool calls")] if expected.tool_calls else []
    for key, what in described:
        path = ("expected", key)
        message = f"describes {what}, and nothing checks that"
        problem = document.problem("descriptive", at(document, *path), path, message, hint)
        yield make_diagnostic(problem, "verified", task_id=task_id, severity="info", level="task")


def find_id_faults(loading: Loading) -> Iterator[Diagnostic]:
    """Yield ids of task files that are blank, and those of disabled tasks that another task has."""
    seen = dict(loading.ids)
    for source in loading.sources:
        document, enabled = source.document, bool(source.tasks)
        given = child(document.root, "id")
        blank = isinstance(given, yaml.Scalar) and given.value is not None and not given.text.strip()
        task_id = source.tasks[0].id if enabled else source.file.id.strip() or source.name
        if blank:
            message, hint = f"is blank, so the task is called {task_id!r}", "write an id, or remove the key"
            problem = document.problem("invalid-value", at(document, "id"), ("id",), message, hint)
            yield make_diagnostic(problem, "unresolved", task_id=task_id, level="task")
        if enabled:
            continue
        if task_id in seen:
            message = f"the task is disabled, and its id {task_id!r} is also used in {seen[task_id]}"
            hint = "give each task its own id"
            problem = document.problem("duplicate-task", at(document, "id"), ("id",), message, hint)
            yield make_diagnostic(problem, "unresolved", task_id=task_id, level="task")
        seen.setdefault(task_id, f"{document.file}:{at(document, 'id').line}")
