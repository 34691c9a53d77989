"""`run_trial`: the only place where a trial happens. Workspace, attempts, conversation, grading, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.attempt_workspace import attempt_workspace
from waza.engine.converse import Conversation, Driver, converse
from waza.engine.expected import AgentFacts, expected_checks
from waza.engine.grade import Grading, as_validation, grade
from waza.engine.grading_context import GradingContext
from waza.engine.record import empty_digest, failure_artifacts, judge_session_digest, session_digest, storable
from waza.engine.responder import ResponderSession
from waza.engine.saved_attempt import SavedAttempt
from waza.engine.tamper_check import TamperCheck
from waza.errors import ExecutorError, OutsideError, is_outside
from waza.graders.base import Grader
from waza.kit.exception_report import describe_exception
from waza.kit.os_errors import describe_os_error
from waza.kit.redact import Redactor
from waza.kit.template import fill, render
from waza.model.agent import AttemptWorkspace, Executor, Judge, Limits
from waza.model.event import (
    AttemptRetried,
    CheckpointGraded,
    ExecutorFailed,
    PromptSent,
    ResponseSeen,
    RunEvent,
    Warned,
)
from waza.model.loaded import Suite
from waza.model.observation import Observation, Turn, tool_events
from waza.model.result import AttemptRecord, CheckpointRecord, SessionDigest, TrialResult, TrialStatus
from waza.model.task import Checkpoint, Task
from waza.model.trial import Attempt, Trial
from waza.model.verdict import BuiltGrader, Helpers
from waza.workspace.relay import AttemptMocks, Relay
from waza.workspace.run_tempdir import RunTempdir

GRADING = "running graders: "  # how the error message of a run begins whose graders broke
IGNORED_IN_BASELINE = "skill_invocation"  # an A/B run cannot hold it against the arm without skills


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that trials of one suite on one model share. `outputs` are the files and folders that waza writes."""

    suite: Suite
    model: str
    executor: Executor
    tempdir: RunTempdir
    relay: Relay | None = None
    helpers: Helpers
    redactor: Redactor
    emit: Callable[[RunEvent], None]
    run_id: str
    skip_graders: bool = False
    ab_run: bool = False
    outputs: frozenset[Path] = frozenset()


class FinishedTrial(msgspec.Struct, frozen=True):
    """A trial that ended. `outside`: it broke for a cause outside of the agent, and says nothing about it.

    `broke` is the executor's error that ended it, or that of graders for such a cause, if there was one; a time
    limit is none.
    `left` is what its agent left, for a trial that is to `keep` it.
    """

    result: TrialResult
    outside: bool = False
    broke: str = ""
    left: SavedAttempt | None = None


async def run_trial(context: RunContext, trial: Trial, baseline_output: str | None = None) -> FinishedTrial:
    """Run one trial: attempts until one does not fail, and the record of the last.

    `baseline_output` is what the arm without skills answered, for pairwise graders. The record is ready to
    be stored: redacted, and cut where it is huge.
    """
    task, discarded = trial.task, list[AttemptRecord]()
    sessions: list[SessionDigest] = []  # of judges and responders, in all attempts
    for number in range(1, trial.max_attempts + 1):
        attempt = render_attempt(context.run_id, trial, number)
        ran = await _run_attempt(context, attempt, baseline_output)
        run = ran.result
        sessions += run.grader_sessions
        if run.status != "failed" or number == trial.max_attempts:
            break
        discarded.append(_discarded(run, number))
        failed = tuple(discarded[-1].failed_graders)
        context.emit(
            AttemptRetried(
                task_id=task.id,
                name=task.name,
                attempt=number,
                attempts=trial.max_attempts,
                failed_graders=failed,
            )
        )
    whole = msgspec.structs.replace(run, attempts=number, attempt_history=discarded, grader_sessions=sessions)
    return FinishedTrial(
        storable(whole, context.redactor), ran.outside, context.redactor.text(ran.broke), ran.left
    )


def render_attempt(run_id: str, trial: Trial, number: int) -> Attempt:
    """Return an attempt: the task with the templates of its prompts and of its script rendered."""
    task = trial.task
    if task.verbatim:
        return Attempt(trial=trial, number=number, task=task)
    variables = template_variables(task, run_id, trial.number, number)
    return Attempt(
        trial=trial,
        number=number,
        task=msgspec.structs.replace(
            task,
            prompt=render(task.prompt, variables),
            follow_ups=tuple(render(prompt, variables) for prompt in task.follow_ups),
            mock=fill(task.mock, variables),
        ),
    )


def template_variables(task: Task, run_id: str, iteration: int = 0, attempt: int = 0) -> dict[str, str]:
    """Return the variables of templates, named as in the template without its leading dot."""
    return {
        "JobID": run_id,
        "TaskName": task.name,
        "Iteration": str(iteration),
        "Attempt": str(attempt),
        "Timestamp": datetime.now().astimezone().isoformat(timespec="seconds"),
        **{f"Vars.{key}": value for key, value in task.variables.items()},
    }


def _discarded(run: TrialResult, number: int) -> AttemptRecord:
    failed = [name for name, found in (run.validations or {}).items() if not found.passed]
    return AttemptRecord(
        attempt=number,
        status=run.status,
        failed_graders=sorted(failed),
        error_msg=run.error_msg,
        duration_ms=run.duration_ms,
        usage=run.session_digest.usage,
    )


async def _run_attempt(context: RunContext, attempt: Attempt, baseline_output: str | None) -> FinishedTrial:
    started = time.monotonic()
    wanted = _needs_workspace(context, attempt.task)
    try:
        if changed := context.helpers.shared.get(TamperCheck).task_change(attempt.task):
            raise ExecutorError(changed)
        async with attempt_workspace(context.tempdir, context.relay, attempt.task, wanted=wanted) as (
            place,
            mocked,
        ):
            return await _in_place(context, attempt, place, mocked, baseline_output)
    except Exception as error:  # noqa: BLE001 - executors are other people's code: one that breaks costs a run
        said = explain_failure(context, attempt.task, error)
        return FinishedTrial(_unseen(context, attempt, said, started), is_outside(error), str(said))


def explain_failure(context: RunContext, task: Task, error: Exception) -> ExecutorError:
    """Return why a trial has no result; of what nobody has words for, the traceback is told."""
    if isinstance(error, ExecutorError):
        return error
    if isinstance(error, OSError) and is_outside(error):
        return OutsideError(f"the trial could not go on: {describe_os_error(error)}")
    fault = describe_exception(error)
    context.emit(ExecutorFailed(task_id=task.id, name=task.name, traceback=fault.traceback))
    return ExecutorError(f"the executor broke: {fault.text}")


def _needs_workspace(context: RunContext, task: Task) -> bool:
    reads = any(grader.reads_workspace for grader in _graders(task))
    return reads or context.tempdir.keep or context.executor.works_in(task)


def _graders(task: Task) -> list[Grader]:
    """Return all graders of a task, also those of its checkpoints."""
    built = [*task.graders, *(grader for point in task.checkpoints for grader in point.graders)]
    return [one.grader for one in built if isinstance(one.grader, Grader)]


def _unseen(context: RunContext, attempt: Attempt, error: Exception, started: float) -> TrialResult:
    """Return the record of an attempt in which no agent was seen."""
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


async def _in_place(
    context: RunContext,
    attempt: Attempt,
    place: AttemptWorkspace,
    mocked: AttemptMocks | None,
    baseline_output: str | None,
) -> FinishedTrial:
    task = attempt.task
    conversation = Conversation(task, attempt.trial.number, str(place.workspace or ""), mocked)
    judge = context.executor.judge(attempt)
    helpers = msgspec.structs.replace(context.helpers, judge=judge, turn_timeout=task.timeout)
    session = await context.executor.open(attempt, place)
    try:
        asked = () if context.skip_graders else _graders(task)
        with closing(await GradingContext.open(task, place.workspace, asked)) as grading_context:
            responder = await _open_responder(context, task, judge)
            try:
                driver = Driver(
                    session=session,
                    workspace_fault=grading_context.workspace_fault,
                    limits=turn_limits(context, task),
                    tell=_teller(context, task),
                    warn=lambda message: context.emit(Warned(message=f"{task.name}: {message}")),
                    grade_checkpoint=None
                    if context.skip_graders
                    else _checkpoint_grader(context, task, helpers, grading_context),
                    responder=responder,
                )
                await converse(conversation, driver)
            finally:
                if responder is not None:
                    await responder.interview.aclose()
            if mocked is not None and (complaint := mocked.complaint()):
                conversation.fail(complaint)
            displaced = grading_context.workspace_fault()
            if displaced and displaced not in conversation.error:
                conversation.fail(displaced)
            observation = await grading_context.add_to(
                msgspec.structs.replace(conversation.observation(final=True), baseline_output=baseline_output)
            )
            left = await SavedAttempt.capture(observation) if attempt.trial.keep and not displaced else None
            ungraded = context.skip_graders or displaced
            graded = None if ungraded else await grade_run(context, attempt, observation, helpers)
    finally:
        await session.aclose()
    run = _record(context, attempt, conversation, observation, graded)
    sessions = [judge_session_digest(one) for one in (judge.sessions if judge else ())]
    no_verdict = grading_error(graded) if graded is not None and graded.outside else ""
    outside = conversation.outside or bool(no_verdict)
    run = msgspec.structs.replace(run, grader_sessions=sessions)
    return FinishedTrial(
        run, outside, "" if conversation.timed_out else conversation.broke or no_verdict, left
    )


async def _open_responder(context: RunContext, task: Task, judge: Judge | None) -> ResponderSession | None:
    if task.responder is None:
        return None
    if judge is None:
        raise ExecutorError("this executor has nobody to play the user, so inputs.responder cannot work")
    interview = await judge.open(None)
    return ResponderSession(
        interview,
        task.responder,
        context.model,
        context.suite.file.config.reasoning_effort or "",
        task.timeout,
    )


def turn_limits(context: RunContext, task: Task) -> Limits:
    """Return the limits of a task's turns."""
    idle = context.suite.file.config.idle_timeout_seconds
    default = context.suite.capabilities.idle_timeout
    return Limits(
        turn=task.timeout, first_event=task.first_event_timeout, idle=default if idle is None else idle
    )


def _teller(context: RunContext, task: Task) -> Callable[[int, str, Turn | None], None]:
    def tell(number: int, prompt: str, turn: Turn | None) -> None:
        if turn is None:
            context.emit(PromptSent(task_id=task.id, name=task.name, turn=number, text=prompt))
            return
        context.emit(
            ResponseSeen(
                task_id=task.id,
                name=task.name,
                turn=number,
                text=turn.output,
                calls=tool_events(turn.events),
                error=turn.error,
            )
        )

    return tell


def _checkpoint_grader(
    context: RunContext, task: Task, helpers: Helpers, grading_context: GradingContext
) -> Any:
    async def grade_checkpoint(point: Checkpoint, observation: Observation) -> CheckpointRecord:
        graded = await grade(point.graders, await grading_context.add_to(observation), helpers)
        status = "error" if graded.errors else "failed" if graded.failed else "passed"
        record = CheckpointRecord(
            after_turn=point.after_turn,
            status=status,  # type: ignore[arg-type]  # one of the three words
            validations=graded.validations,
            stopped=point.stop and status != "passed",
        )
        context.emit(CheckpointGraded(task_id=task.id, name=task.name, checkpoint=record))
        return record

    return grade_checkpoint


async def grade_run(
    context: RunContext, attempt: Attempt, observation: Observation, helpers: Helpers
) -> Grading:
    """Grade a finished attempt by the graders of its task and by what it expects."""
    return await grade_observation(
        context.suite, attempt.task, attempt.execution, observation, helpers, attempt.task.graders
    )


async def grade_observation(
    suite: Suite,
    task: Task,
    execution: int,
    observation: Observation,
    helpers: Helpers,
    graders: Sequence[BuiltGrader],
) -> Grading:
    """Grade what was seen: first the graders, then the checks under `expected`."""
    graded = await grade(graders, observation, helpers)
    config = suite.file.config
    said = AgentFacts(suite.capabilities, task.mock.execution(execution) if task.mock else None)
    checks = expected_checks(
        task,
        observation,
        said,
        skill=task.target.name if task.target else suite.file.skill,
        enforce=config.enforce_expected,
        body_injected=config.inject_skill_body,
    )
    extra = {name: as_validation(name, kind, verdict) for name, kind, verdict in checks}
    return msgspec.structs.replace(graded, validations={**graded.validations, **extra})


def trial_status(
    error: str, graded: Grading | None, checkpoints: Sequence[CheckpointRecord], *, ab_run: bool
) -> TrialStatus:
    """Return the status of a run: broken, not graded, not passed, or passed; checkpoints can only worsen it."""
    if error or (graded and graded.errors) or any(point.status == "error" for point in checkpoints):
        return "error"
    if any(point.status == "failed" for point in checkpoints):
        return "failed"
    if graded is None:
        return "skipped"
    counted = [
        found for found in graded.validations.values() if not (ab_run and found.type == IGNORED_IN_BASELINE)
    ]
    return "passed" if all(found.passed for found in counted) else "failed"


def grading_error(graded: Grading | None) -> str:
    """Return the error message of graders that reached no verdict, or nothing."""
    return f"{GRADING}{'; '.join(graded.errors)}" if graded and graded.errors else ""


def _record(
    context: RunContext,
    attempt: Attempt,
    conversation: Conversation,
    observation: Observation,
    graded: Grading | None,
) -> TrialResult:
    status = trial_status(conversation.error, graded, conversation.checkpoints, ab_run=context.ab_run)
    error = "; ".join(part for part in (conversation.error, grading_error(graded)) if part)
    if status == "error" and not error:
        broken = [str(point.after_turn) for point in conversation.checkpoints if point.status == "error"]
        error = f"graders of the checkpoint after turn {', '.join(broken)} reached no verdict"
    policy = attempt.task.target.policy if attempt.task.target else None
    enforced = policy if context.suite.capabilities.tool_policy else None
    validations = graded.validations if graded else {}
    failed = graded.failed if graded else ()
    return TrialResult(
        run_number=attempt.trial.number,
        attempts=attempt.number,
        prompt=attempt.task.prompt,
        status=status,
        duration_ms=conversation.duration_ms,
        validations=validations,
        session_digest=session_digest(
            observation.tool_events,
            conversation.usage,
            conversation.session_id,
            enforced or "",
            conversation.denials,
        ),
        transcript=conversation.events,
        final_output=conversation.output,
        error_msg=error,
        skill_invocations=conversation.skills,
        workspace_dir=conversation.workspace,
        failure_artifacts=failure_artifacts(status, conversation.output, error, failed, context.redactor),
        responder=conversation.responder,
        checkpoints=sorted(conversation.checkpoints, key=lambda point: point.after_turn),
        tool_events=list(observation.tool_events),
        command_invocations=list(conversation.commands),
        timed_out=conversation.timed_out,
    )
