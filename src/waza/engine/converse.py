"""The conversation of an attempt: first prompt, follow-ups or responder, checkpoints between turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from waza.engine.attempt_clock import AttemptClock
from waza.engine.limits import TrialMeter
from waza.engine.responder import ResponderSession
from waza.engine.wire import AttemptWire
from waza.errors import ExecutorError, is_outside
from waza.model.agent import Limits, Session
from waza.model.observation import (
    ANSWER,
    FAILURE,
    PROMPT,
    CommandInvocation,
    Denial,
    Event,
    Observation,
    SkillInvocation,
    SkillsOffered,
    Turn,
    Usage,
    add_usage,
    tool_events,
    turn_events,
)
from waza.model.result import CheckpointRecord, ResponderRecord
from waza.model.task import Checkpoint, Task
from waza.workspace.relay import AttemptMocks

GRACE = 5.0  # seconds that a session gets to notice its own limit, before it is given up

GradeCheckpoint = Callable[[Checkpoint, Observation], Awaitable[CheckpointRecord]]
ReportTurn = Callable[[int, str, Turn | None], None]


class Conversation:
    """What the turns of one attempt add up to."""

    def __init__(
        self, task: Task, trial: int, workspace: str, clock: AttemptClock, mocked: AttemptMocks | None = None
    ) -> None:
        self.task, self.trial, self.workspace, self._mocked = task, trial, workspace, mocked
        self.clock = clock
        self.output = self.question = ""
        self.diagnostics: dict[str, Any] = {}
        self.events: list[Event] = []
        self.skills: list[SkillInvocation] = []
        self.skills_offered: SkillsOffered | None = None  # with the first prompt of which it is known
        self.usages: list[Usage | None] = []
        self.denials: list[Denial] = []
        self.duration_ms = 0
        self.session_id = ""
        self.error = self.unanswered = ""
        self.broke = ""  # the executor's error, about which no judge is asked
        self.timed_out = self.outside = False
        self.retry_after: float | None = None  # as the server of the agent asks
        self.checkpoints: list[CheckpointRecord] = []
        self.responder: ResponderRecord | None = None
        self.turns = 0

    def add(self, prompt: str, turn: Turn) -> None:
        """Add a turn, the answer to a prompt: its output replaces the last one, the rest adds up."""
        self.turns += 1
        self.question, self.output, self.diagnostics = prompt, turn.output, turn.diagnostics
        self.events += self.clock.timed(turn_events(prompt, turn))
        has_answer = self.task.verbatim or turn.citations or turn.diagnostics
        if has_answer and not (turn.error or turn.denials):
            details: dict[str, Any] = {"citations": turn.citations, "diagnostics": turn.diagnostics}
            known = {"session_id": turn.session_id, "agent": turn.agent}
            details |= {key: value for key, value in known.items() if value}
            self.events.append(Event(type=ANSWER, content=turn.output, message=details))
        self.skills += turn.skills
        self.skills_offered = self.skills_offered or turn.skills_offered
        self.usages.append(turn.usage)
        self.denials += turn.denials
        self.duration_ms += turn.duration_ms
        self.session_id = turn.session_id or self.session_id
        self.timed_out = self.timed_out or turn.timed_out
        self.outside = self.outside or turn.outside
        self.retry_after = turn.retry_after

    def add_broken(self, prompt: str, turn: Turn) -> None:
        """Add a later turn that broke: its prompt and cost. All else of it is kept only if its time ran out."""
        if turn.timed_out:
            before = self.output
            self.add(prompt, turn)
            self.output = turn.output or before
            return
        events = self.clock.timed(turn_events(prompt, turn))
        self.events += [event for event in events if event.type == PROMPT]
        self.outside, self.retry_after = self.outside or turn.outside, turn.retry_after
        self.usages.append(turn.usage)
        self.denials += turn.denials

    def fail_turn(self, reason: str, what: str = "", *, throttled: bool = False) -> None:
        """Record why there is no answer to the latest prompt, which `what` names if it is not the first."""
        if self.task.verbatim:
            self.events.append(Event(type=FAILURE, content=reason, message={"throttled": throttled}))
        self.unanswered = reason
        self.fail(f"{what}: {reason}" if what else reason)

    def fail(self, reason: str) -> None:
        """Record what broke the conversation, after earlier reasons."""
        self.error = f"{self.error}; {reason}" if self.error else reason

    @property
    def commands(self) -> tuple[CommandInvocation, ...]:
        """The calls of mocked programs so far."""
        return self._mocked.invocations if self._mocked else ()

    @property
    def usage(self) -> Usage | None:
        """The usage of all turns."""
        return add_usage(self.usages)

    def observation(self, *, final: bool) -> Observation:
        """Return what was seen so far. Checkpoints (`final` false) do not see the prompt."""
        return Observation(
            task_id=self.task.id,
            task_name=self.task.name,
            prompt=self.task.prompt if final else "",
            question=self.question,
            expected_outcome=self.task.expected_outcome,
            trial=self.trial,
            output=self.output,
            diagnostics=self.diagnostics,
            error=self.unanswered,
            broke=self.broke,
            transcript=tuple(self.events),
            tool_events=tool_events(self.events),
            skill_invocations=tuple(self.skills),
            command_invocations=self.commands,
            denials=tuple(self.denials),
            usage=self.usage,
            duration_ms=self.duration_ms,
            session_id=self.session_id,
            workspace=self.workspace,
            environment=self.task.inputs.environment,
        )


class Driver(msgspec.Struct):
    """The means of a conversation. `workspace_fault` returns why the workspace can no longer be graded, or "".

    `wire` adds to turns what it saw, if there is one.
    `explain_failure` makes the error of a turn of an exception. `clock` is that of the conversation; if it is
    measured, so is the duration of a turn that its executor leaves out. `meter` counts what turns use; `model` is that of the
    agent.
    """

    session: Session
    wire: AttemptWire | None
    workspace_fault: Callable[[], str]
    explain_failure: Callable[[Exception], ExecutorError]
    clock: AttemptClock
    limits: Limits
    report_turn: ReportTurn
    warn: Callable[[str], None]
    grade_checkpoint: GradeCheckpoint | None
    responder: ResponderSession | None
    meter: TrialMeter
    model: str


async def converse(conversation: Conversation, driver: Driver) -> None:
    """Send the prompt of the task, then its follow-ups or the replies of its responder, until one breaks.

    Raises ExecutorError when the first prompt could not be sent.
    """
    turn = await _send(driver, 1, conversation.task.prompt)
    conversation.add(conversation.task.prompt, turn)
    if turn.error:
        conversation.broke = turn.error
        conversation.fail_turn(turn.error, throttled=turn.throttled)
    elif turn.denials:
        conversation.fail_turn(_violation(turn))
    stopped = False if conversation.error else await _checkpoint(conversation, driver)
    if conversation.error or stopped:
        return
    if driver.responder is not None:
        await _respond(conversation, driver, driver.responder)
    else:
        await _follow_up(conversation, driver)


async def _send(driver: Driver, number: int, prompt: str) -> Turn:
    """Send one prompt. A session that exceeds the limit of the turn is given up after GRACE seconds.

    ExecutorError: a limit of the trial or of the run leaves nothing for another turn.
    """
    await driver.meter.admit(on_wire=driver.wire is not None)
    driver.report_turn(number, prompt, None)
    limits = msgspec.structs.replace(driver.limits, turn=driver.meter.within(driver.limits.turn))
    limit = limits.turn + GRACE if limits.turn else None
    started = time.monotonic()
    driver.clock.send_prompt()
    try:
        async with asyncio.timeout(limit):
            turn = _checked(await driver.session.send(prompt, limits))
    except TimeoutError:
        seconds = limits.turn
        turn = Turn(
            error=f"the agent did not answer within {seconds:g} s",
            timed_out=True,
            duration_ms=int(seconds * 1000),
        )
    finally:
        driver.clock.end_turn()
    if driver.wire is not None:
        turn = driver.wire.complete(prompt, turn)
    turn = driver.meter.count_turn(turn, driver.model)
    if driver.clock.measured and not turn.duration_ms:
        took = round((time.monotonic() - started) * 1000)
        turn = msgspec.structs.replace(turn, duration_ms=took)
    if displaced := driver.workspace_fault():
        turn = msgspec.structs.replace(turn, error="; ".join(filter(None, (turn.error, displaced))))
    for warning in turn.warnings:
        driver.warn(warning)
    driver.report_turn(number, prompt, turn)
    return turn


def _checked(turn: object) -> Turn:
    """Return what a session answered, if it is a turn. ExecutorError: it is something else, or made of other types."""
    if not isinstance(turn, Turn):
        raise ExecutorError(f"the executor returned {type(turn).__name__}, not a Turn")
    for name in ("output", "error"):
        if not isinstance(value := getattr(turn, name), str):
            raise ExecutorError(f"the executor's Turn has {name}={value!r}, which is not a text")
    if not isinstance(turn.usage, Usage | None):
        raise ExecutorError(f"the executor's Turn has usage={turn.usage!r}, which is not a Usage")
    if not isinstance(turn.skills_offered, SkillsOffered | None):
        raise ExecutorError(
            f"the executor's Turn has skills_offered={turn.skills_offered!r}, which is no SkillsOffered"
        )
    if not all(isinstance(event, Event) for event in turn.events):
        raise ExecutorError("the executor's Turn has events that are not of the class Event")
    return turn


async def _send_next(conversation: Conversation, driver: Driver, prompt: str, what: str) -> bool:
    """Send a later prompt; return whether the conversation may continue."""
    try:
        turn = await _send(driver, conversation.turns + 1, prompt)
    except Exception as error:  # noqa: BLE001 - executors are other people's code: the turns before are kept
        turn = Turn(error=str(driver.explain_failure(error)), outside=is_outside(error))
    if turn.error:
        conversation.broke = turn.error
        conversation.add_broken(prompt, turn)
        conversation.fail_turn(turn.error, what, throttled=turn.throttled)
        return False
    conversation.add(prompt, turn)
    if turn.denials:
        conversation.fail_turn(_violation(turn))
        return False
    return not await _checkpoint(conversation, driver)


async def _follow_up(conversation: Conversation, driver: Driver) -> None:
    prompts = conversation.task.follow_ups
    for i, prompt in enumerate(prompts, 1):
        if not await _send_next(conversation, driver, prompt, f"follow-up {i}/{len(prompts)}"):
            return


async def _respond(conversation: Conversation, driver: Driver, responder: ResponderSession) -> None:
    sent = 0

    def record(outcome: str, reason: str = "") -> None:
        conversation.responder = ResponderRecord(followups_sent=sent, outcome=outcome, reason=reason)  # type: ignore[arg-type]  # one of the four words

    record("error")
    while sent < responder.max_replies:
        decision = await responder.decide(conversation.output)
        if decision.error:
            conversation.fail(f"responder: {decision.error}")
            return record("error", decision.error)
        if decision.stop:
            return record("stopped")
        if decision.abstain:
            conversation.fail(f"the responder abstained: {decision.abstain}")
            return record("abstained", decision.abstain)
        before = conversation.error
        turns = conversation.turns
        continues = await _send_next(conversation, driver, decision.reply, f"responder reply {sent + 1}")
        sent += conversation.turns - turns
        if not continues:
            broke = conversation.error != before and not (
                conversation.checkpoints and conversation.checkpoints[-1].stopped
            )
            return record("error" if broke else "stopped", conversation.error if broke else "")
    return record("cap_exhausted")


async def _checkpoint(conversation: Conversation, driver: Driver) -> bool:
    """Grade the checkpoint of the turn that just ended, if there is one; return whether it stops the conversation."""
    point = next(
        (point for point in conversation.task.checkpoints if point.after_turn == conversation.turns), None
    )
    if point is None or driver.grade_checkpoint is None:
        return False
    graded = await driver.grade_checkpoint(point, conversation.observation(final=False))
    conversation.checkpoints.append(graded)
    if graded.stopped:
        failed = sorted(name for name, validation in graded.validations.items() if not validation.passed)
        conversation.fail(
            f"the checkpoint after turn {point.after_turn} stopped the run; failed: {', '.join(failed)}"
        )
    return graded.stopped


def _violation(turn: Turn) -> str:
    tools = ", ".join(sorted({denial.tool for denial in turn.denials}))
    return f"tool policy violation: {len(turn.denials)} denied call(s) of {tools}"
