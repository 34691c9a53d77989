"""`waza compare`: results files side by side, as a table and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

GRADER = "graders: [{type: text, name: says, config: {contains: [one, two]}}]"
CALLS = "tool_calls: [{name: a}, {name: b, success: false}]"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three results files: `gone` is in the first only, `new` in the last only, `kept` gets better."""
    root = tmp_path_factory.mktemp("results")
    tasks = {
        "kept": "name: kept, with a name too long for a table\ninputs: {prompt: p}\nmock: {executions: [{output: x}]}",
        "gone": f"inputs: {{prompt: p}}\nmock: {{output: one, {CALLS}}}\ngraders: [{{type: tool_calls, name: t, config: {{min_calls: 1}}}}]",
        "new": "inputs: {prompt: p}\nmock: {output: one two}",
    }
    steps = (("a", "x", "gone"), ("b", "one", "kept"), ("c", "one two", "new"))
    for name, output, more in steps:
        own = {key: tasks[key].replace("output: x", f"output: {output}") for key in {"kept", more}}
        mock_suite(root / name, own, GRADER)
        waza(
            "run",
            "eval.yaml",
            "--model",
            f"model-{name}",
            "-o",
            f"../{name}.json",
            "--no-save",
            cwd=root / name,
        )
    return root


def compare(root: Path, *args: str) -> Ended:
    return waza("compare", *args, cwd=root)


def test_two_files_as_json(results: Path):
    ended = compare(results, "a.json", "c.json", "--format", "json")
    assert ended.code == 0
    assert ended.err == (
        "warning: a.json: failed: 2 of 2 tasks did not pass: 2 failed\n"
        "warning: the files do not have results of the same tasks (1 in common): their totals do not compare\n"
    )
    found = strict_json(ended.out)
    assert list(found) == [
        "files", "models", "aggregate_scores", "success_rates", "aggregate_score_delta", "success_rate_delta",
        "task_deltas", "total_tests", "durations_ms", "duration_delta_ms", "tool_metrics", "normalized_gain",
    ]  # fmt: skip
    assert (found["files"], found["models"]) == (["a.json", "c.json"], ["model-a", "model-c"])
    assert (found["aggregate_scores"], found["aggregate_score_delta"]) == ([0.375, 1], 0.625)
    assert (found["success_rates"], found["success_rate_delta"]) == ([0, 1], 1)
    tasks = {task["task_id"]: task for task in found["task_deltas"]}
    assert list(tasks) == ["gone", "kept, with a name too long for a table", "new"]
    gone, new = tasks["gone"], tasks["new"]
    assert (gone["scores"], gone["pass_rates"], gone["statuses"]) == (
        [0.75, None],
        [0, None],
        ["failed", "n/a"],
    )
    assert (gone["score_delta"], gone["pass_rate_delta"]) == (None, None)
    assert (new["scores"], new["statuses"], new["score_delta"]) == ([None, 1], ["n/a", "passed"], None)
    first, last = found["tool_metrics"]
    assert first == {
        "total_calls": 2, "tasks_with_tools": 1, "avg_calls_per_task": 1, "success_rate": 0.5,
        "selection_accuracy": 1, "call_count_histogram": {"0": 1, "1": 0, "2": 1, "3+": 0},
    }  # fmt: skip
    assert (last["total_calls"], last["success_rate"], last["selection_accuracy"]) == (0, None, None)
    assert compare(results, "a.json", "c.json", "--json").out == ended.out


def test_three_files_go_from_the_first_to_the_last(results: Path):
    found = strict_json(compare(results, "a.json", "b.json", "c.json", "-f", "json").out)
    kept = next(task for task in found["task_deltas"] if task["display_name"].startswith("kept"))
    assert (kept["scores"], kept["score_delta"], kept["pass_rate_delta"]) == ([0, 0.5, 1], 1, 1)
    assert kept["statuses"] == ["failed", "failed", "passed"]
    assert found["aggregate_score_delta"] == found["aggregate_scores"][2] - found["aggregate_scores"][0]


def test_a_table(results: Path):
    ended = compare(results, "a.json", "b.json", "c.json")
    assert ended.code == 0
    assert ended.err == (
        "warning: a.json: failed: 2 of 2 tasks did not pass: 2 failed\n"
        "warning: b.json: failed: 1 of 1 task did not pass: 1 failed\n"
        "warning: the files do not have results of the same tasks (1 in common): their totals do not compare\n"
    )
    assert re.findall(r"={51}\n(.+)\n={51}", ended.out) == [
        "FILES",
        "AGGREGATE",
        "TOOL USE",
        "PER-TASK DELTAS",
    ]
    assert "[1] a.json (model-a)\n[2] b.json (model-b)\n[3] c.json (model-c)\n" in ended.out
    lines = {line.split("  ")[0].strip(): line.split() for line in ended.out.splitlines()}
    assert lines["Score"] == ["Score", "0.3750", "0.5000", "1.0000", "+0.6250"]
    assert lines["Task success rate"] == ["Task", "success", "rate", "0.0%", "0.0%", "100.0%", "+100.0", "pp"]
    assert lines["Calls"] == ["Calls", "2", "0", "0"]
    assert lines["gone"] == ["gone", "0.75", "failed", "n/a", "n/a", "n/a"]
    (cut,) = [name for name in lines if name.startswith("kept, ")]
    assert "…" in cut
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    assert lines[cut][-7:] == [
        "failed",
        "0.50",
        "failed",
        "1.00",
        "passed",
        "↑",
        "+1.00",
    ]
    without = compare(results, "b.json", "c.json").out
    assert "TOOL USE" not in without
    worse = compare(results, "c.json", "a.json").out
    assert "↓ -1.00" in worse


def test_what_cannot_be_compared(results: Path):
    write_tree(results, {"empty.json": "", "other.json": '{"kind": "waza.preflight"}'})
    for name, said in (
        ("empty.json", "empty.json:1:1: is not valid JSON"),
        ("other.json", "other.json: is a waza.preflight report"),
        ("none.json", "none.json: cannot be read"),
    ):
        ended = compare(results, "a.json", name)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
