"""Reports what happens inside an attempt as it happens, for listeners that want to know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.model.agent import Interview, Judge, JudgeAnswer, JudgeQuestion, JudgeSession
from waza.model.attempt_event import (
    AttemptFinished,
    AttemptStarted,
    CommandCalled,
    GraderFinished,
    GraderStarted,
    JudgeAnswered,
    JudgeAsked,
    McpCalled,
    ModelCalled,
    ToolCallFinished,
    ToolCallStarted,
    TriggerPromptFinished,
    TriggerPromptStarted,
)
from waza.model.event import RunEvent
from waza.model.loaded import TriggerPrompt
from waza.model.observation import COMPLETE, START, CommandInvocation, Event, ModelCall, Turn
from waza.model.result import TrialResult, Validation
from waza.model.tracing import RunTracer
from waza.model.trial import Trial
from waza.model.verdict import BuiltGrader, Helpers, Verdict

ReportQuestion = Callable[[JudgeQuestion], Callable[[JudgeAnswer], None]]


class AttemptWatch:
    """Emits the events of one attempt. Runs whose listeners do without them have no watch.

    `after_turn` is the turn of the checkpoint that is graded, 0 at the end. `turn` is the latest turn. `environment` is for
    the processes of the agent.
    """

    def __init__(
        self, emit: Callable[[RunEvent], None], tracer: RunTracer | None, trial: Trial, attempt: int
    ) -> None:
        self._emit, self._tracer = emit, tracer
        self._where: dict[str, Any] = {
            "task_id": trial.task.id,
            "name": trial.task.name,
            "trial": trial.number,
            "attempt": attempt,
        }
        target = trial.task.target
        self._agent = target.name if target is not None and target.kind == "agent" else ""
        self._running: dict[str, str] = {}  # the tools of calls, by the ids of the calls
        self._questions = 0
        self.turn = self.after_turn = 0
        self.environment: Mapping[str, str] = {}

    def start(self, attempts: int) -> None:
        """Report the start of the attempt, which is one of so many."""
        self.environment = self._started(AttemptStarted(**self._where, attempts=attempts, agent=self._agent))

    def finish(self, result: TrialResult) -> None:
        """Report the end of the attempt."""
        self._emit(AttemptFinished(**self._where, result=result))

    def start_trigger(self, prompt: TriggerPrompt, *, should: bool) -> None:
        """Report the start of a prompt of the trigger tests, which is the only one of its attempt."""
        started = TriggerPromptStarted(**self._where, should_trigger=should, confidence=prompt.confidence)
        self.environment = self._started(started)

    def finish_trigger(self, turn: Turn, *, fired: bool) -> None:
        """Report the end of a prompt of the trigger tests."""
        self._emit(
            TriggerPromptFinished(
                **self._where, did_trigger=fired, error=turn.error, timed_out=turn.timed_out
            )
        )

    def see(self, seen: Event | ModelCall) -> None:
        """Report what an executor saw of its agent: the start or the end of a tool call, or a call of a model."""
        if isinstance(seen, ModelCall):
            self._emit(ModelCalled(**self._where, turn=self.turn, call=seen))
        elif seen.type == START and seen.tool_call_id and seen.tool_name:
            self._running[seen.tool_call_id] = seen.tool_name
            self._emit(
                ToolCallStarted(
                    **self._where,
                    turn=self.turn,
                    call_id=seen.tool_call_id,
                    tool=seen.tool_name,
                    args=seen.arguments,
                )
            )
        elif seen.type == COMPLETE and seen.tool_call_id in self._running:
            self._emit(
                ToolCallFinished(
                    **self._where,
                    turn=self.turn,
                    call_id=seen.tool_call_id,
                    tool=self._running.pop(seen.tool_call_id),
                    success=bool(seen.success),
                    result=seen.tool_result,
                )
            )

    def see_command(self, call: CommandInvocation, seconds: float) -> None:
        """Report a call of a mocked program, which took so many seconds."""
        self._emit(CommandCalled(**self._where, turn=self.turn, call=call, duration_ms=seconds * 1000))

    def see_mcp(self, server: str, tool: str, *, args: Any, result: Any, error: bool, seconds: float) -> None:
        """Report a call of a tool of a mocked server, which took so many seconds."""
        self._emit(
            McpCalled(
                **self._where,
                turn=self.turn,
                server=server,
                tool=tool,
                args=args,
                result=result,
                error=error,
                duration_ms=seconds * 1000,
            )
        )

    def start_grader(self, built: BuiltGrader, helpers: Helpers) -> Helpers:
        """Report that a grader is asked; return its helpers, whose environment is that of the grader."""
        spec = built.spec
        environment = self._started(
            GraderStarted(**self._where, grader=spec.name, type=spec.type, after_turn=self.after_turn)
        )
        return msgspec.structs.replace(
            helpers,
            environment=environment or helpers.environment,
            report_question=self._after(helpers.report_question),
        )

    def _after(self, first: ReportQuestion | None) -> ReportQuestion:
        """Return what reports a question after another has, which may raise, and its answer to both."""
        if first is None:
            return self.start_question

        def report(question: JudgeQuestion) -> Callable[[JudgeAnswer], None]:
            takers = (first(question), self.start_question(question))

            def answered(answer: JudgeAnswer) -> None:
                for take in takers:
                    take(answer)

            return answered

        return report

    def finish_grader(self, validation: Validation, verdict: Verdict) -> None:
        """Report what a grader, or a check under `expected`, came to."""
        self._emit(
            GraderFinished(
                **self._where,
                grader=validation.identifier,
                after_turn=self.after_turn,
                validation=validation,
                error=verdict.error,
            )
        )

    def judge(self, judge: Judge) -> Judge:
        """Return a judge that reports what it is asked and what it answers."""
        return _WatchedJudge(judge, self)

    async def ask(self, interview: Interview, question: JudgeQuestion) -> JudgeAnswer:
        """Ask a judge or responder, and report both the question and the answer."""
        answered = self.start_question(question)
        answer = JudgeAnswer(error="it was not answered")
        try:
            answer = await interview.ask(question)
        finally:
            answered(answer)
        return answer

    def start_question(self, question: JudgeQuestion) -> Callable[[JudgeAnswer], None]:
        """Report a question; return what reports its answer."""
        self._questions += 1
        number = self._questions
        self._emit(
            JudgeAsked(
                **self._where,
                number=number,
                asker=question.asker,
                model=question.model,
                provider=question.provider,
                question=question.text,
            )
        )

        def answered(answer: JudgeAnswer) -> None:
            self._emit(
                JudgeAnswered(
                    **self._where,
                    number=number,
                    asker=question.asker,
                    answer=answer.text,
                    calls=tuple(call.name for call in answer.calls),
                    error=answer.error,
                    usage=answer.usage,
                    session_id=answer.session_id,
                )
            )

        return answered

    def _started(self, event: RunEvent) -> Mapping[str, str]:
        self._emit(event)
        return self._tracer.environment(event) if self._tracer else {}


class _WatchedJudge:
    """A judge whose questions and answers are reported."""

    def __init__(self, judge: Judge, watch: AttemptWatch) -> None:
        self._judge, self._watch = judge, watch

    @property
    def sessions(self) -> Sequence[JudgeSession]:
        """The sessions that were held so far."""
        return self._judge.sessions

    async def open(self, workdir: Path | None, resume_id: str = "") -> Interview:
        """Start a conversation."""
        return _WatchedInterview(await self._judge.open(workdir, resume_id), self._watch)


class _WatchedInterview:
    """A conversation whose questions and answers are reported."""

    def __init__(self, interview: Interview, watch: AttemptWatch) -> None:
        self._interview, self._watch = interview, watch

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask, and wait for the answer."""
        return await self._watch.ask(self._interview, question)

    async def aclose(self) -> None:
        """End the conversation."""
        await self._interview.aclose()
