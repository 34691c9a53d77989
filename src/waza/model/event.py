"""What happens during a run, passed to listeners (console, session log, progress) as it happens."""

from __future__ import annotations

from typing import Literal

import msgspec

from waza.model.observation import ToolEvent, Usage
from waza.model.result import CheckpointRecord, TaskStatus, TrialResult


class RunEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something happened in a run."""


class RunStarted(RunEvent, frozen=True, kw_only=True):
    """A suite starts on one model; its arms follow. `executor` is not started yet."""

    suite: str
    path: str
    skill: str
    executor: str
    model: str
    run_id: str


class RunFinished(RunEvent, frozen=True, kw_only=True):
    """A suite ended on one model, after its results were written.

    `status` is `complete`, `cancelled`, `stopped`, `limit`, or `error` where the run as a whole could not go on: `error` says why.
    `verdict` is `passed`, `failed` or `skipped` (nothing was graded); empty: no verdict.
    """

    status: str
    error: str = ""
    verdict: str = ""


class SuiteStarted(RunEvent, frozen=True, kw_only=True):
    """A suite starts on one model and in one arm, with so many trials a task.

    `workers` is 1 when nothing runs at the same time; `resumed` counts the trials that had finished before.
    """

    suite: str
    path: str
    skill: str
    executor: str
    model: str
    judge_model: str
    workers: int
    tasks: int
    trials: int = 1
    arm: str = "main"
    run_id: str = ""
    resumed: int = 0
    notes: tuple[str, ...] = ()
    selected: tuple[tuple[str, str], ...] = ()


class TaskStarted(RunEvent, frozen=True, kw_only=True):
    """A task starts; `index` counts from 1."""

    task_id: str
    name: str
    index: int
    total: int


class TrialStarted(RunEvent, frozen=True, kw_only=True):
    """A trial of a task starts."""

    task_id: str
    name: str
    trial: int
    trials: int


PromptKind = Literal["initial", "follow_up", "responder_reply", "trigger"]
"""What a prompt is: the first one, a later one of the task, one of the responder, or one of the trigger tests."""


class PromptSent(RunEvent, frozen=True, kw_only=True):
    """A prompt goes to the agent; `turn` counts from 1, as do `trial` and `attempt` (0: not known)."""

    task_id: str
    name: str
    trial: int = 0
    attempt: int = 0
    turn: int
    text: str
    kind: PromptKind = "initial"


class ResponseSeen(RunEvent, frozen=True, kw_only=True):
    """The agent's turn ended; `calls` are the tool calls that were seen in it."""

    task_id: str
    name: str
    trial: int = 0
    attempt: int = 0
    turn: int
    text: str
    calls: tuple[ToolEvent, ...] = ()
    error: str = ""
    timed_out: bool = False
    usage: Usage | None = None
    session_id: str = ""
    agent: str = ""


class ExecutorFailed(RunEvent, frozen=True, kw_only=True):
    """An executor raised what it should not; the trial ends with an error."""

    task_id: str
    name: str
    traceback: str


class CheckpointGraded(RunEvent, frozen=True, kw_only=True):
    """A checkpoint was graded."""

    task_id: str
    name: str
    trial: int = 0
    checkpoint: CheckpointRecord


class AttemptRetried(RunEvent, frozen=True, kw_only=True):
    """An attempt failed and another follows; `attempt` is the one that failed."""

    task_id: str
    name: str
    trial: int = 0
    attempt: int
    attempts: int
    failed_graders: tuple[str, ...]


class TrialFinished(RunEvent, frozen=True, kw_only=True):
    """A trial ended."""

    task_id: str
    name: str
    trials: int
    result: TrialResult


class TaskFinished(RunEvent, frozen=True, kw_only=True):
    """A task ended with all its trials. `score` is their mean score, `spared` how many trials it did not need (`stop_when`)."""

    task_id: str
    name: str
    index: int
    total: int
    spared: int = 0
    status: TaskStatus
    score: float
    duration_ms: int
    cached: bool = False
    rejudged: bool = False
    note: str = ""


class HookStarted(RunEvent, frozen=True, kw_only=True):
    """A hook starts; `task_id` and `name` are of its task, empty for a hook of the run."""

    point: str
    command: str
    task_id: str = ""
    name: str = ""


class HookRan(RunEvent, frozen=True, kw_only=True):
    """A hook ran; `ok` tells whether its exit code was acceptable, `reason` why it was not."""

    point: str
    command: str
    output: str
    ok: bool
    reason: str = ""
    task_id: str = ""
    name: str = ""


class Warned(RunEvent, frozen=True, kw_only=True):
    """Something that does not stop the run but should be known."""

    message: str


class SuiteStopped(RunEvent, frozen=True, kw_only=True):
    """No new task starts (`fail_fast` or an interrupt)."""

    reason: str


class SuiteFinished(RunEvent, frozen=True, kw_only=True):
    """The suite ended, on one model and in one arm. `cut_off`: some of its trials did not run.

    The counts are those of tasks; the ones that were cut off are among the skipped.
    """

    cut_off: bool = False
    total: int
    passed: int
    failed: int
    errors: int
    skipped: int
    duration_ms: int
