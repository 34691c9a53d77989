"""The lines of a session log about what happens inside an attempt."""

from __future__ import annotations

from typing import Any

import msgspec

from waza.model.attempt_event import (
    AttemptEvent,
    AttemptFinished,
    AttemptStarted,
    CommandCalled,
    GraderFinished,
    GraderStarted,
    JudgeAnswered,
    JudgeAsked,
    McpCalled,
    ModelCalled,
    ToolCallFinished,
    ToolCallStarted,
)
from waza.model.observation import Usage

Line = tuple[str, dict[str, Any]]
"""The type of a line, and its data."""


def attempt_line(event: AttemptEvent) -> Line:
    """Return the line of an event. What graders found follows when the trial has ended, as `grader_result`."""
    where = {"task_name": event.name, "run_number": event.trial, "attempt": event.attempt}
    kind, data = _of_grading(event) or _of_agent(event)
    return kind, {**where, **data}


def _of_grading(event: AttemptEvent) -> Line | None:
    match event:
        case GraderStarted():
            return "grader_start", {**_grader(event), "grader_type": event.type}
        case GraderFinished():
            found = event.validation
            more = {"passed": found.passed, "score": found.score, "duration_ms": found.duration_ms}
            data = {**_grader(event), "grader_type": found.type, **more}
            return "grader_complete", {**data, **error_key(event.error)}
        case JudgeAsked():
            return "judge_start", {"number": event.number, "asker": event.asker, "model": event.model}
        case JudgeAnswered():
            data = {"number": event.number, "asker": event.asker}
            return "judge_complete", {**data, **token_keys(event.usage), **error_key(event.error)}
    return None


def _of_agent(event: AttemptEvent) -> Line:
    match event:
        case AttemptStarted():
            return "attempt_start", {"attempts": event.attempts}
        case AttemptFinished():
            result = event.result
            ended: dict[str, Any] = {"status": result.status, "duration_ms": result.duration_ms}
            return "attempt_complete", {**ended, **error_key(result.error_msg)}
        case ToolCallStarted() | ToolCallFinished():
            return _tool(event)
        case ModelCalled():
            return "model_call", {"turn": event.turn, **msgspec.to_builtins(event.call)}
        case CommandCalled():
            call = msgspec.to_builtins(event.call)
            return "command_call", {"turn": event.turn, **call, "duration_ms": event.duration_ms}
        case McpCalled():
            data = {"turn": event.turn, "server": event.server, "tool_name": event.tool, "args": event.args}
            return "mcp_call", {**data, "success": not event.error, "duration_ms": event.duration_ms}
    raise AssertionError(f"unreachable: {type(event).__name__} has no line")


def _tool(event: ToolCallStarted | ToolCallFinished) -> Line:
    data = {"turn": event.turn, "tool_call_id": event.call_id, "tool_name": event.tool}
    if isinstance(event, ToolCallStarted):
        return "tool_start", data
    return "tool_complete", {**data, "success": event.success}


def _grader(event: GraderStarted | GraderFinished) -> dict[str, Any]:
    point = {"checkpoint": event.after_turn} if event.after_turn else {}
    return {**point, "grader_name": event.grader}


def error_key(message: str) -> dict[str, str]:
    """Return the key of an error, if there is one."""
    return {"error": message} if message else {}


def token_keys(usage: Usage | None) -> dict[str, int]:
    """Return the tokens that something cost, where they are known."""
    if usage is None or not usage.tokens:
        return {}
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
