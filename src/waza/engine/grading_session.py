"""Grading without an agent: what graders need of a session that was recorded, and what cannot be seen of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import msgspec

from waza.engine.attempt_watch import AttemptWatch
from waza.engine.executor_factory import StartedExecutor, make_executor
from waza.engine.limits import RunMeter
from waza.engine.record import make_redactor
from waza.engine.tamper_check import TamperCheck
from waza.errors import ExecutorError, GraderError, RunError
from waza.graders import TYPES
from waza.graders.base import Grader
from waza.model.agent import Executor
from waza.model.event import RunEvent
from waza.model.loaded import Project, Suite
from waza.model.observation import Observation
from waza.model.tracing import Tracing
from waza.model.trial import Attempt, Trial
from waza.model.verdict import BuiltGrader, Helpers, SharedResources, Verdict
from waza.suite.prices import Prices


class GradingSession:
    """The helpers of graders while recorded sessions are graded. A context: the judge is started, and stopped.

    RunError: the judge cannot be had. `agent_model` is also that of judges where the suite names none. `fault` is what the
    executor broke with when it was stopped. `listen` takes all events.
    """

    def __init__(
        self,
        suite: Suite,
        agent_model: str,
        project: Project,
        tracing: Tracing | None = None,
        listen: Callable[[RunEvent], None] | None = None,
    ) -> None:
        self.suite = suite
        self._listen = listen
        # Only judges are asked here: an executor without one, or without a grader that asks, is not even made.
        self.executor: Executor | None = None
        if suite.capabilities.judge and any(
            _may_ask(built) for task in suite.tasks for built in task.all_graders
        ):
            self.executor = make_executor(suite, agent_model, project)
        self.fault = ""
        self.shared = SharedResources()
        self.shared.get(TamperCheck).record(suite)
        self.redactor = make_redactor(suite, project)
        self.tracer = tracing.run_tracer(self.redactor.full_value) if tracing else None
        self._meter = RunMeter(
            suite.file.config.limits, Prices.of(suite), scripted=suite.capabilities.scripted
        )
        limits, config = project.keys.graders, suite.file.config
        self._helpers = Helpers(
            judge_model=config.judge_model or agent_model,
            judge_effort=config.judge_reasoning_effort or "",
            judge_timeout=config.judge_timeout_seconds,
            shared=self.shared,
            program_timeout=limits.programTimeout,
            code_timeout=limits.codeTimeout,
        )

    async def __aenter__(self) -> Self:
        try:
            if self.executor is not None:
                await self.executor.start()
        except BaseException as error:
            await self._close()
            if isinstance(error, ExecutorError):
                raise RunError(str(error)) from error
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()
        if isinstance(error, ExecutorError):
            raise RunError(str(error)) from error

    async def _close(self) -> None:
        await self.shared.aclose()
        if self.executor is not None:
            self.fault = self.redactor.text(await StartedExecutor(self.executor).aclose())

    def emit(self, event: RunEvent) -> None:
        """Report an event, where somebody wants to know."""
        if self.tracer is not None:
            self.tracer.handle(event)
        if self._listen is not None:
            self._listen(event)

    def watch(self, trial: Trial) -> AttemptWatch | None:
        """Return what reports the grading of a trial, or None if nobody wants to know."""
        return AttemptWatch(self.emit, self.tracer, trial, 0) if self.tracer else None

    def helpers(self, attempt: Attempt, watch: AttemptWatch | None) -> Helpers:
        """Return what the graders of an attempt may use."""
        judge = self.executor.judge(attempt) if self.executor else None
        meter = self._meter.trial()
        if watch is not None and judge is not None:
            judge = watch.judge(judge)
        if judge is not None:
            judge = meter.judge(judge, self._helpers.judge_model)
        return msgspec.structs.replace(
            self._helpers,
            judge=judge,
            turn_timeout=attempt.task.timeout,
            report_question=meter.count_question,
        )


def as_elsewhere(suite: Suite) -> Suite:
    """Return the suite as it is of sessions that ran elsewhere.

    Nothing held the agent to its tools, and no skill was injected, so that it is checked whether the agent invoked it.
    """
    config = msgspec.structs.replace(suite.file.config, inject_skill_body=False)
    return msgspec.structs.replace(
        suite,
        file=msgspec.structs.replace(suite.file, config=config),
        capabilities=msgspec.structs.replace(suite.capabilities, tool_policy=False),
    )


def _may_ask(built: BuiltGrader) -> bool:
    """Tell whether a grader may ask a judge: one whose verdict depends on more than the answer, or of a package."""
    grader = built.grader
    if built.spec.type not in TYPES or not isinstance(grader, Grader):
        return True
    return "judge" in grader.required_capabilities() or not grader.repeatable


class Blind(msgspec.Struct, frozen=True, kw_only=True):
    """What cannot be seen of a recorded session, and why. A grader that looks there reaches no verdict, and never passes."""

    workspace: str = ""
    """Why there are no files to look at; empty: there are."""
    changes: str = ""
    """Why it is not known which files the agent wrote."""
    session: str = ""
    """Why the agent's session cannot be continued."""
    capabilities: Mapping[str, str] = {}
    """Why something that executors report is not known, by the name of the capability."""

    @classmethod
    def of_transcript(cls, unseen: Mapping[str, str], *, has_workspace: bool) -> Blind:
        """Return what cannot be seen of a session that ran elsewhere."""
        return cls(
            workspace="" if has_workspace else ELSEWHERE,
            changes="it asks which files the agent wrote, which a transcript does not show",
            session="it asks in the agent's own session, which ran elsewhere and cannot be continued",
            capabilities=unseen,
        )

    def reason(self, built: BuiltGrader) -> str:
        """Return why a grader can reach no verdict, or nothing."""
        grader = built.grader
        if not isinstance(grader, Grader):
            return ""
        for capability, key in grader.required_capabilities().items():
            if why := self.capabilities.get(capability):
                return f"{key}: {why}" if key else why
        if grader.reads_changes and self.changes:
            return self.changes
        if grader.needs_session and self.session:
            return self.session
        return self.workspace if grader.reads_workspace else ""

    def runnable(self, graders: Sequence[BuiltGrader]) -> list[BuiltGrader]:
        """Return the graders, with others in the place of those that can reach no verdict, which say why."""
        reasons = [(built, self.reason(built)) for built in graders]
        return [BuiltGrader(built.spec, Refusing(why)) if why else built for built, why in reasons]


class Refusing(msgspec.Struct, frozen=True):
    """Takes the place of a grader that looks at what cannot be seen: it would find nothing, whatever the agent did."""

    why: str

    def grade(self, seen: Observation, helpers: Helpers) -> Verdict:
        """Reach no verdict."""
        del seen, helpers
        raise GraderError(self.why)


ELSEWHERE = "it looks at files of the workspace, which a transcript does not hold; name a directory with --workspace DIR"
"""Why there are no files of a session that ran elsewhere."""
GONE = (
    "it looks at files of the workspace, which is gone; name a directory with --workspace DIR"
    " (`waza run --keep-workspace` keeps them)"
)
"""Why there are no files of a recorded run."""
