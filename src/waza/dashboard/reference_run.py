"""A run with its tasks in one answer, in the shape that other programs know; made task by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from waza.dashboard.digests import digest_page, responder_page
from waza.dashboard.pages import (
    GraderResult,
    ReferenceTask,
    ReferenceTrial,
    RunSummary,
    TranscriptEvent,
)
from waza.dashboard.run_pages import interval_page
from waza.model.observation import Event
from waza.model.result import TaskResult, TrialResult
from waza.results.figures import mean_scores
from waza.results.task_index import RunTasks

_encode = msgspec.json.Encoder(enc_hook=str).encode


def write_run(run: RunSummary, source: RunTasks, places: Sequence[int]) -> Iterator[bytes]:
    """Yield the JSON of a run with the tasks at these places; only one of them is in memory."""
    yield _encode(run)[:-1] + b',"tasks":['
    for count, place in enumerate(places):
        yield (b"," if count else b"") + _encode(_task(source.read("main", place)))
    yield b"]}"


def _task(task: TaskResult) -> ReferenceTask:
    stats, trials = task.stats, [_trial(trial) for trial in task.runs]
    first = trials[0] if trials else None
    return ReferenceTask(
        id=task.test_id,
        name=task.display_name or task.test_id,
        prompt=task.runs[0].prompt if task.runs else "",
        outcome=task.status,
        score=stats.avg_score if stats else None,
        weighted_score=stats.avg_weighted_score if stats else None,
        duration=stats.avg_duration_ms / 1000 if stats else None,
        grader_results=first.grader_results if first else [],
        transcript=first.transcript if first else [],
        session_digest=first.session_digest if first else None,
        responder=first.responder if first else None,
        bootstrap_ci=interval_page(stats.score_interval if stats else None),
        is_significant=stats.is_significant if stats else None,
        runs=trials,
    )


def _trial(trial: TrialResult) -> ReferenceTrial:
    verdicts = trial.validations or {}
    return ReferenceTrial(
        number=trial.run_number,
        outcome=trial.status,
        attempts=trial.attempts,
        score=mean_scores(list(verdicts.values()))[0] if verdicts else None,
        duration=trial.duration_ms / 1000,
        output=trial.final_output,
        error=trial.error_msg,
        grader_results=[
            GraderResult(
                name=one.identifier or name,
                type=one.type,
                passed=one.passed,
                score=one.score,
                weight=one.weight,
                message=one.feedback,
            )
            for name, one in verdicts.items()
        ],
        transcript=[_event(event) for event in trial.transcript],
        session_digest=digest_page(trial.session_digest, trial.session_digest.usage or trial.usage),
        responder=responder_page(trial.responder),
    )


def _event(event: Event) -> TranscriptEvent:
    return TranscriptEvent(
        type=event.type,
        content=event.content,
        message=event.message,
        tool_call_id=event.tool_call_id,
        tool_name=event.tool_name,
        arguments=event.arguments,
        tool_result=event.tool_result,
        success=event.success,
    )
