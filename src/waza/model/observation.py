"""What was seen of an agent: events, tool calls, usage, and Observation, the sole input of graders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of a session, in the form of `runs[].transcript`.

    `at_ms` is not part of the transcript: the durations of calls come from it, and `started_ms`.
    """

    type: str
    """What happened: `user.message`, `assistant.message`, `tool.execution_start`, `tool.execution_complete`,
    or an event of the executor."""
    content: Any = None
    """The text of a message."""
    message: Any = None
    """Another form of the text, where the executor has one."""
    arguments: Any = None
    """The arguments of a tool call."""
    success: bool | None = None
    """Whether a tool call succeeded."""
    tool_call_id: str = ""
    """The id that joins the start of a tool call with its end."""
    tool_name: str = ""
    """The name of the tool."""
    tool_result: Any = None
    """What the tool answered."""
    at_ms: float | None = None
    """When it happened, in milliseconds since the Unix epoch. Times of another clock serve for durations only."""
    started_ms: int | None = None
    """Of a prompt or the start of a tool call: milliseconds since the first prompt of the attempt was sent. Left out where
    it is not known."""
    duration_ms: int = 0
    """Of a prompt: milliseconds from when it was sent to the end of its turn, with all that the executor did for it. Left
    out where it is not known."""


class ToolEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call with its result, in the form of `runs[].tool_events`.

    `turn` counts assistant messages from 1; `sequence` counts calls from 1 in the order they started.
    """

    turn: int
    """The assistant message that the call belongs to, counted from 1."""
    sequence: int
    """The number of the call, in the order in which calls started."""
    tool_call_id: str = ""
    """The id of the call."""
    tool_name: str
    """The name of the tool."""
    args: Any = None
    """The arguments."""
    result: Any = None
    """What the tool answered."""
    success: bool | None
    """Whether the call succeeded. A call that never ended did not; null: it was not recorded."""
    error: str = ""
    """The answer of a call that did not succeed."""
    duration_ms: int = 0
    """Milliseconds that the call took."""
    started_ms: int | None = None
    """When it began: milliseconds since the first prompt of the attempt was sent. Left out where it is not known."""
    truncated: bool = False
    """The result was longer than 1 MB; its head and tail are kept."""
    result_bytes: int = 0
    """The length of a result that was cut, in bytes."""


class SkillInvocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A skill that the agent loaded."""

    name: str
    """The name of the skill."""
    path: str = ""
    """The path of its `SKILL.md`, where it is known."""


class CommandInvocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of a mocked program; `args` are sanitised, `response_index` -1 means that none matched."""

    command: str
    """The name of the program."""
    args: list[str] = []
    """The arguments, without secrets."""
    exit_code: int = msgspec.field()
    """The exit code that the mock gave."""
    response_index: int = msgspec.field()
    """The response that was given, counted from 0; -1: none fitted."""
    exhausted: bool = False
    """The sequence of the response had no step left, so that the call failed."""

    @property
    def answered(self) -> bool:
        """Whether a response was given."""
        return self.response_index >= 0 and not self.exhausted


class WrittenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the agent created or changed: its path in the workspace, with `/`, and its digest."""

    path: str
    """The path in the workspace, with `/`."""
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    """The SHA-256 of its content, in hexadecimal."""


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that the agent's tool policy denied."""

    tool: str
    """The name of the tool."""
    kind: str
    """What was asked for, in the words of the runtime, such as `shell` or `mcp`."""
    reason: str
    """Why."""


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one model cost."""

    input_tokens: int = msgspec.field()
    """Tokens that the model read."""
    output_tokens: int = msgspec.field()
    """Tokens that the model wrote."""
    cache_read_tokens: int = msgspec.field()
    """Tokens that were read from the provider's cache."""
    cache_write_tokens: int = msgspec.field()
    """Tokens that were written to the provider's cache."""
    request_count: float = msgspec.field()
    """Requests to the model."""
    request_cost: float = msgspec.field()
    """Premium requests that they cost."""
    ai_credits: float | None = None
    """AI credits that they cost; left out where they are not reported."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and requests. `ai_credits` None means not reported; it is never estimated."""

    turns: int = msgspec.field()
    """Turns of the agent."""
    input_tokens: int = msgspec.field()
    """Tokens that models read."""
    output_tokens: int = msgspec.field()
    """Tokens that models wrote."""
    cache_read_tokens: int = msgspec.field()
    """Tokens that were read from the provider's cache."""
    cache_write_tokens: int = msgspec.field()
    """Tokens that were written to the provider's cache."""
    premium_requests: float = msgspec.field()
    """Premium requests of GitHub Copilot."""
    ai_credits: float | None = None
    """AI credits; left out where they are not reported for every part."""
    provider: str = ""
    """Who serves the model; `mixed` where several do."""
    provider_host: str = ""
    """The host of a model server of your own."""
    model_metrics: dict[str, ModelUsage] = {}
    """The same by model."""

    @property
    def tokens(self) -> int:
        """Input and output tokens; 0: they are not known, since every turn of a model reads some."""
        return self.input_tokens + self.output_tokens


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model, as an executor reports it when it is over."""

    model: str
    """The model that answered."""
    duration_ms: float = 0
    """Milliseconds from the request to the end of the answer; 0: not known."""
    input_tokens: int = 0
    """Tokens that the model read, those from the cache included."""
    output_tokens: int = 0
    """Tokens that it wrote."""
    cache_read_tokens: int = 0
    """Tokens that were read from the provider's cache."""
    cache_write_tokens: int = 0
    """Tokens that were written to the provider's cache."""


class OfferedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that an agent was offered."""

    name: str
    """The name of the skill."""
    form: Literal["full", "name"] = "full"
    """`full`: with its description, or its text. `name`: by its name alone."""
    path: str = ""
    """The path of its `SKILL.md`, where it is known."""
    loaded: bool = False
    """Its text was given to the agent, which need not invoke the skill."""


class SkillsOffered(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor knows of the skills that its agent was offered."""

    skills: tuple[OfferedSkill, ...] = ()
    """Those of which it is known."""
    complete: bool = True
    """Whether all are known, so that any other was not offered."""
    absent: tuple[str, ...] = ()
    """The names of skills that were not offered, where not all are known."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What one prompt led to. With `error` it broke, and holds what was seen until then."""

    output: str = ""
    """The answer: the final text of the agent."""
    events: tuple[Event, ...] = ()
    """What was seen, in order. It becomes the transcript, and tool calls are read from it."""
    skills: tuple[SkillInvocation, ...] = ()
    """Skills that the agent invoked, in order."""
    skills_offered: SkillsOffered | None = None
    """The skills that the agent was offered; None: nobody saw it. What an executor meant to offer is no answer."""
    usage: Usage | None = None
    """What the turn cost; None: not known."""
    duration_ms: int = 0
    """Milliseconds that the agent worked; 0: the engine measures them."""
    error: str = ""
    """Why there is no answer; empty: there is one."""
    throttled: bool = False
    """The agent takes no requests for now, but may later."""
    retry_after: float | None = None
    """Seconds after which it may, if its server says so."""
    outside: bool = False
    """It broke for a cause outside of the agent (its server, the disk, a runtime that died), so that a resumed
    run repeats the trial."""
    timed_out: bool = False
    """A limit ended it. What was seen until then is kept and graded."""
    session_id: str = ""
    """The id of the session, where the agent has one."""
    denials: tuple[Denial, ...] = ()
    """Calls that the tool policy of the agent denied; with any the trial is an error."""
    warnings: tuple[str, ...] = ()
    """What should be known, such as a server that did not start."""
    citations: list[dict[str, Any]] = []
    """Sources of the answer that the agent's platform names, in the form of evaluation documents."""
    diagnostics: dict[str, Any] = {}
    """What else the platform says of the answer."""
    agent: str = ""
    """The name that the agent gives itself."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was seen of one attempt: all that a grader may judge by."""

    task_id: str = ""
    """The id of the task."""
    task_name: str = ""
    """Its name."""
    prompt: str = ""
    """The first prompt, with variables filled in; empty at checkpoints."""
    question: str = ""
    """The prompt that `output` answers: the last one."""
    expected_outcome: str = ""
    """What the task says of the expected outcome, for people and judges."""
    expected: Any = None
    """What the task expects of the output, mostly a text."""
    trial: int = 1
    """The number of the trial, from 1."""
    output: str = ""
    """The final text of the last turn."""
    diagnostics: dict[str, Any] = {}
    """What the agent's platform says of the output."""
    error: str = ""
    """Why the latest prompt has no answer; empty: it has one."""
    broke: str = ""
    """The error of the executor, if that is why."""
    transcript: tuple[Event, ...] = ()
    """The events of all turns."""
    tool_events: tuple[ToolEvent, ...] = ()
    """The tool calls of all turns, each with its result."""
    skill_invocations: tuple[SkillInvocation, ...] = ()
    """The skills that the agent invoked."""
    command_invocations: tuple[CommandInvocation, ...] = ()
    """The calls of mocked programs."""
    denials: tuple[Denial, ...] = ()
    """Calls that the tool policy denied."""
    files_written: tuple[WrittenFile, ...] = ()
    """The files that the agent wrote, sorted by path; only for graders with `reads_changes`."""
    usage: Usage | None = None
    """Tokens of all turns; None: not known."""
    duration_ms: int = 0
    """Milliseconds that the agent worked."""
    session_id: str = ""
    """The id of its session."""
    workspace: str = ""
    """The absolute path of the workspace, or empty."""
    environment: dict[str, str] = {}
    """Environment variables of the task."""
    has_session: bool = True
    """Whether what the agent did was seen, not its output alone."""
    has_task: bool = True
    """Whether the prompt is known."""
    baseline_output: str | None = None
    """The output of the same trial without skills; None: not run, or not known."""

    @property
    def tools_used(self) -> list[str]:
        """The name of every call in order, duplicates kept."""
        return [event.tool_name for event in self.tool_events]

    @property
    def tokens(self) -> int | None:
        """Input and output tokens, or None where no usage was reported."""
        return None if self.usage is None else self.usage.tokens


START, COMPLETE, MESSAGE = "tool.execution_start", "tool.execution_complete", "assistant.message"
PROMPT = "user.message"
# Events of ours: an answer as a whole, and what its platform says of it; and why there is none.
ANSWER, FAILURE = "turn.answer", "turn.failure"


def turn_events(prompt: str, turn: Turn) -> tuple[Event, ...]:
    """Return the events of a turn with its prompt: before them, unless the executor reports prompts itself."""
    if any(event.type == PROMPT for event in turn.events):
        return turn.events
    return (Event(type=PROMPT, content=prompt), *turn.events)


def tool_events(events: Iterable[Event]) -> tuple[ToolEvent, ...]:
    """Pair the start and completion events of tool calls, in the order in which the calls started.

    A start without a name or an id is skipped; a call that never completed has `success` false, one whose end does not say
    has None.
    """
    started: dict[str, tuple[int, Event]] = {}
    completed: dict[str, Event] = {}
    turn, messages = 1, 0
    for event in events:
        if event.type == MESSAGE:
            messages += 1
            turn = max(1, messages)
        elif event.type == START and event.tool_name and event.tool_call_id:
            started.setdefault(event.tool_call_id, (turn, event))
        elif event.type == COMPLETE and event.tool_call_id in started:
            completed.setdefault(event.tool_call_id, event)
    return tuple(
        _tool_event(number, turn, start, completed.get(call_id))
        for number, (call_id, (turn, start)) in enumerate(started.items(), 1)
    )


def _tool_event(number: int, turn: int, start: Event, end: Event | None) -> ToolEvent:
    result = end.tool_result if end else None
    success = end.success if end else False
    took = 0.0
    if end and end.at_ms is not None and start.at_ms is not None:
        took = end.at_ms - start.at_ms
    failed = success is False and result is not None
    return ToolEvent(
        turn=turn,
        sequence=number,
        tool_call_id=start.tool_call_id,
        tool_name=start.tool_name,
        args=start.arguments,
        result=result,
        success=success,
        error=msgspec.json.encode(result).decode() if failed else "",
        duration_ms=max(0, round(took)),
        started_ms=start.started_ms,
    )


def tokens_of(usage: Usage | None) -> int | None:
    """Return input and output tokens; None where they are not known, as of a script that states none."""
    return (usage.tokens or None) if usage is not None else None


def add_usage(parts: Sequence[Usage | None]) -> Usage | None:
    """Add usages up. None when nothing was used; credits only where every part reported them."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    total = known[0] if len(known) == 1 else _sum(known)
    empty = not total.model_metrics and not (
        total.turns
        or total.input_tokens
        or total.output_tokens
        or total.cache_read_tokens
        or total.cache_write_tokens
        or total.premium_requests
        or total.ai_credits
    )
    return None if empty else total


def _sum(known: Sequence[Usage]) -> Usage:
    models = {name for part in known for name in part.model_metrics}
    return Usage(
        turns=sum(part.turns for part in known),
        input_tokens=sum(part.input_tokens for part in known),
        output_tokens=sum(part.output_tokens for part in known),
        cache_read_tokens=sum(part.cache_read_tokens for part in known),
        cache_write_tokens=sum(part.cache_write_tokens for part in known),
        premium_requests=sum(part.premium_requests for part in known),
        ai_credits=_credits([part.ai_credits for part in known]),
        **_provider(known),
        model_metrics={name: _add_model(name, known) for name in sorted(models)},
    )


def _credits(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def _provider(parts: Sequence[Usage]) -> dict[str, str]:
    found = {(part.provider, part.provider_host) for part in parts}
    if len(found) == 1:
        provider, host = found.pop()
        return {"provider": provider, "provider_host": host}
    return {"provider": "mixed", "provider_host": ""}


def _add_model(name: str, parts: Sequence[Usage]) -> ModelUsage:
    rows = [part.model_metrics[name] for part in parts if name in part.model_metrics]
    every_part_lists_models = all(part.model_metrics for part in parts)
    return ModelUsage(
        input_tokens=sum(row.input_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        cache_read_tokens=sum(row.cache_read_tokens for row in rows),
        cache_write_tokens=sum(row.cache_write_tokens for row in rows),
        request_count=sum(row.request_count for row in rows),
        request_cost=sum(row.request_cost for row in rows),
        ai_credits=_credits([row.ai_credits for row in rows]) if every_part_lists_models else None,
    )
