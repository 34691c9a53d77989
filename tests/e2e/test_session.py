"""`waza session`: the logs of a directory, and one of them as a timeline, also while it grows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.support.live import Project
from tests.support.program import command, environment, mock_suite, waza

from waza.report.table import columns

TASK = """
name: a greeting
inputs: {prompt: "Say hello", follow_up_prompts: ["And now?"]}
graders: [{type: text, name: greets, config: {contains: [hello]}}]
mock:
  executions:
    - turns: [{output: "no", tool_calls: [{name: bash, args: {command: ls}, result: none, success: false, duration_ms: 40}]}, {output: "never"}]
    - turns: [{output: "well"}, {output: "hello"}]
"""
LOG = ("--session-log", "--session-dir", "logs")


def log_of(root: Path) -> Path:
    suite = mock_suite(root, {"t": TASK}, config=["max_attempts: 2"])
    assert waza("run", suite, *LOG, "--no-save", cwd=root).code == 0
    (path,) = (root / "logs").iterdir()
    return path


def test_a_log_as_a_timeline(tmp_path: Path):
    path = log_of(tmp_path)
    ended = waza("session", "view", path, cwd=tmp_path)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert all(re.match(r"\[ *\d+ms\] |\[ *\d+\.\ds\] ", line) for line in lines)
    assert [line.split("] ", 1)[1] for line in lines] == [
        "> model test-model, engine mock, 1 task",
        "• task 1/1: a greeting",
        "• a greeting #1, turn 1: Say hello",
        '✗ a greeting #1: bash {"command":"ls"} (40ms)',
        "• a greeting #1, answer 1: no",
        "• a greeting #1, turn 2: And now?",
        "• a greeting #1, answer 2: never",
        "✗ a greeting #1, attempt 1 of 2 failed: greets",
        "• a greeting #1 (attempt 2), turn 1: Say hello",
        "• a greeting #1 (attempt 2), answer 1: well",
        "• a greeting #1 (attempt 2), turn 2: And now?",
        "• a greeting #1 (attempt 2), answer 2: hello",
        "✓ a greeting #1, greets 1.00",
        "• a greeting #1 ended: 0 tool calls",
        next(line.split("] ", 1)[1] for line in lines if "✓ a greeting: passed (" in line),
        next(line.split("] ", 1)[1] for line in lines if "> 1/1 passed, 0 failed, 0 errors (" in line),
    ]
    found = json.loads(waza("session", "view", path, "--json", cwd=tmp_path).out)
    assert found["events"] == [json.loads(line) for line in path.read_text().splitlines()]
    assert found["damaged_lines"] == 0


def test_logs_of_other_programs_with_damaged_and_unknown_lines(tmp_path: Path):
    events: list[Any] = [
        {"timestamp": "2026-01-01T00:00:00Z", "type": "session_start", "data": {"model": "m", "engine": "e", "task_count": 2}},
        {"timestamp": "2026-01-01T00:00:02.34Z", "type": "run_complete", "data": {"task_name": "t", "session_digest": {
            "tool_call_count": 1, "tool_policy_denials": [{"tool": "bash", "kind": "shell", "reason": "not \x1b[31mlisted"}]}}},
        {"timestamp": "never", "type": "grader_result", "data": {"passed": "what"}},
        {"timestamp": "2026-01-01T00:00:03Z", "type": "dreamt", "data": {"of": "x" * 500}},
        {"timestamp": "2026-01-01T00:00:04Z", "type": "session_complete", "data": {"passed": 1, "failed": 1, "errors": 0, "duration_ms": 4000}},
    ]  # fmt: skip
    lines = [json.dumps(event) for event in events]
    lines.insert(2, "{torn")
    lines.insert(3, json.dumps({"timestamp": "", "type": "huge", "data": {"x": "y" * 2_000_000}}))
    path = tmp_path / "20260101T000000Z-session.jsonl"
    path.write_text("\n".join(lines) + "\n")
    ended = waza("session", "view", path, cwd=tmp_path)
    assert ended.code == 0
    assert "2 lines could not be read, and are left out" in ended.err
    assert "\x1b" not in ended.out
    assert max(map(columns, ended.out.splitlines())) <= 80
    for part in ("[    0ms] > model m, engine e, 2 tasks", "[   2.3s] • t ended: 1 tool call", "⚠ denied: bash: not",
                 '[      ?] ? grader_result {"passed":"what"}', "[   3.0s] ? dreamt", "> 1/2 passed, 1 failed, 0 errors (4s)"):  # fmt: skip
        assert part in ended.out


def test_the_list_has_the_newest_first(tmp_path: Path):
    for name, at in (("a.ndjson", 10), ("b-session.jsonl", 30), ("c.ndjson", 20), ("d.json", 40)):
        (tmp_path / name).write_text("{}\n" * at)
        os.utime(tmp_path / name, (at, at))
    found = json.loads(waza("session", "list", "--json", cwd=tmp_path).out)
    assert [(one["file"], one["events"]) for one in found] == [
        ("b-session.jsonl", 30),
        ("c.ndjson", 20),
        ("a.ndjson", 10),
    ]
    shown = waza("session", "list", "--dir", tmp_path, cwd=tmp_path).out
    assert re.search(r"b-session\.jsonl +30 +1970-01-01 00:00:30 UTC", shown)
    (tmp_path / "empty").mkdir()
    ended = waza("session", "list", "--dir", "empty", cwd=tmp_path)
    assert (ended.code, "no session log in empty" in ended.out) == (0, True)
    assert json.loads(waza("session", "list", "--dir", "empty", "--json", cwd=tmp_path).out) == []


def test_what_is_not_there(tmp_path: Path):
    missing = waza("session", "list", "--dir", "nowhere", cwd=tmp_path)
    assert (missing.code, "there is no directory nowhere" in missing.err) == (2, True)
    assert waza("session", "view", "nowhere.ndjson", cwd=tmp_path).code == 2
    assert "there is no session log here" in waza("session", "view", cwd=tmp_path).err
    (tmp_path / "empty.ndjson").touch()
    ended = waza("session", "view", cwd=tmp_path)
    assert (ended.code, "empty.ndjson has no events" in ended.err) == (0, True)


def test_a_run_in_progress_is_followed_to_its_end(project: Project):
    task = "inputs: {prompt: Say hello}\nmock: {output: never, delay_ms: 600000}"
    mock_suite(project.home, {"t": task}, config=["timeout_seconds: 900"])
    with project.started("run", "eval.yaml", *LOG) as run:
        run.until(lambda: any((project.home / "logs").glob("*.ndjson")))
        (path,) = (project.home / "logs").glob("*.ndjson")
        with subprocess.Popen(
            command("session", "view", path, "--follow"),
            cwd=project.home,
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as follower:
            assert follower.stdout is not None
            seen = [follower.stdout.readline() for _ in range(3)]
            assert "turn 1: Say hello" in seen[2]
            assert follower.poll() is None
            run.send(signal.SIGINT)
            rest = follower.stdout.read()
        assert follower.returncode == 0
        assert "0/0 passed" in rest or "cut off" in rest
