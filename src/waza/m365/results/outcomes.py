"""From the trials of a document's suite to the outcomes of its items: answers, and results of evaluators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from waza.m365.document.options import Evaluators
from waza.m365.document.scores import UNREADABLE, Citation, Diagnostics
from waza.m365.evaluators.protocols import EvaluatorResult
from waza.m365.results.status import (
    AGENT_REQUEST_FAILED,
    AGENT_THROTTLED,
    RUN_INTERRUPTED,
    Failure,
    TurnOutcome,
)
from waza.model.observation import ANSWER, FAILURE, Event
from waza.model.result import TrialResult, Validation

ItemOutcome: TypeAlias = tuple[TurnOutcome, ...]


def item_outcomes(evaluators: Sequence[Evaluators], run: TrialResult | None) -> ItemOutcome:
    """Return the outcome of each turn of an item; `evaluators` are those of its turns.

    A turn without an answer failed, and no later one was tried. None for the run: it was interrupted.
    """
    if run is None:
        return (TurnOutcome(failure=Failure("", RUN_INTERRUPTED)),) * len(evaluators)
    answers = [event for event in run.transcript if event.type == ANSWER]
    validations = {point.after_turn: point.validations for point in run.checkpoints}
    validations[len(evaluators)] = run.validations or {}
    outcomes = [
        turn_outcome(event, own, validations.get(number, {}))
        for number, (event, own) in enumerate(zip(answers, evaluators, strict=False), 1)
    ]
    if len(outcomes) < len(evaluators):
        outcomes.append(TurnOutcome(failure=_failure(run)))
    skipped = TurnOutcome(skipped=True)
    return (*outcomes, *[skipped] * (len(evaluators) - len(outcomes)))


def turn_outcome(event: Event | None, own: Evaluators, validations: Mapping[str, Validation]) -> TurnOutcome:
    """Return the outcome of a turn with an answer, the results in the order of its evaluators."""
    about: dict[str, Any] = event.message if event else {}
    return TurnOutcome(
        response=str(event.content) if event else "",
        results=tuple(evaluator_result(name, validations[name]) for name in own if name in validations),
        session_id=about.get("session_id", ""),
        agent=about.get("agent", ""),
        **_telemetry(about),
    )


def _telemetry(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the citations and diagnostics of an answer. What a document cannot contain is replaced by the reason."""
    citations, diagnostics = about.get("citations", []), about.get("diagnostics", {})
    unreadable = {}
    try:
        msgspec.convert(citations, list[Citation], strict=False)
    except msgspec.ValidationError as error:
        citations, unreadable = [], {"citations": str(error)}
    try:
        msgspec.convert(diagnostics, Diagnostics, strict=False)
    except msgspec.ValidationError as error:
        diagnostics, unreadable = {}, {**unreadable, "diagnostics": str(error)}
    return {
        "citations": citations,
        "diagnostics": diagnostics | ({UNREADABLE: unreadable} if unreadable else {}),
    }


def evaluator_result(name: str, validation: Validation) -> EvaluatorResult:
    """Return the result of an evaluator from the verdict of the grader `evaluator`."""
    details = validation.details
    if "raw_score" not in details:
        error, trace = details.get("error") or validation.feedback, details.get("traceback", "")
        return EvaluatorResult(name=name, error=error, traceback=trace)
    own = ("evaluator", "kind", "raw_score", "scale", "threshold", "reason")
    return EvaluatorResult(
        name=name,
        kind=details["kind"],
        score=details["raw_score"],
        threshold=details["threshold"],
        passed=validation.passed,
        reason=details["reason"],
        extra={key: value for key, value in details.items() if key not in own},
    )


def _failure(run: TrialResult) -> Failure:
    event = next((event for event in run.transcript if event.type == FAILURE), None)
    if event is None:  # there was no session
        return Failure(run.error_msg)
    busy = event.message["throttled"]
    return Failure(str(event.content), AGENT_THROTTLED if busy else AGENT_REQUEST_FAILED)
