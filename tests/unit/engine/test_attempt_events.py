"""What happens inside attempts, reported as it happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.unit.engine.conftest import Ran

from waza.engine.attempt_watch import AttemptWatch
from waza.model.attempt_event import (
    AttemptEvent,
    AttemptFinished,
    AttemptStarted,
    GraderFinished,
    GraderStarted,
    JudgeAnswered,
    JudgeAsked,
    McpCalled,
    ModelCalled,
    ToolCallFinished,
    ToolCallStarted,
)
from waza.model.event import HookRan, HookStarted, PromptSent, ResponseSeen, RunEvent, RunFinished, RunStarted
from waza.model.mocks import McpMock
from waza.model.observation import COMPLETE, START, Event, ModelCall
from waza.model.task import Task
from waza.model.trial import Trial
from waza.workspace.relay import Relay

TASK = """
id: t
inputs: {prompt: hi, follow_up_prompts: [more]}
graders:
  - {type: text, name: words, config: {contains: [yes]}}
  - {type: prompt, name: review, config: {prompt: Look.}}
checkpoints:
  - {after_turn: 1, graders: [{type: text, name: early, config: {contains: [ye]}}]}
expected: {output_contains: [yes]}
mock:
  executions:
    - {turns: [{output: ye}, {output: no}], judge: {review: [{pass: fine}]}}
    - {turns: [{output: ye}, {output: "yes", usage: {input_tokens: 7}}], judge: {review: [{pass: fine}]}}
"""
HOOKS = "hooks: {before_run: [{command: echo hello}], before_task: [{command: exit 3}]}"


def test_events_of_attempts_come_in_order(ran: Callable[..., Ran]) -> None:
    events = ran({"t": TASK}, HOOKS, ["max_attempts: 2"], detailed=True).events
    kinds = [type(event).__name__ for event in events if isinstance(event, AttemptEvent)]
    attempt = [
        "AttemptStarted",
        *("GraderStarted", "GraderFinished"),  # of the checkpoint
        *("GraderStarted", "GraderFinished"),
        *("GraderStarted", "JudgeAsked", "JudgeAnswered", "GraderFinished"),
        "GraderFinished",  # of what is expected
        "AttemptFinished",
    ]
    assert kinds == [*attempt, *attempt]
    prompts = [event for event in events if isinstance(event, PromptSent)]
    assert [(one.attempt, one.turn, one.kind) for one in prompts] == [
        *((1, 1, "initial"), (1, 2, "follow_up")),
        *((2, 1, "initial"), (2, 2, "follow_up")),
    ]
    graded = [event for event in events if isinstance(event, GraderFinished) and event.attempt == 2]
    assert [(one.grader, one.after_turn, one.validation.passed) for one in graded][:3] == [
        ("early", 1, True),
        ("words", 0, True),
        ("review", 0, True),
    ]
    asked = [event for event in events if isinstance(event, JudgeAsked | JudgeAnswered)]
    assert {(one.asker, one.number) for one in asked} == {("review", 1)}
    ended = [event for event in events if isinstance(event, AttemptFinished)]
    assert [(one.attempt, one.result.status) for one in ended] == [(1, "failed"), (2, "passed")]
    last = [event for event in events if isinstance(event, ResponseSeen)][-1]
    assert last.usage is not None
    assert last.usage.input_tokens == 7
    assert last.session_id.startswith("mock-session-")


def test_a_run_and_its_hooks_are_reported_from_start_to_end(ran: Callable[..., Ran]) -> None:
    events = ran({"t": TASK}, HOOKS, ["max_attempts: 2"]).events
    assert not [event for event in events if isinstance(event, AttemptEvent)]
    assert isinstance(events[0], RunStarted)
    assert events[-1] == RunFinished(status="complete", verdict="passed")
    hooks = [event for event in events if isinstance(event, HookStarted | HookRan)]
    assert [(type(one), one.point, one.task_id) for one in hooks] == [
        (HookStarted, "before_run", ""),
        (HookRan, "before_run", ""),
        (HookStarted, "before_task", "t"),
        (HookRan, "before_task", "t"),
    ]
    assert [one.reason for one in hooks if isinstance(one, HookRan)] == ["", "exit status 3"]


def watching() -> tuple[AttemptWatch, list[RunEvent]]:
    events: list[RunEvent] = []
    task = Task(id="t", name="T", file="t.yaml", prompt="", home=Path(), fixtures=Path())
    trial = Trial(task=task, number=2)
    return AttemptWatch(events.append, None, trial, 1), events


def test_what_an_executor_sees_is_reported_with_the_turn() -> None:
    watch, events = watching()
    watch.turn = 3
    where: dict[str, Any] = {"task_id": "t", "name": "T", "trial": 2, "attempt": 1, "turn": 3}
    call = ModelCall(model="m", duration_ms=5, input_tokens=1)
    for seen in (
        Event(type=START, tool_call_id="a", tool_name="view", arguments={"path": "x"}),
        Event(type="assistant.message", content="hm"),
        call,
        Event(type=COMPLETE, tool_call_id="a", success=True, tool_result="y"),
        Event(type=COMPLETE, tool_call_id="b", success=True),  # never started
    ):
        watch.see(seen)
    assert events == [
        ToolCallStarted(**where, call_id="a", tool="view", args={"path": "x"}),
        ModelCalled(**where, call=call),
        ToolCallFinished(**where, call_id="a", tool="view", success=True, result="y"),
    ]


def test_calls_of_a_mocked_server_are_reported(tmp_path: Path) -> None:
    watch, events = watching()
    responses = [{"match": {"id": 1}, "return": {"ok": True}}]
    mock = msgspec.convert({"name": "tickets", "tools": {"find": {"responses": responses}}}, McpMock)
    asyncio.run(_call_twice(mock, watch, tmp_path))
    calls = [event for event in events if isinstance(event, McpCalled)]
    assert [(one.server, one.tool, one.args, one.error) for one in calls] == [
        ("tickets", "find", {"id": 1}, False),
        ("tickets", "find", {"id": 2}, True),
    ]
    assert all(one.duration_ms > 0 for one in calls)


async def _call_twice(mock: McpMock, watch: AttemptWatch, home: Path) -> None:
    relay = Relay()
    await relay.start()
    try:
        mocked = relay.open([mock], [], home, None, watch)
        reader, writer = await asyncio.open_unix_connection(relay.address)
        (token,) = mocked.servers
        writer.write(json.dumps({"mcp": token}).encode() + b"\n")
        for number in (1, 2):
            call = {"name": "find", "arguments": {"id": number}}
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            writer.write(json.dumps(request).encode() + b"\n")
            assert json.loads(await reader.readline())["id"] == number
        writer.close()
    finally:
        await relay.aclose()


def test_graders_and_attempts_start_before_they_end(ran: Callable[..., Ran]) -> None:
    task = "id: t\ninputs: {prompt: hi}\ngraders: [{type: text, name: a, config: {contains: [hi]}}]\n"
    events = ran({"t": task}, config=["trials_per_task: 2"], detailed=True).events
    kinds = [(type(event), event.trial) for event in events if isinstance(event, AttemptEvent)]
    one = (AttemptStarted, GraderStarted, GraderFinished, AttemptFinished)
    assert kinds == [(kind, trial) for trial in (1, 2) for kind in one]
