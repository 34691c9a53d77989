"""Every figure of a results file, worked out anew from the runs in it, in the plainest way."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, newest_results, waza, write_tree

GRADERS = """
graders:
- {type: text, name: letters, weight: 2, config: {contains: [a, b, c]}}
- {type: text, name: calm, weight: 0, config: {not_contains: [panic]}}
- {type: action_sequence, name: order, weight: -2.5, config: {matching_mode: in_order_match, expected_actions: [view]}}
- {type: text, name: tenth, weight: 0.1, config: {regex_match: [a, '^abc', x]}}
hooks:
  before_task: [{command: 'test "{{.TaskName}}" != stopped', error_on_fail: true}]
"""
GOOD = {"output": "abcx", "tool_calls": [{"name": "view"}]}


def close(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-9)


def text(**keys: Any) -> str:
    """A task file; JSON is YAML."""
    return json.dumps({"inputs": {"prompt": "go"}, **keys})


def passes(*which: bool) -> dict[str, Any]:
    """A script whose n-th execution passes the grader `ok` or not."""
    return {"executions": [{"output": "ok" if one else "no"} for one in which]}


OK = "graders: [{type: text, name: ok, config: {contains: [ok]}}]"


def awkward_tasks() -> dict[str, str]:
    outputs = ["a", "ab", "abcx", "panic", "abc", "bx", "", "cab"]
    calls: list[list[str]] = [
        [],
        ["view"],
        ["view"],
        ["view", "bash"],
        ["view"],
        ["bash"],
        ["view", "view"],
        [],
    ]
    mixed = [
        {
            "output": output,
            "tool_calls": [{"name": name, "duration_ms": 7} for name in names],
            "usage": {"input_tokens": 10 * i, "output_tokens": i, "premium_requests": 0.25},
            "delay_ms": i,
            "error": "the engine broke" if i == 4 else None,
        }
        for i, (output, names) in enumerate(zip(outputs, calls, strict=True))
    ]
    judged = {"type": "prompt", "name": "opinion", "weight": 3, "config": {"prompt": "p"}}
    point = {"after_turn": 1, "graders": [{"type": "text", "name": "n", "config": {"contains": ["no"]}}]}
    return {
        "broken": text(mock={**GOOD, "error": "away"}, tags=["x"]),
        "checked": text(mock=GOOD, checkpoints=[point], tags=["y"]),
        "judge-missing": text(mock=GOOD, graders=[judged], tags=["x", "y"]),
        "judge-varies": text(
            mock={
                **GOOD,
                "judge": {"opinion": [{"pass": "p"}]},
                "executions": [{}, {"judge": {"opinion": [{"pass": "p"}, {"fail": "f"}]}}, {}, {}],
            },
            graders=[judged],
        ),
        "late": text(mock={"executions": [{"output": "b"}, GOOD]}, golden=True, tags=["z"]),
        "mixed": text(mock={"executions": mixed}, tags=["x"]),
        "never": text(
            mock={"executions": [{"output": "a"}, {"output": "b"}, {"output": "panic"}]}, tags=["y"]
        ),
        "steady": text(mock=GOOD, tags=["z", "x"]),
        "stopped": text(mock=GOOD, tags=["z"]),
    }


AWKWARD = ["trials_per_task: 4", "max_attempts: 2", "group_by: tags"]


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    root = tmp_path_factory.mktemp("awkward")
    ended = waza("run", mock_suite(root, awkward_tasks(), head=GRADERS, config=AWKWARD), cwd=root)
    assert ended.code == 1, ended.err
    return ended


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def deviation(values: Sequence[float]) -> float:
    return math.sqrt(mean([(value - mean(values)) ** 2 for value in values]))


def scores(run: dict[str, Any]) -> tuple[float, float]:
    """The plain and the weighted score of a run, from its validations alone."""
    found = list((run["validations"] or {}).values())
    if not found:
        return 0.0, 0.0
    weights = [one["weight"] if one["weight"] > 0 else 1 for one in found]
    total = sum(one["score"] * weight for one, weight in zip(found, weights, strict=True))
    return sum(one["score"] for one in found) / len(found), total / sum(weights)


def count(runs: Sequence[dict[str, Any]], status: str) -> int:
    return len([run for run in runs if run["status"] == status])


def wilson(passed: int, n: int) -> tuple[float, float]:
    z, p = 1.959963984540054, passed / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def plain_figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    plain, weighted = [scores(run)[0] for run in runs], [scores(run)[1] for run in runs]
    passed, n = count(runs, "passed"), len(runs)
    late = any(run["status"] == "passed" and run["attempts"] > 1 for run in runs)
    return {
        "pass_rate": close(passed / n),
        "flakiness_percent": close(100 * min(passed, n - passed) / n if 0 < passed < n else 0),
        "passed_runs": passed,
        "failed_runs": count(runs, "failed"),
        "error_runs": count(runs, "error"),
        "total_runs": n,
        "avg_score": close(mean(plain)),
        "avg_weighted_score": close(mean(weighted)),
        "min_score": close(min(plain)),
        "max_score": close(max(plain)),
        "std_dev_score": close(deviation(plain)),
        "score_variance": close(deviation(plain) ** 2),
        "flaky": 0 < passed < n or late,
        "avg_duration_ms": sum(run["duration_ms"] for run in runs) // n,
    }


def test_task_figures_follow_from_the_runs(awkward: Ended) -> None:
    tasks = {task["test_id"]: task for task in awkward.results()["tasks"]}
    assert list(tasks) == sorted(awkward_tasks())
    for name, task in tasks.items():
        if name == "stopped":
            assert (task["status"], task["runs"], "stats" in task) == ("error", [], False)
            continue
        found, wanted = task["stats"], plain_figures(task["runs"])
        assert {key: found[key] for key in wanted} == wanted, name
        assert [run["run_number"] for run in task["runs"]] == [1, 2, 3, 4]
        lower, upper = wilson(found["passed_runs"], 4)
        assert (found["pass_rate_ci"]["lower"], found["pass_rate_ci"]["upper"]) == (
            close(lower),
            close(upper),
        )
        interval = found["bootstrap_ci"]
        assert (found["ci95_lo"], found["ci95_hi"]) == (interval["lower"], interval["upper"])
        assert interval["mean"] == close(found["avg_weighted_score"])
        assert interval["lower"] - 1e-9 <= interval["mean"] <= interval["upper"] + 1e-9
        assert (interval["confidence_level"], interval["num_bootstraps"]) == (0.95, 10_000)
        assert found["is_significant"] is (interval["lower"] > 0 or interval["upper"] < 0)


def test_the_data_are_awkward_enough(awkward: Ended) -> None:
    """What the other tests work out has all the cases that they are there for."""
    tasks = {task["test_id"]: task for task in awkward.results()["tasks"]}
    statuses = {name: [run["status"] for run in task["runs"]] for name, task in tasks.items()}
    assert statuses == {
        "broken": ["error"] * 4,
        "checked": ["failed"] * 4,
        "judge-missing": ["error"] * 4,
        "judge-varies": ["passed", "passed", "passed", "passed"],
        "late": ["passed"] * 4,
        "mixed": ["failed", "passed", "error", "failed"],
        "never": ["failed"] * 4,
        "steady": ["passed"] * 4,
        "stopped": [],
    }
    assert {name: task["status"] for name, task in tasks.items()} == {
        "broken": "error",
        "checked": "failed",
        "judge-missing": "error",
        "judge-varies": "passed",
        "late": "passed",
        "mixed": "failed",  # a failed run comes before an error
        "never": "failed",
        "steady": "passed",
        "stopped": "error",
    }
    assert len({scores(run)[1] for run in tasks["mixed"]["runs"]}) > 2
    assert {run["attempts"] for run in tasks["late"]["runs"]} == {2}
    # A run that is an error keeps the verdicts of its graders, and they count.
    assert tasks["broken"]["stats"]["avg_score"] == 1
    # Scores of checkpoints do not.
    assert tasks["checked"]["stats"]["avg_score"] == 1
    assert tasks["judge-missing"]["stats"]["avg_score"] == close(4 / 5)


def test_a_late_pass_is_flaky_though_the_pass_rate_is_full(awkward: Ended) -> None:
    late = next(task for task in awkward.results()["tasks"] if task["test_id"] == "late")
    assert (late["stats"]["pass_rate"], late["stats"]["flaky"], late["stats"]["flakiness_percent"]) == (
        1,
        True,
        0,
    )
    assert late["golden"] is True
    attempt = late["runs"][0]["attempt_history"]
    assert [(one["attempt"], one["status"], one["failed_graders"]) for one in attempt] == [
        (1, "failed", ["letters", "order", "tenth"])
    ]


def test_summary_follows_from_the_tasks(awkward: Ended) -> None:
    result = awkward.results()
    tasks, found = result["tasks"], result["summary"]
    plain = [task["stats"]["avg_score"] if "stats" in task else 0 for task in tasks]
    weighted = [task["stats"]["avg_weighted_score"] if "stats" in task else 0 for task in tasks]
    passed = count(tasks, "passed")
    graded = passed + count(tasks, "failed")
    wanted = {
        "total_tests": 9,
        "succeeded": passed,
        "failed": count(tasks, "failed"),
        "errors": count(tasks, "error"),
        "skipped": 0,
        "success_rate": close(passed / 9),
        "aggregate_score": close(mean(plain)),
        "weighted_score": close(mean(weighted)),
        "min_score": 0,
        "max_score": close(max(plain)),
        "std_dev": close(deviation(plain)),
        "graded_success_rate": close(passed / graded),
    }
    assert {key: found[key] for key in wanted} == wanted
    assert passed + count(tasks, "failed") + count(tasks, "error") == 9


def test_suite_statistics_follow_from_the_tasks(awkward: Ended) -> None:
    result = awkward.results()
    found = result["summary"]["statistics"]
    tried = [task for task in result["tasks"] if task["runs"]]
    weighted = [mean([scores(run)[1] for run in task["runs"]]) for task in tried]
    lower, upper = wilson(3, 9)
    assert (found["success_rate_ci"]["lower"], found["success_rate_ci"]["upper"]) == (
        close(lower),
        close(upper),
    )
    assert found["success_rate_ci"]["mean"] == close(3 / 9)
    interval = found["bootstrap_ci"]
    assert interval["mean"] == close(mean(weighted))
    assert min(weighted) <= interval["lower"] < interval["mean"] < interval["upper"] <= max(weighted)
    assert found["is_significant"] is True
    for key, wanted in (("pass_hat_k", all), ("pass_at_k", any)):
        by_hand = []
        for k in range(1, 5):
            shares = []
            for task in tried:
                picks = list(combinations([run["status"] == "passed" for run in task["runs"]], k))
                shares.append(len([pick for pick in picks if wanted(pick)]) / len(picks))
            by_hand.append(close(mean(shares)))
        assert found[key] == by_hand


def test_groups_follow_from_the_tasks(awkward: Ended) -> None:
    result = awkward.results()
    members: dict[str, list[dict[str, Any]]] = {}
    for task in result["tasks"]:
        for name in task["group"].split(", "):
            members.setdefault(name, []).append(task)
    assert list(members) == ["x", "y", "untagged", "z"]  # as they first occur
    assert result["summary"]["groups"] == [
        {
            "name": name,
            "passed": count(tasks, "passed"),
            "total": len(tasks),
            "avg_score": close(mean([task["stats"]["avg_score"] for task in tasks if "stats" in task])),
        }
        for name, tasks in members.items()
    ]


def test_usage_counts_discarded_attempts_too(awkward: Ended) -> None:
    result = awkward.results()
    keys = [
        "turns",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "premium_requests",
    ]
    parts = [
        part
        for task in result["tasks"]
        for run in task["runs"]
        for part in (
            run["session_digest"].get("usage"),
            *(one.get("usage") for one in run.get("attempt_history", [])),
        )
        if part
    ]
    assert result["summary"]["usage"] == {key: sum(part[key] for part in parts) for key in keys}
    mixed = next(task for task in result["tasks"] if task["test_id"] == "mixed")
    assert sum(len(run.get("attempt_history", [])) for run in mixed["runs"]) == 2
    # Executions 0 and 6 were discarded; 3 and 5 did not happen.
    assert result["summary"]["usage"]["output_tokens"] == 0 + 1 + 2 + 4 + 6 + 7


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
    assert heads["steady"] == ["test_id", "display_name", "group", "status", "runs", "stats"]
    assert heads["late"] == ["test_id", "display_name", "group", "golden", "status", "runs", "stats"]
    assert heads["stopped"] == ["test_id", "display_name", "group", "status", "runs"]
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
    assert result["metadata"].keys() == {"run_status", "waza_version"}
    assert result["metadata"]["run_status"] == "complete"


def test_one_trial_of_one_task_has_no_intervals(tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": text(mock={"output": "ok"})}, head=OK)
    result = waza("run", suite, cwd=tmp_path).results()
    stats = result["tasks"][0]["stats"]
    assert list(stats) == STATS
    assert (stats["ci95_lo"], stats["ci95_hi"], stats["flaky"]) == (0, 0, False)
    assert list(result["summary"]) == [*SUMMARY, "usage", "graded_success_rate"]


def test_worked_examples_of_wilson_and_of_k_passes(tmp_path: Path) -> None:
    yes, no = True, False
    tasks = {
        "five": text(mock=passes(yes)),
        "four": text(mock=passes(yes, yes, no, yes, yes)),
        "two": text(mock=passes(no, yes, no, no, yes)),
    }
    result = waza("run", mock_suite(tmp_path, tasks, head=OK), "--trials", "5", cwd=tmp_path).results()
    found = {task["test_id"]: task["stats"] for task in result["tasks"]}
    ci = found["four"]["pass_rate_ci"]
    assert (round(ci["lower"], 4), round(ci["upper"], 4), ci["mean"]) == (0.3755, 0.9638, 0.8)
    ci = result["summary"]["statistics"]["success_rate_ci"]  # one task of three passed
    assert (round(ci["lower"], 4), round(ci["upper"], 4)) == (0.0615, 0.7923)
    statistics = result["summary"]["statistics"]
    assert statistics["pass_hat_k"] == [close(value) for value in (11 / 15, 17 / 30, 7 / 15, 2 / 5, 1 / 3)]
    # 1 - C(n-c,k)/C(n,k): 1, 1, 1 - C(3,k)/C(5,k) from k = 2 on
    by_hand = [(1 + 0.8 + 0.4) / 3, (1 + 1 + 0.7) / 3, (1 + 1 + 0.9) / 3, 1, 1]
    assert statistics["pass_at_k"] == [close(value) for value in by_hand]
    assert [found[name]["flaky"] for name in ("five", "four", "two")] == [False, True, True]
    assert [found[name]["flakiness_percent"] for name in ("five", "four", "two")] == [0, close(20), close(40)]
    for name, passed in (("five", 5), ("four", 4), ("two", 2)):
        low, high = binomial_bounds(passed, 5)
        assert (found[name]["ci95_lo"], found[name]["ci95_hi"]) == (close(low), close(high))
        assert found[name]["is_significant"] is (low > 0)


def binomial_bounds(passed: int, n: int) -> tuple[float, float]:
    """The quantiles of a resampled pass rate, with fractions: no rounding, no chance."""
    p = Fraction(passed, n)
    below, bounds = Fraction(0), []
    wanted = [Fraction(25, 1000), Fraction(975, 1000)]
    for k in range(n + 1):
        below += math.comb(n, k) * p**k * (1 - p) ** (n - k)
        while wanted and below >= wanted[0]:
            bounds.append(k / n)
            wanted.pop(0)
    return bounds[0], bounds[1]


def figures(result: dict[str, Any]) -> dict[str, Any]:
    """All that must be equal for equal data, whatever the way to it: durations differ."""
    stats = {
        task["test_id"]: {
            key: value for key, value in task.get("stats", {}).items() if key != "avg_duration_ms"
        }
        for task in result["tasks"]
    }
    left_out = ("duration_ms", "groups")
    summary = {key: value for key, value in result["summary"].items() if key not in left_out}
    groups = sorted(result["summary"].get("groups", []), key=lambda group: group["name"])
    return {"tasks": stats, "summary": summary, "groups": groups, "metrics": result["metrics"]}


METRICS = "metrics: [{name: tenth, threshold: 0.1}, {name: behavior_quality}]\n"


def test_equal_data_give_equal_figures_on_any_path(awkward: Ended, tmp_path: Path) -> None:
    head = METRICS + GRADERS
    suite = mock_suite(tmp_path / "a", awkward_tasks(), head=head, config=AWKWARD)
    waza("run", suite, "--parallel", "--workers", "4", cwd=tmp_path / "a")
    parallel = newest_results(tmp_path / "a")
    without_metrics = {**figures(parallel), "metrics": {}}
    assert without_metrics == figures(awkward.results())

    # Other file names, so another order of tasks.
    renamed = {f"{9 - i}": body for i, body in enumerate(awkward_tasks().values())}
    named = {
        stem: json.dumps({**json.loads(body), "id": name})
        for (stem, body), name in zip(renamed.items(), awkward_tasks(), strict=True)
    }
    mock_suite(tmp_path / "b", named, head=head, config=AWKWARD)
    waza("run", "eval.yaml", cwd=tmp_path / "b")
    turned = newest_results(tmp_path / "b")
    assert [task["test_id"] for task in turned["tasks"]] == list(awkward_tasks())[::-1]
    assert figures(turned) == figures(parallel)

    # A run that broke off in the middle, and was gone on with.
    journal = next((tmp_path / "a" / ".waza" / "runs").glob("*/journal.ndjson"))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:14]) + lines[14][: len(lines[14]) // 2])
    journal.with_name("results.json").unlink()
    ended = waza("run", suite, "--resume", cwd=tmp_path / "a")
    assert ended.code == 1
    assert figures(newest_results(tmp_path / "a")) == figures(parallel)
    assert len(list((tmp_path / "a" / ".waza" / "runs").iterdir())) == 1
    assert len(journal.read_bytes().splitlines()) == len(lines)


def test_trials_of_other_order_give_the_same_interval(tmp_path: Path) -> None:
    outputs = [{"output": word} for word in ("a", "ab", "abc", "b", "")]
    grader = "graders: [{type: text, name: t, config: {contains: [a, b, c, d]}}]"
    found = []
    for name, executions in (("x", outputs), ("y", outputs[::-1])):
        root = tmp_path / name
        suite = mock_suite(root, {"t": text(mock={"executions": executions})}, head=grader)
        found.append(waza("run", suite, "--trials", "5", cwd=root).results()["tasks"][0]["stats"])
    assert found[0].pop("avg_duration_ms") == found[1].pop("avg_duration_ms")
    assert found[0] == found[1]


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
    assert {key: fine["stats"][key] for key in plain_figures(fine["runs"])} == plain_figures(fine["runs"])
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
    assert ("'colour' is no dimension" in ended.err) == (group_by == "colour")
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
    for name in ("opinion", "trigger_recall"):
        assert ended.err.count(f"the metric '{name}' has no data") == 1
    assert "'off'" not in ended.err


@pytest.mark.parametrize(
    ("metric", "code"),
    [
        ("{name: order, threshold: 0.9}", 0),
        ("{name: order, threshold: 0.9, gate: true}", 1),
        ("{name: order, threshold: 0.6, gate: true}", 0),
        ("{name: order, threshold: 0.9, gate: true, enabled: false}", 0),
        ("{name: nothing, threshold: 0.9, gate: true}", 0),
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
    ended = waza("run", mock_suite(tmp_path, {"a": text(mock={"output": "x"})}, head=head), cwd=tmp_path)
    assert ended.code == 0
    assert {name: one["passed"] for name, one in ended.results()["metrics"].items()} == {
        "trigger_accuracy": True,
        "trigger_precision": True,
    }
    assert list(ended.results()) == [*TOP, "trigger_metrics", "trigger_results", "metadata"]


def test_a_run_without_any_check_passes_with_score_0(tmp_path: Path) -> None:
    ended = waza("run", mock_suite(tmp_path, {"a": text(mock={"output": "x"})}), cwd=tmp_path)
    assert ended.code == 0
    task = ended.results()["tasks"][0]
    assert (task["status"], task["stats"]["avg_score"], task["runs"][0]["validations"]) == ("passed", 0, {})
