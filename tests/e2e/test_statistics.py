"""Every figure of a results file, worked out anew from the runs in it, in the plainest way."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.support.awkward import CONFIG, GRADERS, awkward_tasks, run_awkward, text
from tests.support.program import Ended, mock_suite, newest_results, waza


def close(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-9)


def passes(*which: bool) -> dict[str, Any]:
    """A script whose n-th execution passes the grader `ok` or not."""
    return {"executions": [{"output": "ok" if one else "no"} for one in which]}


OK = "graders: [{type: text, name: ok, config: {contains: [ok]}}]"


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return run_awkward(tmp_path_factory.mktemp("awkward"))


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
        "judge-varies": ["passed", "failed"] * 2,
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
        "judge-varies": "failed",
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
    lower, upper = wilson(2, 9)
    assert (found["success_rate_ci"]["lower"], found["success_rate_ci"]["upper"]) == (
        close(lower),
        close(upper),
    )
    assert found["success_rate_ci"]["mean"] == close(2 / 9)
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
    suite = mock_suite(tmp_path / "a", awkward_tasks(), head=head, config=CONFIG)
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
    mock_suite(tmp_path / "b", named, head=head, config=CONFIG)
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
    assert len(journal.read_bytes().splitlines()) == len(lines) + 1  # and one that says that it was resumed


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
