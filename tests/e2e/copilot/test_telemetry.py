"""Spans of a real agent: what the runtime reports has its own times, and mocks are below the turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import bash, calls_then_fine, run, task, write_suite
from tests.support.model_server import Call

pytestmark = pytest.mark.slow

CRM = {"name": "crm", "tools": {"find": {"description": "Finds.", "responses": [{"return": "Ada"}]}}}
AZ = {"name": "az", "responses": [{"args": ["show"], "stdout": "prod\n"}]}
GRADER = {"type": "prompt", "name": "review", "config": {"prompt": "JUDGE IT"}}


def test_calls_of_tools_models_and_mocks(tmp_path: Path) -> None:
    tasks = {"t": task("WORK", graders=[GRADER])}
    suite = write_suite(
        tmp_path, tasks, mcp_mocks=[CRM], command_mocks=[AZ], config={"executor": "copilot-sdk"}
    )
    scripts = {
        "JUDGE IT": calls_then_fine(Call("set_waza_grade_pass", {"reason": "fine"})),
        "WORK": calls_then_fine(bash("sleep 0.3; az show"), Call("crm-find", {"id": 1})),
    }
    run(suite, scripts, "--otel-exporter", "file", "--otel-file", "spans.ndjson")
    lines = [json.loads(line) for line in (tmp_path / "spans.ndjson").read_text().splitlines()]
    spans: dict[str, list[dict[str, Any]]] = {}
    for line in lines[:-1]:
        spans.setdefault(line["name"], []).append(line)
    (turn,) = spans["waza.turn"]
    for name in ("waza.tool_call", "waza.model_call", "waza.mcp_call", "waza.command_call"):
        for span in spans[name]:
            assert span["parent_id"] == turn["context"]["span_id"]
            assert turn["start_time"] <= span["start_time"] <= span["end_time"] <= turn["end_time"]
            assert "waza.time.estimated" not in span["attributes"]
    tools = {span["attributes"]["gen_ai.tool.name"]: span for span in spans["waza.tool_call"]}
    assert tools.keys() == {"bash", "crm-find"}
    (command,), shell = spans["waza.command_call"], tools["bash"]
    assert shell["start_time"] < command["start_time"] <= command["end_time"] < shell["end_time"]
    assert len(spans["waza.model_call"]) == 2
    assert {span["attributes"]["gen_ai.response.model"] for span in spans["waza.model_call"]} == {
        "test-model"
    }
    assert turn["attributes"]["gen_ai.provider.name"] == "github.copilot"
    (judge,) = spans["waza.judge"]
    assert judge["attributes"]["waza.judge.asker"] == "review"
    assert judge["attributes"]["gen_ai.usage.input_tokens"] > 0
