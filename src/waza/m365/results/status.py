"""From outcomes to statuses, errors, score entries and summaries. Pure: values in, values out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from waza.m365.document.model import Status
from waza.m365.document.scores import SCORE_KEYS, SCORES, JudgedScore
from waza.m365.evaluators.protocols import EvaluatorResult

AGENT_REQUEST_FAILED = "agentRequestFailed"
REQUEST_FAILED = "Agent request failed: "  # how the message of that error begins
AGENT_THROTTLED = "agentThrottled"  # of waza: the agent refuses further requests for now
TURN_SKIPPED = "turnSkipped"
RUN_INTERRUPTED = "runInterrupted"  # of waza: the agent was not asked, since the run was stopped before
EVALUATORS_FAILED = "evaluatorsFailed"


class Failure(msgspec.Struct, frozen=True):
    """Why the agent gave no response: the cause, and the code that tells its kind."""

    cause: str
    code: str = AGENT_REQUEST_FAILED


class TurnOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What happened on one turn.

    `failure` or `skipped` (an earlier turn of the thread failed): there is no response, and nothing was
    evaluated. Both `citations` and `diagnostics` have the shape of the document; empty ones are left out.
    `session_id` is the agent's name of the conversation, and `agent` of itself, if they are known.
    """

    response: str = ""
    failure: Failure | None = None
    skipped: bool = False
    results: tuple[EvaluatorResult, ...] = ()
    citations: list[dict[str, Any]] = []
    diagnostics: dict[str, Any] = {}
    session_id: str = ""
    agent: str = ""

    @property
    def answered(self) -> bool:
        """Whether there is a response."""
        return not (self.failure or self.skipped)


def status_of(outcome: TurnOutcome) -> Status:
    """Return the status of a turn."""
    if not outcome.answered:
        return "error"
    if any(is_error(result) for result in outcome.results):
        return "partial"
    return "pass" if all(result.passed for result in outcome.results) else "fail"


def error_of(outcome: TurnOutcome) -> dict[str, str] | None:
    """Return the error object of a turn, or None where everything ran."""
    if outcome.skipped:
        return _error(TURN_SKIPPED, "Turn not attempted: preceding turn failed")
    if outcome.failure:
        if outcome.failure.code == RUN_INTERRUPTED:
            return _error(RUN_INTERRUPTED, "Turn not attempted: the run was interrupted")
        cause = outcome.failure.cause or "no cause is known"
        return _error(outcome.failure.code, f"{REQUEST_FAILED}{cause}")
    total, failed = len(outcome.results), sum(map(is_error, outcome.results))
    if not failed:
        return None
    message = f"Agent response obtained. {failed} of {total} evaluators failed to run."
    return _error(EVALUATORS_FAILED, message)


def scores_of(outcome: TurnOutcome) -> dict[str, dict[str, Any]]:
    """Return the `scores` of a turn; none where there is no response."""
    if not outcome.answered:
        return {}
    return {SCORE_KEYS.get(result.name, result.name): entry_of(result) for result in outcome.results}


def entry_of(result: EvaluatorResult) -> dict[str, Any]:
    """Return the entry of one evaluator under `scores`."""
    if is_error(result):
        return {
            "result": "error",
            "error": result.error or "Evaluator failed: its score is not a finite number",
        }
    verdict = "pass" if result.passed else "fail"
    if result.kind != "built-in":
        return _scored(result, verdict) | {"reason": result.reason}
    if result.name == "ExactMatch":
        entry: dict[str, Any] = {"match": result.passed, "result": verdict}
    elif result.name == "Citations":
        entry = {"count": int(result.score), "result": verdict, "threshold": int(result.threshold)}
    else:
        entry = _scored(result, verdict)
    if result.reason:
        entry["reason"] = result.reason
    return entry | {key: value for key, value in result.extra.items() if key not in entry}


def tracebacks_of(outcome: TurnOutcome) -> dict[str, str]:
    """Return the tracebacks of evaluators that raised an exception, by their names."""
    return {result.name: result.traceback for result in outcome.results if result.traceback}


def is_error(result: EvaluatorResult) -> bool:
    """Tell whether an evaluator gave no result; a score that is not a finite number does not count."""
    return bool(result.error) or not (math.isfinite(result.score) and math.isfinite(result.threshold))


def unit_score(result: EvaluatorResult) -> float:
    """Return the score between 0 and 1 that graders of suites have.

    Judges: (score - 1) / 4. Shares stay as they are. Counts, comparisons and code: 1 or 0 by the result.
    """
    if is_error(result):
        return 0.0
    if result.kind == "judge" or _is_judged(result):
        return (result.score - 1) / 4
    shares = result.kind == "built-in" and result.name not in ("ExactMatch", "Citations")
    return float(result.score) if shares else float(result.passed)


def scale_of(result: EvaluatorResult) -> str:
    """Return in words the scale of a score: `1-5`, `0-1`, `count`, or `any` for code."""
    if result.kind == "judge" or _is_judged(result):
        return "1-5"
    if result.kind == "code":
        return "any"
    return "count" if result.name == "Citations" else "0-1"


def overall_status(statuses: Sequence[Status]) -> Status:
    """Return the status of a thread: the worst of its turns."""
    order: tuple[Status, ...] = ("error", "partial", "fail")
    return next((status for status in order if status in statuses), "pass")


def summary_of(statuses: Sequence[Status]) -> dict[str, Any]:
    """Return the `summary` of a thread from the statuses of its turns, at least one."""
    counts = Counter(statuses)
    return {
        "turns_total": len(statuses),
        "turns_passed": counts["pass"],
        "turns_failed": counts["fail"],
        "turns_partial": counts["partial"],
        "turns_errored": counts["error"],
        "overall_status": overall_status(statuses),
    }


def _is_judged(result: EvaluatorResult) -> bool:
    return result.kind == "built-in" and SCORES.get(SCORE_KEYS.get(result.name, "")) is JudgedScore


def _scored(result: EvaluatorResult, verdict: str) -> dict[str, Any]:
    return {"score": result.score, "result": verdict, "threshold": result.threshold}


def _error(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": message}
