"""The results file: which fields it has, in which order, and which it leaves out."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from tests.support.awkward import run_awkward, text
from tests.support.program import Ended, mock_suite, waza, write_tree

OK = "graders: [{type: text, name: ok, config: {contains: [ok]}}]"

TOP = ["schemaVersion", "eval_id", "skill", "eval_name", "timestamp", "config", "summary", "metrics", "tasks"]
CONFIG = ["runs_per_test", "model_id", "engine_type", "timeout_sec"]
SUMMARY = ["total_tests", "succeeded", "failed", "errors", "skipped", "success_rate", "aggregate_score"]
SUMMARY += ["weighted_score", "min_score", "max_score", "std_dev", "duration_ms"]
STATS = [
    "pass_rate",
    "flakiness_percent",
    "passed_runs",
    "failed_runs",
    "error_runs",
    "total_runs",
    "avg_score",
]
STATS += [
    "avg_weighted_score",
    "min_score",
    "max_score",
    "std_dev_score",
    "score_variance",
    "ci95_lo",
    "ci95_hi",
]
STATS += ["flaky", "avg_duration_ms"]
RUN = [
    "run_number",
    "attempts",
    "prompt",
    "status",
    "duration_ms",
    "validations",
    "session_digest",
    "transcript",
]
RUN += ["final_output"]
VALIDATION = ["identifier", "type", "score", "weight", "passed", "feedback", "details", "duration_ms"]
INTERVAL = ["lower", "upper", "mean", "confidence_level"]


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return run_awkward(tmp_path_factory.mktemp("awkward"))


def test_fields_are_there_in_their_order_and_empty_ones_are_left_out(awkward: Ended) -> None:
    result = awkward.results()
    assert list(result) == [*TOP, "metadata"]
    assert list(result["config"]) == CONFIG
    assert list(result["summary"]) == [*SUMMARY, "groups", "usage", "statistics", "graded_success_rate"]
    statistics = result["summary"]["statistics"]
    assert list(statistics) == [
        "bootstrap_ci",
        "is_significant",
        "success_rate_ci",
        "pass_hat_k",
        "pass_at_k",
    ]
    assert list(statistics["bootstrap_ci"]) == [*INTERVAL, "num_bootstraps"]
    assert list(statistics["success_rate_ci"]) == INTERVAL
    tasks = {task["test_id"]: task for task in result["tasks"]}
    heads = {name: list(task) for name, task in tasks.items()}
    assert heads["steady"] == ["test_id", "display_name", "group", "tags", "status", "runs", "stats"]
    assert heads["late"] == ["test_id", "display_name", "group", "golden", "tags", "status", "runs", "stats"]
    assert heads["stopped"] == ["test_id", "display_name", "group", "tags", "status", "runs", "error_msg"]
    assert list(tasks["steady"]["stats"]) == [*STATS, "bootstrap_ci", "is_significant", "pass_rate_ci"]
    assert list(tasks["steady"]["runs"][0]) == [*RUN, "tool_events"]
    broken = [*RUN, "error_msg", "failure_artifacts", "tool_events"]
    assert list(tasks["broken"]["runs"][0]) == broken
    assert list(tasks["late"]["runs"][0]) == [*RUN, "tool_events", "attempt_history"]
    checked = [*RUN, "failure_artifacts", "checkpoints", "tool_events", "attempt_history"]
    assert list(tasks["checked"]["runs"][0]) == checked
    assert list(tasks["checked"]["runs"][0]["checkpoints"][0]) == ["after_turn", "status", "validations"]
    for run in tasks["mixed"]["runs"]:
        assert list(run["validations"]) == sorted(run["validations"])
        for name, one in run["validations"].items():
            assert (one["identifier"], list(one)) == (name, VALIDATION)
    weights = {name: one["weight"] for name, one in tasks["steady"]["runs"][0]["validations"].items()}
    assert weights == {"calm": 1, "letters": 2, "order": 1, "tenth": 0.1}
    assert datetime.fromisoformat(result["timestamp"]).tzinfo is not None
    assert result["metadata"].keys() == {"run_status", "waza_version", "verdict", "warnings"}
    assert result["metadata"]["verdict"]["passed"] is False
    assert result["metadata"]["run_status"] == "complete"


def test_one_trial_of_one_task_has_no_intervals(tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": text(mock={"output": "ok"})}, head=OK)
    result = waza("run", suite, cwd=tmp_path).results()
    stats = result["tasks"][0]["stats"]
    assert list(stats) == STATS
    assert (stats["ci95_lo"], stats["ci95_hi"], stats["flaky"]) == (0, 0, False)
    assert list(result["summary"]) == [*SUMMARY, "usage", "graded_success_rate"]


def test_trigger_tests_are_behind_the_tasks(tmp_path: Path) -> None:
    write_tree(tmp_path, {"trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: p}]\n"})
    suite = mock_suite(tmp_path, {"a": text(mock={"output": "ok"})}, head="mock: {triggers: {p: true}}")
    result = waza("run", suite, cwd=tmp_path).results()
    assert list(result) == [*TOP, "trigger_metrics", "trigger_results", "metadata"]
