"""The report on reference cases for people: tables and findings, or each case with its answer to be reviewed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from waza.author.assure.report import (
    AssuranceReport,
    CaseReport,
    CaseState,
    CaseVerdict,
    GraderAssurance,
    TaskAssurance,
)
from waza.author.check.text import finding_lines
from waza.kit.text import pluralize
from waza.model.mock import MockTurn, ScriptedSkill
from waza.report.table import WIDTH, table
from waza.report.words import ERROR, FAILED, PASSED, one_line

_STATES: dict[CaseState, str] = {"held": "holds", "not_held": "does not hold", "not_judged": "not judged"}
_MARKS: dict[CaseState, str] = {"held": PASSED, "not_held": FAILED, "not_judged": ERROR}
_CASES = ("Case", "Task", "Must", "Grader", "Result")
_GRADERS = ("Grader", "Must pass", "Must fail", "Assured")
_TASKS = ("Task", "Must pass", "Must fail", "Assured")
_ALL = "all of the task"


def report_lines(report: AssuranceReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of the whole report."""
    yield from table_lines(report, width)
    yield from _closing_lines(report)


def review_lines(report: AssuranceReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the whole report with every case in full: its answer, and what each grader says of it."""
    yield from _head_lines(report)
    for number, case in enumerate(report.cases, 1):
        yield ""
        yield from _case_lines(case, number, len(report.cases))
    yield ""
    yield from _coverage_lines(report, width)
    yield from _closing_lines(report)


def table_lines(report: AssuranceReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the tables alone."""
    yield from _head_lines(report)
    yield ""
    rows = [(one.id, one.task, one.expect, one.grader or _ALL, _STATES[one.state]) for one in report.cases]
    yield from table(_CASES, rows, width)
    yield ""
    yield from _coverage_lines(report, width)


def _head_lines(report: AssuranceReport) -> Iterator[str]:
    yield f"Suite: {one_line(report.suite)}"
    yield f"  {one_line(report.path)}"
    yield f"  {one_line(report.references)}: {pluralize(len(report.cases), 'case')}"
    counts = ", ".join(f"{report.count(state)} {words}" for state, words in _COUNTED.items())
    yield f"  {PASSED if report.passed else FAILED} {counts}"


_COUNTED: dict[CaseState, str] = {"held": "held", "not_held": "not held", "not_judged": "not judged"}


def _coverage_lines(report: AssuranceReport, width: int) -> Iterator[str]:
    if report.graders:
        yield from table(_GRADERS, [(_name(one), *_counts(one)) for one in report.graders], width)
        yield ""
    yield from table(_TASKS, [(one.id, *_counts(one)) for one in report.tasks], width)


def _name(one: GraderAssurance) -> str:
    name = f"{one.task}: {one.name}" if one.task else one.name
    return name if one.after_turn is None else f"{name} after turn {one.after_turn}"


def _counts(one: GraderAssurance | TaskAssurance) -> tuple[str, str, str]:
    cases = one.cases
    return (
        f"{cases.passing_held}/{cases.passing}",
        f"{cases.failing_held}/{cases.failing}",
        f"no: {cases.lacks}" if cases.lacks else "yes",
    )


def _closing_lines(report: AssuranceReport) -> Iterator[str]:
    yield ""
    yield f"Findings ({len(report.findings)})"
    yield from finding_lines(report.findings)
    yield ""
    yield "What this shows"
    yield from (f"  {sentence}" for sentence in report.shows)


def _case_lines(case: CaseReport, number: int, of: int) -> Iterator[str]:
    yield f"Case {number} of {of}: {one_line(case.id)} ({one_line(case.file)}:{case.line})"
    by = f" by {one_line(case.grader)}" if case.grader else ""
    yield f"  {_MARKS[case.state]} must {case.expect}{by}: {_STATES[case.state]}"
    if case.why:
        yield f"    {one_line(case.why)}"
    if case.reason:
        yield f"  Reason: {one_line(case.reason)}"
    yield f"  Task: {one_line(case.task)}"
    for number_of_turn, (prompt, answer) in enumerate(zip(case.prompts, case.answer, strict=False), 1):
        where = "" if len(case.answer) == 1 else f" of turn {number_of_turn}"
        yield f"  Prompt{where}"
        yield from _quoted(prompt)
        yield f"  Answer{where}"
        yield from _turn_lines(answer)
    yield "  Graders"
    yield from map(_verdict_line, case.verdicts)


def _turn_lines(turn: MockTurn) -> Iterator[str]:
    yield from _quoted(turn.output or "(empty)")
    for call in turn.tool_calls:
        arguments = json.dumps(msgspec.to_builtins(call.args), ensure_ascii=False)
        yield f"    calls {one_line(call.name)} {one_line(arguments)}"
    for skill in turn.skills or ():
        name = skill.name if isinstance(skill, ScriptedSkill) else skill
        yield f"    invokes the skill {one_line(name)}"
    for file in turn.files:
        yield f"    writes {one_line(file.path)}"
        yield from _quoted(file.content)
    yield from (f"    removes {one_line(path)}" for path in turn.delete)


def _quoted(text: str) -> Iterator[str]:
    """Yield the lines of a text, each marked, so that none looks like a line of the report."""
    yield from (f"    | {line}" for line in text.splitlines() or [""])


def _verdict_line(verdict: CaseVerdict) -> str:
    if verdict.passed is None:
        return f"    {ERROR} {one_line(verdict.title)}: no verdict: {one_line(verdict.feedback)}"
    mark = PASSED if verdict.passed else FAILED
    return f"    {mark} {one_line(verdict.title)} ({verdict.type}): {one_line(verdict.feedback)}"
