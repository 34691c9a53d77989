"""What lists show of the tasks of a run, and where each task is in its file, so that a few of many are read alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from waza.errors import WazaError
from waza.kit.files import Stamp, stamp_of
from waza.model.cost import Cost
from waza.model.observation import Usage, add_usage
from waza.model.requirement import RecordedRequirement
from waza.model.result import SuiteResult, TaskResult, TaskStats, TaskStatus, TrialResult, TrialStatus
from waza.model.stop_when import EndedBy
from waza.model.trial import Arm
from waza.problem import Problem, display_path
from waza.results.figures import mean_scores
from waza.results.read import BASELINE_PLACE, decode_task, open_parts
from waza.results.requirements import Observed, observe


class TrialHead(msgspec.Struct, frozen=True, kw_only=True):
    """A trial in short. `usage` is that of all its attempts, `judging` that of judges and responders, `cost` what both cost.

    The scores are None where nothing was graded.
    """

    number: int
    status: TrialStatus
    score: float | None
    weighted: float | None
    duration_ms: int
    attempts: int
    usage: Usage | None
    judging: Usage | None
    cost: Cost | None = None
    observed: Observed = ()


class TaskHead(msgspec.Struct, frozen=True, kw_only=True):
    """A task in short. `going_on`: its run is in progress, so missing trials may still run."""

    test_id: str
    display_name: str
    group: str = ""
    golden: bool = False
    tags: tuple[str, ...] = ()
    status: TaskStatus
    cached: bool = False
    rejudged: bool = False
    missing_trials: int = 0
    ended_by: EndedBy | None = None
    error_msg: str = ""
    stats: TaskStats | None = None
    trials: tuple[TrialHead, ...] = ()
    requirements: tuple[RecordedRequirement, ...] = ()
    going_on: bool = False


class FileChangedError(WazaError):
    """A file is not the one that the index was made of; make a new index."""


class RunTasks(Protocol):
    """The tasks of a run: in short, and one at a time as a whole."""

    def heads(self, arm: Arm) -> Sequence[TaskHead]:
        """Return the tasks of an arm in short, in their order."""
        ...

    def read(self, arm: Arm, place: int) -> TaskResult:
        """Return the task with this place among the heads. Raises FileChangedError, WazaError, OSError."""
        ...


class ResultsIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The index of a results file: its head without tasks, and its tasks with their places in the file, in bytes."""

    path: Path
    stamp: Stamp
    head: SuiteResult
    warnings: list[Problem]
    tasks: dict[Arm, list[TaskHead]]
    places: dict[Arm, list[tuple[int, int]]]

    def heads(self, arm: Arm) -> Sequence[TaskHead]:
        """Return the tasks of an arm in short, in their order."""
        return self.tasks.get(arm, ())

    def read(self, arm: Arm, place: int) -> TaskResult:
        """Return a task as a whole. Raises FileChangedError, SuiteError, OSError."""
        offset, size = self.places[arm][place]
        with self.path.open("rb") as file:
            if stamp_of(os.fstat(file.fileno())) != self.stamp:
                raise FileChangedError(f"{display_path(self.path)} has changed; read it again")
            file.seek(offset)
            data = file.read(size)
        return decode_task(data, display_path(self.path), _place(arm, place))


def index_results(path: Path, *, checked: bool = True) -> ResultsIndex:
    """Return the index of a results file, as `waza.results.read.open_parts` reads it.

    Raises SuiteError for what is no results file, OSError.
    """
    with path.open("rb") as file:
        data, stamp = file.read(), stamp_of(os.fstat(file.fileno()))
    name = display_path(path)
    parts = open_parts(data, name, checked=checked)
    tasks, places = dict[Arm, list[TaskHead]](), dict[Arm, list[tuple[int, int]]]()
    arms: list[tuple[Arm, list[msgspec.Raw]]] = [("main", parts.tasks)]
    if parts.head.baseline_outcome is not None:
        arms.append(("baseline", parts.baseline_tasks))
    for arm, raw in arms:
        places[arm] = _find(raw, data)
        tasks[arm] = [_head(one, name, _place(arm, number)) for number, one in enumerate(raw)]
    return ResultsIndex(
        path=path, stamp=stamp, head=parts.head, warnings=parts.warnings, tasks=tasks, places=places
    )


def _find(parts: Sequence[msgspec.Raw], data: bytes) -> list[tuple[int, int]]:
    """Return where the items of an array are, and how long they are."""
    written = [bytes(part) for part in parts]
    at = data.find(written[0]) if written else -1
    while at >= 0:  # an item like the first one may be elsewhere as well
        if places := _follow(written, data, at):
            return places
        at = data.find(written[0], at + 1)
    return []


def _follow(written: Sequence[bytes], data: bytes, at: int) -> list[tuple[int, int]]:
    """Return the places of items that follow one another from here on; nothing if they do not."""
    places = []
    for one in written:
        while data[at : at + 1] in _BETWEEN:
            at += 1
        if not data.startswith(one, at):
            return []
        places.append((at, len(one)))
        at += len(one)
    return places


def _place(arm: Arm, number: int) -> str:
    return f"{'' if arm == 'main' else BASELINE_PLACE}tasks[{number}]"


_BETWEEN = (b",", b" ", b"\t", b"\r", b"\n")


class _Session(msgspec.Struct):
    usage: Usage | None = None


class _Verdict(msgspec.Struct):
    type: str
    score: float
    weight: float
    passed: bool


class _Checkpoint(msgspec.Struct):
    after_turn: int
    status: str
    validations: dict[str, _Verdict]


class _Trial(msgspec.Struct):
    run_number: int
    attempts: int
    status: TrialStatus
    duration_ms: int
    validations: dict[str, _Verdict] | None
    session_digest: _Session
    grader_sessions: list[_Session] = []
    attempt_history: list[_Session] = []
    checkpoints: list[_Checkpoint] = []
    cost: Cost | None = None


class _Task(msgspec.Struct):
    test_id: str
    display_name: str
    status: TaskStatus
    runs: list[_Trial]
    cached: bool = False
    rejudged: bool = msgspec.field(default=False, name="judged_anew")
    group: str = ""
    golden: bool = False
    tags: tuple[str, ...] = ()
    missing_trials: int = 0
    ended_by: EndedBy | None = None
    error_msg: str = ""
    stats: TaskStats | None = None
    requirements: tuple[RecordedRequirement, ...] = ()


_decoder = msgspec.json.Decoder(_Task)


def _head(data: msgspec.Raw, file: str, place: str) -> TaskHead:
    """Return a task of a results file in short; the rest of it is passed over."""
    try:
        task = _decoder.decode(data)
    except msgspec.ValidationError:  # of another program
        return head_of(decode_task(data, file, place))
    return _make_head(task)


def head_of(task: TaskResult) -> TaskHead:
    """Return a task in short."""
    return _make_head(msgspec.convert(task, _Task, from_attributes=True))


def trial_head_of(trial: TrialResult) -> TrialHead:
    """Return a trial in short."""
    return _make_trial(msgspec.convert(trial, _Trial, from_attributes=True))


def _make_head(task: _Task) -> TaskHead:
    return TaskHead(
        test_id=task.test_id,
        display_name=task.display_name or task.test_id,
        group=task.group,
        golden=task.golden,
        tags=task.tags,
        status=task.status,
        cached=task.cached,
        rejudged=task.rejudged,
        missing_trials=task.missing_trials,
        ended_by=task.ended_by,
        error_msg=task.error_msg,
        stats=task.stats,
        trials=tuple(_make_trial(trial, task.requirements) for trial in task.runs),
        requirements=task.requirements,
    )


def _make_trial(trial: _Trial, requirements: Sequence[RecordedRequirement] = ()) -> TrialHead:
    verdicts = list((trial.validations or {}).values())
    score, weighted = mean_scores(verdicts) if verdicts else (None, None)
    return TrialHead(
        number=trial.run_number,
        status=trial.status,
        score=score,
        weighted=weighted,
        duration_ms=trial.duration_ms,
        attempts=trial.attempts,
        usage=add_usage([*(one.usage for one in trial.attempt_history), trial.session_digest.usage]),
        judging=add_usage([one.usage for one in trial.grader_sessions]),
        cost=trial.cost,
        observed=observe(requirements, trial),
    )
