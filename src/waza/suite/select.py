"""Which tasks of a suite are run: `--task`, `--tags` and `-k`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from waza.kit.expression import Expression
from waza.kit.glob import matches
from waza.kit.names import nearest_name
from waza.kit.text import fold_case, list_first
from waza.model.task import Task
from waza.problem import Problem
from waza.suite.loading import Loading, LoadOptions, TaskSource
from waza.suite.trigger_tests import only_trigger_tests

EXPRESSION_HINT = "write texts joined by and, or, not and parentheses, such as: -k 'csv and not slow'"
_PARTS = re.compile(r"[\W_]+")  # between the words of an id, a name or a tag
_NAMED = 10  # tasks that a message names


def select_tasks(loading: Loading, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that any `--task` pattern (name or id), any `--tags` pattern and the `-k` expression match.

    A pattern, or a text of the expression, that matches nothing is a warning, no task at all an error. Neither is reported
    where a mistake may keep the task that is meant from being known.
    """
    request = loading.request
    kept, unmatched, before = list(tasks), list[Problem](), len(loading.problems)
    if request.tasks:
        kept = _match_tasks(
            loading, kept, "--task", request.tasks, lambda task: (task.id, task.name), unmatched
        )
    if request.tags:
        kept = _match_tasks(loading, kept, "--tags", request.tags, lambda task: task.tags, unmatched)
    if request.expression is not None:
        kept = _match_expression(loading, tasks, kept, request.expression, unmatched)
    malformed = len(loading.problems) > before
    if malformed or _tasks_may_be_unread(loading) or (loading.errors() and not tasks):
        return kept
    if kept or (only_trigger_tests(loading) and not _filters(request)):
        loading.problems.extend(unmatched)
        return kept
    reason = f"none matches {' '.join(_filters(request))}" if tasks else "all are disabled"
    disabled = [source.name for source in loading.sources if _is_meant_and_disabled(source, request.tasks)]
    if tasks and disabled:
        reason += f"; {', '.join(disabled)} {'is' if len(disabled) == 1 else 'are'} disabled (enabled: false)"
    loading.problems.append(
        Problem(
            code="no-task",
            file=loading.document.file,
            message=f"0 tasks selected: {reason}",
            hint="; ".join(f"{one.message}: {one.hint}" for one in unmatched if one.file == "-k"),
        )
    )
    return kept


def describe_filters(tasks: Sequence[str], tags: Sequence[str], expression: str | None) -> tuple[str, ...]:
    """Return the options that choose among tasks, as they are written on a command line."""
    given = [("--task", pattern) for pattern in tasks]
    given += [("--tags", pattern) for pattern in tags]
    given += [("-k", text) for text in (expression,) if text is not None]
    return tuple(f"{flag} {shlex.quote(value)}" for flag, value in given)


def _filters(request: LoadOptions) -> tuple[str, ...]:
    return describe_filters(request.tasks, request.tags, request.expression)


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


def _match_expression(
    loading: Loading, tasks: Sequence[Task], kept: list[Task], text: str, unmatched: list[Problem]
) -> list[Task]:
    """Return those of the kept tasks that an expression is true of.

    Each of its texts that is in no task adds a warning to `unmatched`, with the nearest word of all `tasks`.
    """
    try:
        expression = Expression(text)
    except ValueError as error:
        loading.problems.append(
            Problem(code="invalid-value", file="-k", message=str(error), hint=EXPRESSION_HINT)
        )
        return kept
    known = [word for task in tasks for word in _words(task)]
    unmatched += [
        Problem(
            code="unmatched-pattern",
            file="-k",
            message=f"{term!r} is in no id, name or tag",
            hint=_suggest(term, tasks),
            severity="warning",
        )
        for term in expression.terms
        if not any(fold_case(term) in fold_case(word) for word in known)
    ]
    return [task for task in kept if expression.matches(_words(task))]


def _words(task: Task) -> list[str]:
    return [task.id, task.name, *task.tags]


def _suggest(term: str, tasks: Sequence[Task]) -> str:
    guess = nearest_name(term, _nameable(tasks))
    if guess:
        return f"did you mean {guess!r}?"
    return f"tasks: {list_first([task.id for task in tasks], _NAMED)}"


def _nameable(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield what a text of an expression may have been meant to be: ids, names, tags, and the words of them."""
    for task in tasks:
        for word in _words(task):
            yield word
            yield from (part for part in _PARTS.split(word) if len(part) > 1)


def _is_meant_and_disabled(source: TaskSource, patterns: Sequence[str]) -> bool:
    words = (source.file.id, source.name)
    return not source.file.enabled and any(_matches(pattern, word) for pattern in patterns for word in words)


def _matches(pattern: str, word: str) -> bool:
    return pattern == word or matches(pattern, word)
