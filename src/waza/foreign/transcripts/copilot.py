"""Sessions of GitHub Copilot: the events that the CLI keeps, which the SDK hands out as well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from waza.executors.copilot_events import BOOKKEEPING, NANO_CREDITS
from waza.foreign.notes import Notes
from waza.foreign.transcripts.lines import TranscriptLines
from waza.foreign.transcripts.session import (
    SessionBuilder,
    join_texts,
    make_usage,
    moment_ms,
    read_count,
    read_number,
)
from waza.kit.text import pluralize
from waza.model.observation import ModelUsage, Usage
from waza.model.recording import Recording, SubAgent

AGENT = "GitHub Copilot"
_USAGE, _RECORD = "assistant.usage", "session.usage_record"
_REWIND, _SHUTDOWN = "session.snapshot_rewind", "session.shutdown"
_READ = frozenset({
    "abort", "assistant.idle", "assistant.message", "assistant.turn_end", "assistant.turn_start",
    "permission.completed", "permission.requested", "session.error", "session.idle", "session.model_change",
    "session.skills_loaded", "session.start", "session.task_complete", "skill.invoked", "skill.invoked_ref",
    "tool.execution_complete", "tool.execution_start", "user.message", _USAGE, _RECORD, _REWIND, _SHUTDOWN,
})  # fmt: skip

# What is known to say nothing of what the agent did, by how the types begin.
_SKIPPED = (
    *("agent.", "assistant.", "auto_mode_switch.", "capabilities.", "command.", "commands.", "elicitation."),
    *(
        "exit_plan_mode.",
        "external_tool.",
        "hook.",
        "human_response.",
        "mcp.",
        "mcp_app.",
        "model.",
        "pending_messages.",
    ),
    *(
        "permission.",
        "prompt_cache.",
        "sampling.",
        "sandbox.",
        "session.",
        "session_limits_exhausted.",
        "skill.context_",
    ),
    *(
        "subagent.",
        "system.",
        "tool.execution_p",
        "tool.shell_output",
        "tool.user_requested",
        "tool_search.",
        "ui.",
    ),
    *("user_input.", "workflow."),
)


class _Head(msgspec.Struct):
    type: str = ""


class _Event(msgspec.Struct):
    type: str = ""
    data: dict[str, Any] = {}
    id: str | None = None
    timestamp: str | None = None
    agentId: str | None = None  # noqa: N815  # the file format's own spelling


class _Session:
    """Takes the events of a session in their order, those of sub-agents apart."""

    def __init__(self) -> None:
        self.main = SessionBuilder()
        self.subs: dict[str, SessionBuilder] = {}
        self.id = self.version = ""
        self.models: dict[str, None] = {}
        self.chosen = ""  # the model that was chosen, of which no message need be
        self.offered: dict[str, None] | None = None
        self.turns = 0
        self._dropped: set[str] = set()  # calls of the tool by which the runtime keeps its books
        self._asked: dict[
            str, tuple[str, str]
        ] = {}  # calls and kinds of requests for a permission, by their ids

    def take(self, event: _Event) -> None:
        """Take an event."""
        data, at = event.data, moment_ms(event.timestamp)
        session = self.subs.setdefault(event.agentId, SessionBuilder()) if event.agentId else self.main
        match event.type.partition(".")[0]:
            case "tool":
                self._take_call(session, event, at)
            case "permission":
                self._take_permission(event.type, data)
            case "assistant":
                self._take_reply(session, event, at)
            case "user":
                session.start_turn(_text(data, "content"), at)
            case "skill" if not event.agentId:
                session.skill(_text(data, "name"), _text(data, "path"))
            case "session" | "abort" if not event.agentId:
                self._take_state(event.type, data)

    def _take_state(self, kind: str, data: Mapping[str, Any]) -> None:
        match kind:
            case "session.start":
                self.id, self.version = _text(data, "sessionId"), _text(data, "copilotVersion")
                self.chosen = _text(data, "selectedModel") or self.chosen
            case "session.model_change":
                self.chosen = _text(data, "newModel") or self.chosen
            case "session.skills_loaded":
                found = [one.get("name") for one in data.get("skills") or () if isinstance(one, Mapping)]
                self.offered = {**(self.offered or {}), **dict.fromkeys(map(str, found))}
            case "session.error":
                self.main.fail(_text(data, "message") or "the session ended in an error without a message")
            case "abort":
                self.main.fail(f"the turn was aborted: {_text(data, 'reason') or 'no reason is given'}")
            case _ if self.main.turns:  # it is idle, or its task is complete
                self.main.end_turn()

    def _take_reply(self, session: SessionBuilder, event: _Event, at: float | None) -> None:
        match event.type:
            case "assistant.turn_start":
                self.turns += not event.agentId
            case "assistant.message":
                self._take_message(session, event.data, at, is_main=not event.agentId)
            case "assistant.turn_end" | "assistant.idle" if session.turns and not session.turn.expects_calls:
                session.end_turn()

    def _take_message(
        self, session: SessionBuilder, data: Mapping[str, Any], at: float | None, *, is_main: bool
    ) -> None:
        if is_main and (model := _text(data, "model")):
            self.models[model] = None
        session.message(_text(data, "messageId"), _text(data, "content"), at)
        if data.get("toolRequests"):
            session.expect_calls()

    def _take_call(self, session: SessionBuilder, event: _Event, at: float | None) -> None:
        data, call_id = event.data, _text(event.data, "toolCallId")
        if _text(data, "toolName") == BOOKKEEPING or call_id in self._dropped:
            self._dropped.add(call_id)
            return
        if event.type == "tool.execution_start":
            session.call(call_id, _text(data, "toolName"), data.get("arguments"), at)
            return
        result, success = data.get("result"), data.get("success")
        if result is None and data.get("error") is not None:
            result = {"error": data["error"]}
        session.end(call_id, result, success if isinstance(success, bool) else None, at)

    def _take_permission(self, kind: str, data: Mapping[str, Any]) -> None:
        request = _text(data, "requestId")
        if kind == "permission.requested":
            asked = data.get("permissionRequest")
            asked = asked if isinstance(asked, Mapping) else data
            self._asked[request] = (_text(asked, "toolCallId"), _text(asked, "kind"))
            return
        outcome = data.get("result")
        decided = _text(outcome, "kind") if isinstance(outcome, Mapping) else ""
        if decided.startswith("denied"):
            call_id, asked_for = self._asked.get(request, ("", ""))
            tool = self.main.tool_of(_text(data, "toolCallId") or call_id)
            self.main.deny(tool or asked_for, asked_for or "permission", decided)


def read_events(file: BinaryIO, path: Path, name: str) -> Recording:
    """Read the events of a session."""
    del path
    notes, session, costs = Notes(), _Session(), _Costs()
    lines = TranscriptLines(file, name, notes)
    events, left = list[_Event](), 0
    for data in lines:
        head = lines.decode(data, _Head)
        event = lines.decode(data, _Event) if head is not None and head.type in _READ else None
        if event is None:
            if head is not None and not head.type.startswith((*_READ, *_SKIPPED)):
                lines.unknown(head.type)
            continue
        if event.type == _REWIND:
            before = len(events)
            events = _rewound(events, event.data)
            left += before - len(events)
        elif not costs.take(event):
            lines.hold(data)
            events.append(event)
    for event in events:
        session.take(event)
    if left:
        notes.add(name, pluralize(left, "event"), "left out: the session was rewound to before them")
    models = session.models or dict.fromkeys(filter(None, [*costs.models, session.chosen][:1]))
    return Recording(
        file=name,
        form="copilot-events",
        agent=AGENT,
        version=session.version,
        session_id=session.id,
        models=tuple(models),
        turns=session.main.recorded_turns(lines),
        duration_ms=session.main.duration_ms,
        usage=costs.usage(session.turns),
        offered_skills=None if session.offered is None else tuple(session.offered),
        sub_agents=tuple(
            SubAgent(id=agent, calls=one.calls, output=one.output) for agent, one in session.subs.items()
        ),
        notes=tuple(map(str, notes)),
    )


def _rewound(events: list[_Event], data: Mapping[str, Any]) -> list[_Event]:
    """Return the events that are left after a rewind: those that it names are gone, or the given one and all after it."""
    named = data.get("eventIds")
    if isinstance(named, list) and named:
        gone = set(map(str, named))
        return [event for event in events if event.id not in gone]
    target = data.get("upToEventId")
    place = next((i for i, event in enumerate(events) if event.id == target), len(events))
    return events[:place]


class _Costs:
    """What the calls of models cost: what the session says at its end, else the sum over its calls."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []
        self.reports: list[Mapping[str, Any]] = []  # the same, live
        self.shutdown: Mapping[str, Any] | None = None

    def take(self, event: _Event) -> bool:
        """Take an event if it is one of these."""
        if event.type == _RECORD:
            used = event.data.get("usage")
            self.records.append(used if isinstance(used, Mapping) else {})
        elif event.type == _USAGE:
            self.reports.append(event.data)
        elif event.type == _SHUTDOWN:
            self.shutdown = event.data
        else:
            return False
        return True

    @property
    def models(self) -> list[str]:
        """The models that were called."""
        return list(dict.fromkeys(filter(None, (_text(one, "model") for one in self._calls))))

    @property
    def _calls(self) -> list[Mapping[str, Any]]:
        return self.records or self.reports

    def usage(self, turns: int) -> Usage | None:
        """Return the usage of the session; None where nothing is known of it."""
        calls, shutdown = self._calls, self.shutdown or {}
        metrics = shutdown.get("modelMetrics")
        models = {
            str(name): found
            for name, found in (metrics.items() if isinstance(metrics, Mapping) else ())
            if isinstance(found, Mapping)
        }
        if not calls and not models:
            return None
        counted = {key: sum(read_count(one, key) for one in calls) for key in _COUNTS}
        totals = {key: sum(read_count(one.get("usage"), key) for one in models.values()) for key in _COUNTS}
        # A session that was resumed may count from there on: it cannot have used less than its calls.
        usage = make_usage(turns, {field: max(counted[key], totals[key]) for key, field in _COUNTS.items()})
        if usage is None:
            return None
        nano, premium = read_number(shutdown, "totalNanoAiu"), read_number(shutdown, "totalPremiumRequests")
        spent = sum(read_number(one, "cost") or 0 for one in calls)
        return msgspec.structs.replace(
            usage,
            premium_requests=max(spent, premium or 0),
            ai_credits=None if nano is None else nano / NANO_CREDITS,
            model_metrics={name: _model(found) for name, found in models.items()},
        )


_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cache_read_tokens",
    "cacheWriteTokens": "cache_write_tokens",
}


def _model(found: Mapping[str, Any]) -> ModelUsage:
    used, requests = found.get("usage"), found.get("requests")
    used = used if isinstance(used, Mapping) else {}
    requests = requests if isinstance(requests, Mapping) else {}
    nano = read_number(found, "totalNanoAiu")
    return ModelUsage(
        **{field: int(read_count(used, key)) for key, field in _COUNTS.items()},
        request_count=read_number(requests, "count") or 0,
        request_cost=read_number(requests, "cost") or 0,
        ai_credits=None if nano is None else nano / NANO_CREDITS,
    )


def _text(data: Mapping[str, Any], key: str) -> str:
    found = data.get(key)
    return found if isinstance(found, str) else "" if found is None else join_texts(found)
