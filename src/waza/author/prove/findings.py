"""Findings about tasks: those of one place that say the same of several tasks, such as the rows of a dataset, are one."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from waza.author.check.finding import Finding, Severity
from waza.kit.text import list_first, pluralize
from waza.problem import Code

_NAMED = 3  # tasks in a message


class _About(msgspec.Struct, frozen=True):
    """A finding before it is known of how many tasks it is."""

    code: Code
    severity: Severity
    message: str
    remedy: str
    file: str
    line: int
    column: int


class TaskFindings:
    """Collects findings. In messages `{tasks}` is where the tasks are named."""

    def __init__(self) -> None:
        self._found: dict[_About, list[str]] = {}

    def add(
        self,
        code: Code,
        severity: Severity,
        message: str,
        remedy: str,
        place: tuple[str, int, int],
        task: str = "",
    ) -> None:
        """Add a finding at a file, line and column; `task` is the name of the task that it is about, if any."""
        self._found.setdefault(_About(code, severity, message, remedy, *place), []).append(task)

    def all(self) -> Iterator[Finding]:
        """Yield the findings in the order in which they were added first."""
        for about, tasks in self._found.items():
            yield Finding(
                code=about.code,
                severity=about.severity,
                file=about.file,
                line=about.line,
                column=about.column,
                message=about.message.replace("{tasks}", _name(tasks), 1) if tasks[0] else about.message,
                remedy=about.remedy,
            )


def _name(tasks: list[str]) -> str:
    if len(tasks) == 1:
        return f"the task {tasks[0]!r}"
    return f"{pluralize(len(tasks), 'task')} ({list_first([repr(task) for task in tasks], _NAMED)})"
