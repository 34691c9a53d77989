"""Regrading: the graders of a suite, asked again about recorded trials. No agent is run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.grading_context import expectation
from waza.engine.grading_session import GONE, Blind, GradingSession, as_elsewhere
from waza.engine.record import failure_artifacts, storable
from waza.engine.trial import grade_observation, grading_error, render_attempt, trial_status
from waza.errors import RunError, UsageError
from waza.kit import stats
from waza.model.event import (
    RunEvent,
    RunFinished,
    RunStarted,
    TaskFinished,
    TaskStarted,
    TrialFinished,
    TrialStarted,
)
from waza.model.loaded import Project, Suite
from waza.model.observation import ANSWER, PROMPT, Observation, ToolEvent
from waza.model.result import DigestCall, SuiteResult, TaskResult, TrialResult, number
from waza.model.task import Task
from waza.model.tracing import Tracing
from waza.model.trial import Trial
from waza.results.ending import GRADING
from waza.results.figures import TaskFigures, figures_of, summary
from waza.results.invocation import INVOCATION
from waza.results.transcripts import read_transcript_records
from waza.results.treatment import check_treatment
from waza.results.verdict import RunVerdict, gating, judge, verdict_of, with_verdict, without_data


class TaskGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A regraded task: the mean weighted score of its runs, and each grader's weighted mean over runs."""

    overall_score: float
    passed: bool
    grader_averages: dict[str, float]


class Grades(msgspec.Struct, frozen=True, kw_only=True):
    """What `waza grade` prints: the mean over regraded tasks, the verdict over the run, and each task."""

    overall_score: float
    passed: bool
    tasks: dict[str, TaskGrade]


class RegradeResult(msgspec.Struct, frozen=True, kw_only=True):
    """New verdicts over old runs: the results with them, the grades, and what was passed over."""

    result: SuiteResult
    grades: Grades
    warnings: tuple[str, ...] = ()


async def regrade(
    suite: Suite,
    recorded: SuiteResult,
    project: Project,
    *,
    workspace: Path | None,
    only: str = "",
    tracing: Tracing | None = None,
    listen: Callable[[RunEvent], None] | None = None,
    workers: int = 1,
) -> RegradeResult:
    """Grade the recorded runs of every task of a suite that the results hold, or of the task `only`.

    Files are looked for in `workspace`, since recorded workspaces are gone; without one, graders that read it
    reach no verdict. A trial that broke before it was
    graded stays an error without verdicts; one whose graders broke is graded again. Checkpoints keep their
    verdicts: what was seen at them is gone. Raises UsageError when there is nothing to grade, RunError when
    the judge cannot be had. `tracing` follows what happens, and `listen` takes its events. `workers` is how many
    tasks are graded at the same time.
    """
    known = {task.test_id: task for task in recorded.tasks if task.runs or task.status != "skipped"}
    if only and (only not in known or only not in {task.id for task in suite.tasks}):
        raise UsageError(f"there is no task {only!r} in both the suite and the results")
    wanted = [task for task in suite.tasks if task.id in known and only in ("", task.id)]
    if not wanted:
        raise UsageError("nothing to grade: the results hold none of the suite's tasks")
    records = read_transcript_records(recorded)
    suite = as_elsewhere(suite) if records else suite
    # A judge is asked by the executor of the suite, which need not know the model of an agent that ran elsewhere.
    model = next(iter(suite.models), "") if records else recorded.config.model_id
    session = GradingSession(suite, model, project, tracing, listen)
    session.emit(_started(suite, recorded))
    try:
        async with session:
            pairs = [(task, known[task.id]) for task in wanted]
            graded = await _Regrading(session, recorded, workspace).grade(pairs, workers)
    except RunError as error:
        session.emit(RunFinished(status="error", error=str(error)))
        raise
    untouched = [task for task in recorded.tasks if task.test_id not in {one.test_id for one in graded}]
    result = _result(suite, recorded, [*graded, *untouched])
    session.emit(RunFinished(status="complete", verdict=verdict_of(result).status))
    return RegradeResult(
        result=result,
        grades=make_grades(graded, verdict_of(_result(suite, recorded, graded) if only else result)),
        warnings=(*_warnings(suite, known, only, graded), *([session.fault] if session.fault else ())),
    )


def _started(suite: Suite, recorded: SuiteResult) -> RunStarted:
    return RunStarted(
        suite=suite.name,
        path=str(suite.path),
        skill=suite.file.skill,
        executor=suite.file.config.executor,
        model=recorded.config.model_id,
        run_id=recorded.eval_id,
    )


def _warnings(
    suite: Suite, known: Mapping[str, TaskResult], only: str, graded: Sequence[TaskResult]
) -> Iterator[str]:
    """Yield what could not be graded, or not as it was."""
    for task in suite.tasks:
        if task.id not in known and not only:
            yield f"the results have no trial of the task {task.id!r}; it is left out"
    for result in graded:
        for trial in result.runs:
            if trial.truncated or any(event.truncated for event in trial.tool_events):
                yield (
                    f"{result.test_id}, trial {trial.run_number}: only head and tail of a huge text were stored;"
                    " graders saw the whole when it ran"
                )


class _Regrading:
    """The trials of one results file, while they are graded again."""

    def __init__(self, session: GradingSession, recorded: SuiteResult, workspace: Path | None) -> None:
        self.session, self.suite, self.recorded = session, session.suite, recorded
        self.workspace, self.emit = workspace, session.emit
        self.records = read_transcript_records(recorded)

    async def grade(self, pairs: Sequence[tuple[Task, TaskResult]], workers: int) -> list[TaskResult]:
        """Grade tasks with their recorded trials. Raises what breaks the first of them, and ends the others."""
        free = asyncio.Semaphore(workers)

        async def grade_one(number: int, task: Task, old: TaskResult) -> TaskResult:
            async with free:
                return await self._task(number, len(pairs), task, old)

        try:
            async with asyncio.TaskGroup() as group:
                graded = [group.create_task(grade_one(number, *pair)) for number, pair in enumerate(pairs, 1)]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [one.result() for one in graded]

    async def _task(self, index: int, total: int, task: Task, old: TaskResult) -> TaskResult:
        where: dict[str, Any] = {"task_id": task.id, "name": task.name}
        self.emit(TaskStarted(**where, index=index, total=total))
        trials: list[TrialResult] = []
        for trial in old.runs:
            self.emit(TrialStarted(**where, trial=trial.run_number, trials=len(old.runs)))
            trials.append(await self._grade_trial(task, trial))
            self.emit(TrialFinished(**where, trials=len(old.runs), result=trials[-1]))
        figures = TaskFigures(
            task_id=task.id,
            trials={number: figures_of(trial, 0) for number, trial in enumerate(trials)},
            planned=len(trials) + old.missing_trials,
            rule=self.suite.file.config.pass_rule,
            sequential=self.recorded.config.stop_when is not None,
        )
        status = figures.status if trials else old.status
        self.emit(
            TaskFinished(
                **where,
                index=index,
                total=total,
                status=status,
                score=stats.mean([trial.score for trial in figures.ordered]),
                duration_ms=sum(trial.duration_ms for trial in trials),
            )
        )
        return msgspec.structs.replace(
            old,
            runs=trials,
            status=status,
            stats=figures.stats,
            requirements=list(task.requirements),
        )

    async def _grade_trial(self, task: Task, result: TrialResult) -> TrialResult:
        is_broken = result.status == "error" or bool(result.error_msg)
        if is_broken and not result.error_msg.startswith(GRADING):
            return msgspec.structs.replace(result, validations={}, status="error")
        trial = Trial(task=task, number=result.run_number, max_attempts=self.suite.file.config.max_attempts)
        attempt = render_attempt(self.recorded.eval_id, trial, max(1, result.attempts))
        observation = rebuild_observation(
            task, result, self.workspace, self._baseline_output(task.id, result.run_number)
        )
        watch, redactor = self.session.watch(trial), self.session.redactor
        helpers = self.session.helpers(attempt, watch)
        blind = self._blind(task.id, result.run_number)
        graded = await grade_observation(
            self.suite,
            attempt,
            observation,
            helpers,
            blind.runnable(task.graders),
            watch,
            unseen=blind.capabilities,
        )
        status = trial_status("", graded, result.checkpoints, has_baseline=self.recorded.is_baseline)
        error = grading_error(graded)
        artifacts = failure_artifacts(status, result.final_output, error, graded.failed, redactor)
        new = msgspec.structs.replace(
            result,
            validations=graded.validations,
            status=status,
            error_msg=error,
            failure_artifacts=artifacts,
        )
        return storable(new, redactor)

    def _blind(self, task_id: str, number: int) -> Blind:
        record = self.records.get((task_id, number))
        if record is None:
            return Blind(workspace="" if self.workspace else GONE)
        return Blind.of_transcript(record.unseen, has_workspace=self.workspace is not None)

    def _baseline_output(self, task_id: str, number: int) -> str | None:
        below = self.recorded.baseline_outcome
        tasks = [task for task in below.tasks if task.test_id == task_id] if below else []
        return next(
            (trial.final_output for task in tasks for trial in task.runs if trial.run_number == number), None
        )


def rebuild_observation(
    task: Task, trial: TrialResult, workspace: Path | None, baseline_output: str | None = None
) -> Observation:
    """Return what was seen in a recorded trial, as its graders saw it."""
    return Observation(
        task_id=task.id,
        task_name=task.name,
        prompt=trial.prompt or task.prompt,
        question=_question(task, trial),
        diagnostics=_diagnostics(trial),
        expected_outcome=task.expected_outcome,
        expected=expectation(task),
        trial=trial.run_number,
        output=trial.final_output,
        transcript=tuple(trial.transcript),
        tool_events=tuple(trial.tool_events) or _from_digest(trial.session_digest.tool_calls),
        skill_invocations=tuple(trial.skill_invocations),
        command_invocations=tuple(trial.command_invocations),
        denials=tuple(trial.session_digest.tool_policy_denials),
        usage=trial.session_digest.usage,
        duration_ms=trial.duration_ms,
        session_id=trial.session_digest.session_id,
        workspace=str(workspace or ""),
        environment=task.inputs.environment,
        baseline_output=baseline_output,
    )


def _question(task: Task, trial: TrialResult) -> str:
    """Return the prompt of the last turn; a conversation without events had all that its task has."""
    asked = [event.content for event in trial.transcript if event.type == PROMPT]
    return str(asked[-1]) if asked else (trial.prompt or task.prompt, *task.follow_ups)[-1]


def _diagnostics(trial: TrialResult) -> dict[str, Any]:
    """Return the diagnostics of the last answer, from the agent's platform."""
    found = [event.message for event in trial.transcript if event.type == ANSWER]
    known = found[-1].get("diagnostics") if found and isinstance(found[-1], dict) else None
    return known if isinstance(known, dict) else {}


def _from_digest(calls: Sequence[DigestCall]) -> tuple[ToolEvent, ...]:
    """Return tool events from the digest, for results older than version 1.1; empty arguments were unset."""
    return tuple(
        ToolEvent(
            turn=0,
            sequence=i,
            tool_call_id=call.id,
            tool_name=call.name,
            args={key: value for key, value in msgspec.to_builtins(call.arguments).items() if value != ""},
            result=call.result,
            success=call.success,
        )
        for i, call in enumerate(calls, 1)
    )


def _result(suite: Suite, recorded: SuiteResult, tasks: list[TaskResult]) -> SuiteResult:
    config = msgspec.structs.replace(
        recorded.config,
        judge_model=suite.file.config.judge_model or recorded.config.judge_model,
        judge_reasoning_effort=suite.file.config.judge_reasoning_effort or "",
        pass_rule=suite.file.config.pass_rule,
    )
    figures = [
        TaskFigures(
            task_id=task.test_id,
            groups=tuple(task.group.split(", ")) if task.group else (),
            trials={trial.run_number: figures_of(trial, 0) for trial in task.runs},
            stopped="" if task.runs or task.status != "error" else "stopped",
            planned=len(task.runs) + task.missing_trials,
            rule=suite.file.config.pass_rule,
            sequential=recorded.config.stop_when is not None,
        )
        for task in tasks
    ]
    tasks = [  # also those that were not graded again, which another pass rule may have decided
        msgspec.structs.replace(task, status=one.status) if task.runs else task
        for task, one in zip(tasks, figures, strict=True)
    ]
    total = summary(figures, recorded.config.runs_per_test, recorded.summary.duration_ms)
    metrics = {name: found for name, found in recorded.metrics.items() if name.startswith("trigger_")}
    result = msgspec.structs.replace(
        recorded,
        timestamp=datetime.now().astimezone().isoformat(),
        config=config,
        summary=msgspec.structs.replace(total, usage=recorded.summary.usage),  # no agent ran
        metrics=metrics,
        tasks=tasks,
    )
    lost = [metric.name for metric in suite.file.metrics if gating(metric) and metric.name not in metrics]
    metadata = {
        key: value for key, value in result.metadata.items() if key != INVOCATION
    }  # it graded otherwise
    without = recorded.baseline_outcome.tasks if recorded.baseline_outcome else ()
    result = check_treatment(msgspec.structs.replace(result, metadata=metadata), tasks, without)
    result = without_data(result, lost)
    return with_verdict(result, judge(result))


def make_grades(graded: Sequence[TaskResult], verdict: RunVerdict) -> Grades:
    """Return what `waza grade` prints of graded tasks, and of the verdict over the run."""
    tasks = {task.test_id: _grade(task) for task in graded}
    return Grades(
        overall_score=number(sum(task.overall_score for task in tasks.values()) / len(tasks)),
        passed=verdict.passed,
        tasks=tasks,
    )


def _grade(task: TaskResult) -> TaskGrade:
    sums: dict[str, tuple[float, float]] = {}
    for trial in task.runs:
        for name, found in (trial.validations or {}).items():
            weight = found.weight if found.weight > 0 else 1.0
            total, weights = sums.get(name, (0.0, 0.0))
            sums[name] = (total + found.score * weight, weights + weight)
    return TaskGrade(
        overall_score=task.stats.avg_weighted_score if task.stats else 0,
        passed=task.status == "passed",
        grader_averages={name: number(total / weights) for name, (total, weights) in sorted(sums.items())},
    )
