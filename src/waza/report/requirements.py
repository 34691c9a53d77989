"""What reports say of the requirements of tasks: the words, lines and figures, made once for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from waza.kit.text import pluralize
from waza.model.trial import Arm
from waza.report.rows import TaskRow
from waza.report.section import Table
from waza.report.words import one_line, status_mark
from waza.report.wrap import wrap
from waza.results.requirements import CheckOutcome, Meaning, RequirementOutcome, RequirementState

NOTE = "Requirements change no status. A recorded pass says what a grader recorded, and no more."
"""What belongs under every list of them."""

_WORDS: dict[RequirementState, str] = {
    "grader_recorded_pass": "recorded pass",
    "grader_recorded_failure": "recorded failure",
    "unresolved": "unresolved",
}
_STATUSES: dict[RequirementState, Literal["passed", "failed", "error"]] = {
    "grader_recorded_pass": "passed",
    "grader_recorded_failure": "failed",
    "unresolved": "error",
}
_MEANINGS: dict[Meaning, str] = {
    "grader_observation": "what the grader saw",
    "qualitative_observation": "what a judge thought",
    "operational_status_unavailable": "what a program returned; whether it worked as it should is not recorded",
    "insufficient_evidence": "the files at the end; what was changed back on the way is not seen",
    "operational_error": "the trial broke",
}
_UNRECORDED = "nothing was recorded"


class RequirementLine(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement of a task in one arm, for people; `task` is the title of the task."""

    task_id: str
    task: str
    arm: Arm
    outcome: RequirementOutcome

    @property
    def title(self) -> str:
        """The task, and that it ran without skills."""
        return f"{self.task}, without skills" if self.arm == "baseline" else self.task

    @property
    def status(self) -> Literal["passed", "failed", "error"]:
        """The status of a task that has the same mark: passed, failed, or error for what is unresolved."""
        return _STATUSES[self.outcome.state]

    @property
    def recorded(self) -> str:
        """The state, and in how many of the trials, such as `recorded failure in 1 of 3 trials`."""
        one = self.outcome
        word = _WORDS[one.state]
        if one.trials < 2:
            return word
        counts = {"grader_recorded_pass": one.passed, "grader_recorded_failure": one.failed}
        text = f"{word} in {counts.get(one.state, one.unresolved)} of {one.trials} trials"
        rest = one.unresolved if one.state == "grader_recorded_failure" else 0
        return f"{text}, {rest} unresolved" if rest else text

    @property
    def meaning(self) -> str:
        """What the state rests on, by each grader that decides it."""
        if not self.outcome.checks:
            return "no check covers it"
        return "; ".join(dict.fromkeys(map(_describe_check, self.outcome.deciding or self.outcome.checks)))

    @property
    def text(self) -> str:
        """All of it but the description, in one line."""
        one = self.outcome
        return one_line(f"{self.title}: {one.id} ({one.category}): {self.recorded}: {self.meaning}")


def requirement_lines(rows: Iterable[TaskRow], arm: Arm = "main") -> list[RequirementLine]:
    """Return the lines of all requirements of the tasks of an arm."""
    return [
        RequirementLine(task_id=row.id, task=row.title, arm=arm, outcome=one)
        for row in rows
        for one in row.requirements
    ]


def requirement_table(lines: Sequence[RequirementLine]) -> Table:
    """Return the requirements as a table of texts."""
    titles = ("Task", "Requirement", "Category", "Recorded", "What it rests on")
    return Table(
        titles,
        [(line.title, line.outcome.id, line.outcome.category, line.recorded, line.meaning) for line in lines],
    )


def requirement_parts(lines: Sequence[RequirementLine], width: int, *, whole: bool) -> Iterator[str]:
    """Yield how many requirements have which state, those without a recorded pass, and what this says; nothing without any.

    The `whole` of it: those with a recorded pass too, each with its description.
    """
    found = count_requirements(lines)
    if not found:
        return
    yield found
    for line in lines:
        if whole or line.status != "passed":
            yield from wrap(f"{status_mark(line.status)} {line.text}", width, "", "    ")
        if whole:
            yield from wrap(one_line(line.outcome.description), width, "    ")
    yield from wrap(NOTE, width)


def count_requirements(lines: Sequence[RequirementLine]) -> str:
    """Return how many requirements have which state, in the arm with skills; "" without any."""
    states = Counter(line.outcome.state for line in lines if line.arm == "main")
    if not states:
        return ""
    parts = [f"{states[state]} {word}" for state, word in _WORDS.items() if states[state]]
    return f"{pluralize(states.total(), 'requirement')}: {', '.join(parts)}"


def _describe_check(check: CheckOutcome) -> str:
    turn = f" after turn {check.after_turn}" if check.after_turn else ""
    return f"{check.grader}{turn}: {check.fault or _describe_observed(check.state, check.meaning)}"


def _describe_observed(state: RequirementState, meaning: Meaning) -> str:
    """Return what a state rests on, in words."""
    if state == "unresolved" and meaning == "insufficient_evidence":
        return _UNRECORDED
    return _MEANINGS[meaning]
