"""The report of `waza preflight` for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from waza.model.preflight import Dependency, Diagnostic, ListedTask, Preflight, PreflightCheck, PreflightState
from waza.report.words import ERROR, FAILED, PASSED, SKIPPED, one_line

_MARKS: dict[PreflightState, str] = {
    "verified": PASSED,
    "unresolved": ERROR,
    "unsupported": SKIPPED,
    "invalid": FAILED,
}


def preflight_lines(report: Preflight) -> Iterator[str]:
    """Yield the lines: tasks with their requirements, capabilities, dependencies, diagnostics, the result."""
    yield f"Preflight of {report.source}"
    if report.executor:
        yield f"Executor: {one_line(report.executor)}"
    if report.tasks:
        yield from ("", "Tasks")
        for task in report.tasks:
            yield from _task(task)
    if report.capabilities:
        yield from ("", "Capabilities")
        yield from (
            f"  {_marked(one.state, one.name)}: {one_line(one.meaning)}" for one in report.capabilities
        )
    if report.dependencies:
        yield from ("", "Dependencies")
        yield from (f"  {_dependency(one)}" for one in report.dependencies)
    if report.diagnostics:
        yield from ("", "Diagnostics")
        for diagnostic in report.diagnostics:
            yield from _diagnostic(diagnostic)
    yield from ("", _result(report))


def _task(task: ListedTask) -> Iterator[str]:
    disabled = "" if task.enabled else ", disabled"
    yield f"  {one_line(task.name)} ({one_line(task.source)}{disabled})"
    for one in task.requirements:
        title = f"{one_line(one.id)} ({one_line(one.category)})"
        yield f"    {_marked(one.state, title)}: {one_line(one.description)}"
        checks = ", ".join(map(_check, one.checks))
        yield f"        {checks}: {one_line(one.meaning)}" if checks else f"        {one_line(one.meaning)}"


def _check(check: PreflightCheck) -> str:
    turn = f" after turn {check.after_turn}" if check.after_turn else ""
    return one_line(f"{check.grader} ({check.scope}{turn})")


def _dependency(one: Dependency) -> str:
    of_task = f", task {one.task_id}" if one.task_id else ""
    return one_line(f"{_marked(one.state, f'{one.kind} {one.name}')} ({one.mode}{of_task})")


def _diagnostic(diagnostic: Diagnostic) -> Iterator[str]:
    of = "".join(f", {key} {value}" for key, value in _belongs(diagnostic) if value)
    yield f"  {_MARKS[diagnostic.state]} {diagnostic.state} {diagnostic.code}{one_line(of)}"
    yield f"      {one_line(diagnostic.message)}"
    yield f"      {one_line(diagnostic.remediation)}"


def _belongs(diagnostic: Diagnostic) -> tuple[tuple[str, str], ...]:
    return ("task", diagnostic.task_id), ("requirement", diagnostic.requirement_id)


def _marked(state: PreflightState, what: str) -> str:
    word = "" if state == "verified" else f" {state}"
    return f"{_MARKS[state]}{word} {what}"


def _result(report: Preflight) -> str:
    if report.complete:
        return "Complete: everything is verified."
    count = Counter(diagnostic.state for diagnostic in report.diagnostics)
    words = [f"{count[state]} {state}" for state in _MARKS if count[state] and state != "verified"]
    return f"Not complete: {', '.join(words)}."
