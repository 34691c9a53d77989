"""Sessions of Codex: the rollouts that it keeps, old and new, and what `codex exec --json` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from waza.foreign.notes import Notes
from waza.foreign.transcripts.lines import TranscriptLines
from waza.foreign.transcripts.session import (
    SessionBuilder,
    join_texts,
    make_usage,
    moment_ms,
    read_count,
    read_number,
    skill_of_call,
    skill_of_path,
)
from waza.model.observation import Usage
from waza.model.recording import Recording

AGENT = "Codex"
_CONTEXT = ("<environment_context>", "<user_instructions>", "<skill>", "# AGENTS.md")
_PROMPT, _CHOSEN_SKILL, _OFFERED = (
    "user.text",
    "skills.selected_skill_instructions",
    "host_skills.instructions",
)
_EXIT = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
_SKILL = re.compile(r"<name>(?P<name>[^<]+)</name>\s*<path>(?P<path>[^<]+)</path>")
_LISTED = re.compile(r"^- (?P<name>[^\s:]+):", re.MULTILINE)
_READ = frozenset({"event_msg", "response_item", "session_meta", "turn_context"})
_SKIPPED = frozenset({"compacted", "token_usage_record", "world_state"})
_SKIPPED_ITEMS = frozenset({"reasoning", "ghost_snapshot", "compaction", "compaction_summary"})
_SKIPPED_EVENTS = frozenset({
    "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted", "entered_review_mode",
    "exited_review_mode", "item_started", "task_started", "turn_diff", "turn_started", "user_message", "warning",
})  # fmt: skip


class _Head(msgspec.Struct):
    type: str = ""
    timestamp: str | None = None


class _Payload(msgspec.Struct):
    """The payload of a line, as far as it is read."""

    type: str = ""
    id: str | None = None
    session_id: str | None = None
    cli_version: str | None = None
    model: str | None = None
    role: str | None = None
    content: Any = None
    internal_chat_message_metadata_passthrough: dict[str, Any] | None = None
    name: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    call_id: str | None = None
    output: Any = None
    status: str | None = None
    item: dict[str, Any] | None = None
    info: dict[str, Any] | None = None
    last_agent_message: str | None = None
    duration_ms: float | None = None
    message: Any = None
    reason: str | None = None


class _Line(_Head):
    payload: _Payload = msgspec.field(default_factory=_Payload)


class _Rollout:
    """Reads the lines of a rollout."""

    def __init__(self) -> None:
        self.session = SessionBuilder()
        self.models: dict[str, None] = {}
        self.id = self.version = ""
        self.offered: dict[str, None] | None = None
        self.counts: list[
            dict[str, Any]
        ] = []  # the last total of each part of the session, one behind the other
        self.model_calls = 0
        self._replying = 0  # the number of the model call at hand; 0: none
        self._replies = 0
        self._ends: dict[str, dict[str, Any]] = {}  # of calls, by their ids, as items have them
        self._loads: dict[
            str, tuple[str, str]
        ] = {}  # skills that calls read, until it is known that these succeeded

    def take(self, line: _Line) -> bool:
        """Take a line; return False for one of a type that is not known."""
        payload, at = line.payload, moment_ms(line.timestamp)
        match line.type:
            case "session_meta":
                self.id = self.id or payload.session_id or payload.id or ""
                self.version = payload.cli_version or self.version
            case "turn_context":
                if payload.model:
                    self.models[payload.model] = None
            case "response_item":
                return self._take_item(payload, at)
            case "event_msg":
                return self._take_event(payload)
        return True

    def _reply(self, text: str, at: float | None) -> None:
        """Add something of a model call; one that begins is a message, even if it only calls tools."""
        if not self._replying:
            self._replies += 1
            self._replying = self._replies
        self.session.message(f"reply-{self._replying}", text, at)

    def _take_item(self, item: _Payload, at: float | None) -> bool:
        call_id = item.call_id or ""
        match item.type:
            case "message" if item.role == "assistant":
                self._reply(join_texts(item.content), at)
            case "message":
                self._take_message(item, at)
            case "reasoning":
                self._reply("", at)
            case "function_call" | "custom_tool_call":
                self._reply("", at)
                given = (
                    {"input": item.input} if item.type == "custom_tool_call" else _arguments(item.arguments)
                )
                self._call(call_id, item.name or "", given, at)
            case "local_shell_call" | "web_search_call":
                self._reply("", at)
                name = item.type.removesuffix("_call")
                self._call(call_id or item.id or "", name, item.action, at)
                if item.type == "web_search_call":  # it has no output
                    self.session.end(call_id or item.id or "", None, _by_status(item.status), at)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                self._replying = 0
                self._end(call_id, item.output, at)
            case kind:
                return kind in _SKIPPED_ITEMS
        return True

    def _call(self, call_id: str, name: str, given: Any, at: float | None) -> None:
        self.session.call(call_id, name, given, at)
        if found := skill_of_call(name, given):
            self._loads[call_id] = found

    def _take_message(self, item: _Payload, at: float | None) -> None:
        known = (item.internal_chat_message_metadata_passthrough or {}).get("content_item_kinds")
        kinds = [str(kind) for kind in known] if isinstance(known, list) else []
        text = join_texts(item.content)
        if item.role == "developer" and _OFFERED in kinds:
            self.offered = {**(self.offered or {}), **dict.fromkeys(_LISTED.findall(text))}
        if item.role != "user":
            return
        if _CHOSEN_SKILL in kinds or (not kinds and text.startswith("<skill>")):
            if found := _SKILL.search(text):
                self.session.skill_once(found["name"].strip(), found["path"].strip())
        elif _is_prompt(text, kinds):
            self._replying = 0
            self.session.start_turn(_prompt_text(item.content, kinds), at)

    def _end(self, call_id: str, output: Any, at: float | None) -> None:
        text, code, seconds = _read_output(output)
        item = self._ends.get(call_id, {})
        took = _item_ms(item) if item else None
        success = _by_item(item)
        if success is None and code is not None:
            success = code == 0
        took = seconds * 1000 if took is None and seconds is not None else took
        self.session.end(call_id, text, success, at, took)
        load = self._loads.pop(call_id, None)
        read = _read_by(item)
        if success is not False and (found := read or load):
            self.session.skill_once(*found)

    def _take_event(self, event: _Payload) -> bool:
        match event.type:
            case "token_count":
                self._replying = 0
                total = (event.info or {}).get("total_token_usage")
                if isinstance(total, dict):
                    self._count(total)
            case "item_completed":
                item = event.item or {}
                if str(item.get("type")) not in ("UserMessage", "AgentMessage", "Reasoning", "Plan"):
                    self._ends[str(item.get("id"))] = item
            case "task_complete" | "turn_complete":
                if event.last_agent_message and event.last_agent_message != self.session.output:
                    self._reply(event.last_agent_message, None)
                self.session.end_turn(event.duration_ms)
            case "turn_aborted":
                self.session.fail(f"the turn was aborted: {event.reason or 'no reason is given'}")
            case "error" | "stream_error":
                self.session.fail(f"the agent broke: {join_texts(event.message) or 'no reason is given'}")
            case kind:
                return kind in _SKIPPED_EVENTS
        return True

    def _count(self, total: dict[str, Any]) -> None:
        before = self.counts[-1] if self.counts else None
        if before == total:
            return  # it is repeated when only the limits of the account changed
        self.model_calls += 1
        if before is not None and read_count(total, "input_tokens") >= read_count(before, "input_tokens"):
            self.counts[-1] = total
        else:
            self.counts.append(total)  # the counts began again

    @property
    def usage(self) -> Usage | None:
        """The tokens of the session; None: no line has them."""
        return _usage(self.counts, self.model_calls) if self.counts else None


def read_rollout(file: BinaryIO, path: Path, name: str) -> Recording:
    """Read a rollout."""
    del path
    notes, rollout = Notes(), _Rollout()
    lines = TranscriptLines(file, name, notes)
    for data in lines:
        head = lines.decode(data, _Head)
        if head is None or head.type in _SKIPPED:
            continue
        line = lines.decode(data, _Line) if head.type in _READ else None
        if line is not None and head.type in ("response_item", "event_msg"):
            lines.hold(data)
        if head.type not in _READ:
            lines.unknown(head.type)
        elif line is not None and not rollout.take(line):
            lines.unknown(f"{line.type}/{line.payload.type}")
    return Recording(
        file=name,
        form="codex-rollout",
        agent=AGENT,
        version=rollout.version,
        session_id=rollout.id,
        models=tuple(rollout.models),
        turns=rollout.session.recorded_turns(lines),
        duration_ms=rollout.session.duration_ms,
        usage=rollout.usage,
        offered_skills=None if rollout.offered is None else tuple(rollout.offered),
        skills_inferred=True,
        notes=tuple(map(str, notes)),
    )


def _is_prompt(text: str, kinds: list[str]) -> bool:
    return _PROMPT in kinds if kinds else not text.lstrip().startswith(_CONTEXT)


def _prompt_text(content: Any, kinds: list[str]) -> str:
    if isinstance(content, list) and len(content) == len(kinds):
        content = [part for part, kind in zip(content, kinds, strict=True) if kind == _PROMPT]
    return join_texts(content)


def _arguments(given: Any) -> Any:
    """Return the arguments of a call, which are a text with JSON."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given


def _read_output(output: Any) -> tuple[Any, int | None, float | None]:
    """Return the text of a result, the exit code and the seconds that it took, where it has them."""
    if isinstance(output, str) and output.startswith("{"):
        found = _arguments(output)
        if isinstance(found, dict) and "output" in found:
            about = found.get("metadata")
            about = about if isinstance(about, dict) else {}
            code = about.get("exit_code")
            seconds = read_number(about, "duration_seconds")
            return found["output"], code if isinstance(code, int) else None, seconds
    if isinstance(output, Mapping):
        output = output.get("content", output)
    text = join_texts(output)
    exited = _EXIT.search(text.partition("\nOutput:")[0])
    return text, int(exited[1]) if exited else None, None


def _by_item(item: Mapping[str, Any]) -> bool | None:
    code = item.get("exit_code")
    return code == 0 if isinstance(code, int) else _by_status(item.get("status"))


def _by_status(status: Any) -> bool | None:
    return {"completed": True, "failed": False, "declined": False}.get(str(status))


def _item_ms(item: Mapping[str, Any]) -> float | None:
    took = item.get("duration")
    if not isinstance(took, Mapping):
        return None
    seconds, nanoseconds = read_number(took, "secs"), read_number(took, "nanos")
    return None if seconds is None else seconds * 1000 + (nanoseconds or 0) / 1e6


def _read_by(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the skill whose file a command read, by what Codex itself made of the command."""
    parsed = item.get("parsed_cmd")
    read = [one for one in parsed if isinstance(one, Mapping)] if isinstance(parsed, list) else []
    paths = [one["path"] for one in read if one.get("type") == "read" and isinstance(one.get("path"), str)]
    return next(filter(None, map(skill_of_path, paths)), None)


_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_input_tokens": "cache_read_tokens",
    "cache_write_input_tokens": "cache_write_tokens",
}


def _usage(counts: list[dict[str, Any]], turns: int) -> Usage | None:
    return make_usage(
        turns, {field: sum(read_count(one, key) for one in counts) for key, field in _COUNTS.items()}
    )


class _ExecLine(msgspec.Struct):
    type: str = ""
    thread_id: str | None = None
    item: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    message: Any = None


class _Exec:
    """Reads the lines of `codex exec --json`."""

    def __init__(self) -> None:
        self.session = SessionBuilder()
        self.id = ""
        self.counts: list[dict[str, Any]] = []

    def take(self, line: _ExecLine) -> bool:
        """Take a line; return False for one of a type that is not known."""
        match line.type:
            case "thread.started":
                self.id = line.thread_id or self.id
            case "turn.started":
                self.session.start_turn(None, None)
            case "turn.completed":
                if line.usage is not None:
                    self.counts.append(line.usage)
                self.session.end_turn()
            case "turn.failed" | "error":
                error = line.error.get("message") if isinstance(line.error, Mapping) else line.message
                self.session.fail(f"the agent broke: {join_texts(error) or 'no reason is given'}")
            case "item.started" | "item.updated" | "item.completed":
                return self._take_item(line.item or {}, line.type)
            case _:
                return False
        return True

    def _take_item(self, item: Mapping[str, Any], stage: str) -> bool:
        kind, item_id = str(item.get("type") or ""), str(item.get("id") or "")
        if kind == "agent_message":
            if stage == "item.completed":
                self.session.message("", join_texts(item.get("text")))
            return True
        if kind in ("reasoning", "error", "todo_list"):
            return True
        shape = _CALLS.get(kind)
        if shape is None:
            return False
        if not self.session.is_open(item_id):
            self.session.call(item_id, *shape(item))
        if stage == "item.completed":
            success = _by_item(item)
            result = item.get("aggregated_output", item.get("result")) or item.get("error")
            text = result if result is None or isinstance(result, str | dict) else join_texts(result)
            self.session.end(item_id, text, success)
            if success is not False and (found := skill_of_call(kind, item)):
                self.session.skill_once(*found)
        return True


def _mcp_call(item: Mapping[str, Any]) -> tuple[str, Any]:
    return f"{item.get('server')}__{item.get('tool')}", item.get("arguments")


def _call_with(name: str, *keys: str) -> Callable[[Mapping[str, Any]], tuple[str, Any]]:
    return lambda item: (name, {key: item[key] for key in keys if key in item})


_CALLS: dict[str, Callable[[Mapping[str, Any]], tuple[str, Any]]] = {
    "command_execution": _call_with("command_execution", "command"),
    "file_change": _call_with("file_change", "changes"),
    "mcp_tool_call": _mcp_call,
    "web_search": _call_with("web_search", "query"),
}
"""The items that are calls of tools, and how their names and arguments are read."""


def read_exec(file: BinaryIO, path: Path, name: str) -> Recording:
    """Read what `codex exec --json` printed; it has no prompt, no model and no times."""
    del path
    notes, found = Notes(), _Exec()
    lines = TranscriptLines(file, name, notes)
    for data in lines:
        line = lines.decode(data, _ExecLine)
        if line is None:
            continue
        lines.hold(data)
        if not found.take(line):
            kind = (line.item or {}).get("type")
            lines.unknown(f"{line.type}/{kind}" if kind else line.type)
    return Recording(
        file=name,
        form="codex-exec",
        agent=AGENT,
        session_id=found.id,
        turns=found.session.recorded_turns(lines, says_end=True),
        duration_ms=found.session.duration_ms,
        usage=_usage(found.counts, len(found.counts)) if found.counts else None,
        skills_inferred=True,
        notes=tuple(map(str, notes)),
    )
