"""New verdicts on answers from the cache: no agent is run, and only graders that may decide otherwise are asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from waza.engine.cache import CachedTrial, rejudged_graders
from waza.engine.grade import grade
from waza.engine.record import failure_artifacts, judge_session_digest, storable
from waza.engine.regrade import rebuild_observation
from waza.engine.trial import (
    FinishedTrial,
    RunContext,
    explain_failure,
    grading_error,
    render_attempt,
    trial_status,
)
from waza.errors import ExecutorError, is_outside
from waza.kit.os_errors import describe_os_error
from waza.model.result import TrialResult
from waza.model.trial import Trial
from waza.results.cost import charges, cost_of


async def rejudge(context: RunContext, trial: Trial, cached: CachedTrial) -> FinishedTrial:
    """Return a cached trial with new verdicts; those that cannot change come from the cache.

    A trial that fails now has no further attempt. `grader_sessions` are the new ones. A workspace that cannot be
    unpacked from the cache breaks the trial, as one that cannot be made for an agent does.
    """
    workspace: Path | None = None
    try:
        if cached.workspace is not None:
            workspace = context.tempdir.new_directory(trial.task.id)
            await _unpack(workspace, cached.workspace)
        return await _grade(context, trial, cached.result, workspace)
    except Exception as error:  # noqa: BLE001 - executors are other people's code: one that breaks costs a trial
        reason = explain_failure(context, trial.task, error)
        return FinishedTrial(
            _failed_result(context, cached.result, reason),
            is_outside(error),
            context.redactor.text(str(reason)),
        )
    finally:
        if workspace is not None:
            await context.tempdir.remove_directory(workspace)


async def _unpack(workspace: Path, packed: Path) -> None:
    try:
        data = await asyncio.to_thread(packed.read_bytes)
    except OSError as error:
        raise ExecutorError(f"the cached workspace cannot be read: {describe_os_error(error)}") from error
    from waza.workspace.pack import unpack  # it imports tarfile, which most runs do without

    await asyncio.to_thread(unpack, data, workspace)


async def _grade(
    context: RunContext, trial: Trial, result: TrialResult, workspace: Path | None
) -> FinishedTrial:
    task = trial.task
    watch = context.watch(trial, 0)
    judge = context.executor.judge(render_attempt(context.run_id, trial, result.attempts))
    if watch is not None and judge is not None:
        judge = watch.judge(judge)
    meter = context.meter.trial()
    if judge is not None:
        judge = meter.judge(judge, context.helpers.judge_model)
    observation = rebuild_observation(task, result, workspace, trial.baseline_output)
    graded = await grade(
        rejudged_graders(task), observation, msgspec.structs.replace(context.helpers, judge=judge), watch
    )
    whole = msgspec.structs.replace(graded, validations={**(result.validations or {}), **graded.validations})
    status = trial_status("", whole, result.checkpoints, has_baseline=context.plan.has_baseline)
    error = grading_error(whole)
    if (limit := meter.end()) and limit not in error:
        status, error = "error", "; ".join(filter(None, (error, limit)))
    new = msgspec.structs.replace(
        result,
        status=status,
        validations=whole.validations,
        error_msg=error,
        grader_sessions=[judge_session_digest(one) for one in (judge.sessions if judge else ())],
        workspace_dir=str(workspace or ""),
        failure_artifacts=failure_artifacts(
            status, result.final_output, error, whole.failed, context.redactor
        ),
    )
    cost = cost_of(charges(new, "", context.helpers.judge_model, judges_only=True), context.meter.prices)
    return FinishedTrial(
        storable(msgspec.structs.replace(new, cost=cost), context.redactor),
        graded.outside or meter.outside,
        context.redactor.text(error) if graded.outside else "",
    )


def _failed_result(context: RunContext, result: TrialResult, error: ExecutorError) -> TrialResult:
    artifacts = failure_artifacts("error", result.final_output, str(error), (), context.redactor)
    new = msgspec.structs.replace(
        result,
        status="error",
        validations=None,
        error_msg=str(error),
        grader_sessions=[],
        workspace_dir="",
        failure_artifacts=artifacts,
    )
    return storable(new, context.redactor)
