"""Requirements of tasks, joined with the verdicts that their graders recorded.

A verdict that is missing, or of a trial that broke, is never a success. Requirements change no status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

import msgspec

from waza.model.requirement import RecordedCheck, RecordedRequirement

RequirementState = Literal["unresolved", "grader_recorded_pass", "grader_recorded_failure"]
Meaning = Literal[
    "grader_observation",
    "qualitative_observation",
    "operational_status_unavailable",
    "insufficient_evidence",
    "operational_error",
]
"""What a state rests on: what a grader saw; what a judge thought; what a program returned, of which results do not
say whether it worked; files at the end, or nothing at all; a trial that broke."""

_OF_TYPE: dict[str, Meaning] = {
    "code": "operational_status_unavailable",
    "diff": "insufficient_evidence",
    "evaluator": "qualitative_observation",
    "file": "insufficient_evidence",
    "program": "operational_status_unavailable",
    "prompt": "qualitative_observation",
    "wgp": "operational_status_unavailable",
}


class CheckState(NamedTuple):
    """What one trial says of one check."""

    state: RequirementState
    meaning: Meaning


_NOTHING = CheckState("unresolved", "insufficient_evidence")
_BROKEN = CheckState("unresolved", "operational_error")

Observed = tuple[tuple[CheckState, ...], ...]
"""What one trial says of the requirements of its task, check by check, in their order."""


class VerdictOfResults(Protocol):
    """What is needed of a verdict in results."""

    @property
    def type(self) -> str:
        """The type of the grader."""
        ...

    @property
    def passed(self) -> bool:
        """Whether the grader passed."""
        ...


class CheckpointOfResults(Protocol):
    """What is needed of a checkpoint in results."""

    @property
    def after_turn(self) -> int:
        """The turn after which the graders ran."""
        ...

    @property
    def status(self) -> str:
        """The status of the checkpoint."""
        ...

    @property
    def validations(self) -> Mapping[str, VerdictOfResults]:
        """Verdicts by the name of the grader."""
        ...


class TrialOfResults(Protocol):
    """What is needed of a trial in results."""

    @property
    def status(self) -> str:
        """How it ended."""
        ...

    @property
    def validations(self) -> Mapping[str, VerdictOfResults] | None:
        """Verdicts by the name of the grader."""
        ...

    @property
    def checkpoints(self) -> Sequence[CheckpointOfResults]:
        """Verdicts of graders between turns."""
        ...


class CheckOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the trials of a task say of one check of a requirement."""

    scope: str
    grader: str
    after_turn: int | None
    state: RequirementState
    meaning: Meaning
    passed: int
    """Trials with a recorded pass."""
    failed: int
    """Trials with a recorded failure."""
    unresolved: int
    """Trials without either; those that did not run are among them."""
    fault: str
    """Why no verdict observes it: it names no grader, or several."""


class RequirementOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the trials of a task say of a requirement.

    A trial is a failure if one of the checks is, else unresolved if one is or without any check, else a pass. The
    requirement has its state from its trials in the same way.
    """

    id: str
    category: str
    description: str
    state: RequirementState
    meaning: Meaning
    """That of the first check which decides the state."""
    passed: int
    """Trials with a recorded pass of every check."""
    failed: int
    """Trials with a recorded failure."""
    unresolved: int
    """All other trials; those that did not run are among them."""
    checks: list[CheckOutcome]

    @property
    def trials(self) -> int:
        """How many trials there were to be."""
        return self.passed + self.failed + self.unresolved

    @property
    def deciding(self) -> list[CheckOutcome]:
        """The checks that decide the state."""
        return [check for check in self.checks if check.state == self.state]


def observe(requirements: Sequence[RecordedRequirement], trial: TrialOfResults) -> Observed:
    """Return what a trial says of the requirements of its task."""
    if not requirements:
        return ()
    return _shared(
        tuple(tuple(_observe(check, trial) for check in requirement.checks) for requirement in requirements)
    )


@lru_cache(maxsize=1024)
def _shared(observed: Observed) -> Observed:
    """Return an equal value that is the same each time: most trials of a task say the same."""
    return observed


def _observe(check: RecordedCheck, trial: TrialOfResults) -> CheckState:
    if check.fault:
        return _NOTHING
    if check.scope == "checkpoint":
        return _observe_checkpoint(check, trial)
    if trial.status == "error":
        return _BROKEN
    return _read((trial.validations or {}).get(check.grader))


def _observe_checkpoint(check: RecordedCheck, trial: TrialOfResults) -> CheckState:
    """Return what a checkpoint says; what failed there before the trial broke has failed all the same."""
    at = (point for point in trial.checkpoints if point.after_turn == check.after_turn)
    point = next((point for point in at if check.grader in point.validations), None)
    seen = _NOTHING if point is None or point.status == "error" else _read(point.validations[check.grader])
    broke = trial.status == "error" and seen.state != "grader_recorded_failure"
    return _BROKEN if broke else seen


def _read(verdict: VerdictOfResults | None) -> CheckState:
    if verdict is None:
        return _NOTHING
    meaning = _OF_TYPE.get(verdict.type, "grader_observation")
    return CheckState("grader_recorded_pass" if verdict.passed else "grader_recorded_failure", meaning)


def join_requirements(
    requirements: Sequence[RecordedRequirement], trials: Sequence[Observed], missing: int
) -> list[RequirementOutcome]:
    """Return what is known of the requirements of a task.

    `trials` is what `observe` returned of each of its trials; `missing` is how many more were to run.
    """
    return [
        _join(requirement, [trial[i] for trial in trials], missing)
        for i, requirement in enumerate(requirements)
    ]


def _join(
    requirement: RecordedRequirement, trials: Sequence[tuple[CheckState, ...]], missing: int
) -> RequirementOutcome:
    checks = [
        _join_check(check, [trial[i] for trial in trials], missing)
        for i, check in enumerate(requirement.checks)
    ]
    states = [_worst(one.state for one in trial) for trial in trials]
    state = _worst([*states, _NOTHING.state] if missing else states)
    deciding = next((check.meaning for check in checks if check.state == state), None)
    return RequirementOutcome(
        id=requirement.id,
        category=requirement.category,
        description=requirement.description,
        state=state,
        meaning=deciding or "insufficient_evidence",
        passed=states.count("grader_recorded_pass"),
        failed=states.count("grader_recorded_failure"),
        unresolved=states.count("unresolved") + missing,
        checks=checks,
    )


def _join_check(check: RecordedCheck, trials: Sequence[CheckState], missing: int) -> CheckOutcome:
    found = [*trials, *([_NOTHING] if missing else [])]
    state = _worst(one.state for one in found)
    states = [one.state for one in trials]
    return CheckOutcome(
        scope=check.scope,
        grader=check.grader,
        after_turn=check.after_turn,
        state=state,
        meaning=next((one.meaning for one in found if one.state == state), _NOTHING.meaning),
        passed=states.count("grader_recorded_pass"),
        failed=states.count("grader_recorded_failure"),
        unresolved=states.count("unresolved") + missing,
        fault=check.fault,
    )


def _worst(states: Iterable[RequirementState]) -> RequirementState:
    """Return the state of a whole by those of its parts; without parts nothing is known."""
    found = set(states)
    if "grader_recorded_failure" in found:
        return "grader_recorded_failure"
    return "unresolved" if "unresolved" in found or not found else "grader_recorded_pass"
