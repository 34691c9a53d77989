"""What the messages of Claude Code say of a turn: events, skills, tokens, and whether it failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from waza.executors.claude_policy import ClaudePolicy
from waza.model.observation import (
    COMPLETE,
    MESSAGE,
    START,
    Event,
    ModelCall,
    ModelUsage,
    SkillInvocation,
    Usage,
)

SKILL = "Skill"
_COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
_BUSY = (429, 529)  # statuses: too many requests; overloaded
_OF_THE_REQUEST = (400, 404, 413, 422)  # statuses that blame what was asked

Counts = dict[str, tuple[int, int, int, int]]
"""Tokens of a session by model: read afresh, written, read from the cache, written to it."""


class ClaudeTurn:
    """Collects the messages of one turn.

    `paths` are the files of the laid skills by their names. `before` are the tokens of the session when the turn began.
    """

    def __init__(
        self,
        policy: ClaudePolicy,
        paths: Mapping[str, str],
        before: Counts,
        report: Callable[[Event | ModelCall], None] | None = None,
    ) -> None:
        self.policy, self.paths, self.before, self.report = policy, paths, before, report
        self.events: list[Event] = []
        self.skills: list[SkillInvocation] = []
        self.output = self.session_id = ""
        self.result: ResultMessage | None = None
        self._calls: dict[str, ToolUseBlock] = {}
        self._messages: dict[str, set[str]] = {}  # the ids of answers, by model
        self._latest = ""
        self._error = ""  # what Claude Code says in the place of the latest answer

    def take(self, message: Any) -> None:
        """Take a message of the SDK."""
        if isinstance(message, AssistantMessage):
            self._take_answer(message)
        elif isinstance(message, UserMessage) and isinstance(message.content, list):
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    self._end_call(block)
        elif isinstance(message, ResultMessage):
            self.result = message
            self.session_id = message.session_id
            for denied in message.permission_denials or ():
                self.policy.note(str(denied.get("tool_use_id") or ""), str(denied.get("tool_name") or ""))

    def _take_answer(self, message: AssistantMessage) -> None:
        """Take a part of an answer of the model. Those of one answer have one id; those of helpers are no text of the agent."""
        self._error = message.error or ""
        key = message.message_id or message.uuid or ""
        if not message.error:  # else it is of Claude Code itself
            self._messages.setdefault(message.model, set()).add(key)
        text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
        if not message.parent_tool_use_id and not message.error:
            if text:
                self.output = text
            if text or key != self._latest:
                self._add(Event(type=MESSAGE, content=text, at_ms=_now()))
            self._latest = key
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                self._calls[block.id] = block
                self.policy.check(block.name, block.id)
                self._add(
                    Event(
                        type=START,
                        tool_call_id=block.id,
                        tool_name=block.name,
                        arguments=block.input,
                        at_ms=_now(),
                    )
                )

    def _end_call(self, block: ToolResultBlock) -> None:
        call = self._calls.get(block.tool_use_id)
        if call is None:
            return
        success = not block.is_error
        self._add(
            Event(
                type=COMPLETE,
                tool_call_id=block.tool_use_id,
                tool_result=_text(block.content),
                success=success,
                at_ms=_now(),
            )
        )
        name = call.input.get("skill") if call.name == SKILL else None
        if success and isinstance(name, str) and name:
            own = name.rpartition(":")[2]  # skills of plugins are called PLUGIN:NAME
            self.skills.append(SkillInvocation(name=own, path=self.paths.get(own, "")))

    def _add(self, event: Event) -> None:
        self.events.append(event)
        if self.report is not None and event.type != MESSAGE:
            self.report(event)

    @property
    def counts(self) -> Counts | None:
        """The tokens of the session until now; None: not known."""
        found = self.result.model_usage if self.result is not None else None
        if not found:
            return None
        return {model: _numbers(used) for model, used in found.items()}

    def usage(self, host: str) -> Usage | None:
        """Return what the turn cost, helpers included; None: not known."""
        if self.counts is None:
            return None
        models: dict[str, ModelUsage] = {}
        for model, now in self.counts.items():
            before = self.before.get(model, (0, 0, 0, 0))
            fresh, written, cached, stored = (new - old for new, old in zip(now, before, strict=True))
            if fresh or written or cached or stored:
                models[model] = ModelUsage(
                    input_tokens=fresh + cached + stored,
                    output_tokens=written,
                    cache_read_tokens=cached,
                    cache_write_tokens=stored,
                    request_count=len(self._messages.get(model, ())),
                    request_cost=0,
                )
        return Usage(
            turns=sum(len(ids) for ids in self._messages.values()),
            input_tokens=sum(one.input_tokens for one in models.values()),
            output_tokens=sum(one.output_tokens for one in models.values()),
            cache_read_tokens=sum(one.cache_read_tokens for one in models.values()),
            cache_write_tokens=sum(one.cache_write_tokens for one in models.values()),
            premium_requests=0,
            provider="anthropic",
            provider_host=host,
            model_metrics=models,
        )

    def fault(self) -> ClaudeFault | None:
        """Return why the turn failed; None: it did not. A failed one may call itself a success."""
        result = self.result
        if result is None:
            return ClaudeFault("Claude Code ended in the middle of the turn", outside=True)
        if not result.is_error and result.subtype == "success":
            return None
        status = result.api_error_status
        reasons = [result.result, *(result.errors or ())]
        stated = " ".join(" ".join(one.split()) for one in reasons if one)
        how = f"HTTP {status}" if status else result.terminal_reason or result.subtype
        throttled = status in _BUSY
        # Without a status: it could not be reached, or broke off. What else ends in an error, such as an answer that is cut off, has another one.
        unreachable = status is None and self._error == "server_error"
        return ClaudeFault(
            f"Claude Code: the turn failed ({how}){': ' if stated else ''}{stated}",
            outside=unreachable or (status is not None and status not in _OF_THE_REQUEST),
            throttled=throttled,
        )


class ClaudeFault(msgspec.Struct, frozen=True):
    """Why a turn failed, and whether for a cause outside of the agent."""

    text: str
    outside: bool = False
    throttled: bool = False


def _numbers(used: Mapping[str, Any]) -> tuple[int, int, int, int]:
    fresh, written, cached, stored = (int(used.get(key) or 0) for key in _COUNTS)
    return fresh, written, cached, stored


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts)


def _now() -> float:
    return time.time() * 1000
