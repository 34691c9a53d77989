"""Grading what ran elsewhere: recordings of sessions become the trials of a run, whose graders are asked as ever."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.assign_recordings import LISTED, RecordedTrial
from waza.engine.attempt_clock import AttemptClock
from waza.engine.converse import Conversation
from waza.engine.grade import grade
from waza.engine.grading_context import expectation
from waza.engine.grading_session import Blind, GradingSession, Refusing, as_elsewhere
from waza.engine.invocation import InvocationJournal, Job
from waza.engine.origin import Origins
from waza.engine.plan import make_plan
from waza.engine.record import judge_session_digest, storable
from waza.engine.recording_notes import notes_on, unseen_of
from waza.engine.run_directory import RunDirectory, open_run_directory
from waza.engine.tamper_check import TamperCheck
from waza.engine.trial import grade_observation, render_attempt, trial_result
from waza.errors import WazaError
from waza.kit import stats
from waza.kit.text import list_first, pluralize
from waza.model.event import (
    RunFinished,
    RunStarted,
    TaskFinished,
    TaskStarted,
    TrialFinished,
    TrialStarted,
)
from waza.model.loaded import Project, Suite
from waza.model.recording import Recording, TranscriptRecord
from waza.model.result import CheckpointRecord, TrialResult
from waza.model.selection import Selection
from waza.model.suite import Hooks
from waza.model.task import Checkpoint
from waza.model.tracing import Tracing
from waza.model.trial import Attempt, Trial
from waza.model.verdict import BuiltGrader, Helpers
from waza.results.journal_lines import RunEnd, TrialRecord
from waza.results.outcome import Outcome
from waza.results.transcripts import TRANSCRIPT


class GradedRecordings(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose trials ran elsewhere. Close `run_directory` after its outcome has been read for the last time."""

    outcome: Outcome
    """The results."""
    run_directory: RunDirectory
    """Where they are kept."""
    warnings: tuple[str, ...] = ()
    """What users should know: it is in the results, too."""


async def grade_recordings(
    suite: Suite,
    trials: Sequence[RecordedTrial],
    project: Project,
    *,
    workspace: Path | None = None,
    save: bool = True,
    tracing: Tracing | None = None,
) -> GradedRecordings:
    """Grade recordings as the trials of a run, which is kept below `.waza` unless `save` is False.

    Files are looked for in `workspace`. What a recording does not show is never assumed: a grader that needs it reaches
    no verdict, and its trial is an error. A session that broke, or whose end is not known, is graded, and an error.
    `suite` is loaded as one whose agent ran `elsewhere`.
    Raises RunError when the judge cannot be had, WazaError when the run cannot be written.
    """
    models = list(dict.fromkeys(name for one in trials for name in one.recording.models))
    model, part = ", ".join(models), _part(suite, trials)
    records = [_record(one) for one in trials]
    warnings = [note for one in trials for note in notes_on(suite, one.task, one.number, one.recording)]
    warnings += _notes_on_run(suite, trials, models)
    session = GradingSession(suite, next(iter(suite.models), ""), project, tracing)
    invocation = _open_invocation(project, Job(part, model), warnings, save=save)
    try:
        origin = await Origins(os.environ).find(suite.path, session.redactor, warnings.append)
        run_directory = open_run_directory(
            invocation,
            make_plan(part, model),
            project,
            {},
            origin,
            graded=True,
            repeat="outside",
            warn=warnings.append,
            transcripts=records,
        )
    finally:
        invocation.close()
    try:
        for task in part.tasks:
            planned = sum(one.task.id == task.id for one in trials)
            run_directory.fold.tasks["main"][task.id].planned = planned
        session.emit(_started(part, model, run_directory.id))
        async with session:
            run_directory.check_grader_files(session.shared.get(TamperCheck).digests())
            await _Run(part, session, run_directory, records, workspace).grade(trials)
        if session.fault:
            warnings.append(session.fault)
    except BaseException as error:
        session.emit(RunFinished(status="error", error=session.redactor.text(str(error))))
        run_directory.discard_if_empty()
        raise
    for warning in warnings:
        run_directory.add_warning(session.redactor.text(warning))
    took = sum(one.recording.duration_ms or 0 for one in trials)
    run_directory.fold.durations["main"] = took
    run_directory.end(RunEnd(status="complete", durations={"main": took}, warnings=run_directory.warnings))
    outcome, more = run_directory.finish("complete")
    session.emit(RunFinished(status="complete", verdict=outcome.verdict.status))
    return GradedRecordings(
        outcome=outcome, run_directory=run_directory, warnings=(*run_directory.warnings, *more)
    )


def _part(suite: Suite, trials: Sequence[RecordedTrial]) -> Suite:
    """Return the part of the suite that is graded, as it ran elsewhere: without what only a run here does."""
    suite = as_elsewhere(suite)
    ids = {one.task.id for one in trials}
    tasks = tuple(task for task in suite.tasks if task.id in ids)
    filters = tuple(word for one in trials for word in ("--transcript", one.recording.file))
    whole = len(tasks) == len(suite.tasks)
    counts = [sum(one.task.id == task.id for one in trials) for task in tasks]
    config = msgspec.structs.replace(
        suite.file.config,
        executor=TRANSCRIPT,
        trials_per_task=max(counts),
        stop_when=None,
        max_attempts=1,
        parallel=False,
    )
    return msgspec.structs.replace(
        suite,
        tasks=tasks,
        file=msgspec.structs.replace(suite.file, config=config, baseline=False, hooks=Hooks()),
        trigger_tests=None,
        selection=None if whole else Selection(filters=filters, selected=len(tasks), of=len(suite.tasks)),
    )


def _notes_on_run(suite: Suite, trials: Sequence[RecordedTrial], models: Sequence[str]) -> Iterator[str]:
    """Yield what of the suite is not graded."""
    graded = {one.task.id for one in trials}
    left = [task.id for task in suite.tasks if task.id not in graded]
    if left:
        count = pluralize(len(left), "task")
        yield f"without a transcript, and left out: {count}: {list_first(left, LISTED)}"
    several = len({one.recording.models for one in trials if one.recording.models}) > 1
    if several:
        yield f"the transcripts are of several models, whose trials count alike: {', '.join(models)}"
    elif len(models) > 1:
        yield f"the agent used several models: {', '.join(models)}"
    if suite.trigger_tests is not None:
        yield "the trigger tests were not run: no agent is run for a transcript"
    if suite.file.baseline:
        yield "there is no comparison with a run without skills: no agent is run for a transcript"


def _record(trial: RecordedTrial) -> TranscriptRecord:
    seen = trial.recording
    return TranscriptRecord(
        task=trial.task.id,
        trial=trial.number,
        file=seen.file,
        form=seen.form,
        agent=seen.agent,
        version=seen.version,
        session_id=seen.session_id,
        models=list(seen.models),
        cost_usd=seen.cost_usd,
        offered_skills=None if seen.offered_skills is None else list(seen.offered_skills),
        sub_agents={one.id: len(one.calls) for one in seen.sub_agents},
        skills_inferred=seen.skills_inferred,
        unseen=unseen_of(seen),
        notes=list(seen.notes),
    )


def _open_invocation(project: Project, job: Job, warnings: list[str], *, save: bool) -> InvocationJournal:
    if not save:
        return InvocationJournal.unsaved(project.directory)
    try:
        return InvocationJournal.start(project.directory, [job], transcripts=True)
    except WazaError as error:
        warnings.append(f"{error}; this run is kept in a temporary directory")
        return InvocationJournal.unsaved(project.directory)


def _started(suite: Suite, model: str, run_id: str) -> RunStarted:
    return RunStarted(
        suite=suite.name,
        path=str(suite.path),
        skill=suite.file.skill,
        executor=TRANSCRIPT,
        model=model,
        run_id=run_id,
    )


class _Run:
    """The trials of a run while they are graded."""

    def __init__(
        self,
        suite: Suite,
        session: GradingSession,
        run_directory: RunDirectory,
        records: Sequence[TranscriptRecord],
        workspace: Path | None,
    ) -> None:
        self.suite, self.session, self.run_directory = suite, session, run_directory
        self.workspace, self.emit = workspace, session.emit
        self.records = {(one.task, one.trial): one for one in records}

    async def grade(self, trials: Sequence[RecordedTrial]) -> None:
        """Grade the trials, task by task."""
        for index, task in enumerate(self.suite.tasks, 1):
            mine = [one for one in trials if one.task.id == task.id]
            where: dict[str, Any] = {"task_id": task.id, "name": task.name}
            self.emit(TaskStarted(**where, index=index, total=len(self.suite.tasks)))
            for one in mine:
                self.emit(TrialStarted(**where, trial=one.number, trials=len(mine)))
                result = await self._grade_trial(one)
                self.run_directory.add_trial(TrialRecord(arm="main", task=task.id, result=result))
                self.emit(TrialFinished(**where, trials=len(mine), result=result))
            figures = self.run_directory.fold.tasks["main"][task.id]
            self.emit(
                TaskFinished(
                    **where,
                    index=index,
                    total=len(self.suite.tasks),
                    status=figures.status,
                    score=stats.mean([trial.score for trial in figures.ordered]),
                    duration_ms=sum(trial.duration_ms for trial in figures.ordered),
                )
            )

    async def _grade_trial(self, recorded: RecordedTrial) -> TrialResult:
        trial, seen = Trial(task=recorded.task, number=recorded.number), recorded.recording
        attempt = _as_recorded(render_attempt(self.run_directory.id, trial, 1), seen)
        task, watch = attempt.task, self.session.watch(trial)
        helpers = self.session.helpers(attempt, watch)
        record = self.records[trial.task.id, trial.number]
        blind = Blind.of_transcript(record.unseen, has_workspace=self.workspace is not None)
        conversation = Conversation(
            task, trial.number, str(self.workspace or ""), AttemptClock(measured=False)
        )
        await self._replay(conversation, seen, blind, helpers)
        if any(mock.expect_calls is not None for mock in task.command_mocks):
            conversation.fail("how often mocked programs were called is not known: none is mocked elsewhere")
        observation = msgspec.structs.replace(
            conversation.observation(final=True), expected=expectation(task)
        )
        graded = await grade_observation(
            self.suite,
            attempt,
            observation,
            helpers,
            blind.runnable(task.graders),
            watch,
            unseen=blind.capabilities,
        )
        result = trial_result(self.suite, attempt, conversation, observation, graded, self.session.redactor)
        judge = helpers.judge
        sessions = [judge_session_digest(one) for one in (judge.sessions if judge else ())]
        result = msgspec.structs.replace(
            result,
            grader_sessions=sessions,
            workspace_dir="",
            duration_unknown=seen.duration_ms is None,
            skill_loaded=result.skill_loaded or None,  # an agent elsewhere may have got it unseen
        )
        return storable(result, self.session.redactor)

    async def _replay(
        self, conversation: Conversation, seen: Recording, blind: Blind, helpers: Helpers
    ) -> None:
        """Let the turns pass, with the checkpoints between them."""
        points = {point.after_turn: point for point in conversation.task.checkpoints}
        prompts = [conversation.task.prompt, *conversation.task.follow_ups]
        for number, recorded in enumerate(seen.turns, 1):
            conversation.add(prompts[number - 1], recorded.turn)
            if point := points.pop(number, None):
                conversation.checkpoints.append(await _checkpoint(point, conversation, blind, helpers))
        for point in points.values():
            why = (
                f"the transcript has only {pluralize(len(seen.turns), 'turn')}, so there was nothing to check"
            )
            refused = [BuiltGrader(built.spec, Refusing(why)) for built in point.graders]
            missed = msgspec.structs.replace(point, graders=tuple(refused))
            conversation.checkpoints.append(await _checkpoint(missed, conversation, Blind(), helpers))
        conversation.session_id = seen.session_id
        conversation.usages = [seen.usage]
        conversation.duration_ms = seen.duration_ms or 0
        if seen.error:
            conversation.broke = seen.error
            conversation.fail_turn(seen.error)


def _as_recorded(attempt: Attempt, seen: Recording) -> Attempt:
    """Return the attempt with the prompts that were sent; one that is not known is taken to be that of the task."""
    task = attempt.task
    wanted = [task.prompt, *task.follow_ups, *[""] * len(seen.turns)]
    sent = [wanted[i] if prompt is None else prompt for i, prompt in enumerate(seen.prompts)]
    task = msgspec.structs.replace(task, prompt=sent[0], follow_ups=tuple(sent[1:]))
    return msgspec.structs.replace(attempt, task=task)


async def _checkpoint(
    point: Checkpoint, conversation: Conversation, blind: Blind, helpers: Helpers
) -> CheckpointRecord:
    """Return the verdicts of a checkpoint. What is known of the session as a whole is not known of its middle."""
    then = f"as they were after turn {point.after_turn}, which a transcript does not hold"
    early = msgspec.structs.replace(
        blind,
        workspace=f"it looks at files of the workspace {then}",
        capabilities={**blind.capabilities, "usage": f"it looks at token counts {then}"},
    )
    graded = await grade(early.runnable(point.graders), conversation.observation(final=False), helpers)
    return CheckpointRecord(
        after_turn=point.after_turn,
        status="error" if graded.errors else "failed" if graded.failed else "passed",
        validations=graded.validations,
    )
