"""Which tasks of a suite are run: `--task` and `--tags`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from waza.kit.glob import matches
from waza.model.task import Task
from waza.problem import Problem
from waza.suite.loading import Loading, TaskSource


def select_tasks(loading: Loading, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that any `--task` pattern (name or id) and any `--tags` pattern match.

    A pattern that matches nothing is a warning, no task at all an error. Neither is reported where a mistake may keep
    the task that is meant from being known.
    """
    request = loading.request
    kept, unmatched, before = list(tasks), list[Problem](), len(loading.problems)
    if request.tasks:
        kept = _match_tasks(
            loading, kept, "--task", request.tasks, lambda task: (task.id, task.name), unmatched
        )
    if request.tags:
        kept = _match_tasks(loading, kept, "--tags", request.tags, lambda task: task.tags, unmatched)
    malformed = len(loading.problems) > before
    if malformed or _tasks_may_be_unread(loading) or (loading.errors() and not tasks):
        return kept
    if kept:
        loading.problems.extend(unmatched)
        return kept
    filters = [f"--task {pattern}" for pattern in request.tasks] + [f"--tags {tag}" for tag in request.tags]
    reason = f"none matches {' '.join(filters)}" if tasks else "all are disabled"
    disabled = [source.name for source in loading.sources if _is_meant_and_disabled(source, request.tasks)]
    if tasks and disabled:
        reason += f"; {', '.join(disabled)} {'is' if len(disabled) == 1 else 'are'} disabled (enabled: false)"
    loading.problems.append(
        Problem(code="no-task", file=loading.document.file, message=f"0 tasks selected: {reason}")
    )
    return kept


def _tasks_may_be_unread(loading: Loading) -> bool:
    """Return whether there may be other tasks, or other names and tags of tasks, than could be read."""
    if loading.file.tasks_from:
        return bool(loading.errors())
    words = (source.document.has_error(key) for source in loading.sources for key in ("id", "name", "tags"))
    return bool(loading.unread) or loading.document.has_error("tasks") or any(words)


def _match_tasks(
    loading: Loading,
    tasks: list[Task],
    flag: str,
    patterns: Sequence[str],
    words: Callable[[Task], Sequence[str]],
    unmatched: list[Problem],
) -> list[Task]:
    """Return the tasks that a pattern matches, and add a warning to `unmatched` for each that matches none."""
    kept: set[str] = set()
    for pattern in patterns:
        try:
            found = {task.id for task in tasks if any(_matches(pattern, word) for word in words(task))}
        except ValueError as error:
            loading.problems.append(Problem(code="invalid-value", file=flag, message=str(error)))
            continue
        if not found:
            message = f"{pattern!r} matches no task"
            unmatched.append(
                Problem(code="unmatched-pattern", file=flag, message=message, severity="warning")
            )
        kept |= found
    return [task for task in tasks if task.id in kept]


def _is_meant_and_disabled(source: TaskSource, patterns: Sequence[str]) -> bool:
    words = (source.file.id, source.name)
    return not source.file.enabled and any(_matches(pattern, word) for pattern in patterns for word in words)


def _matches(pattern: str, word: str) -> bool:
    return pattern == word or matches(pattern, word)
