"""`executor: mock`: a deterministic agent that follows a script, or echoes its prompt without one."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import ExecutorError
from waza.kit.files import is_inside, safe_join
from waza.kit.os_errors import describe_os_error
from waza.model.agent import (
    AttemptWorkspace,
    Executor,
    Interview,
    Judge,
    JudgeAnswer,
    JudgeQuestion,
    JudgeSession,
    JudgeToolCall,
    Limits,
    MockedAnswer,
    Setup,
)
from waza.model.mock import (
    JudgeStep,
    MockScript,
    MockTurn,
    ScriptedCall,
    ScriptedOffer,
    ScriptedSkill,
    ScriptedUsage,
)
from waza.model.observation import (
    COMPLETE,
    MESSAGE,
    START,
    Event,
    OfferedSkill,
    SkillInvocation,
    SkillsOffered,
    Turn,
    Usage,
    add_usage,
)
from waza.model.task import Task
from waza.model.trial import Attempt

PREVIEW = 1024  # bytes of a file that the echo shows
PASS, FAIL, WINNER = "set_waza_grade_pass", "set_waza_grade_fail", "set_pairwise_winner"
RESPONDER = "responder"  # who asks, where the question is for the one who plays the user
REPLY, STOP, ABSTAIN = "responder_reply", "responder_stop", "responder_abstain"

_sessions = itertools.count(1)


class MockExecutor:
    """The agent engine that needs no agent. Runs share nothing."""

    def __init__(self, setup: Setup) -> None:
        del setup  # the script stands in the suite

    async def start(self) -> None:
        """Nothing to get ready."""

    def works_in(self, task: Task) -> bool:
        """Tell whether the script writes or deletes files."""
        scripts = [task.mock, *task.mock.executions] if task.mock else []
        return any(turn.files or turn.delete for script in scripts if script for turn in script.turns or ())

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> MockSession:
        """Start a scripted session."""
        return MockSession(attempt.task, place, _script(attempt))

    def judge(self, attempt: Attempt) -> MockJudge:
        """Return the judge and responder that the script describes."""
        return MockJudge(_script(attempt))

    async def aclose(self) -> None:
        """Nothing to stop."""


def _script(attempt: Attempt) -> MockScript:
    return attempt.task.mock.execution(attempt.execution) if attempt.task.mock else MockScript()


class MockSession:
    """A scripted conversation: one scripted turn a prompt, then echoes."""

    def __init__(self, task: Task, place: AttemptWorkspace, script: MockScript) -> None:
        self.task, self.place, self.script = task, place, script
        self.session_id = f"mock-session-{time.time_ns()}-{next(_sessions)}"
        self.turns = 0

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Play the next turn."""
        scripted = self.script.turns or ()
        number, self.turns = self.turns, self.turns + 1
        if number >= len(scripted):
            return Turn(output=_echo(self.task, self.place, prompt), session_id=self.session_id)
        turn = scripted[number]
        started = time.monotonic()
        answered = self._answer(turn)
        timed_out = await self._delay(turn.delay_ms / 1000 + sum(delay for _, delay in answered), limits.turn)
        took = round((time.monotonic() - started) * 1000)
        if timed_out:
            error = f"the turn did not end within {limits.turn:g} s"
            return Turn(error=error, timed_out=True, duration_ms=took, session_id=self.session_id)
        calls = [call for call, _ in answered]
        return self._play(msgspec.structs.replace(turn, tool_calls=calls), number, took)

    async def aclose(self) -> None:
        """Nothing to end."""

    def _answer(self, turn: MockTurn) -> list[tuple[ScriptedCall, float]]:
        """Return the calls of a turn with their results, and the seconds that mocks take to answer them."""
        answered = []
        for call in turn.tool_calls:
            asked = self.place.ask_mocks if call.is_open else None
            found = asked(call.name, call.args) if asked else None
            answer = found or MockedAnswer("", success=True)
            given = msgspec.structs.replace(
                call,
                result=answer.result if call.result is None else call.result,
                success=answer.success if call.success is None else call.success,
                duration_ms=call.duration_ms + round(answer.delay * 1000),
            )
            answered.append((given, answer.delay))
        return answered

    async def _delay(self, seconds: float, limit: float) -> bool:
        """Wait, and tell whether the turn's limit came first."""
        if seconds:
            await asyncio.sleep(min(seconds, limit))
        return seconds > limit

    def _play(self, turn: MockTurn, number: int, took: int) -> Turn:
        self._change_files(turn)
        skills = tuple(_invocation(skill) for skill in turn.skills or ())
        return Turn(
            output=turn.output,
            events=_events(turn, number, skills),
            skills=skills,
            skills_offered=self._offered(turn),
            usage=_usage(turn.usage or ScriptedUsage()),
            duration_ms=took,
            citations=turn.citations,
            diagnostics=turn.diagnostics,
            error=turn.error or "",
            throttled=turn.throttled,
            outside=turn.throttled,
            session_id=self.session_id,
        )

    def _offered(self, turn: MockTurn) -> SkillsOffered | None:
        if turn.skills_offered is None:
            return None
        offers = [ScriptedOffer(name=one) if isinstance(one, str) else one for one in turn.skills_offered]
        return SkillsOffered(
            skills=tuple(
                OfferedSkill(
                    name=one.name, form=one.form, path=str(self.task.home / one.path) if one.path else ""
                )
                for one in offers
            )
        )

    def _change_files(self, turn: MockTurn) -> None:
        try:
            for file in turn.files:
                path = self._inside(file.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.content.encode("utf-8", "surrogatepass"))
            for name in turn.delete:
                self._inside(name).unlink(missing_ok=True)
        except OSError as error:
            raise ExecutorError(
                f"the script cannot change {error.filename}: {describe_os_error(error)}"
            ) from error

    def _inside(self, name: str) -> Path:
        root = self.place.workspace
        if root is None:
            raise ExecutorError("the script changes files, but there is no workspace")
        try:
            path = safe_join(root, name)
        except ValueError as error:
            raise ExecutorError(f"the script cannot touch {name!r}: {error}") from error
        if not is_inside(root, path):
            raise ExecutorError(f"the script cannot touch {name!r}: it leads outside of the workspace")
        return path


def _usage(usage: ScriptedUsage) -> Usage:
    return Usage(turns=1, **msgspec.structs.asdict(usage))


def _invocation(skill: ScriptedSkill | str) -> SkillInvocation:
    if isinstance(skill, str):
        return SkillInvocation(name=skill)
    return SkillInvocation(name=skill.name, path=skill.path)


def _events(turn: MockTurn, number: int, skills: tuple[SkillInvocation, ...]) -> tuple[Event, ...]:
    events = [Event(type="assistant.turn_start")]
    events += [Event(type="skill.invoked", content=skill.name) for skill in skills]
    events.append(Event(type=MESSAGE, content=turn.output))
    at = 0.0
    for i, call in enumerate(turn.tool_calls, 1):
        call_id = f"call-{number + 1}-{i}"
        events.append(
            Event(type=START, tool_call_id=call_id, tool_name=call.name, arguments=call.args, at_ms=at)
        )
        at += call.duration_ms
        events.append(
            Event(
                type=COMPLETE, tool_call_id=call_id, success=call.success, tool_result=call.result, at_ms=at
            )
        )
    if turn.error:
        events.append(Event(type="session.error", message=turn.error))
    else:
        events.append(Event(type="session.idle"))
    return tuple(events)


def _echo(task: Task, place: AttemptWorkspace, prompt: str) -> str:
    """Return the text of an unscripted turn: what the agent was given, so that suites can be tried out."""
    lines = [f"Mock response for: {prompt}"]
    if task.name:
        lines.append(f"Task: {task.name}")
    if task.description:
        lines.append(f"Description: {task.description}")
    if task.inputs.context:
        lines.append("Context:")
        lines += [f"  {key}: {_format_value(value)}" for key, value in task.inputs.context.items()]
    if place.resources:
        lines.append(f"Analyzed {len(place.resources)} file(s):")
        for resource in place.resources:
            lines.append(f"  - {resource.path}")
            if resource.size:
                preview = resource.head[:PREVIEW].decode("utf-8", "replace")
                lines.append(preview + ("...(truncated)" if resource.size > PREVIEW else ""))
    return "\n".join(lines)


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


class MockJudge:
    """The judge and the responder of a script. Pairwise passes are counted by grader."""

    def __init__(self, script: MockScript) -> None:
        self.script = script
        self.passes: Counter[str] = Counter()
        self.sessions: list[JudgeSession] = []  # of questions whose script says what they used

    async def open(self, workdir: Path | None, resume_id: str = "") -> MockInterview:
        """Start a scripted interview."""
        del workdir, resume_id
        return MockInterview(self)


class MockInterview:
    """A scripted conversation with the judge or the responder."""

    def __init__(self, judge: MockJudge) -> None:
        self.judge = judge
        self.asked = 0

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Answer as the script says."""
        if question.asker == RESPONDER:
            return self._decide()
        steps = (self.judge.script.judge or {}).get(question.asker)
        if steps is None:
            return JudgeAnswer(
                error=f"the script has no judge for {question.asker!r}; add mock.judge.{question.asker}"
            )
        if any(tool.name == WINNER for tool in question.tools):
            number = self.judge.passes[question.asker]
            self.judge.passes[question.asker] += 1
            steps = steps[number : number + 1]
        answer = _answer(steps)
        if answer.usage is not None:
            name = f"mock-judge-{next(_sessions)}"
            self.judge.sessions.append(JudgeSession(session_id=name, usage=answer.usage, calls=answer.calls))
        return answer

    async def aclose(self) -> None:
        """Nothing to end."""

    def _decide(self) -> JudgeAnswer:
        steps = self.judge.script.responder or ()
        if self.asked >= len(steps):
            return JudgeAnswer(error=f"the script's responder has no step {self.asked + 1}")
        step = steps[self.asked]
        self.asked += 1
        if step.reply is not None:
            return JudgeAnswer(calls=(JudgeToolCall(name=REPLY, args={"answer": step.reply}),))
        if step.abstain is not None:
            return JudgeAnswer(calls=(JudgeToolCall(name=ABSTAIN, args={"reason": step.abstain}),))
        return JudgeAnswer(calls=(JudgeToolCall(name=STOP, args={}),))


def _answer(steps: list[JudgeStep]) -> JudgeAnswer:
    """Return what a judge says that takes these steps; an error ends its turn."""
    calls: list[JudgeToolCall] = []
    text: list[str] = []
    usage = add_usage([_usage(step.usage) for step in steps if step.usage is not None])
    for step in steps:
        if step.error is not None:
            return JudgeAnswer(text="\n".join(text), calls=tuple(calls), error=step.error, usage=usage)
        if step.reply is not None:
            text.append(step.reply)
        elif step.winner is not None:
            args = {"winner": step.winner, "magnitude": step.magnitude, "reasoning": step.reasoning}
            calls.append(JudgeToolCall(name=WINNER, args=args))
        elif step.passes is not None:
            calls.append(JudgeToolCall(name=PASS, args={"reason": step.passes}))
        else:
            calls.append(JudgeToolCall(name=FAIL, args={"reason": step.fail or ""}))
    return JudgeAnswer(text="\n".join(text), calls=tuple(calls), usage=usage)


class ScriptedAgent(MockExecutor):
    """An agent and a user that follow a script, beside the judge of another executor, which is started already."""

    def __init__(self, judging: Executor) -> None:
        self._judging = judging

    def judge(self, attempt: Attempt) -> ScriptedUserJudge | None:  # type: ignore[override]  # the other judge answers as well
        """Return the other executor's judge; the user stays scripted."""
        judge = self._judging.judge(attempt)
        return None if judge is None else ScriptedUserJudge(_script(attempt), judge)

    async def aclose(self) -> None:
        """Stop the other executor."""
        await self._judging.aclose()


class ScriptedUserJudge:
    """A judge that answers graders, while the script plays the user."""

    def __init__(self, script: MockScript, judge: Judge) -> None:
        self._user, self._judge = MockJudge(script), judge

    @property
    def sessions(self) -> Sequence[JudgeSession]:
        """The sessions that the judge held."""
        return self._judge.sessions

    async def open(self, workdir: Path | None, resume_id: str = "") -> _AskedLater:
        """Start a conversation with the user or the judge."""
        return _AskedLater(self._user, self._judge, workdir, resume_id)


class _AskedLater:
    """A conversation that begins with its first question, by which it is known who is asked."""

    def __init__(self, user: MockJudge, judge: Judge, workdir: Path | None, resume_id: str) -> None:
        self._user, self._judge, self._where = user, judge, (workdir, resume_id)
        self._interview: Interview | None = None

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask the user or the judge."""
        if self._interview is None:
            asked: Judge = self._user if question.asker == RESPONDER else self._judge
            self._interview = await asked.open(*self._where)
        return await self._interview.ask(question)

    async def aclose(self) -> None:
        """End the conversation, if it began."""
        if self._interview is not None:
            await self._interview.aclose()
