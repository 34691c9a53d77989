"""Results as rows of a table: one a trial, or one a verdict. Fields are columns; new ones are added at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from waza.model.origin import GitState
from waza.model.result import SuiteResult, TaskResult, TrialResult, Validation
from waza.model.trial import Arm
from waza.results.ending import run_status
from waza.results.figures import figures_of
from waza.results.outcome import Outcome
from waza.results.selection import selected_by

RowKind = Literal["trials", "verdicts"]

NOT_RUN = "not_run"  # the status of a trial that was planned


class TrialRow(msgspec.Struct, frozen=True, kw_only=True):
    """A trial. One that was planned and did not run has a row as well, with the status `not_run`."""

    run: str
    """The id of the run."""
    suite: str
    """The name of the suite."""
    skill: str
    """The target of the suite."""
    model: str
    """The model of the agent."""
    executor: str
    """The executor."""
    started: str
    """When the run began, as RFC 3339."""
    run_status: str
    """How the run ended: `complete`, or why it did not come to its end."""
    selection: str
    """The options that chose the tasks of the run; empty for all tasks of the suite."""
    commit: str
    """The commit of the suite; empty where it is unknown."""
    branch: str
    """The branch of the suite; empty where it is unknown."""
    dirty: bool | None
    """Whether files differed from the commit; empty where it is unknown."""
    arm: Arm
    """`main`, or `baseline` for the arm without skills."""
    task: str
    """The id of the task."""
    task_name: str
    """The name of the task."""
    group: str
    """The groups of the task."""
    tags: list[str]
    """The tags of the task; in CSV joined by `, `."""
    golden: bool
    """Whether the task must always pass."""
    task_status: str
    """The status of the task over its trials."""
    trial: int | None
    """The number of the trial, from 1."""
    attempts: int
    """How many attempts it took."""
    status: str
    """`passed`, `failed`, `error`, `skipped` (not graded) or `not_run`."""
    score: float | None
    """The mean of its verdicts, from 0 to 1; empty unless it passed or failed."""
    weighted_score: float | None
    """The same with the weights of the graders."""
    duration_ms: int | None
    """Milliseconds that the agent worked in the attempt that counts; empty where it is unknown."""
    input_tokens: int | None
    """Tokens that models read in all attempts; empty where it is unknown."""
    output_tokens: int | None
    """Tokens that models wrote in all attempts; empty where it is unknown."""
    ai_credits: float | None
    """AI credits of all attempts; empty where they are not reported."""
    premium_requests: float | None
    """Premium requests of all attempts; empty where they are unknown."""
    cost: float | None
    """What it cost in this run, judges and responders included; empty where that is unknown."""
    currency: str | None
    """The currency of `cost`."""
    cached: bool
    """Whether the answer is from the cache."""
    timed_out: bool
    """Whether a time limit ended it."""
    error: str
    """Why there is no verdict, or what broke on the way."""


class VerdictRow(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict of a grader on a trial, at its end or at a checkpoint."""

    run: str
    """The id of the run."""
    suite: str
    """The name of the suite."""
    skill: str
    """The target of the suite."""
    model: str
    """The model of the agent."""
    arm: Arm
    """`main`, or `baseline` for the arm without skills."""
    task: str
    """The id of the task."""
    trial: int
    """The number of the trial, from 1."""
    trial_status: str
    """The status of the trial. Verdicts on one that broke (`error`) measure nothing."""
    after_turn: int | None
    """The turn after which a checkpoint was graded; empty for verdicts at the end."""
    grader: str
    """The name of the grader."""
    type: str
    """The type of the grader; empty for checks of `expected` on the output."""
    score: float
    """From 0 to 1."""
    weight: float
    """How much it counts in weighted scores."""
    passed: bool
    """Whether the grader passed."""
    feedback: str
    """Why, in words."""
    error: str
    """Why the grader reached no verdict."""
    duration_ms: int
    """Milliseconds that the grader took."""


Row = TrialRow | VerdictRow

ROW_TYPES: dict[RowKind, type[TrialRow | VerdictRow]] = {"trials": TrialRow, "verdicts": VerdictRow}


def rows_of(outcome: Outcome, kind: RowKind) -> Iterator[Row]:
    """Yield the rows of a run, task by task, first those of the main arm; its tasks are read one at a time."""
    head, make = outcome.head, _trial_rows if kind == "trials" else _verdict_rows
    for task in outcome.tasks():
        yield from make(head, "main", task)
    for task in outcome.baseline_tasks():
        yield from make(head, "baseline", task)


def git_state(head: SuiteResult) -> GitState:
    """Return what was checked out when a run began; nothing is known of what the file does not say, or garbles."""
    try:
        return msgspec.convert(head.metadata.get("git", {}), GitState)
    except msgspec.ValidationError:
        return GitState()


def _trial_rows(head: SuiteResult, arm: Arm, task: TaskResult) -> Iterator[TrialRow]:
    for trial in task.runs:
        yield _trial_row(head, arm, task, trial)
    known = {trial.run_number for trial in task.runs}
    planned = len(known) + task.missing_trials
    if head.config.stop_when is None:
        planned = max(head.config.runs_per_test, planned)
    if not task.missing_trials and (known or not task.error_msg):
        return
    for number in range(1, planned + 1):
        if number not in known:
            yield _trial_row(head, arm, task, None, number)


def _trial_row(
    head: SuiteResult, arm: Arm, task: TaskResult, trial: TrialResult | None, number: int | None = None
) -> TrialRow:
    git = git_state(head)
    figures = figures_of(trial, 0) if trial else None
    graded = figures if trial and trial.status in ("passed", "failed") else None
    usage = figures.usage if figures else None
    return TrialRow(
        run=head.eval_id,
        suite=head.eval_name,
        skill=head.skill,
        model=head.config.model_id,
        executor=head.config.engine_type,
        started=head.timestamp,
        run_status=run_status(head),
        selection=selected_by(head),
        commit=git.commit,
        branch=git.branch,
        dirty=git.dirty,
        arm=arm,
        task=task.test_id,
        task_name=task.display_name,
        group=task.group,
        tags=task.tags,
        golden=task.golden,
        task_status=task.status,
        trial=trial.run_number if trial else number,
        attempts=trial.attempts if trial else 0,
        status=trial.status if trial else NOT_RUN,
        score=graded.score if graded else None,
        weighted_score=graded.weighted if graded else None,
        duration_ms=trial.duration_ms if trial and not trial.duration_unknown else None,
        input_tokens=usage.input_tokens if usage and usage.tokens else None,
        output_tokens=usage.output_tokens if usage and usage.tokens else None,
        ai_credits=usage.ai_credits if usage else None,
        premium_requests=usage.premium_requests if usage else None,
        cost=trial.cost.amount if trial and trial.cost else None,
        currency=trial.cost.currency if trial and trial.cost else None,
        cached=task.cached,
        timed_out=trial is not None and trial.timed_out,
        error=trial.error_msg if trial else task.error_msg,
    )


def _verdict_rows(head: SuiteResult, arm: Arm, task: TaskResult) -> Iterator[VerdictRow]:
    for trial in task.runs:
        for point in trial.checkpoints:
            for verdict in point.validations.values():
                yield _verdict_row(head, arm, task, trial, verdict, point.after_turn)
        for verdict in (trial.validations or {}).values():
            yield _verdict_row(head, arm, task, trial, verdict)


def _verdict_row(
    head: SuiteResult,
    arm: Arm,
    task: TaskResult,
    trial: TrialResult,
    verdict: Validation,
    after_turn: int | None = None,
) -> VerdictRow:
    return VerdictRow(
        run=head.eval_id,
        suite=head.eval_name,
        skill=head.skill,
        model=head.config.model_id,
        arm=arm,
        task=task.test_id,
        trial=trial.run_number,
        trial_status=trial.status,
        after_turn=after_turn,
        grader=verdict.identifier,
        type=verdict.type,
        score=verdict.score,
        weight=verdict.weight,
        passed=verdict.passed,
        feedback=verdict.feedback,
        error=str(verdict.details.get("error", "")),
        duration_ms=verdict.duration_ms,
    )
