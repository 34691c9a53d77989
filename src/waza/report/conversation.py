"""What was seen of an agent in a trial, turn by turn, from its transcript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from waza.model.observation import ANSWER, COMPLETE, FAILURE, MESSAGE, PROMPT, START, Event, ToolEvent
from waza.model.result import TrialResult

_SKILL = "skill.invoked"
_ERROR = "session.error"


class AgentMessage(msgspec.Struct, frozen=True):
    """What the agent wrote."""

    text: str


class TurnFailure(msgspec.Struct, frozen=True):
    """What kept the agent from answering."""

    text: str


class SkillLoaded(msgspec.Struct, frozen=True):
    """The agent loaded a skill."""

    name: str


class CallMade(msgspec.Struct, frozen=True):
    """The agent called a tool. `ended` is False for a call whose end was not seen."""

    call: ToolEvent
    ended: bool = True


class AnswerDetails(msgspec.Struct, frozen=True):
    """What the agent's platform reports of an answer: citations, diagnostics."""

    found: dict[str, Any]


Step = AgentMessage | AnswerDetails | TurnFailure | SkillLoaded | CallMade


class ShownTurn(msgspec.Struct, frozen=True):
    """A prompt and what followed. `prompt` is None where the transcript does not have it.

    `started_ms` and `duration_ms` are those of the prompt's event.
    """

    prompt: str | None
    steps: list[Step]
    started_ms: int | None = None
    duration_ms: int = 0


class ShownConversation(msgspec.Struct, frozen=True):
    """The turns of a trial. `others` counts all other events by their types.

    `whole` is False where the trial has no transcript: there is the first prompt then, the calls, and the final output.
    """

    turns: list[ShownTurn]
    others: dict[str, int]
    whole: bool = True


def conversation_of(run: TrialResult) -> ShownConversation:
    """Return the turns of a trial."""
    if not run.transcript:
        calls: list[Step] = [CallMade(call) for call in calls_of(run)]
        output: list[Step] = [AgentMessage(run.final_output)] if run.final_output else []
        return ShownConversation([ShownTurn(run.prompt, [*calls, *output])], {}, whole=False)
    return _Reader(run).read()


def calls_of(run: TrialResult) -> list[ToolEvent]:
    """Return the tool calls of a trial; older files have them in the digest alone, without durations."""
    if run.tool_events or not run.session_digest.tool_calls:
        return list(run.tool_events)
    return [
        ToolEvent(
            turn=1,
            sequence=number,
            tool_call_id=call.id,
            tool_name=call.name,
            args=call.arguments,
            result=call.result,
            success=call.success,
        )
        for number, call in enumerate(run.session_digest.tool_calls, 1)
    ]


def result_text(result: Any) -> str:
    """Return what a tool answered as text: its content or its error, where it has one, else JSON."""
    if result is None or isinstance(result, str):
        return result or ""
    if isinstance(result, dict):
        if isinstance(result.get("content"), str):
            return str(result["content"])
        error = result.get("error")
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            return str(error["message"])
    return msgspec.json.encode(result, enc_hook=str).decode()


class _Reader:
    """Goes through a transcript once."""

    def __init__(self, run: TrialResult) -> None:
        self.run = run
        self.calls = {call.tool_call_id: call for call in calls_of(run)}
        self.skills = [skill.name for skill in run.skill_invocations]
        self.ended = {event.tool_call_id for event in run.transcript if event.type == COMPLETE}
        self.turns: list[ShownTurn] = []
        self.answered = False  # the turn at hand has its answer as a whole
        self.others = Counter[str]()

    def read(self) -> ShownConversation:
        for event in self.run.transcript:
            self._add(event)
        self._add_output()
        return ShownConversation(self.turns, dict(self.others))

    def _add(self, event: Event) -> None:
        match event.type:
            case str(kind) if kind == PROMPT:
                self._start(_text(event.content), event.started_ms, event.duration_ms)
            case str(kind) if kind == MESSAGE:
                if text := _text(event.content) or _text(event.message):
                    self._step(AgentMessage(text))
            case str(kind) if kind == ANSWER:
                self._answer(_text(event.content), event.message)
            case str(kind) if kind in (FAILURE, _ERROR):
                self._step(TurnFailure(_text(event.content) or _text(event.message)))
                self.answered = self.answered or kind == FAILURE
            case str(kind) if kind == _SKILL:
                self._step(SkillLoaded(self.skills.pop(0) if self.skills else _text(event.content)))
            case str(kind) if kind == START:
                self._step(self._call(event))
            case str(kind) if kind != COMPLETE:
                self.others[kind] += 1

    def _add_output(self) -> None:
        """Add the final output, if it can only be the answer to the last prompt, and no event has an answer to that."""
        steps = self.turns[-1].steps if self.turns else []
        answered = any(isinstance(step, AgentMessage | TurnFailure) for step in steps)
        is_of_last = not self.run.error_msg or len(self.turns) == 1
        if self.turns and not answered and self.run.final_output and is_of_last:
            steps.append(AgentMessage(self.run.final_output))

    def _start(self, prompt: str | None, started_ms: int | None = None, duration_ms: int = 0) -> None:
        self.turns.append(ShownTurn(prompt, [], started_ms, duration_ms))
        self.answered = False

    def _step(self, step: Step) -> None:
        if not self.turns or self.answered:  # results of programs that record no prompts
            self._start(None if self.turns else self.run.prompt)
        self.turns[-1].steps.append(step)

    def _answer(self, text: str, details: Any) -> None:
        """Add an answer as a whole, unless a message of its turn is the same, and what is reported of it."""
        if not self.turns or self.answered or AgentMessage(text) not in self.turns[-1].steps:
            self._step(AgentMessage(text))
        if isinstance(details, dict):
            found = {key: details[key] for key in ("citations", "diagnostics") if details.get(key)}
            self.turns[-1].steps.extend([AnswerDetails(found)] if found else [])
        self.answered = True

    def _call(self, event: Event) -> CallMade:
        known = self.calls.get(event.tool_call_id)
        ended = event.tool_call_id in self.ended
        return CallMade(
            known
            or ToolEvent(turn=1, sequence=1, tool_name=event.tool_name, args=event.arguments, success=False),
            ended=ended,
        )


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value, enc_hook=str).decode()


def mock_errors(calls: Iterable[ToolEvent]) -> list[ToolEvent]:
    """Return the calls of mocked MCP servers that were answered with an error, such as that no response matches."""
    return [call for call in calls if call.success is False and "MCP mock '" in result_text(call.result)]
