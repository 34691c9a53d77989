"""Statuses, errors, score entries and summaries."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from tests.unit.m365.documents import CORPUS, document, mistakes, needs_corpus

from waza.m365.document.model import Status
from waza.m365.evaluators.protocols import EvaluatorResult
from waza.m365.results.status import (
    AGENT_THROTTLED,
    Failure,
    TurnOutcome,
    entry_of,
    error_of,
    overall_status,
    scores_of,
    status_of,
    summary_of,
    unit_score,
)

PASSED = EvaluatorResult(name="Relevance", score=4, threshold=3, passed=True, reason="good")
FAILED = EvaluatorResult(name="Coherence", score=2, threshold=3)
BROKEN = EvaluatorResult(name="Similarity", error="Evaluator failed: gone", score=5, passed=True)


def answered(*results: EvaluatorResult) -> TurnOutcome:
    return TurnOutcome(response="r", results=results)


@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        (answered(PASSED), "pass", None),
        (answered(), "pass", None),
        (answered(FAILED), "fail", None),
        (answered(PASSED, FAILED), "fail", None),
        (
            answered(FAILED, BROKEN),
            "partial",
            ("evaluatorsFailed", "Agent response obtained. 1 of 2 evaluators failed to run."),
        ),
        (
            answered(BROKEN, BROKEN),
            "partial",
            ("evaluatorsFailed", "Agent response obtained. 2 of 2 evaluators failed to run."),
        ),
        (
            TurnOutcome(failure=Failure("HTTP 503")),
            "error",
            ("agentRequestFailed", "Agent request failed: HTTP 503"),
        ),
        (
            TurnOutcome(failure=Failure("slow", AGENT_THROTTLED)),
            "error",
            ("agentThrottled", "Agent request failed: slow"),
        ),
        (
            TurnOutcome(failure=Failure("")),
            "error",
            ("agentRequestFailed", "Agent request failed: no cause is known"),
        ),
        (TurnOutcome(skipped=True), "error", ("turnSkipped", "Turn not attempted: preceding turn failed")),
        (TurnOutcome(response=""), "pass", None),
    ],
)
def test_status_and_error_of_a_turn(
    outcome: TurnOutcome, status: Status, error: tuple[str, str] | None
) -> None:
    assert status_of(outcome) == status
    assert error_of(outcome) == (None if error is None else {"code": error[0], "message": error[1]})


def test_without_a_response_there_are_no_scores() -> None:
    assert scores_of(TurnOutcome(failure=Failure("x"), results=(PASSED,))) == {}
    assert scores_of(TurnOutcome(skipped=True)) == {}
    assert list(scores_of(answered(PASSED, BROKEN))) == ["relevance", "similarity"]


ENTRIES: list[tuple[EvaluatorResult, dict[str, Any], float]] = [
    (PASSED, {"score": 4, "result": "pass", "threshold": 3, "reason": "good"}, 0.75),
    (FAILED, {"score": 2, "result": "fail", "threshold": 3}, 0.25),
    (BROKEN, {"result": "error", "error": "Evaluator failed: gone"}, 0),
    (
        EvaluatorResult(
            name="Citations",
            score=2.0,
            threshold=1,
            passed=True,
            extra={"format": "bracket", "count": 9, "citations": [{"index": 1}]},
        ),
        {"count": 2, "result": "pass", "threshold": 1, "format": "bracket", "citations": [{"index": 1}]},
        1,
    ),
    (EvaluatorResult(name="ExactMatch", score=1, passed=True), {"match": True, "result": "pass"}, 1),
    (
        EvaluatorResult(name="ExactMatch", reason="differs"),
        {"match": False, "result": "fail", "reason": "differs"},
        0,
    ),
    (
        EvaluatorResult(name="PartialMatch", score=0.4, threshold=0.5, reason="Match score: 0.400"),
        {"score": 0.4, "result": "fail", "threshold": 0.5, "reason": "Match score: 0.400"},
        0.4,
    ),
    (
        EvaluatorResult(name="RetrievalQuery", score=1, passed=True, extra={"diagnostic_code": "pass"}),
        {"score": 1, "result": "pass", "threshold": 1, "diagnostic_code": "pass"},
        1,
    ),
    (
        EvaluatorResult(
            name="RetrievalResult",
            score=0.67,
            extra={"diagnostic_code": "not_retrieved", "missing_items": []},
        ),
        {
            "score": 0.67,
            "result": "fail",
            "threshold": 1,
            "diagnostic_code": "not_retrieved",
            "missing_items": [],
        },
        0.67,
    ),
    (
        EvaluatorResult(name="tone", kind="judge", score=5, threshold=4, passed=True),
        {"score": 5, "result": "pass", "threshold": 4, "reason": ""},
        1,
    ),
    (
        EvaluatorResult(
            name="words", kind="code", score=-3.5, threshold=-4, passed=True, reason="few", extra={"x": 1}
        ),
        {"score": -3.5, "result": "pass", "threshold": -4, "reason": "few"},
        1,
    ),
    (EvaluatorResult(name="words", kind="code", error="e"), {"result": "error", "error": "e"}, 0),
]


@pytest.mark.parametrize(("result", "entry", "score"), ENTRIES)
def test_entries_and_scores_between_0_and_1(
    result: EvaluatorResult, entry: dict[str, Any], score: float
) -> None:
    assert entry_of(result) == entry
    assert unit_score(result) == score
    written = document({"prompt": "p", "scores": scores_of(answered(result))})
    assert mistakes(written) == []


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_an_error_and_never_a_pass(odd: float) -> None:
    result = EvaluatorResult(name="words", kind="code", score=odd, passed=True)
    assert entry_of(result) == {
        "result": "error",
        "error": "Evaluator failed: its score is not a finite number",
    }
    assert status_of(answered(result)) == "partial"
    assert unit_score(result) == 0


@pytest.mark.parametrize(
    ("statuses", "overall"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "fail"], "fail"),
        (["fail", "partial", "pass"], "partial"),
        (["partial", "error", "fail"], "error"),
    ],
)
def test_a_thread_is_as_bad_as_its_worst_turn(statuses: list[Status], overall: Status) -> None:
    assert overall_status(statuses) == overall
    summary = summary_of(statuses)
    assert summary["overall_status"] == overall
    assert summary["turns_total"] == len(statuses)
    thread = {"turns": [{"prompt": "p"}] * len(statuses), "summary": summary}
    assert mistakes(document(thread)) == []


# --- the format's own example of everything ---


def outcome_of(turn: dict[str, Any], *, broken: bool) -> TurnOutcome:
    """What must have happened on a turn of the example."""
    if not turn["response"]:
        cause = turn["error"]["message"].removeprefix("Agent request failed: ")
        return TurnOutcome(skipped=True) if broken else TurnOutcome(failure=Failure(cause))
    results = tuple(
        EvaluatorResult(
            name=name.capitalize(),
            score=entry.get("score", 0),
            threshold=entry.get("threshold", 0),
            passed=entry["result"] == "pass",
            reason=entry.get("reason", ""),
            error=entry.get("error", ""),
        )
        for name, entry in turn["scores"].items()
    )
    return TurnOutcome(response=turn["response"], results=results)


@needs_corpus
def test_the_example_of_mixed_errors_follows_from_what_happened() -> None:
    file = CORPUS / "schema" / "v1" / "examples" / "valid" / "scenarios-with-mixed-errors.json"
    items = json.loads(file.read_text(encoding="utf-8"))["items"]
    for item in items:
        statuses: list[Status] = []
        for turn in item.get("turns", [item]):
            outcome = outcome_of(turn, broken="error" in statuses)
            statuses.append(status_of(outcome))
            assert statuses[-1] == turn["status"]
            assert error_of(outcome) == turn.get("error")
            assert scores_of(outcome) == turn["scores"]
        if "turns" in item:
            assert summary_of(statuses) == item["summary"]
    assert len(items) == 8
