"""`verify`: the promises of a skill joined with the tasks that exercise them, and how the report is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from waza.author.check.finding import path_below
from waza.author.check.source import Source
from waza.author.improve.ask import Asker
from waza.author.spec_verify.match import Covering, find_covering, list_exercises
from waza.author.spec_verify.promises import Promise, list_promises
from waza.author.spec_verify.semantic import ask_about
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.problem import display_path
from waza.report.words import BULLET, ERROR, FAILED, PASSED, one_line
from waza.report.workflow_command import workflow_command

Severity = Literal["error", "warning", "notice"]
"""How what is uncovered is shown."""

_MARKS: dict[Severity, str] = {"error": FAILED, "warning": ERROR, "notice": BULLET}
_MOST = 10  # annotations of a step that GitHub shows
_TASKS = 3  # that a line names


class PromiseCoverage(msgspec.Struct, frozen=True, rename="camel"):
    """A promise, the tasks that exercise it, and why a judge that was asked gave no answer."""

    requirement: Promise
    covered_by: tuple[Covering, ...]
    judge_error: str = ""


class SpecReport(msgspec.Struct, frozen=True, kw_only=True):
    """Which promises of a skill tasks exercise. `asked`: whether a judge was asked about those that no words cover."""

    skill_path: str
    eval_path: str
    tasks: int
    trigger_prompts: int
    coverage: tuple[PromiseCoverage, ...]
    asked: bool = False

    @property
    def uncovered(self) -> tuple[PromiseCoverage, ...]:
        """The promises that no task exercises."""
        return tuple(one for one in self.coverage if not one.covered_by)

    @property
    def failures(self) -> tuple[PromiseCoverage, ...]:
        """The promises about which the judge gave no answer."""
        return tuple(one for one in self.coverage if one.judge_error)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "skillPath": self.skill_path,
            "evalPath": self.eval_path,
            "semantic": self.asked,
            "totals": {
                "requirements": len(self.coverage),
                "covered": len(self.coverage) - len(self.uncovered),
                "uncovered": len(self.uncovered),
                "tasks": self.tasks,
                "triggerPrompts": self.trigger_prompts,
            },
            "coverage": msgspec.to_builtins(self.coverage),
        }


async def verify(definition: Path, suite: Suite, asker: Asker | None = None) -> SpecReport:
    """Join the promises of a skill or agent with the tasks of a suite; `asker` is asked about what is left."""
    source = Source(definition)
    exercises = list_exercises(suite)
    promises = list_promises(source)
    found = {promise.id: tuple(find_covering(promise, exercises)) for promise in promises}
    errors: dict[str, str] = {}
    if asker is not None:
        left = [promise for promise in promises if not found[promise.id]]
        answers = await ask_about(asker, left, exercises)
        errors = answers.failures
        found |= {key: (covering,) for key, covering in answers.covering.items()}
    return SpecReport(
        skill_path=source.file,
        eval_path=display_path(suite.path),
        tasks=len(suite.tasks),
        trigger_prompts=len(exercises) - len(suite.tasks),
        coverage=tuple(PromiseCoverage(one, found[one.id], errors.get(one.id, "")) for one in promises),
        asked=asker is not None,
    )


def human_lines(report: SpecReport, severity: Severity) -> Iterator[str]:
    """Yield the report for people."""
    yield f"Skill: {one_line(report.skill_path)}"
    prompts = f", {pluralize(report.trigger_prompts, 'trigger prompt')}" if report.trigger_prompts else ""
    yield f"Suite: {one_line(report.eval_path)} ({pluralize(report.tasks, 'task')}{prompts})"
    yield ""
    for one in report.coverage:
        promise = one.requirement
        mark = PASSED if one.covered_by else _MARKS[severity]
        place = f"{promise.source.file}:{promise.source.start_line}"
        yield f"{mark} {promise.id}: {one_line(promise.text, 200)} ({one_line(place)})"
        yield from _covering_lines(one)
    yield ""
    covered = len(report.coverage) - len(report.uncovered)
    yield f"{covered} of {pluralize(len(report.coverage), 'requirement')} covered, {len(report.uncovered)} not"
    if report.failures:
        yield f"the judge gave no answer about {pluralize(len(report.failures), 'requirement')}; these are not covered"


def _covering_lines(one: PromiseCoverage) -> Iterator[str]:
    for covering in one.covered_by[:_TASKS]:
        yield f"    {one_line(covering.task_id)} ({covering.mode}): {one_line(covering.reason, 200)}"
    if len(one.covered_by) > _TASKS:
        yield f"    and {len(one.covered_by) - _TASKS} more"
    if one.judge_error:
        yield f"    the judge gave no answer: {one_line(one.judge_error, 300)}"


def annotation_lines(report: SpecReport, severity: Severity, root: Path) -> Iterator[str]:
    """Yield commands of GitHub Actions for what is not covered; paths are relative to `root`."""
    uncovered: Sequence[PromiseCoverage] = report.uncovered
    shown = uncovered if len(uncovered) <= _MOST else uncovered[: _MOST - 1]
    for one in shown:
        promise = one.requirement
        yield workflow_command(
            severity,
            f"waza spec verify: {promise.id}",
            f"no task exercises: {promise.text}",
            file=path_below(promise.source.file, root),
            line=promise.source.start_line,
        )
    if len(uncovered) > len(shown):
        rest = f"and {len(uncovered) - len(shown)} more; waza spec verify lists them all"
        yield workflow_command(severity, "waza spec verify", rest)
    if not uncovered:
        yield workflow_command("notice", "waza spec verify", "tasks exercise all requirements")
