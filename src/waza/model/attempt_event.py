"""What happens inside an attempt, passed to listeners that ask for it (`RunOptions.detailed`) as it happens.

None of these events has a time: a listener gets each at the moment it happens. Those that say how long something took
come at its end.
"""

from __future__ import annotations

from typing import Any, Literal

from waza.model.event import RunEvent
from waza.model.observation import CommandInvocation, ModelCall, Usage
from waza.model.result import TrialResult, Validation


class AttemptEvent(RunEvent, frozen=True, kw_only=True):
    """Something happened in an attempt; `attempt` 0: in a trial from the cache, which has new verdicts only."""

    task_id: str
    name: str
    trial: int
    attempt: int


class AttemptStarted(AttemptEvent, frozen=True, kw_only=True):
    """An attempt starts: its workspace is not yet made. `attempts` is how many there may be.

    `agent` is the custom agent under test, if any.
    """

    attempts: int
    agent: str = ""


class AttemptFinished(AttemptEvent, frozen=True, kw_only=True):
    """An attempt ended. `result` is not redacted yet."""

    result: TrialResult


class ToolCallStarted(AttemptEvent, frozen=True, kw_only=True):
    """The agent calls a tool, in this turn. Only of executors that report what happens in a turn."""

    turn: int
    call_id: str
    tool: str
    args: Any = None


class ToolCallFinished(AttemptEvent, frozen=True, kw_only=True):
    """A tool call ended that was reported as started."""

    turn: int
    call_id: str
    tool: str
    success: bool
    result: Any = None


class ModelCalled(AttemptEvent, frozen=True, kw_only=True):
    """A call of a model ended. Only of executors that report what happens in a turn."""

    turn: int
    call: ModelCall


class CommandCalled(AttemptEvent, frozen=True, kw_only=True):
    """The agent called a mocked program, which took so many milliseconds to answer; `turn` as in `PromptSent`."""

    turn: int
    call: CommandInvocation
    duration_ms: float


class McpCalled(AttemptEvent, frozen=True, kw_only=True):
    """The agent called a tool of a mocked MCP server. `error`: the answer is an error."""

    turn: int
    server: str
    tool: str
    args: Any = None
    result: Any = None
    error: bool = False
    duration_ms: float


class GraderStarted(AttemptEvent, frozen=True, kw_only=True):
    """A grader is asked; `after_turn` is that of its checkpoint, 0: at the end."""

    grader: str
    type: str
    after_turn: int = 0


class GraderFinished(AttemptEvent, frozen=True, kw_only=True):
    """A grader answered, or reached no verdict (`error`). The checks under `expected` have no `GraderStarted`."""

    grader: str
    after_turn: int = 0
    validation: Validation
    error: str = ""


class TriggerPromptStarted(AttemptEvent, frozen=True, kw_only=True):
    """A prompt of the trigger tests starts, in a session of its own; `trial` is its number, from 1.

    Only tracers get this event, and those of what happens in such a session.
    """

    should_trigger: bool
    confidence: Literal["", "high", "medium"] = ""


class TriggerPromptFinished(AttemptEvent, frozen=True, kw_only=True):
    """A prompt of the trigger tests ended. `did_trigger`: the skill fired, also if the session broke after it (`error`)."""

    did_trigger: bool
    error: str = ""
    timed_out: bool = False


class JudgeAsked(AttemptEvent, frozen=True, kw_only=True):
    """A judge or the responder is asked by `asker`: a grader, or `responder`. `number` counts the questions of an attempt.

    `provider` is who serves the model; empty: the executor.
    """

    number: int
    asker: str
    model: str = ""
    provider: str = ""
    question: str


class JudgeAnswered(AttemptEvent, frozen=True, kw_only=True):
    """A judge or the responder answered the question of this number, or broke (`error`)."""

    number: int
    asker: str
    answer: str = ""
    calls: tuple[str, ...] = ()
    error: str = ""
    usage: Usage | None = None
    session_id: str = ""
