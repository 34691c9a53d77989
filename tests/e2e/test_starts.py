"""When things began in trials of a program as the agent: kept by `--resume` and `waza grade`, told to the dashboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.dashboard import serving
from tests.support.program import mock_suite, newest_results, waza, write_tree

AGENT = """
import os, sys
from pathlib import Path
if os.environ["WAZA_CONVERSATION"] == "b" and (Path(os.environ["WAZA_SUITE_DIR"]) / "down").exists():
    sys.exit(75)
print("ok", sys.stdin.read())
"""
CHECK = "{type: text, name: says, config: {contains: [ok]}}"
TASK = f"""
inputs: {{prompt: p, follow_up_prompts: [again]}}
checkpoints: [{{after_turn: 1, graders: [{CHECK.replace("says", "early")}]}}]
graders: [{CHECK}]
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two tasks, of which the agent could not take the second."""
    root = tmp_path_factory.mktemp("starts")
    executor = 'executor: command, executor_options: {command: "python3 \\"$WAZA_SUITE_DIR/agent.py\\""}'
    files = {
        "agent.py": AGENT,
        "down": "",
        "eval.yaml": f"name: s\nconfig: {{{executor}}}\ntasks: [a.yaml, b.yaml]\n",
        "a.yaml": f"id: a\n{TASK}",
        "b.yaml": f"id: b\n{TASK}",
    }
    write_tree(root, files)
    assert waza("run", "eval.yaml", cwd=root).code == 1
    return root


def trial(root: Path, task: str) -> dict[str, Any]:
    (found,) = (one["runs"][0] for one in newest_results(root)["tasks"] if one["test_id"] == task)
    assert isinstance(found, dict)
    return found


def turns(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in run["transcript"] if event["type"] == "user.message"]


def test_starts_are_in_order_and_kept_by_resume_and_grade(root: Path):
    before = trial(root, "a")
    first, second = turns(before)
    early = before["checkpoints"][0]["validations"]["early"]
    starts = [one["started_ms"] for one in (first, early, second, before["validations"]["says"])]
    assert starts[0] == 0
    assert starts == sorted(starts)
    assert first["duration_ms"] + second["duration_ms"] >= before["duration_ms"] - 2  # all are rounded
    assert first["duration_ms"] <= early["started_ms"] + 1

    (root / "down").unlink()
    assert waza("run", "eval.yaml", "--resume", cwd=root).code == 0
    assert trial(root, "a") == before
    assert trial(root, "b")["status"] == "passed"
    assert turns(trial(root, "b"))[0]["started_ms"] == 0

    results = next(root.rglob("results.json"))
    graded = waza("grade", "eval.yaml", "--results", results, "-o", "graded.json", cwd=root)
    assert graded.code == 0, graded.err
    (again,) = (
        one["runs"][0]
        for one in json.loads((root / "graded.json").read_text(encoding="utf-8"))["tasks"]
        if one["test_id"] == "a"
    )
    assert (again["transcript"], again["checkpoints"]) == (before["transcript"], before["checkpoints"])
    assert (
        "started_ms" not in again["validations"]["says"]
    )  # it was asked again, about an earlier conversation


def test_the_dashboard_tells_the_starts_and_durations_of_turns(root: Path):
    known = turns(trial(root, "a"))
    with serving(root) as served:
        runs = [one["id"] for one in served.get("runs").json]  # graded results are one of their own
        lines = [served.get("runs", run, "tasks", "a", "trials", "1").json["timeline"] for run in runs]
    assert lines
    for line in lines:
        assert [(one["startMs"], one["durationMs"]) for one in line] == [
            (one["started_ms"], one["duration_ms"]) for one in known
        ]


def test_a_script_has_no_starts(tmp_path: Path):
    calls = "tool_calls: [{name: bash, args: {command: ls}, result: a.txt, duration_ms: 40}]"
    turns = f"turns: [{{output: ok, {calls}}}, {{output: ok}}]"
    ended = waza("run", mock_suite(tmp_path, {"a": f"{TASK}mock: {{{turns}}}"}), cwd=tmp_path)
    assert ended.code == 0, ended.err
    results = newest_results(tmp_path)
    assert results["tasks"][0]["runs"][0]["tool_events"][0]["duration_ms"] == 40
    assert "started_ms" not in json.dumps(results)
