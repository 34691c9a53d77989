"""Comparisons: figures side by side, tasks that are missing, tool use."""

from __future__ import annotations

import json

import msgspec
import pytest
from tests.unit.report.factory import run, suite, task, verdict

from waza.model.observation import ToolEvent
from waza.model.result import DigestCall, SessionDigest
from waza.results.compare import compare, doubts


def calls(*successes: bool) -> list[ToolEvent]:
    return [ToolEvent(turn=1, sequence=i, tool_name="bash", success=ok) for i, ok in enumerate(successes, 1)]


BEFORE = suite(
    [task("A", run(1, "failed")), task("B"), task("Gone")], model="m1", summary={"duration_ms": 100}
)
AFTER = suite([task("New"), task("B", run(1, "failed")), task("A")], model="m2", summary={"duration_ms": 70})


def test_figures_stand_in_the_order_of_the_files_and_deltas_are_last_minus_first() -> None:
    found = compare([("a.json", BEFORE), ("x.json", suite([task("B")])), ("b.json", AFTER)])
    assert found.files == ["a.json", "x.json", "b.json"]
    assert found.models == ["m1", "gpt-x", "m2"]
    assert found.success_rates == [2 / 3, 1, 2 / 3]
    assert found.success_rate_delta == 0
    assert found.total_tests == [3, 1, 3]
    assert found.duration_delta_ms == -30


def test_runs_that_did_not_pass_and_other_tasks_are_named() -> None:
    cut = suite([task("B")], metadata={"run_status": "cancelled"})
    other = suite([task("B"), task("C")], eval_id="run-2")
    assert list(doubts([("a", cut), ("b", other)])) == [
        "a: failed: the run did not come to its end (cancelled)",
        "the files do not have results of the same tasks (1 in common): their totals do not compare",
    ]
    assert not list(doubts([("a", suite([task("B")])), ("b", suite([task("B")], eval_id="run-2"))]))


def test_a_run_that_is_compared_with_itself_is_named() -> None:
    one = suite([task("B")])
    assert list(doubts([("a", one), ("b", one)])) == [
        "b is the same run as one before it, which is compared with itself"
    ]


def test_tasks_come_in_order_of_first_appearance_and_missing_ones_are_null() -> None:
    found = compare([("a", BEFORE), ("b", AFTER)])
    assert [delta.task_id for delta in found.task_deltas] == ["a", "b", "gone", "new"]
    by_id = {delta.task_id: delta for delta in found.task_deltas}
    assert by_id["a"].score_delta == 1
    assert by_id["b"].pass_rate_delta == -1
    assert by_id["gone"].statuses == ["passed", "n/a"]
    assert by_id["gone"].scores == [1, None]
    assert by_id["gone"].score_delta is None
    assert by_id["new"].pass_rates == [None, 1]


def test_a_task_that_did_not_run_has_no_score_but_one_whose_trials_broke_has_zero() -> None:
    broken = [task("S", status="skipped"), task("E", status="error"), task("B", run(1, "error"))]
    found = compare([("a", suite(broken)), ("b", suite())])
    assert [delta.scores for delta in found.task_deltas] == [[None, None], [None, None], [0, None]]
    assert [delta.statuses[0] for delta in found.task_deltas] == ["skipped", "error", "error"]


def test_tool_use_counts_calls_of_all_runs() -> None:
    tasks = [
        task("None"),
        task("One", run(tool_events=calls(True))),
        task("Four", run(1, tool_events=calls(True, False)), run(2, tool_events=calls(True, True))),
    ]
    metrics = compare([("a", suite(tasks)), ("b", suite())]).tool_metrics
    assert metrics[0].total_calls == 5
    assert metrics[0].tasks_with_tools == 2
    assert metrics[0].avg_calls_per_task == 5 / 3
    assert metrics[0].success_rate == 0.8
    assert metrics[0].call_count_histogram == {"0": 1, "1": 1, "2": 0, "3+": 1}
    assert metrics[1].avg_calls_per_task is None
    assert metrics[1].success_rate is None


def test_older_files_have_their_calls_in_the_digest() -> None:
    digest = SessionDigest(
        tool_call_count=1,
        tools_used=["bash"],
        tool_calls=[DigestCall(name="bash", arguments={}, success=False)],
        errors=[],
    )
    metrics = compare([("a", suite([task("T", run(session_digest=digest))])), ("b", suite())]).tool_metrics
    assert (metrics[0].total_calls, metrics[0].success_rate) == (1, 0)


def test_selection_accuracy_is_the_share_of_tool_graders_that_passed() -> None:
    said = [verdict("a", type="tool_constraint"), verdict("b", type="tool_calls", passed=False), verdict("c")]
    metrics = compare(
        [("a", suite([task("T", run(1, "failed", said))])), ("b", suite([task()]))]
    ).tool_metrics
    assert metrics[0].selection_accuracy == 0.5
    assert metrics[1].selection_accuracy is None


def test_is_strict_json() -> None:
    def refuse(name: str) -> object:
        raise AssertionError(name)

    data = json.loads(msgspec.json.encode(compare([("a", BEFORE), ("b", suite())])), parse_constant=refuse)
    assert data["task_deltas"][0]["scores"] == [0, None]
    assert data["normalized_gain"] == pytest.approx(-2)


def test_normalized_gain_is_that_of_the_aggregate_score() -> None:
    half = suite([task("A"), task("B", run(1, "failed"))])
    assert compare([("a", suite([task("A", run(1, "failed"))])), ("b", half)]).normalized_gain == 0.5
    assert compare([("a", half), ("b", suite([task()]))]).normalized_gain == 1
