"""`run_trial`: the only place where a trial happens. Workspace, attempts, conversation, grading, record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from waza.engine.attempt_clock import AttemptClock
from waza.engine.attempt_watch import AttemptWatch
from waza.engine.attempt_workspace import AttemptScope
from waza.engine.canary import shows_canary
from waza.engine.converse import Conversation, Driver, converse
from waza.engine.error_retries import wait_before
from waza.engine.expected import AgentFacts, expected_checks
from waza.engine.grade import Grading, as_validation, grade
from waza.engine.grading_context import GradingContext
from waza.engine.limits import RunMeter, TrialMeter
from waza.engine.plan import Plan
from waza.engine.record import empty_digest, failure_artifacts, judge_session_digest, session_digest, storable
from waza.engine.responder import ResponderSession
from waza.engine.saved_attempt import SavedAttempt
from waza.engine.skill_reach import skill_reach
from waza.engine.tamper_check import TamperCheck
from waza.engine.wire import AttemptWire, RunWire
from waza.errors import ExecutorError, OutsideError, is_outside
from waza.graders.base import Grader
from waza.kit.exception_report import describe_exception
from waza.kit.os_errors import describe_os_error
from waza.kit.redact import FullRedactor, Redactor
from waza.kit.template import fill, render
from waza.model.agent import AttemptWorkspace, Executor, Interview, Judge, Limits, Session
from waza.model.cost import Cost
from waza.model.event import (
    AttemptRetried,
    CheckpointGraded,
    ExecutorFailed,
    PromptKind,
    PromptSent,
    ResponseSeen,
    RunEvent,
    Warned,
)
from waza.model.loaded import Suite
from waza.model.observation import Observation, Turn, tool_events
from waza.model.result import (
    AttemptRecord,
    CheckpointRecord,
    SessionDigest,
    TrialResult,
    TrialStatus,
    Validation,
)
from waza.model.task import Checkpoint, Task
from waza.model.tracing import RunTracer
from waza.model.trial import Attempt, Trial
from waza.model.verdict import BuiltGrader, Helpers
from waza.results.cost import charges, cost_of
from waza.results.ending import CHECKPOINT_GRADING, GRADING
from waza.workspace.relay import AttemptMocks, Relay
from waza.workspace.run_tempdir import RunTempdir

if TYPE_CHECKING:
    from waza.evidence.recorder import RunRecorder
    from waza.evidence.workspace_files import CollectedFiles

IGNORED_IN_BASELINE = "skill_invocation"  # an A/B run cannot hold it against the arm without skills


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the trials of a run share. `outputs` are the files and directories that waza writes.

    `warn` takes warnings of the run as a whole: they are shown, and are in its results. `recorder` writes the evidence of
    each trial, where evidence was asked for. `detailed`: `emit` also takes what happens inside attempts. `meter` holds the
    limits of the run.
    """

    plan: Plan
    executor: Executor
    tempdir: RunTempdir
    relay: Relay | None = None
    wire: RunWire | None = None
    helpers: Helpers
    redactor: Redactor
    emit: Callable[[RunEvent], None]
    warn: Callable[[str], None]
    run_id: str
    skip_graders: bool = False
    outputs: frozenset[Path] = frozenset()
    recorder: RunRecorder | None = None
    detailed: bool = False
    tracer: RunTracer | None = None
    meter: RunMeter = msgspec.field(default_factory=RunMeter)

    def watch(self, trial: Trial, attempt: int) -> AttemptWatch | None:
        """Return what reports an attempt, or None if nobody wants to know."""
        return AttemptWatch(self.emit, self.tracer, trial, attempt) if self.detailed else None


class FinishedTrial(msgspec.Struct, frozen=True):
    """A trial that ended."""

    result: TrialResult
    outside: bool = False
    """It broke for a cause outside of the agent, and says nothing about it."""
    broke: str = ""
    """The error of the executor that ended it, or of graders for a cause outside of the agent. A time limit is no
    such error."""
    may_pass: bool = False
    """It broke for a cause outside of the agent that may not last, and no limit ended it."""
    retry_after: float | None = None
    """Seconds after which the server of the agent takes requests again, if it says so."""
    saved: SavedAttempt | None = None
    """What the cache needs of the last attempt, for a trial with `keep`."""
    files: CollectedFiles | None = None
    """The files of the last attempt's workspace that count as evidence."""


async def run_trial(context: RunContext, trial: Trial) -> FinishedTrial:
    """Run one trial: attempts until one does not fail. Its result is that of the last attempt.

    An attempt that broke for a cause that may pass is made again, `config.error_retries` times in a trial. The result can be stored as it is: secrets are redacted, and huge texts are cut.
    """
    task, discarded = trial.task, list[AttemptRecord]()
    sessions: list[SessionDigest] = []  # of judges and responders, in all attempts
    meter, retries, number = context.meter.trial(), 0, 1
    while True:
        watch = context.watch(trial, number)
        if watch is not None:
            watch.start(trial.max_attempts)
        finished = await _run_attempt(context, trial, number, watch, meter)
        result = finished.result
        if watch is not None:
            watch.finish(result)
        sessions += result.grader_sessions
        if await _may_retry(context, trial, finished, meter, retries + 1):
            retries += 1
            discarded.append(_attempt_record(result, number))
            continue
        if result.status != "failed" or number == trial.max_attempts:
            break
        discarded.append(_attempt_record(result, number))
        context.emit(
            AttemptRetried(
                task_id=task.id,
                name=task.name,
                trial=trial.number,
                attempt=number,
                attempts=trial.max_attempts,
                failed_graders=tuple(discarded[-1].failed_graders),
            )
        )
        number += 1
    result = msgspec.structs.replace(
        result, attempts=number, attempt_history=discarded, grader_sessions=sessions, error_retries=retries
    )
    result = msgspec.structs.replace(result, cost=_cost(context, result))
    return FinishedTrial(
        await _record_evidence(context, trial, result, finished.files),
        finished.outside,
        context.redactor.text(finished.broke),
        saved=finished.saved,
    )


async def _may_retry(
    context: RunContext, trial: Trial, finished: FinishedTrial, meter: TrialMeter, retry: int
) -> bool:
    """Tell whether an attempt that broke is to be made again, counted from 1, after the wait for it."""
    most = context.plan.suite.file.config.error_retries
    if not finished.may_pass or retry > most or meter.run.refusal():
        return False
    wait = wait_before(retry, finished.retry_after)
    if wait is None:
        return False
    reason = context.redactor.text(finished.result.error_msg)
    context.emit(
        Warned(
            message=f"{trial.task.name}: {reason}; tried again in {wait:.1f} s (error retry {retry} of {most})"
        )
    )
    await meter.wait(wait)
    return True


def _cost(context: RunContext, result: TrialResult) -> Cost | None:
    return cost_of(charges(result, context.plan.model, context.helpers.judge_model), context.meter.prices)


async def _record_evidence(
    context: RunContext, trial: Trial, result: TrialResult, files: CollectedFiles | None
) -> TrialResult:
    """Return the result as it is stored, with what was recorded of it as evidence, where that was asked for."""
    stored = storable(result, context.redactor)
    if context.recorder is None:
        return stored
    from waza.evidence.recorder import observed  # most runs do without it

    full = FullRedactor(context.redactor)
    recorded = await asyncio.to_thread(
        context.recorder.record, trial, storable(observed(result), full), files, full
    )
    for warning in recorded.warnings:
        context.emit(Warned(message=warning))
    return msgspec.structs.replace(stored, snapshot_path=recorded.path, evidence=recorded.manifest)


def render_attempt(run_id: str, trial: Trial, number: int) -> Attempt:
    """Return an attempt of a trial, with the templates of the task's prompts and script rendered."""
    task = trial.task
    execution = (trial.number - 1) * trial.max_attempts + number - 1
    if not task.verbatim:
        variables = template_variables(task, run_id, trial.number, number)
        task = msgspec.structs.replace(
            task,
            prompt=render(task.prompt, variables),
            follow_ups=tuple(render(prompt, variables) for prompt in task.follow_ups),
            mock=fill(task.mock.execution(execution), variables) if task.mock else None,
        )
    return Attempt(
        trial=trial.key,
        number=number,
        execution=execution,
        task=task,
    )


def template_variables(task: Task, run_id: str, iteration: int = 0, attempt: int = 0) -> dict[str, str]:
    """Return the variables of templates, named as in the template without its leading dot."""
    return {
        "JobID": run_id,
        "TaskName": task.name,
        "Iteration": str(iteration),
        "Attempt": str(attempt),
        "Timestamp": _timestamp(int(time.time())),
        **{f"Vars.{key}": value for key, value in task.variables.items()},
    }


@lru_cache(maxsize=1)
def _timestamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _attempt_record(result: TrialResult, number: int) -> AttemptRecord:
    failed = [name for name, found in (result.validations or {}).items() if not found.passed]
    return AttemptRecord(
        attempt=number,
        status=result.status,
        failed_graders=sorted(failed),
        error_msg=result.error_msg,
        duration_ms=result.duration_ms,
        usage=result.session_digest.usage,
    )


async def _run_attempt(
    context: RunContext, trial: Trial, number: int, watch: AttemptWatch | None, meter: TrialMeter
) -> FinishedTrial:
    attempt, started = render_attempt(context.run_id, trial, number), time.monotonic()
    task = attempt.task
    try:
        if change := context.helpers.shared.get(TamperCheck).task_change(task):
            raise ExecutorError(change)
        needed = _needs_workspace(context, task)
        scripted = context.plan.suite.capabilities.scripted
        scope = AttemptScope(
            context.tempdir,
            context.relay,
            task,
            trial.key,
            wanted=needed,
            meter=meter,
            watch=watch,
            scripted=scripted,
            run_wire=context.wire,
        )
        async with scope as (place, mocked):
            return await _run_in_workspace(context, trial, attempt, place, mocked, scope.wire, watch, meter)
    except Exception as error:  # noqa: BLE001 - executors are other people's code: one that breaks costs a trial
        reason = explain_failure(context, task, error)
        outside = is_outside(error)
        return FinishedTrial(
            _failed_result(context, attempt, reason, started),
            outside,
            "" if meter.cut else str(reason),
            may_pass=outside and not meter.cut,
        )


def explain_failure(context: RunContext, task: Task, error: Exception) -> ExecutorError:
    """Return why a trial has no result. Listeners get the traceback of an unexpected exception."""
    if isinstance(error, ExecutorError):
        return error
    if isinstance(error, OSError) and is_outside(error):
        return OutsideError(f"the trial could not go on: {describe_os_error(error)}")
    report = describe_exception(error)
    context.emit(ExecutorFailed(task_id=task.id, name=task.name, traceback=report.traceback))
    return ExecutorError(f"the executor broke: {report.text}")


def _needs_workspace(context: RunContext, task: Task) -> bool:
    reads = any(grader.reads_workspace for grader in _graders(task))
    reads = reads or (context.recorder is not None and context.recorder.reads_workspace)
    return reads or context.tempdir.keep or context.executor.works_in(task)


def _graders(task: Task) -> list[Grader]:
    """Return all graders of a task, also those of its checkpoints."""
    return [built.grader for built in task.all_graders if isinstance(built.grader, Grader)]


def _failed_result(
    context: RunContext, attempt: Attempt, error: ExecutorError, started: float
) -> TrialResult:
    """Return the result of an attempt that ended before its agent was started."""
    return TrialResult(
        run_number=attempt.trial.number,
        attempts=attempt.number,
        prompt=attempt.task.prompt,
        status="error",
        duration_ms=round((time.monotonic() - started) * 1000),
        validations=None,
        session_digest=empty_digest(),
        final_output="",
        error_msg=str(error),
        failure_artifacts=failure_artifacts("error", "", str(error), (), context.redactor),
    )


def broken_trial(context: RunContext, trial: Trial, error: ExecutorError) -> FinishedTrial:
    """Return a trial that ended with an error before there was anything of its agent to be seen."""
    attempt = render_attempt(context.run_id, trial, 1)
    result = storable(_failed_result(context, attempt, error, time.monotonic()), context.redactor)
    return FinishedTrial(result, is_outside(error), context.redactor.text(str(error)))


async def _run_in_workspace(
    context: RunContext,
    trial: Trial,
    attempt: Attempt,
    place: AttemptWorkspace,
    mocked: AttemptMocks | None,
    wire: AttemptWire | None,
    watch: AttemptWatch | None,
    meter: TrialMeter,
) -> FinishedTrial:
    task = attempt.task
    clock = AttemptClock(measured=not context.plan.suite.capabilities.scripted)
    conversation = Conversation(task, trial.number, str(place.workspace or ""), clock, mocked)
    judge = context.executor.judge(attempt)
    if watch is not None and judge is not None:
        judge = watch.judge(judge)
    if judge is not None:
        judge = meter.judge(judge, context.helpers.judge_model)
    helpers = msgspec.structs.replace(
        context.helpers, judge=judge, turn_timeout=task.timeout, report_question=meter.count_question
    )
    session = await context.executor.open(attempt, place)
    async with _Closing(session, "the session", context, conversation):
        graders = () if context.skip_graders else _graders(task)
        with closing(await GradingContext.open(task, place.workspace, graders)) as grading_context:
            responder = await _open_responder(context, task, judge)
            interview = responder.interview if responder else None
            async with _Closing(interview, "the session of the responder", context, conversation):
                driver = Driver(
                    session=session,
                    wire=wire,
                    workspace_fault=grading_context.workspace_fault,
                    explain_failure=lambda error: explain_failure(context, task, error),
                    clock=clock,
                    limits=turn_limits(context, task),
                    report_turn=turn_reporter(context, attempt, watch),
                    warn=lambda message: context.emit(Warned(message=f"{task.name}: {message}")),
                    grade_checkpoint=None
                    if context.skip_graders
                    else _checkpoint_grader(context, attempt, helpers, grading_context, watch, clock),
                    responder=responder,
                    meter=meter,
                    model=context.plan.model,
                )
                await converse(conversation, driver)
            if mocked is not None and (complaint := mocked.call_count_error()):
                conversation.fail(complaint)
            if wire is not None and not conversation.error and (left := wire.unplayed()):
                conversation.broke = left
                conversation.fail(left)
            fault = grading_context.workspace_fault()
            if fault and fault not in conversation.error:
                conversation.fail(fault)
            observation = await grading_context.add_to(
                msgspec.structs.replace(
                    conversation.observation(final=True), baseline_output=trial.baseline_output
                )
            )
            saved = (
                await SavedAttempt.capture(observation, context.redactor)
                if trial.keep and not fault
                else None
            )
            files = None
            if context.recorder is not None:  # before graders, which may write there
                seen = None if fault else place.workspace
                files = await asyncio.to_thread(context.recorder.collect, seen)
            grading = None
            if not (context.skip_graders or fault):
                grading = await grade_observation(
                    context.plan.suite, attempt, observation, helpers, task.graders, watch, clock
                )
    if (limit := meter.end()) and limit not in conversation.error:
        conversation.fail(limit)
    if shows_canary(context.plan.suite.file.canary, observation.output, observation.transcript):
        context.warn(
            f"{task.name}: the agent shows the canary of the suite, so it has read the suite's files"
        )
    result = trial_result(
        context.plan.suite,
        attempt,
        conversation,
        observation,
        grading,
        context.redactor,
        has_baseline=context.plan.has_baseline,
    )
    sessions = [judge_session_digest(one, clock) for one in (judge.sessions if judge else ())]
    outside_error = grading_error(grading) if grading is not None and grading.outside else ""
    on_wire = {"wire_differences": wire.differences, "models_served": wire.models} if wire else {}
    outside = conversation.outside or bool(outside_error) or meter.outside
    return FinishedTrial(
        msgspec.structs.replace(result, grader_sessions=sessions, **on_wire),
        outside=outside,
        broke="" if conversation.timed_out or meter.cut else conversation.broke or outside_error,
        may_pass=outside and not (conversation.timed_out or meter.cut),
        retry_after=conversation.retry_after,
        saved=saved,
        files=files,
    )


class _Closing:
    """A block at whose end a session is closed, if there is one.

    One that breaks then is an error of its conversation, which keeps all that was seen.
    """

    def __init__(
        self, session: Session | Interview | None, name: str, context: RunContext, conversation: Conversation
    ) -> None:
        self._session, self._name, self._context, self._conversation = session, name, context, conversation

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._session is None:
            return
        try:
            await self._session.aclose()
        except Exception as broken:  # noqa: BLE001 - executors are other people's code
            context, conversation = self._context, self._conversation
            reason = f"closing {self._name}: {explain_failure(context, conversation.task, broken)}"
            if kind is None:
                conversation.outside = conversation.outside or is_outside(broken)
                conversation.broke = conversation.broke or reason
                conversation.fail(reason)
            else:  # what broke before is the error of the trial
                context.emit(Warned(message=f"{conversation.task.name}: {reason}"))


async def _open_responder(context: RunContext, task: Task, judge: Judge | None) -> ResponderSession | None:
    if task.inputs.responder is None:
        return None
    if judge is None:
        raise ExecutorError("this executor has no model to play the user, so inputs.responder cannot work")
    interview = await judge.open(None)
    return ResponderSession(
        interview,
        task.inputs.responder,
        context.plan.model,
        context.plan.suite.file.config.reasoning_effort or "",
        task.timeout,
    )


def turn_limits(context: RunContext, task: Task) -> Limits:
    """Return the limits of a task's turns."""
    idle = context.plan.suite.file.config.idle_timeout_seconds
    default = context.plan.suite.capabilities.idle_timeout
    return Limits(
        turn=task.timeout, first_event=task.first_event_timeout, idle=default if idle is None else idle
    )


def turn_reporter(
    context: RunContext, attempt: Attempt, watch: AttemptWatch | None, first: PromptKind = "initial"
) -> Callable[[int, str, Turn | None], None]:
    """Return what reports the turns of an attempt; its first prompt is of the kind `first`."""
    task, where = attempt.task, {"trial": attempt.trial.number, "attempt": attempt.number}
    later: PromptKind = "follow_up" if task.inputs.responder is None else "responder_reply"

    def report_turn(number: int, prompt: str, turn: Turn | None) -> None:
        if turn is None:
            if watch is not None:
                watch.turn = number
            context.emit(
                PromptSent(
                    task_id=task.id,
                    name=task.name,
                    turn=number,
                    text=prompt,
                    kind=first if number == 1 else later,
                    **where,
                )
            )
            return
        context.emit(
            ResponseSeen(
                task_id=task.id,
                name=task.name,
                turn=number,
                text=turn.output,
                calls=tool_events(turn.events),
                error=turn.error,
                timed_out=turn.timed_out,
                usage=turn.usage,
                session_id=turn.session_id,
                agent=turn.agent,
                **where,
            )
        )

    return report_turn


def _checkpoint_grader(
    context: RunContext,
    attempt: Attempt,
    helpers: Helpers,
    grading_context: GradingContext,
    watch: AttemptWatch | None,
    clock: AttemptClock,
) -> Any:
    task, trial = attempt.task, attempt.trial.number

    async def grade_checkpoint(point: Checkpoint, observation: Observation) -> CheckpointRecord:
        if watch is not None:
            watch.after_turn = point.after_turn
        grading = await grade(point.graders, await grading_context.add_to(observation), helpers, watch, clock)
        if watch is not None:
            watch.after_turn = 0
        status = "error" if grading.errors else "failed" if grading.failed else "passed"
        record = CheckpointRecord(
            after_turn=point.after_turn,
            status=status,  # type: ignore[arg-type]  # one of the three words
            validations=grading.validations,
            stopped=point.stop and status != "passed",
        )
        context.emit(CheckpointGraded(task_id=task.id, name=task.name, trial=trial, checkpoint=record))
        return record

    return grade_checkpoint


async def grade_observation(
    suite: Suite,
    attempt: Attempt,
    observation: Observation,
    helpers: Helpers,
    graders: Sequence[BuiltGrader],
    watch: AttemptWatch | None = None,
    clock: AttemptClock | None = None,
    unseen: Mapping[str, str] | None = None,
) -> Grading:
    """Grade the observation of an attempt: first by the graders, then by the checks under `expected`.

    `unseen` says why something that executors report is not known, by its capability: checks of it reach no verdict.
    """
    grading = await grade(graders, observation, helpers, watch, clock)
    task, config = attempt.task, suite.file.config
    script = task.mock.execution(attempt.execution) if task.mock else None
    checks = expected_checks(
        task,
        observation,
        AgentFacts(suite.capabilities, script, unseen or {}),
        skill=task.target.name if task.target else suite.file.skill,
        enforce=config.enforce_expected,
        body_injected=config.inject_skill_body,
    )
    extra, errors = dict[str, Validation](), list(grading.errors)
    for name, kind, verdict in checks:
        extra[name] = as_validation(name, kind, verdict)
        errors += [f"{name}: {verdict.error}"] if verdict.error else []
        if watch is not None:
            watch.finish_grader(extra[name], verdict)
    return msgspec.structs.replace(
        grading, validations={**grading.validations, **extra}, errors=tuple(errors)
    )


def trial_status(
    error: str, grading: Grading | None, checkpoints: Sequence[CheckpointRecord], *, has_baseline: bool
) -> TrialStatus:
    """Return the status of a run: broken, not grading, not passed, or passed; checkpoints can only worsen it."""
    if error or (grading and grading.errors) or any(point.status == "error" for point in checkpoints):
        return "error"
    if any(point.status == "failed" for point in checkpoints):
        return "failed"
    if grading is None:
        return "skipped"
    counted = [
        found
        for found in grading.validations.values()
        if not (has_baseline and found.type == IGNORED_IN_BASELINE)
    ]
    return "passed" if all(found.passed for found in counted) else "failed"


def grading_error(grading: Grading | None) -> str:
    """Return the error message of graders that reached no verdict, or ""."""
    return f"{GRADING}{'; '.join(grading.errors)}" if grading and grading.errors else ""


def trial_result(
    suite: Suite,
    attempt: Attempt,
    conversation: Conversation,
    observation: Observation,
    grading: Grading | None,
    redactor: Redactor,
    *,
    has_baseline: bool = False,
) -> TrialResult:
    """Return the result of a conversation and its grading; None: it was not graded."""
    status = trial_status(conversation.error, grading, conversation.checkpoints, has_baseline=has_baseline)
    error = "; ".join(part for part in (conversation.error, grading_error(grading)) if part)
    if status == "error" and not error:
        broken = [str(point.after_turn) for point in conversation.checkpoints if point.status == "error"]
        error = f"{CHECKPOINT_GRADING}{', '.join(broken)} reached no verdict"
    policy = attempt.task.target.policy if attempt.task.target else None
    enforced = policy if suite.capabilities.tool_policy else None
    validations = grading.validations if grading else {}
    failed = grading.failed if grading else ()
    return TrialResult(
        run_number=attempt.trial.number,
        attempts=attempt.number,
        prompt=attempt.task.prompt,
        status=status,
        duration_ms=conversation.duration_ms,
        validations=validations,
        session_digest=session_digest(
            observation.tool_events,
            observation.usage,
            conversation.session_id,
            enforced or "",
            conversation.denials,
        ),
        transcript=conversation.events,
        final_output=conversation.output,
        error_msg=error,
        skill_invocations=conversation.skills,
        **skill_reach(suite.capabilities, attempt.task, conversation),
        workspace_dir=conversation.workspace,
        failure_artifacts=failure_artifacts(status, conversation.output, error, failed, redactor),
        responder=conversation.responder,
        checkpoints=sorted(conversation.checkpoints, key=lambda point: point.after_turn),
        tool_events=list(observation.tool_events),
        command_invocations=list(conversation.commands),
        timed_out=conversation.timed_out,
    )
