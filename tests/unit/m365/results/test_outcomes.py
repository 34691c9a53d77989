"""From the trials of a document's suite to the outcomes of its turns."""

from __future__ import annotations

from typing import Any

from waza.m365.evaluators.protocols import EvaluatorResult
from waza.m365.results.outcomes import evaluator_result, item_outcomes
from waza.m365.results.status import (
    AGENT_REQUEST_FAILED,
    AGENT_THROTTLED,
    RUN_INTERRUPTED,
    Failure,
    TurnOutcome,
)
from waza.model.observation import ANSWER, FAILURE, Event
from waza.model.result import CheckpointRecord, SessionDigest, TrialResult, Validation

SCORED = {"evaluator": "e", "kind": "code", "raw_score": 2, "scale": "any", "threshold": 1, "reason": "r"}


def validation(name: str, *, passed: bool = True, **details: Any) -> Validation:
    return Validation(
        identifier=name,
        type="evaluator",
        score=float(passed),
        weight=1,
        passed=passed,
        feedback="said so",
        details=details or SCORED,
        duration_ms=0,
    )


def trial(
    *events: Event,
    checkpoints: dict[int, list[str]] | None = None,
    last: list[str] | None = None,
    error: str = "",
):
    return TrialResult(
        run_number=1,
        attempts=1,
        status="passed",
        duration_ms=1,
        validations=None if last is None else {name: validation(name) for name in last},
        session_digest=SessionDigest(tool_call_count=0, tools_used=[], errors=[]),
        transcript=list(events),
        final_output="",
        error_msg=error,
        checkpoints=[
            CheckpointRecord(
                after_turn=turn, status="passed", validations={name: validation(name) for name in names}
            )
            for turn, names in (checkpoints or {}).items()
        ],
    )


def answer(text: str, **about: Any) -> Event:
    return Event(type=ANSWER, content=text, message=about)


def test_every_turn_has_its_answer_and_the_results_of_its_own_evaluators_in_their_order():
    first, last = item_outcomes(
        [{"a": {}, "b": {}}, {"c": {}}],
        trial(
            Event(type="assistant.message", content="not an answer as a whole"),
            answer("one", session_id="s", agent="Bot"),
            answer("two"),
            checkpoints={1: ["b", "a"]},
            last=["c"],
        ),
    )
    assert (first.response, first.session_id, first.agent) == ("one", "s", "Bot")
    assert [result.name for result in first.results] == ["a", "b"]
    assert (last.response, last.session_id, last.agent) == ("two", "", "")
    assert [result.name for result in last.results] == ["c"]


def test_a_turn_without_an_answer_failed_and_later_ones_were_skipped():
    failure = Event(type=FAILURE, content="try later", message={"throttled": True})
    outcomes = item_outcomes([{}, {}, {}], trial(answer("one"), failure, error="ignored"))
    assert outcomes == (
        TurnOutcome(response="one"),
        TurnOutcome(failure=Failure("try later", AGENT_THROTTLED)),
        TurnOutcome(skipped=True),
    )


def test_without_a_session_the_error_of_the_trial_is_the_cause():
    assert item_outcomes([{}], trial(error="no such program")) == (
        TurnOutcome(failure=Failure("no such program", AGENT_REQUEST_FAILED)),
    )


def test_an_item_that_did_not_run_was_interrupted_in_every_turn():
    assert item_outcomes([{}, {}], None) == (TurnOutcome(failure=Failure("", RUN_INTERRUPTED)),) * 2


def test_citations_and_diagnostics_are_kept_unless_a_document_cannot_contain_them():
    good: dict[str, Any] = {"citations": [{"index": 1}], "diagnostics": {"own": {"x": 1}}}
    bad: dict[str, Any] = {"citations": [{"index": 0}], "diagnostics": {"retrieval_executions": 3}}
    kept, replaced = item_outcomes([{}, {}], trial(answer("one", **good), answer("two", **bad), last=[]))
    assert {"citations": kept.citations, "diagnostics": kept.diagnostics} == good
    assert replaced.citations == []
    assert replaced.diagnostics.keys() == {"unreadable"}
    assert replaced.diagnostics["unreadable"].keys() == {"citations", "diagnostics"}


def test_a_verdict_with_a_raw_score_is_the_result_of_the_evaluator():
    given = validation("e", passed=False, **SCORED, diagnostic_code="not_retrieved")
    assert evaluator_result("e", given) == EvaluatorResult(
        name="e", kind="code", score=2, threshold=1, reason="r", extra={"diagnostic_code": "not_retrieved"}
    )


def test_a_verdict_without_one_is_an_error_with_its_traceback():
    given = validation("e", passed=False, error="boom", traceback="Traceback ...")
    assert evaluator_result("e", given) == EvaluatorResult(name="e", error="boom", traceback="Traceback ...")
    assert evaluator_result("e", validation("e", passed=False, other=1)) == EvaluatorResult(
        name="e", error="said so"
    )
