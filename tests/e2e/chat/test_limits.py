"""The loop with limits of tokens, with the wire and without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.chat.suites import KEY, run, write
from tests.e2e.copilot.suites import task
from tests.support.model_server import Call, Reply, Usage

LOOK = Call("view", {"path": "."})


@pytest.mark.parametrize("wire", ["auto", "off"])
def test_tokens_are_limited_before_the_next_request_where_there_is_a_wire(tmp_path: Path, wire: str) -> None:
    config = {"wire": wire, "limits": {"trial": {"max_total_tokens": 300}}}
    scripts = {
        "LOOK": [
            *[Reply(calls=[LOOK], usage=Usage(100, 20, 0))] * 4,
            Reply("all is fine", usage=Usage(1, 1, 0)),
        ]
    }
    seen = run(write(tmp_path, {"one": task("LOOK")}, config=config), scripts)
    found = seen.run("one")
    used = {"auto": 360, "off": 482}[wire]
    assert len(seen.asked("LOOK")) == {"auto": 3, "off": 5}[wire]
    assert found["status"] == "error"
    assert f"limits.trial.max_total_tokens is met: {used} of 300 tokens used" in found["error_msg"]


def test_without_a_wire_the_loop_asks_the_server_itself(tmp_path: Path) -> None:
    twice = {"id": "same", "type": "function", "function": {"name": "view", "arguments": '{"path": "."}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [twice, twice]}
    doubled = Reply(body={"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    suite = write(tmp_path, {"one": task("LOOK")}, config={"wire": "off"})
    seen = run(suite, {"LOOK": [doubled, Reply("all is fine")]})
    found = seen.run("one")
    assert found["status"] == "passed"
    assert "models_served" not in found
    assert [call["success"] for call in found["tool_events"]] == [True, True], "one id, two calls"
    assert "usage" not in found["session_digest"], "the server does not say what all of it cost"
    asked = [request for request in seen.server.requests if request.turn]
    assert {request.headers["authorization"] for request in asked} == {f"Bearer {KEY}"}
    said = asked[1].body["messages"]
    assert [one["role"] for one in said] == ["system", "user", "assistant", "tool", "tool"]
    assert said[3]["tool_call_id"] != said[4]["tool_call_id"]
