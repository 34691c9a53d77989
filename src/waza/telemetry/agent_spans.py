"""Spans of what the agent does: turns, and in them calls of tools, models and mocks."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from opentelemetry.trace import Span, SpanKind

from waza.model.attempt_event import (
    AttemptFinished,
    AttemptStarted,
    CommandCalled,
    McpCalled,
    ModelCalled,
    ToolCallFinished,
    ToolCallStarted,
    TriggerPromptFinished,
    TriggerPromptStarted,
)
from waza.model.event import PromptSent, ResponseSeen
from waza.model.observation import ToolEvent, Usage
from waza.results.ending import GRADING
from waza.telemetry.payloads import Attributes
from waza.telemetry.run_names import RunNames, attempt_path
from waza.telemetry.span_tree import Path, SpanFault, SpanTree

_MODEL = ""  # no tool call has this id
_FAILED_CALL = SpanFault("tool_error", "the call failed")
_NANO = 1_000_000  # nanoseconds of a millisecond


class AgentSpans:
    """Makes the spans of attempts and of what happens in them until they are graded."""

    def __init__(self, tree: SpanTree, names: RunNames) -> None:
        self._tree, self._names = tree, names
        self._agents: dict[Path, str] = {}  # the custom agent of each attempt that is open
        self._turns: dict[Path, Span] = {}  # the latest turn of each attempt that is open
        # Of each turn that is open the ids of the tool calls that were reported as they happened; _MODEL for models.
        self._reported: defaultdict[Path, set[str]] = defaultdict(set)

    def latest_turn(self, attempt: Path) -> Span | None:
        """Return the turn that graders judge."""
        return self._turns.get(attempt)

    def start_attempt(self, event: AttemptStarted) -> None:
        """Start the span of an attempt."""
        path = attempt_path(event)
        attributes: Attributes = {"waza.attempt.number": event.attempt, "waza.trial.number": event.trial}
        self._tree.begin(path, "waza.attempt", attributes)
        self._agents[path] = event.agent

    def finish_attempt(self, event: AttemptFinished) -> None:
        """End the span of an attempt."""
        result, path, names = event.result, attempt_path(event), self._names
        attributes: Attributes = {"waza.attempt.status": result.status}
        if result.workspace_dir:
            attributes["waza.workspace.dir"] = names.payloads.name(result.workspace_dir)
        self._tree.end(
            path,
            attributes,
            broken(names, result.status, result.error_msg, timed_out=bool(result.timed_out)),
        )
        self._agents.pop(path, None)
        self._turns.pop(path, None)
        names.measures.attempts.add(1, {**names.labels, "waza.attempt.status": result.status})

    def start_trigger(self, event: TriggerPromptStarted) -> None:
        """Start the span of a prompt of the trigger tests."""
        attributes: Attributes = {
            "waza.trigger.number": event.trial,
            "waza.trigger.should_trigger": event.should_trigger,
        }
        if event.confidence:
            attributes["waza.trigger.confidence"] = event.confidence
        self._tree.begin(attempt_path(event), "waza.trigger", attributes)

    def finish_trigger(self, event: TriggerPromptFinished) -> None:
        """End the span of a prompt of the trigger tests. A skill that did not fire is no error."""
        kind = "timeout" if event.timed_out else "executor"
        fault = self._names.fault(kind, event.error) if event.error else None
        path = attempt_path(event)
        self._tree.end(path, {"waza.trigger.did_trigger": event.did_trigger}, fault)
        self._turns.pop(path, None)

    def start_turn(self, event: PromptSent) -> None:
        """Start the span of a turn."""
        names, attempt = self._names, (event.task_id, event.trial, event.attempt)
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            **names.provider,
            **names.model,
            "waza.turn.number": event.turn,
            "waza.turn.kind": event.kind,
            **({} if event.kind == "trigger" else {"waza.turn.trial": event.trial}),
            **names.payloads.attributes("prompt", event.text),
        }
        if agent := self._agents.get(attempt):
            attributes["gen_ai.agent.name"] = names.payloads.name(agent)
        self._turns[attempt] = self._tree.begin((*attempt, "turn", event.turn), "waza.turn", attributes)

    def finish_turn(self, event: ResponseSeen) -> None:
        """End the span of a turn, after those of what was reported only now."""
        path: Path = (event.task_id, event.trial, event.attempt, "turn", event.turn)
        if path not in self._tree:
            return
        names, now = self._names, self._tree.now()
        self._add_tools(path, event.calls, now)
        self._add_models(path, event.usage, now)
        self._reported.pop(path, None)
        finish = "error" if event.error else "stop"
        attributes = names.payloads.attributes("completion", event.text, finish=finish)
        attributes |= names.usage(event.usage)
        if event.session_id:
            attributes |= {"gen_ai.conversation.id": event.session_id, "waza.session.id": event.session_id}
        if event.agent:
            attributes["gen_ai.agent.name"] = names.payloads.name(event.agent)
        kind = "timeout" if event.timed_out else "executor"
        fault = names.fault(kind, event.error) if event.error else None
        took = self._tree.end(path, attributes, fault, at=now)
        labels = {"gen_ai.operation.name": "invoke_agent", **names.provider, **names.model}
        names.measures.add_tokens(event.usage, labels)
        labels |= {"error.type": fault.type} if fault else {}
        names.measures.agent_seconds.record(took, labels)
        names.measures.operation_seconds.record(took, labels)

    def start_tool(self, event: ToolCallStarted) -> None:
        """Start the span of a tool call that is reported as it happens."""
        turn = _turn(event)
        if turn in self._tree:
            self._reported[turn].add(event.call_id)
            attributes = self._tool(event.call_id, event.tool, event.args)
            self._tree.begin((*turn, "tool", event.call_id), "waza.tool_call", attributes)

    def finish_tool(self, event: ToolCallFinished) -> None:
        """End the span of a tool call."""
        path: Path = (*_turn(event), "tool", event.call_id)
        if path not in self._tree:
            return
        attributes: Attributes = {
            "waza.tool.success": event.success,
            **self._names.payloads.attributes("tool.result", event.result),
        }
        took = self._tree.end(path, attributes, None if event.success else _FAILED_CALL)
        self._record_tool(event.tool, took, success=event.success)

    def add_model_call(self, event: ModelCalled) -> None:
        """Add the span of a model call that was reported when it ended."""
        turn, call, now = _turn(event), event.call, self._tree.now()
        if turn not in self._tree:
            return
        self._reported[turn].add(_MODEL)
        self._tree.add(
            (*turn, "model", now),
            "waza.model_call",
            {**self._model(call.model), **self._names.usage(call)},
            start=now - round(call.duration_ms * _NANO),
            end=now,
            kind=SpanKind.CLIENT,
        )

    def add_command(self, event: CommandCalled) -> None:
        """Add the span of a call of a mocked program."""
        call, now, payloads = event.call, self._tree.now(), self._names.payloads
        attributes: Attributes = {
            "process.executable.name": payloads.name(call.command),
            "process.exit.code": call.exit_code,
            "waza.mock.response_index": call.response_index,
            **payloads.attributes("command.arguments", call.args),
        }
        fault = SpanFault("exit_code", f"exit code {call.exit_code}") if call.exit_code else None
        start = now - round(event.duration_ms * _NANO)
        path: Path = (*_turn(event), "command", now)
        self._tree.add(path, "waza.command_call", attributes, fault, start=start, end=now)

    def add_mcp(self, event: McpCalled) -> None:
        """Add the span of a call of a mocked MCP server."""
        now, payloads = self._tree.now(), self._names.payloads
        attributes: Attributes = {
            "mcp.method.name": "tools/call",
            "waza.mcp.server": payloads.name(event.server),
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": payloads.name(event.tool),
            **payloads.attributes("tool.arguments", event.args),
            **payloads.attributes("tool.result", event.result),
        }
        fault = SpanFault("tool_error", "the answer is an error") if event.error else None
        start = now - round(event.duration_ms * _NANO)
        path: Path = (*_turn(event), "mcp", now)
        self._tree.add(path, "waza.mcp_call", attributes, fault, start=start, end=now)

    def _add_tools(self, turn: Path, calls: tuple[ToolEvent, ...], now: int) -> None:
        """Add the tool calls of which only the durations are known: one after another from the start of the turn."""
        start = self._tree.started(turn)
        for call in calls:
            if call.tool_call_id in self._reported[turn]:
                continue
            end = min(start + call.duration_ms * _NANO, now)
            attributes: Attributes = {
                **self._tool(call.tool_call_id, call.tool_name, call.args),
                **({} if call.success is None else {"waza.tool.success": call.success}),
                "waza.time.estimated": True,
                **self._names.payloads.attributes("tool.result", call.result),
            }
            path: Path = (*turn, "tool", call.tool_call_id)
            failed = call.success is False  # None: it was not recorded
            fault = _FAILED_CALL if failed else None
            self._tree.add(path, "waza.tool_call", attributes, fault, start=start, end=end)
            self._record_tool(call.tool_name, call.duration_ms / 1000, success=not failed)
            start = end

    def _add_models(self, turn: Path, usage: Usage | None, now: int) -> None:
        """Add what each model did in a turn of which no calls were reported: it is as long as the turn."""
        if usage is None or _MODEL in self._reported[turn]:
            return
        costs: dict[str, Attributes] = {}
        for name, one in usage.model_metrics.items():
            whole = Usage(
                turns=0,
                input_tokens=one.input_tokens,
                output_tokens=one.output_tokens,
                cache_read_tokens=one.cache_read_tokens,
                cache_write_tokens=one.cache_write_tokens,
                premium_requests=one.request_count,
            )
            costs[name] = self._names.usage(whole)
        if not costs and (usage.input_tokens or usage.output_tokens):
            costs[""] = self._names.usage(usage)
        for name, cost in costs.items():
            attributes = {**self._model(name), **cost, "waza.time.estimated": True}
            start = self._tree.started(turn)
            path: Path = (*turn, "model", name)
            self._tree.add(path, "waza.model_call", attributes, start=start, end=now, kind=SpanKind.CLIENT)

    def _tool(self, call_id: str, tool: str, args: Any) -> Attributes:
        payloads = self._names.payloads
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": payloads.name(tool),
            "gen_ai.tool.call.id": payloads.name(call_id),
            **payloads.attributes("tool.arguments", args),
        }

    def _record_tool(self, tool: str, seconds: float, *, success: bool) -> None:
        labels = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": self._names.payloads.name(tool),
        }
        labels |= {} if success else {"error.type": _FAILED_CALL.type}
        self._names.measures.tool_seconds.record(seconds, labels)

    def _model(self, model: str) -> Attributes:
        name = {"gen_ai.response.model": self._names.payloads.name(model)} if model else {}
        return {"gen_ai.operation.name": "chat", **self._names.provider, **self._names.model, **name}


def broken(names: RunNames, status: str, message: str, *, timed_out: bool = False) -> SpanFault | None:
    """Return what an attempt or a trial broke with; None: it did not."""
    if status != "error":
        return None
    kind = "timeout" if timed_out else "grading" if message.startswith(GRADING) else "executor"
    return names.fault(kind, message)


def _turn(event: ToolCallStarted | ToolCallFinished | ModelCalled | CommandCalled | McpCalled) -> Path:
    return (*attempt_path(event), "turn", event.turn)
