"""The verdict: every reason against passing, over one run and over several."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.report.factory import outcome, run, suite, task

from waza.model.result import MetricResult
from waza.results.invocation import InvocationResults
from waza.results.verdict import NotStarted, RunVerdict, gates, judge, verdict_of, with_verdict, without_data

GOOD, BAD, BROKEN = task("A"), task("B", run(1, "failed")), task("C", run(1, "error", []))


def metric(name: str, value: float, threshold: float, **details: Any) -> dict[str, MetricResult]:
    found = MetricResult(
        identifier=name,
        value=value,
        threshold=threshold,
        passed=value >= threshold,
        weight=0,
        details=details,
    )
    return {name: found}


def test_a_run_whose_tasks_pass_has_passed() -> None:
    assert judge(suite([GOOD, task("S", status="skipped")])) == RunVerdict(passed=True)


def test_each_reason_is_reported() -> None:
    head = suite(
        [GOOD, BAD, BROKEN],
        metrics=metric("trigger_accuracy", 0.5, 0.75),
        metadata={"run_status": "cancelled"},
    )
    assert judge(without_data(head, ["trigger_recall"]), missing_trials=4).reasons == (
        "the run did not come to its end (cancelled): 4 trials did not run",
        "2 of 3 tasks did not pass: 1 failed, 1 errored",
        "gate trigger_accuracy: 0.50, at least 0.75 is required",
        "gate trigger_recall: no data",
    )


@pytest.mark.parametrize("found", [5, "trigger_recall", {"a": 1}, [None]])
def test_gates_without_data_that_another_program_writes_do_not_pass(found: object) -> None:
    assert not judge(suite([GOOD], metadata={"gates_without_data": found})).passed


@pytest.mark.parametrize("status", ["cancelled", "limit", "stopped", "something new"])
def test_a_run_that_did_not_come_to_its_end_has_not_passed(status: str) -> None:
    assert not judge(suite([GOOD], metadata={"run_status": status})).passed


@pytest.mark.parametrize(
    ("metrics", "passed"),
    [
        (metric("polite", 0.5, 0.75), True),
        (metric("polite", 0.5, 0.75, gate=True), False),
        (metric("polite", 0.75, 0.75, gate=True), True),
        (metric("trigger_accuracy", 0.5, 0.75), False),
    ],
)
def test_only_gates_fail_a_run(metrics: dict[str, MetricResult], *, passed: bool) -> None:
    assert judge(suite([GOOD], metrics=metrics)).passed == passed


def test_a_baseline_is_a_gate_that_replaces_the_tasks() -> None:
    better = suite([GOOD, BAD], baseline_outcome=suite([BAD, BAD]), is_baseline=True)
    equal = suite([GOOD, BAD], baseline_outcome=suite([GOOD, BAD]), is_baseline=True)
    assert judge(better).passed
    assert [gate.name for gate in gates(equal)] == ["baseline"]
    assert judge(equal).reasons == (
        "1 of 2 tasks did not pass: 1 failed",  # though this alone would not keep it from passing
        "gate baseline: success rate 50.0% with skills, 50.0% without",
    )


def test_results_carry_their_verdict_and_others_are_judged() -> None:
    carried = with_verdict(suite([GOOD]), RunVerdict.of(["a gate of the next version"]))
    assert verdict_of(carried).reasons == ("a gate of the next version",)
    assert not verdict_of(suite([BAD])).passed
    assert not verdict_of(suite([BAD], metadata={"verdict": "passed"})).passed


def test_an_invocation_passes_only_as_a_whole() -> None:
    good, bad = outcome(GOOD), outcome(BAD, model="other")
    absent = NotStarted(skill="next", model="gpt-x", why="interrupted before its turn")
    assert InvocationResults(outcomes=(good,)).verdict.passed
    assert InvocationResults(outcomes=(bad,)).verdict.reasons == ("1 of 1 task did not pass: 1 failed",)
    assert InvocationResults(outcomes=(good, bad)).verdict.reasons == (
        "greeter on other: 1 of 1 task did not pass: 1 failed",
    )
    assert InvocationResults(outcomes=(good,), not_started=(absent,)).verdict.reasons == (
        "next on gpt-x: did not run: interrupted before its turn",
    )
    assert not InvocationResults(outcomes=(), not_started=(absent,)).verdict.passed
