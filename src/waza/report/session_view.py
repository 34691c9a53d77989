"""A session log as a timeline: one line for each thing that happened, with the time since the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from waza.kit.share import decimal
from waza.kit.text import pluralize
from waza.report.rows import plain_value
from waza.report.words import BULLET, ERROR, call_mark, duration, one_line, status_mark

LONGEST_LINE = 1_000_000  # bytes; longer lines are no lines of a session log
_EXCERPT = 100  # characters of a prompt, an output, arguments or a feedback
_MOST_DATA = 300  # characters of an event of an unknown type


class SessionEvent(msgspec.Struct, frozen=True):
    """A line of a session log."""

    timestamp: str
    type: str
    data: dict[str, Any] = {}


_LIVE = frozenset(
    {
        *("run_start", "attempt_start", "attempt_complete", "tool_start", "tool_complete", "model_call"),
        *("grader_start", "grader_complete", "judge_start", "judge_complete", "hook_start"),
    }
)
"""Types that say what is under way. A timeline leaves them out: what came of it has lines of its own."""

_decoder = msgspec.json.Decoder(SessionEvent)


def read_event(line: bytes) -> SessionEvent | None:
    """Return the event of a line; None for one that is damaged or too long."""
    if len(line) > LONGEST_LINE:
        return None
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError:
        return None


class Timeline:
    """The lines of events, in the order in which they are given."""

    def __init__(self) -> None:
        self._first: datetime | None = None

    def lines(self, event: SessionEvent) -> Iterator[str]:
        """Yield the line of an event, and lines for what was denied in it."""
        if event.type in _LIVE:
            return
        mark, text = _describe(event)
        yield f"[{self._elapsed(event.timestamp)}] {mark} {text}"
        digest = event.data.get("session_digest")
        denials = digest.get("tool_policy_denials") if isinstance(digest, dict) else None
        for denial in denials if isinstance(denials, list) else ():
            if isinstance(denial, dict):
                yield f"    {ERROR} denied: {one_line(str(denial.get('tool')))}: {one_line(str(denial.get('reason')))}"

    def _elapsed(self, timestamp: str) -> str:
        """Return the time since the first event: milliseconds, from a second on seconds."""
        try:
            now = datetime.fromisoformat(timestamp)
            self._first = self._first or now
            milliseconds = round((now - self._first).total_seconds() * 1000)
        except (ValueError, TypeError):  # not a time, or one with a zone and one without
            return f"{'?':>7}"
        text = f"{milliseconds}ms" if abs(milliseconds) < 1000 else f"{milliseconds / 1000:.1f}s"
        return f"{text:>7}"


def _describe(event: SessionEvent) -> tuple[str, str]:
    """Return the mark and the text of an event; one of an unknown type, or in another form, as it is."""
    describe = _TYPES.get(event.type)
    if describe is not None:
        try:
            return describe(event.data)
        except (KeyError, TypeError, ValueError):  # of another program
            pass
    return "?", f"{event.type} {plain_value(event.data)[:_MOST_DATA]}"


def _start(data: dict[str, Any]) -> tuple[str, str]:
    arm = ", without skills" if data.get("arm") == "baseline" else ""
    model = data["model"] or "(default)"
    return ">", f"model {model}, engine {data['engine']}, {pluralize(data['task_count'], 'task')}{arm}"


def _task_start(data: dict[str, Any]) -> tuple[str, str]:
    return BULLET, f"task {data['task_num']}/{data['total_tasks']}: {one_line(data['task_name'])}"


def _turn_start(data: dict[str, Any]) -> tuple[str, str]:
    return BULLET, f"{_where(data)}, turn {data['turn']}: {one_line(data['prompt'], _EXCERPT)}"


def _tool_call(data: dict[str, Any]) -> tuple[str, str]:
    mark = call_mark(data["success"])
    arguments = (
        "" if data.get("args") in (None, {}, "") else f" {one_line(plain_value(data['args']), _EXCERPT)}"
    )
    return mark, f"{_where(data)}: {one_line(data['tool_name'])}{arguments} ({duration(data['duration_ms'])})"


def _turn_complete(data: dict[str, Any]) -> tuple[str, str]:
    if data.get("error"):
        return ERROR, f"{_where(data)}, turn {data['turn']} broke: {one_line(data['error'])}"
    return BULLET, f"{_where(data)}, answer {data['turn']}: {one_line(data['output'], _EXCERPT)}"


def _attempt(data: dict[str, Any]) -> tuple[str, str]:
    failed = f": {', '.join(data['failed_graders'])}" if data["failed_graders"] else ""
    return status_mark(
        "failed"
    ), f"{_where(data)}, attempt {data['attempt']} of {data['attempts']} failed{failed}"


def _grader(data: dict[str, Any]) -> tuple[str, str]:
    point = f", after turn {data['checkpoint']}" if data.get("checkpoint") else ""
    feedback = "" if data["passed"] or not data["feedback"] else f": {one_line(data['feedback'], _EXCERPT)}"
    mark = status_mark("passed" if data["passed"] else "failed")
    return mark, f"{_where(data)}{point}, {one_line(data['grader_name'])} {decimal(data['score'])}{feedback}"


def _judge(data: dict[str, Any]) -> tuple[str, str]:
    usage = data["session_digest"].get("usage")
    used = usage["input_tokens"] + usage["output_tokens"] if usage else 0
    tokens = f", {used:,} tokens" if used else ""
    calls = pluralize(data["session_digest"]["tool_call_count"], "tool call")
    return BULLET, f"{_where(data)}, session of a judge: {calls}{tokens}"


def _run_complete(data: dict[str, Any]) -> tuple[str, str]:
    return (
        BULLET,
        f"{_where(data)} ended: {pluralize(data['session_digest']['tool_call_count'], 'tool call')}",
    )


def _task_complete(data: dict[str, Any]) -> tuple[str, str]:
    mark = status_mark(data["status"])
    return mark, f"{one_line(data['task_name'])}: {data['status']} ({duration(data['duration_ms'])})"


def _error(data: dict[str, Any]) -> tuple[str, str]:
    where = f"{_where(data)}: " if data.get("task_name") else ""
    return ERROR, f"{where}{one_line(data['message'])}"


def _command_call(data: dict[str, Any]) -> tuple[str, str]:
    words = " ".join([data["command"], *data.get("args", [])])
    ended = f"exit code {data['exit_code']} ({duration(data['duration_ms'])})"
    return BULLET, f"{_where(data)}: mocked program {one_line(words, _EXCERPT)}: {ended}"


def _mcp_call(data: dict[str, Any]) -> tuple[str, str]:
    mark = status_mark("passed" if data["success"] else "failed")
    call = f"{one_line(data['server'])}, tool {one_line(data['tool_name'])}"
    return mark, f"{_where(data)}: mocked MCP server {call} ({duration(data['duration_ms'])})"


def _hook_complete(data: dict[str, Any]) -> tuple[str, str]:
    reason = f": {one_line(data['reason'])}" if data.get("reason") else ""
    mark = status_mark("passed" if data["ok"] else "failed")
    return mark, f"{data['point']} hook {one_line(data['command'], _EXCERPT)} ended{reason}"


def _session_complete(data: dict[str, Any]) -> tuple[str, str]:
    total = data.get("total_tests", data["passed"] + data["failed"] + data["errors"])
    skipped = f", {data['skipped']} skipped" if data.get("skipped") else ""
    counts = f"{data['passed']}/{total} passed, {data['failed']} failed, {pluralize(data['errors'], 'error')}{skipped}"
    cut = ", cut off" if data.get("cut_off") else ""
    return ">", f"{counts} ({duration(data['duration_ms'])}){cut}"


def _where(data: dict[str, Any]) -> str:
    """Return the task of an event, with the trial and, from the second on, the attempt."""
    trial = f" #{data['run_number']}" if data.get("run_number") else ""
    attempt = f" (attempt {data['attempt']})" if data.get("attempt", 1) > 1 else ""
    return f"{one_line(data['task_name'])}{trial}{attempt}"


_TYPES: dict[str, Callable[[dict[str, Any]], tuple[str, str]]] = {
    "session_start": _start,
    "task_start": _task_start,
    "command_call": _command_call,
    "mcp_call": _mcp_call,
    "hook_complete": _hook_complete,
    "turn_start": _turn_start,
    "tool_call": _tool_call,
    "turn_complete": _turn_complete,
    "attempt_failed": _attempt,
    "grader_result": _grader,
    "judge_session": _judge,
    "run_complete": _run_complete,
    "task_complete": _task_complete,
    "error": _error,
    "session_complete": _session_complete,
}
