"""What reference cases showed of a suite. `to_json` gives the keys of the JSON document."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from waza.author.check.finding import Finding
from waza.model.mock import MockTurn
from waza.model.references import Expectation

CaseState = Literal["held", "not_held", "not_judged"]
"""`held`: the graders said what was expected. `not_judged`: a grader that had to say it reached no verdict."""


class CaseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader says of a case. `passed` is None where it reached no verdict, and `feedback` says why."""

    grader: str
    type: str
    after_turn: int | None = None
    by_judge: bool = False
    passed: bool | None = None
    score: float | None = None
    feedback: str = ""

    @property
    def title(self) -> str:
        """The name of the grader for people."""
        return self.grader if self.after_turn is None else f"{self.grader} after turn {self.after_turn}"


class CaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """A case and whether it holds. `why` is empty where it does; `answer` has the turns that were judged, `prompts` what they answer."""

    id: str
    task: str
    expect: Expectation
    grader: str = ""
    after_turn: int | None = None
    reason: str = ""
    state: CaseState
    why: str = ""
    file: str
    line: int
    column: int
    prompts: tuple[str, ...] = ()
    answer: tuple[MockTurn, ...] = ()
    verdicts: tuple[CaseVerdict, ...] = ()


class CaseCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases must pass and must fail, and how many of them hold."""

    passing: int = 0
    failing: int = 0
    passing_held: int = 0
    failing_held: int = 0

    @property
    def lacks(self) -> str:
        """What is missing for the assurance of what the cases are about, in words; empty where nothing is."""
        if not self.passing and not self.failing:
            return "no case"
        if not (self.passing and self.failing):
            return "no failing case" if self.passing else "no passing case"
        all_held = self.passing_held + self.failing_held == self.passing + self.failing
        return "" if all_held else "not all of its cases hold"


class GraderAssurance(msgspec.Struct, frozen=True, kw_only=True):
    """A grader with its cases. `task` is empty for a grader of the suite."""

    name: str
    type: str
    file: str
    line: int
    task: str = ""
    after_turn: int | None = None
    cases: CaseCounts


class TaskAssurance(msgspec.Struct, frozen=True, kw_only=True):
    """A task with its cases."""

    id: str
    name: str
    cases: CaseCounts


class AssuranceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the reference cases of a suite showed. `timestamp` is in UTC, as in ISO 8601."""

    timestamp: str
    suite: str
    path: str
    references: str
    executor: str
    cases: tuple[CaseReport, ...]
    graders: tuple[GraderAssurance, ...]
    tasks: tuple[TaskAssurance, ...]
    findings: tuple[Finding, ...] = ()
    shows: tuple[str, ...] = ()
    """What the cases show and what they do not, in sentences."""

    @property
    def passed(self) -> bool:
        """Whether all cases hold."""
        return all(one.state == "held" for one in self.cases)

    def count(self, state: CaseState) -> int:
        """Return how many cases are in a state."""
        return sum(one.state == state for one in self.cases)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document. Keys of turns are left out where they have their defaults."""
        document: dict[str, Any] = {
            "timestamp": self.timestamp,
            "suite": {"name": self.suite, "path": self.path, "executor": self.executor},
            "references": self.references,
            "passed": self.passed,
            "summary": {
                "cases": len(self.cases),
                **{state: self.count(state) for state in ("held", "not_held", "not_judged")},
                "graders": len(self.graders),
                "graders_assured": sum(not one.cases.lacks for one in self.graders),
                "tasks": len(self.tasks),
                "tasks_assured": sum(not one.cases.lacks for one in self.tasks),
            },
            "cases": msgspec.to_builtins(self.cases),
            "graders": [_assured(one) for one in self.graders],
            "tasks": [_assured(one) for one in self.tasks],
            "findings": msgspec.to_builtins(self.findings),
            "shows": list(self.shows),
        }
        for written, case in zip(document["cases"], self.cases, strict=True):
            written["answer"] = [_turn(turn) for turn in case.answer]
        return document


def _assured(one: GraderAssurance | TaskAssurance) -> dict[str, Any]:
    return {**msgspec.to_builtins(one), "assured": not one.cases.lacks, "lacks": one.cases.lacks}


def _turn(turn: MockTurn) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(MockTurn())
    written: dict[str, Any] = msgspec.to_builtins(turn)
    return {key: value for key, value in written.items() if key == "output" or value != plain[key]}
