"""From the runtime's events to ours: transcript, output, skills, usage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from waza.kit import http
from waza.model.observation import MESSAGE, Event, ModelCall, ModelUsage, SkillInvocation, Usage

BOOKKEEPING = "report_intent"
"""The tool by which the runtime keeps its own books: its calls say nothing of what the agent did."""
_UNSEEN = (
    "unknown",
    "hook.",
    "session.background",
    "session.usage",
    "session.tools_updated",
    "pending_messages.",
)
NANO_CREDITS = 1e9
"""Of the unit in which the runtime counts AI credits: how many are one."""


class Collector:
    """Collects the events of one turn. Sub-agents' messages are kept, but are not the agent's answer.

    `report` gets each event, and each call of a model, when it comes.
    """

    def __init__(self, report: Callable[[Event | ModelCall], None] | None = None) -> None:
        self._report = report
        self.events: list[Event] = []
        self.output: list[str] = []
        self.skills: list[SkillInvocation] = []
        self.turns = 0
        self.tokens = _Tokens()
        self.error = ""
        self.throttled = self.outside = False
        self._dropped: set[str] = set()

    def add(self, event: Any) -> None:
        """Take an event of the SDK."""
        kind = event.type.value
        data = _plain(event.data)
        call_id = str(data.get("toolCallId", ""))
        if data.get("toolName") == BOOKKEEPING or call_id in self._dropped:
            self._dropped.add(call_id)
            return
        self._note(kind, data, of_sub_agent=bool(getattr(event, "agent_id", None)))
        if not (getattr(event, "ephemeral", False) or kind.startswith(_UNSEEN)) or kind == "session.idle":
            self.events.append(_event(kind, data, event))
            if self._report is not None:
                self._report(self.events[-1])
        if self._report is not None and kind == "assistant.usage":
            self._report(_model_call(data))

    def _note(self, kind: str, data: Mapping[str, Any], *, of_sub_agent: bool) -> None:
        if kind == MESSAGE and not of_sub_agent:
            self.output.append(str(data.get("content") or ""))
        elif kind == "skill.invoked":
            self.skills.append(
                SkillInvocation(name=str(data.get("name") or ""), path=str(data.get("path") or ""))
            )
        elif kind == "assistant.turn_start":
            self.turns += 1
        elif kind == "assistant.usage":
            self.tokens.add(data)
        elif kind == "session.error" and not of_sub_agent:
            self.error = str(data.get("message") or "the session ended in an error without a message")
            self.throttled = data.get("statusCode") == http.TOO_MANY_REQUESTS
            self.outside = http.is_outside(data.get("statusCode"))

    @property
    def text(self) -> str:
        """The agent's answer: all its messages, one after another."""
        return "".join(self.output)


class _Tokens:
    """Tokens summed over model calls."""

    def __init__(self) -> None:
        self.input = self.output = self.cache_read = self.cache_write = self.calls = 0
        self.cost = 0.0

    def add(self, data: Mapping[str, Any]) -> None:
        self.input += int(data.get("inputTokens") or 0)
        self.output += int(data.get("outputTokens") or 0)
        self.cache_read += int(data.get("cacheReadTokens") or 0)
        self.cache_write += int(data.get("cacheWriteTokens") or 0)
        self.cost += float(data.get("cost") or 0)
        self.calls += 1


def _plain(data: Any) -> dict[str, Any]:
    plain = data.to_dict() if hasattr(data, "to_dict") else {}
    return plain if isinstance(plain, dict) else {}


def _event(kind: str, data: Mapping[str, Any], event: Any) -> Event:
    moment = getattr(event, "timestamp", None)
    result = data.get("result")
    if kind == "tool.execution_complete" and result is None and data.get("error"):
        result = {"error": data["error"]}
    return Event(
        type=kind,
        content=data.get("content"),
        message=data.get("message"),
        arguments=data.get("arguments"),
        success=data.get("success"),
        tool_call_id=str(data.get("toolCallId") or ""),
        tool_name=str(data.get("toolName") or ""),
        tool_result=result if kind == "tool.execution_complete" else None,
        at_ms=moment.timestamp() * 1000 if isinstance(moment, datetime) else None,
    )


def _model_call(data: Mapping[str, Any]) -> ModelCall:
    return ModelCall(
        model=str(data.get("model") or ""),
        duration_ms=float(data.get("duration") or 0),
        input_tokens=int(data.get("inputTokens") or 0),
        output_tokens=int(data.get("outputTokens") or 0),
        cache_read_tokens=int(data.get("cacheReadTokens") or 0),
        cache_write_tokens=int(data.get("cacheWriteTokens") or 0),
    )


class Meter:
    """The usage of one session, which the runtime reports as totals: each turn's is what came on top."""

    def __init__(self, provider_host: str, *, custom: bool) -> None:
        self.host, self.custom = provider_host, custom
        self._before: dict[str, ModelUsage] = {}
        self._requests_before = 0.0

    def turn(self, collector: Collector, metrics: Mapping[str, Any] | None) -> Usage:
        """Return the usage of a turn. `metrics` are the session's totals so far, None if they cannot be had.

        Totals win over the sums of model calls, unless they report no tokens at all.
        """
        models = _models(metrics or {})
        grown = {
            name: _minus(now, self._before.get(name))
            for name, now in models.items()
            if now != self._before.get(name)
        }
        self._before = {**self._before, **models}
        tokens, premium = collector.tokens, float((metrics or {}).get("totalPremiumRequestCost") or 0)
        known = any(part.input_tokens or part.output_tokens for part in grown.values())
        requests = premium - self._requests_before
        self._requests_before = max(premium, self._requests_before)
        if self.custom:
            requests = sum(part.request_count for part in grown.values()) or tokens.calls
        return Usage(
            turns=collector.turns,
            input_tokens=_sum(grown, "input_tokens") if known else tokens.input,
            output_tokens=_sum(grown, "output_tokens") if known else tokens.output,
            cache_read_tokens=_sum(grown, "cache_read_tokens") if known else tokens.cache_read,
            cache_write_tokens=_sum(grown, "cache_write_tokens") if known else tokens.cache_write,
            premium_requests=requests if metrics is not None or self.custom else tokens.cost,
            ai_credits=_credits(grown),
            provider="custom" if self.custom else "",
            provider_host=self.host if self.custom else "",
            model_metrics=grown,
        )


def _models(metrics: Mapping[str, Any]) -> dict[str, ModelUsage]:
    return {name: _model(found) for name, found in (metrics.get("modelMetrics") or {}).items()}


def _model(found: Mapping[str, Any]) -> ModelUsage:
    usage, requests = found.get("usage") or {}, found.get("requests") or {}
    reported = found.get("aiCreditsStatus") not in (None, "unavailable")
    return ModelUsage(
        input_tokens=int(usage.get("inputTokens") or 0),
        output_tokens=int(usage.get("outputTokens") or 0),
        cache_read_tokens=int(usage.get("cacheReadTokens") or 0),
        cache_write_tokens=int(usage.get("cacheWriteTokens") or 0),
        request_count=float(requests.get("count") or 0),
        request_cost=float(requests.get("cost") or 0),
        ai_credits=float(found.get("totalNanoAiu") or 0) / NANO_CREDITS if reported else None,
    )


def _minus(now: ModelUsage, before: ModelUsage | None) -> ModelUsage:
    if before is None:
        return now
    return ModelUsage(
        input_tokens=now.input_tokens - before.input_tokens,
        output_tokens=now.output_tokens - before.output_tokens,
        cache_read_tokens=now.cache_read_tokens - before.cache_read_tokens,
        cache_write_tokens=now.cache_write_tokens - before.cache_write_tokens,
        request_count=now.request_count - before.request_count,
        request_cost=now.request_cost - before.request_cost,
        ai_credits=None if now.ai_credits is None else now.ai_credits - (before.ai_credits or 0),
    )


def _sum(models: Mapping[str, ModelUsage], field: str) -> int:
    return sum(getattr(part, field) for part in models.values())


def _credits(models: Mapping[str, ModelUsage]) -> float | None:
    parts = [part.ai_credits for part in models.values()]
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None
