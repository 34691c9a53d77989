"""Turns that break on Claude Code, which calls many of them a success; and what they leave."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, task
from tests.support.claude import NEEDS_CLAUDE, PYTHON, bash, living, run, write
from tests.support.model_server import Reply, Usage
from tests.support.program import waza

pytestmark = NEEDS_CLAUDE
FINE = Reply("all is fine", usage=Usage(50, 3, 0))
SCRIPTS: dict[str, Any] = {
    "BUSY": [Reply(status=429, headers={"Retry-After": "0"})],
    "BROKEN": [Reply(status=500)],
    "WRONG": [Reply(status=400)],
    "REFUSED": [Reply(status=401)],
    "DROPPED": [Reply("a b c d", drop=True)],
    "FILTERED": [Reply("no", finish="content_filter")],
    "CUT": [Reply("half", finish="length")],
    "LOOP": [Reply(calls=[bash("true")])],
    "": [Reply("half", finish="length")],  # what Claude Code asks itself after an answer that was cut off
}


@pytest.fixture(scope="module", params=["auto", "off"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    tasks = {prompt.lower(): task(prompt) for prompt in SCRIPTS if prompt}
    config = {"wire": request.param, "executor_options": {"max_retries": 1, "max_turns": 2}}
    return run(write(tmp_path_factory.mktemp("failures"), tasks, config=config), SCRIPTS)


@pytest.mark.parametrize("name", [prompt.lower() for prompt in SCRIPTS if prompt])
def test_a_turn_that_failed_is_an_error(seen: Seen, name: str) -> None:
    found = seen.run(name)
    assert found["status"] == "error", found.get("final_output")
    assert found["error_msg"]


def test_causes_outside_of_the_agent_are_known(seen: Seen) -> None:
    (journal,) = (seen.ended.cwd / ".waza/runs").glob("*/journal.ndjson")
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    trials = [line["trial"] for line in lines if "trial" in line]
    assert {trial["task"] for trial in trials if trial.get("outside")} == {
        "busy",
        "broken",
        "refused",
        "dropped",
    }


def test_a_silent_model_is_a_time_limit_and_what_ran_before_is_kept(tmp_path: Path) -> None:
    config = {"timeout_seconds": 60, "idle_timeout_seconds": 2}
    suite = write(tmp_path, {"silent": task("SILENT")}, config=config | {"wire": "off"})
    seen = run(suite, {"SILENT": [Reply(calls=[bash("echo ran")]), Reply("late", delay=50)]})
    found = seen.run("silent")
    assert found["status"] == "error"
    assert "idle_timeout_seconds" in found["error_msg"]
    assert [call["result"] for call in found["tool_events"]] == ["ran"]


def test_commands_that_still_run_end_with_the_attempt(tmp_path: Path) -> None:
    behind = bash("setsid sleep 4711 >/dev/null 2>&1 & echo started")
    seen = run(write(tmp_path, {"left": task("LEFT")}), {"LEFT": [Reply(calls=[behind]), FINE]})
    assert seen.run("left")["status"] == "passed"
    assert living("sleep 4711") == []
    held = bash("python3 -c 'import time; time.sleep(4712)'")
    config = {"timeout_seconds": 3}
    seen = run(
        write(tmp_path, {"held": task("HELD")}, "held", config=config), {"HELD": [Reply(calls=[held]), FINE]}
    )
    assert "did not end within" in seen.run("held")["error_msg"]
    assert living("time.sleep(4712)") == []


def test_a_server_that_does_not_start_stops_the_attempt(tmp_path: Path) -> None:
    config = {"mcp_servers": {"gone": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}}}
    seen = run(write(tmp_path, {"server": task("SERVER")}, config=config), {"SERVER": [FINE]})
    found = seen.run("server")
    assert found["status"] == "error"
    assert "the MCP server 'gone' did not start" in found["error_msg"]
    assert seen.asked("SERVER") == []


def test_without_a_model_server_nothing_is_run(tmp_path: Path) -> None:
    suite = write(tmp_path, {"one": task("ONE")})
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "COPILOT_BASE_URL")
    ended = waza("run", suite, cwd=tmp_path, env=dict.fromkeys(names, ""), python=PYTHON)
    assert ended.code == 2
    assert "export ANTHROPIC_API_KEY=" in ended.err
