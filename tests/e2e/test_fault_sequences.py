"""Mocked dependencies that fail for a while, met by the script of the mock executor: one step a call, then exhaustion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

STORE = {
    "name": "store",
    "tools": {
        "put": {
            "responses": [
                {
                    "match": {"key": "report"},
                    "sequence": [{"error": "503 try again", "delay_ms": 20}, {"return": {"ok": True}}],
                },
                {"return": "another key"},
            ]
        }
    },
}
AZ = {
    "name": "az",
    "responses": [
        {"args": ["up"], "sequence": [{"stderr": "busy\n", "exit_code": 7}, {"stdout": "up\n"}]},
        {"args_regex": ["login", ".*"], "stdout": "in"},
    ],
}
PUT = {"name": "store-put", "args": {"key": "report"}}
UP = {"name": "bash", "args": {"command": "az up"}}
EXHAUSTED = "fault sequence exhausted"
PUTS = [
    ("MCP mock 'store', tool 'put': 503 try again", False),
    ('{"ok":true}', True),
    (f"MCP mock 'store', tool 'put': {EXHAUSTED}", False),
]
UPS = [("busy\n", False), ("up\n", True), (f"waza: command mock 'az': {EXHAUSTED}\n", False)]


def write(
    root: Path, *turns: list[dict[str, Any]], config: dict[str, Any] | None = None, **keys: Any
) -> None:
    """Write a scenario, as for a real agent, whose script makes these calls turn by turn."""
    suite = {
        "schemaVersion": "2.0",
        "name": "flaky",
        "scenario": "An upload is repeated until it succeeds.",
        "config": {"executor": "copilot-sdk", **(config or {})},
        "mcp_mocks": [STORE],
        "command_mocks": [AZ],
        "graders": [{"type": "text", "name": "says", "config": {"contains": ["done"]}}],
        "tasks": ["tasks/*.yaml"],
        **keys,
    }
    script = {"turns": [{"output": "done", "tool_calls": calls} for calls in turns]}
    prompts = {"prompt": "p", "follow_up_prompts": ["more"] * (len(turns) - 1)}
    task = {"id": "t", "inputs": prompts, "mock": script}
    write_tree(root, {"eval.yaml": json.dumps(suite), "tasks/t.yaml": json.dumps(task)})


def run(root: Path, *options: str, code: int = 0) -> tuple[Ended, list[dict[str, Any]]]:
    """Run the suite on the mock; return how that ended, and the trials."""
    ended = waza("run", "eval.yaml", "--executor", "mock", *options, cwd=root)
    assert ended.code == code, ended.err
    (task,) = ended.results()["tasks"]
    return ended, task["runs"]


def answers(trial: dict[str, Any], tool: str) -> list[tuple[str, bool]]:
    """What the calls of a tool were answered."""
    return [(one["result"], one["success"]) for one in trial["tool_events"] if one["tool_name"] == tool]


def test_each_call_takes_one_step_and_each_trial_begins_again(tmp_path: Path) -> None:
    write(tmp_path, [PUT, UP, UP], [PUT, PUT, UP], config={"trials_per_task": 2, "parallel": True})
    ended, trials = run(tmp_path)
    for trial in trials:
        assert answers(trial, "store-put") == PUTS
        assert answers(trial, "bash") == UPS
        assert [event.get("duration_ms", 0) for event in trial["tool_events"]][:2] == [20, 0]
        assert trial["command_invocations"] == [
            {"command": "az", "args": ["up"], "exit_code": 7, "response_index": 0},
            {"command": "az", "args": ["up"], "exit_code": 0, "response_index": 0},
            {"command": "az", "args": ["up"], "exit_code": 127, "response_index": 0, "exhausted": True},
        ]
    but = "has no effect with the executor 'mock', but on calls of its script that have no result"
    assert ended.err.count(but) == 2


def test_exhaustion_is_seen_on_the_page_of_the_trial_and_by_graders(tmp_path: Path) -> None:
    held = "[call.get('exhausted', False) for call in command_invocations] == [False, False, True]"
    write(
        tmp_path,
        [UP, UP, UP, PUT, PUT, PUT],
        graders=[{"type": "code", "name": "held", "config": {"assertions": [held]}}],
    )
    run(tmp_path)
    page = " ".join(waza("show", "t", cwd=tmp_path).out.split())
    assert "• mocked program: az up -> exit 127 (the sequence is exhausted)" in page
    assert (
        f"• mocked server: store-put {{\"key\":\"report\"}}: MCP mock 'store', tool 'put': {EXHAUSTED}"
        in page
    )
    assert "✗ az up -> exit 127 (the sequence is exhausted) (response 1)" in page


def test_an_attempt_does_not_go_on_with_the_sequence_of_another(tmp_path: Path) -> None:
    write(tmp_path, [PUT, UP], config={"max_attempts": 2}, graders=[])
    never = {"type": "text", "name": "never", "config": {"contains": ["failed"]}}
    task = strict_json((tmp_path / "tasks/t.yaml").read_text()) | {"graders": [never]}
    write_tree(tmp_path, {"tasks/t.yaml": json.dumps(task)})
    _, (trial,) = run(tmp_path, code=1)
    assert trial["attempts"] == 2
    assert (answers(trial, "store-put"), answers(trial, "bash")) == (PUTS[:1], UPS[:1])


CALLS: dict[str, tuple[dict[str, Any], str, bool, int]] = {
    "a quoted word": ({"name": "bash", "args": {"command": "az 'up'"}}, "busy\n", False, 1),
    "another shell": ({"name": "powershell", "args": {"command": "az up"}}, "busy\n", False, 1),
    "a pattern": ({"name": "bash", "args": {"command": "az login me"}}, "in", True, 1),
    "a result of the script": ({**UP, "result": "mine"}, "mine", True, 0),
    "a failure of the script": ({**UP, "success": False}, "", False, 0),
    "several programs": ({"name": "bash", "args": {"command": "az up && az up"}}, "", True, 0),
    "another program": ({"name": "bash", "args": {"command": "ls az"}}, "", True, 0),
    "an open quote": ({"name": "bash", "args": {"command": "az 'up"}}, "", True, 0),
    "no shell": ({"name": "run", "args": {"command": "az up"}}, "", True, 0),
    "another key": ({"name": "store-put", "args": {"key": "x"}}, '"another key"', True, 0),
    "another tool": ({"name": "store-get", "args": {}}, "", True, 0),
    "no arguments": ({"name": "store-put"}, '"another key"', True, 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_which_calls_of_a_script_meet_mocks(tmp_path: Path, name: str) -> None:
    call, result, success, commands = CALLS[name]
    write(tmp_path, [call])
    _, (trial,) = run(tmp_path)
    assert [(one["result"], one["success"]) for one in trial["tool_events"]] == [(result, success)]
    assert len(trial.get("command_invocations", [])) == commands


def test_secrets_in_calls_of_a_script_are_not_recorded(tmp_path: Path) -> None:
    write(tmp_path, [{"name": "bash", "args": {"command": "az login --token=hunter2"}}])
    _, (trial,) = run(tmp_path)
    assert trial["command_invocations"][0]["args"] == ["login", "--token=[REDACTED]"]


@pytest.mark.parametrize(
    ("calls", "error"),
    [([], ""), ([PUT], ""), ([UP], "command mock 'az': expected 2 call(s), got 1"), ([UP, UP], "")],
    ids=["none", "of a server", "too few", "all"],
)
def test_a_script_that_calls_programs_calls_them_as_often_as_expected(
    tmp_path: Path, calls: list[dict[str, Any]], error: str
) -> None:
    write(tmp_path, calls, command_mocks=[{**AZ, "expect_calls": 2}])
    _, (trial,) = run(tmp_path, code=1 if error else 0)
    assert trial.get("error_msg", "") == error
