"""The session log: one line of JSON for each thing that happened (`--session-log`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import RunError
from waza.kit.line_file import lock_while_open
from waza.kit.text import shorten_middle
from waza.model.attempt_event import AttemptEvent
from waza.model.event import (
    AttemptRetried,
    CheckpointGraded,
    HookRan,
    HookStarted,
    PromptSent,
    ResponseSeen,
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    SuiteStopped,
    TaskFinished,
    TaskStarted,
    TrialFinished,
    TrialStarted,
)
from waza.model.result import Validation
from waza.report.attempt_lines import Line, attempt_line, error_key, token_keys
from waza.report.new_file import create

Redact = Callable[[Any], Any]
"""Takes JSON data and returns it with the secrets taken out."""

_LONGEST = 10_000  # characters of a text in a turn: readers take lines of up to 1 MB
_TURNS = ("turn_start", "tool_call", "mcp_call", "command_call", "turn_complete")


class SessionLog:
    """A listener that writes `session-<UTC stamp>.ndjson` into a directory, which it makes if needed.

    Every line is `{timestamp, type, data}` and is flushed as it is written. A log that can no longer be
    written (a full disk) does not stop the run: `trouble` then says why it is not complete.
    """

    def __init__(self, directory: Path, redact: Redact, now: Callable[[], datetime] | None = None) -> None:
        self._redact = redact
        self._now = now or (lambda: datetime.now(UTC))
        self.trouble = ""
        stamp = self._now().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        try:
            self.path, self._file = create(directory, f"session-{stamp}", ".ndjson")
        except OSError as error:
            raise RunError(f"the session log cannot be written in {directory}: {error.strerror}") from error
        lock_while_open(self._file)

    def handle(self, event: RunEvent) -> None:
        """Write the lines of an event."""
        for kind, data in _lines(event):
            self._write(kind, data)

    def close(self) -> None:
        """Close the file."""
        try:
            self._file.close()
        except OSError as error:
            self._fail(error)

    def _write(self, kind: str, data: dict[str, Any]) -> None:
        if self.trouble:
            return
        stamp = self._now().astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        found = self._redact(msgspec.to_builtins(data))
        line = {"timestamp": stamp, "type": kind, "data": _cut(found) if kind in _TURNS else found}
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.trouble = f"the session log {self.path} is not complete: {error.strerror}"


def _lines(event: RunEvent) -> Iterator[Line]:
    match event:
        case SuiteStarted():
            yield "session_start", _start(event)
        case TaskStarted() | TrialStarted():
            yield _begin(event)
        case AttemptEvent():
            yield attempt_line(event)
        case HookStarted() | HookRan():
            yield _hook(event)
        case PromptSent() | ResponseSeen() | AttemptRetried() | CheckpointGraded():
            yield from _during(event)
        case TrialFinished():
            yield from _trial(event)
        case TaskFinished():
            yield "task_complete", _task(event)
        case SuiteStopped():
            yield "error", {"message": f"stopped: {event.reason}"}
        case SuiteFinished():
            yield "session_complete", _finish(event)


def _during(event: PromptSent | ResponseSeen | AttemptRetried | CheckpointGraded) -> Iterator[Line]:
    match event:
        case PromptSent():
            yield "turn_start", {**_turn(event), "prompt": event.text}
        case ResponseSeen():
            yield from _response(event)
        case AttemptRetried():
            yield "attempt_failed", _attempt(event)
        case CheckpointGraded():
            checkpoint = event.checkpoint
            number = {"run_number": event.trial} if event.trial else {}
            more = {"task_name": event.name, **number, "checkpoint": checkpoint.after_turn}
            yield from _graders(checkpoint.validations, more)


def _begin(event: TaskStarted | TrialStarted) -> Line:
    if isinstance(event, TrialStarted):
        return "run_start", {"task_name": event.name, "run_number": event.trial, "runs": event.trials}
    return "task_start", {"task_name": event.name, "task_num": event.index, "total_tasks": event.total}


def _hook(event: HookStarted | HookRan) -> Line:
    task = {"task_name": event.name} if event.task_id else {}
    data = {"point": event.point, "command": event.command, **task}
    if isinstance(event, HookStarted):
        return "hook_start", data
    reason = {"reason": event.reason} if event.reason else {}
    return "hook_complete", {**data, "ok": event.ok, **reason}


def _start(event: SuiteStarted) -> dict[str, Any]:
    return {
        "spec_path": os.fsencode(event.path).decode("utf-8", "replace"),  # names on disk may be any bytes
        "model": event.model,
        "engine": event.executor,
        "task_count": event.tasks,
        "runs_per_task": event.trials,
        "run_id": event.run_id,
        **({"selected": [task_id for _, task_id in event.selected]} if event.selected else {}),
        **({} if event.arm == "main" else {"arm": event.arm}),
    }


def _turn(event: PromptSent | ResponseSeen) -> dict[str, Any]:
    return {
        "task_name": event.name,
        "run_number": event.trial,
        "attempt": event.attempt,
        "turn": event.turn,
    }


def _response(event: ResponseSeen) -> Iterator[Line]:
    where = _turn(event)
    for call in event.calls:
        found = {
            "tool_name": call.tool_name,
            "args": call.args,
            "success": call.success,
            "duration_ms": call.duration_ms,
            "result": call.result,
        }
        yield "tool_call", {**where, **found}
    more = {"tool_call_count": len(event.calls), **token_keys(event.usage)}
    yield "turn_complete", {**where, **more, "output": event.text, **error_key(event.error)}


def _attempt(event: AttemptRetried) -> dict[str, Any]:
    return {
        "task_name": event.name,
        "run_number": event.trial,
        "attempt": event.attempt,
        "attempts": event.attempts,
        "failed_graders": list(event.failed_graders),
    }


def _cut(value: Any) -> Any:
    """Return JSON data with long texts in it shortened."""
    if isinstance(value, str):
        return shorten_middle(value, _LONGEST)
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value


def _trial(event: TrialFinished) -> Iterator[Line]:
    run = event.result
    more = {"task_name": event.name, "run_number": run.run_number}
    yield from _graders(run.validations or {}, more)
    if run.error_msg:
        yield "error", {"message": run.error_msg, **more}
    for session in run.grader_sessions:
        yield "judge_session", {**more, "session_digest": session}
    yield "run_complete", {**more, "session_digest": run.session_digest}


def _graders(validations: Mapping[str, Validation], more: dict[str, Any]) -> Iterator[Line]:
    for name, verdict in sorted(validations.items()):
        data = {
            "grader_name": verdict.identifier or name,
            "grader_type": verdict.type,
            "passed": verdict.passed,
            "score": verdict.score,
            "feedback": verdict.feedback,
        }
        yield "grader_result", {**data, **more}


def _task(event: TaskFinished) -> dict[str, Any]:
    return {
        "task_name": event.name,
        "status": event.status,
        "score": event.score,
        "duration_ms": event.duration_ms,
        **({"cached": True} if event.cached else {}),
        **({"judged_anew": True} if event.rejudged else {}),
    }


def _finish(event: SuiteFinished) -> dict[str, Any]:
    return {
        "total_tests": event.total,
        "passed": event.passed,
        "failed": event.failed,
        "errors": event.errors,
        "duration_ms": event.duration_ms,
        **({"skipped": event.skipped} if event.skipped else {}),
        **({"cut_off": True} if event.cut_off else {}),
    }
