"""Metrics, groups and denominators over a whole suite, and the exit codes that follow from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.awkward import text
from tests.support.program import mock_suite, waza, write_tree

OK = "graders: [{type: text, name: ok, config: {contains: [ok]}}]"


def close(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-9)


def test_skipped_runs_and_errors_stay_in_denominators(tmp_path: Path) -> None:
    tasks = {
        "bad": text(mock={"executions": [{"output": "ok"}, {"error": "away"}]}),
        "fine": text(mock={"output": "ok"}),
    }
    suite = mock_suite(tmp_path, tasks, head=OK, config=["trials_per_task: 2"])
    ended = waza("run", suite, "--skip-graders", cwd=tmp_path)
    assert ended.code == 1
    result = ended.results()
    bad, fine = result["tasks"]
    assert [run["status"] for run in bad["runs"]] == ["skipped", "error"]
    assert (bad["status"], fine["status"]) == ("error", "skipped")
    assert (fine["stats"]["pass_rate"], fine["stats"]["total_runs"], fine["stats"]["flaky"]) == (0, 2, False)
    assert fine["runs"][0]["validations"] == {}
    assert (bad["stats"]["error_runs"], bad["stats"]["failed_runs"]) == (1, 0)
    summary = result["summary"]
    assert (summary["total_tests"], summary["skipped"], summary["errors"]) == (2, 1, 1)
    assert summary["success_rate"] == 0
    assert "graded_success_rate" not in summary  # nothing was graded

    only = waza("run", suite, "--skip-graders", "--task", "fine", cwd=tmp_path)
    assert only.code == 0
    assert only.results()["summary"]["skipped"] == 1


@pytest.mark.parametrize("flags", [(), ("--parallel", "--workers", "2")])
def test_tasks_that_never_started_enter_no_mean(flags: tuple[str, ...], tmp_path: Path) -> None:
    tasks = {f"t{i}": text(mock={"output": "ok", "delay_ms": 300 if i == 1 else 0}) for i in range(5)}
    tasks["t0"] = text(mock={"output": "no", "delay_ms": 50})
    suite = mock_suite(tmp_path, tasks, head=OK, config=["fail_fast: true", "group_by: task_id"])
    ended = waza("run", suite, *flags, cwd=tmp_path)
    assert ended.code == 1
    result = ended.results()
    started = 2 if flags else 1  # in parallel the other worker had begun with t1
    assert [task["status"] for task in result["tasks"]] == ["failed", "passed"][:started] + ["skipped"] * (
        5 - started
    )
    for task in result["tasks"][started:]:
        assert (task["runs"], "stats" in task) == ([], False)
    summary = result["summary"]
    assert (summary["total_tests"], summary["skipped"]) == (started, 5 - started)
    assert summary["aggregate_score"] == close((started - 1) / started)
    assert summary["success_rate"] == summary["graded_success_rate"] == close((started - 1) / started)
    assert [group["name"] for group in summary["groups"]] == ["t0", "t1"][:started]


@pytest.mark.parametrize(
    ("group_by", "names", "own"),
    [
        ("model", ["test-model"], ["test-model", "test-model"]),
        ("skill", ["greeter"], ["greeter", "greeter"]),
        ("tags", ["hot", "new", "untagged"], ["hot, new", "untagged"]),
        ("task_id", ["a", "b"], ["a", "b"]),
        ("colour", None, [None, None]),
    ],
)
def test_tasks_are_grouped(
    group_by: str, names: list[str] | None, own: list[str | None], tmp_path: Path
) -> None:
    tasks = {"a": text(mock={"output": "ok"}, tags=["hot", "new"]), "b": text(mock={"output": "no"})}
    suite = mock_suite(tmp_path, tasks, head=f"skill: greeter\n{OK}", config=[f"group_by: {group_by}"])
    ended = waza("run", suite, cwd=tmp_path)
    result = ended.results()
    assert [task.get("group") for task in result["tasks"]] == own
    assert ("'colour' is not a dimension" in ended.err) == (group_by == "colour")
    if names is None:
        assert "groups" not in result["summary"]
        return
    found = result["summary"]["groups"]
    assert [group["name"] for group in found] == names
    if len(names) == 1:
        assert found == [{"name": names[0], "passed": 1, "total": 2, "avg_score": 0.5}]


def test_metrics_with_data_without_data_and_switched_off(tmp_path: Path) -> None:
    metrics = """
metrics:
- {name: task_completion, threshold: 0.9, weight: 2}
- {name: behavior_quality, threshold: 0.9}
- {name: letters}
- {name: opinion, threshold: 0.5}
- {name: trigger_recall, threshold: 0.5}
- {name: off, enabled: false, threshold: 1, gate: true}
graders:
- {type: text, name: letters, config: {contains: [a, b]}}
- {type: action_sequence, name: order, config: {matching_mode: in_order_match, expected_actions: [view]}}
- {type: tool_calls, name: calls, config: {max_calls: 3}}
- {type: behavior, name: lean, config: {max_tool_calls: 3}}
- {type: tool_constraint, name: only, config: {reject_tools: [{tool: rm}]}}
"""
    calls = [{"name": "view"}, {"name": "bash"}]
    tasks = {
        "a": text(mock={"output": "ab", "tool_calls": calls}),
        "b": text(mock={"output": "a", "tool_calls": calls}, expected={"behavior": {"max_tool_calls": 1}}),
    }
    ended = waza("run", mock_suite(tmp_path, tasks, head=metrics), cwd=tmp_path)
    assert ended.code == 1  # for the task that failed
    found = ended.results()["metrics"]
    assert list(found) == ["behavior_quality", "letters", "task_completion"]
    assert found["task_completion"] == {
        "identifier": "task_completion",
        "value": 0.5,
        "threshold": 0.9,
        "passed": False,
        "weight": 2,
    }
    # order 2/3 twice, and calls, lean and only 1 twice; `_behavior` 0
    assert found["behavior_quality"]["value"] == close((2 * 2 / 3 + 6 + 0) / 9)
    assert found["letters"]["value"] == 0.75
    assert (found["letters"]["passed"], found["letters"]["threshold"]) == (True, 0)
    assert ended.err.count("there is no metric 'opinion', so it is left out") == 1
    assert ended.err.count("the metric 'trigger_recall' has no data; it takes trigger_tests.yaml") == 1
    assert "'off'" not in ended.err


@pytest.mark.parametrize(
    ("metric", "code"),
    [
        ("{name: order, threshold: 0.9}", 0),
        ("{name: order, threshold: 0.9, gate: true}", 1),
        ("{name: order, threshold: 0.6, gate: true}", 0),
        ("{name: order, threshold: 0.9, gate: true, enabled: false}", 0),
        ("{name: nothing, threshold: 0.9}", 0),
        ("{name: task_completion, threshold: 1, gate: true}", 0),
    ],
)
def test_a_metric_gates_only_when_it_is_asked_to(metric: str, code: int, tmp_path: Path) -> None:
    grader = "{type: action_sequence, name: order, config: {matching_mode: in_order_match, expected_actions: [view]}}"
    calls = [{"name": "view"}, {"name": "bash"}]
    head = f"metrics: [{metric}]\ngraders: [{grader}]"
    suite = mock_suite(tmp_path, {"a": text(mock={"tool_calls": calls})}, head=head)
    ended = waza("run", suite, cwd=tmp_path)
    assert ended.code == code, ended.out
    assert ended.results()["summary"]["succeeded"] == 1


def test_trigger_accuracy_gates_always(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {"trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: p}]\n"},
    )
    head = "metrics: [{name: trigger_accuracy, threshold: 1}, {name: trigger_precision, threshold: 1}]"
    head += "\nmock: {triggers: {p: true}}"
    ended = waza("run", mock_suite(tmp_path, {"a": text(mock={"output": "x"})}, head=head), cwd=tmp_path)
    assert ended.code == 0
    assert {name: one["passed"] for name, one in ended.results()["metrics"].items()} == {
        "trigger_accuracy": True,
        "trigger_precision": True,
    }


def test_a_run_without_any_check_passes_with_score_0(tmp_path: Path) -> None:
    ended = waza("run", mock_suite(tmp_path, {"a": text(mock={"output": "x"})}), cwd=tmp_path)
    assert ended.code == 0
    task = ended.results()["tasks"][0]
    assert (task["status"], task["stats"]["avg_score"], task["runs"][0]["validations"]) == ("passed", 0, {})


@pytest.mark.parametrize(
    ("metric", "graders"),
    [
        ("{name: behavior_quality, threshold: 0.7, gate: true}", 3),
        ("{name: calls, threshold: 0.7, gate: true}", 1),
    ],
)
def test_noise_of_floating_point_fails_no_gate(metric: str, graders: int, tmp_path: Path) -> None:
    """Seven of ten wanted calls were made: the means of 0.7 are 0.7, whatever their last bit is."""
    wanted = ", ".join(f"t{n}" for n in range(7))
    grader = "{type: action_sequence, name: calls%s, config: {matching_mode: in_order_match, expected_actions: [%s]}}"
    calls = [{"name": f"t{n}"} for n in range(7)] + [{"name": "odd"}] * 6
    head = f"metrics: [{metric}]\ngraders: [{', '.join(grader % (n or '', wanted) for n in range(graders))}]"
    ended = waza(
        "run", mock_suite(tmp_path, {"a": text(mock={"tool_calls": calls})}, head=head), cwd=tmp_path
    )
    (found,) = ended.results()["metrics"].values()
    assert found["value"] == close(0.7)
    assert found["passed"] is True
    assert ended.code == 0
