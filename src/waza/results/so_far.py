"""What is known of a run without results: the trials in its journal, of a run in progress or one that was cut off."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import WazaError
from waza.model.result import RunConfig, SuiteResult, TaskResult, TrialResult
from waza.model.suite import SCHEMA_VERSION
from waza.model.trial import Arm
from waza.problem import display_path
from waza.results.ending import CUT_OFF, IN_PROGRESS
from waza.results.figures import TaskFigures, TrialFigures, figures_of, summary, task_stats
from waza.results.journal_lines import (
    JOURNAL,
    RunEnd,
    RunHeader,
    TrialRecord,
    decode_trial,
    journal_lines,
    read_header,
)
from waza.results.selection import SELECTION
from waza.results.task_index import FileChangedError, TaskHead, TrialHead, trial_head_of
from waza.results.transcripts import TRANSCRIPTS


class JournaledTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A finished trial in the journal, without what it holds of the agent.

    Its line begins at the `offset` of its figures and has `size` bytes. `clock` is how many milliseconds its arm had been
    running in its part of the run. `again`: it takes the place of an earlier record of the trial.
    """

    arm: Arm
    task: str
    head: TrialHead
    figures: TrialFigures
    size: int
    clock: int
    again: bool


class PartBegan(msgspec.Struct, frozen=True):
    """The run went on after it had been cut off; `at` is RFC 3339."""

    at: str


Trials = Mapping[str, Mapping[int, JournaledTrial]]
"""The finished trials of an arm, by task and number."""


class RunSoFar:
    """The journal of a run, read as it grows: `refresh` reads what was added. No transcript is kept.

    Its tasks are those with a finished trial, in the order in which their first one finished. The journal knows neither
    their names nor how many trials were to run. Several threads may use it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = threading.RLock()
        self._clear(file=0)

    def _clear(self, file: int) -> None:
        self.header: RunHeader | None = None
        self.entries: list[JournaledTrial | PartBegan | RunEnd] = []
        self._trials: dict[Arm, dict[str, dict[int, JournaledTrial]]] = {}
        self._file, self._offset, self._number = file, 0, 1

    def refresh(self) -> None:
        """Read the lines that were added. A journal that is another file now is read from its beginning.

        Raises WazaError with the number of a line that is damaged; what is before it is kept. Raises OSError.
        """
        with self._lock:
            self._refresh()

    def _refresh(self) -> None:
        found = (self.directory / JOURNAL).stat()
        if found.st_ino != self._file or found.st_size < self._offset:
            self._clear(file=found.st_ino)
        if found.st_size == self._offset:
            return
        for one in journal_lines(self.directory, self._offset, self._number):
            if one.line.run is not None:
                self.header = one.line.run
                self._trials = {arm: {} for arm in self.header.arms}
            elif one.line.trial is not None:
                self._add(one.line.trial, one.offset, one.size)
            elif one.line.resumed is not None:
                self.entries.append(PartBegan(one.line.resumed.at))
            elif one.line.end is not None:
                self.entries.append(one.line.end)
            self._offset, self._number = one.offset + one.size, one.number + 1

    def _add(self, record: TrialRecord, offset: int, size: int) -> None:
        trials = self._trials.setdefault(record.arm, {}).setdefault(record.task, {})
        number = record.result.run_number
        trials[number] = JournaledTrial(
            arm=record.arm,
            task=record.task,
            head=trial_head_of(record.result),
            figures=figures_of(record.result, offset, cached=record.cached, rejudged=record.rejudged),
            size=size,
            clock=record.clock,
            again=number in trials,
        )
        self.entries.append(trials[number])

    def trials(self, arm: Arm) -> Trials:
        """Return the finished trials of an arm."""
        with self._lock:
            return {task: dict(found) for task, found in self._trials.get(arm, {}).items()}

    def head(self, *, in_progress: bool) -> SuiteResult:
        """Return what is known in the form of results without tasks; `run_status` says what they are.

        Raises WazaError for a journal without its first line.
        """
        header = self.header or read_header(self.directory)
        status: dict[str, Any] = {
            "run_status": IN_PROGRESS if in_progress else CUT_OFF,
            "waza_version": header.waza,
        }
        if header.selection is not None:
            status[SELECTION] = msgspec.to_builtins(header.selection)
        if header.transcripts:
            status[TRANSCRIPTS] = msgspec.to_builtins(header.transcripts)
        baseline = _head(header, self.trials("baseline"), {}) if "baseline" in header.arms else None
        head = _head(header, self.trials("main"), status)
        return msgspec.structs.replace(head, is_baseline=baseline is not None, baseline_outcome=baseline)

    def heads(self, arm: Arm) -> Sequence[TaskHead]:
        """Return the tasks of an arm in short."""
        return [_task_head(_figures(task, found), found) for task, found in self.trials(arm).items()]

    def read(self, arm: Arm, place: int) -> TaskResult:
        """Return the task with this place among the heads. Raises FileChangedError, OSError."""
        with self._lock:
            task, trials = list(self._trials.get(arm, {}).items())[place]
            trials = dict(trials)
        return self._read(task, trials)

    def read_all(self, arm: Arm) -> list[TaskResult]:
        """Return all tasks of an arm; raises as `read` does."""
        return [self._read(task, trials) for task, trials in self.trials(arm).items()]

    def read_trial(self, trial: JournaledTrial) -> TrialResult:
        """Return a finished trial as a whole. Raises FileChangedError, OSError."""
        with (self.directory / JOURNAL).open("rb") as file:
            file.seek(trial.figures.offset)
            record = decode_trial(file.read(trial.size).removesuffix(b"\n"))
        if record is None or record.task != trial.task:
            raise FileChangedError(f"{display_path(self.directory / JOURNAL)} has changed; read it again")
        return record.result

    def _read(self, task: str, trials: Mapping[int, JournaledTrial]) -> TaskResult:
        runs = [self.read_trial(trials[number]) for number in sorted(trials)]
        head = _task_head(_figures(task, trials), trials)
        return TaskResult(
            cached=head.cached,
            rejudged=head.rejudged,
            test_id=head.test_id,
            display_name=head.display_name,
            status=head.status,
            runs=runs,
            stats=head.stats,
        )


def results_so_far(directory: Path, *, in_progress: bool) -> SuiteResult:
    """Return the finished trials in the journal of a run, in the form of results; see RunSoFar.

    Raises WazaError with the number of a line that is damaged.
    """
    found = RunSoFar(directory)
    try:
        found.refresh()
    except OSError as error:
        raise WazaError(
            f"the run in {directory} cannot be read: {error.strerror}; start a new run"
        ) from error
    head = found.head(in_progress=in_progress)
    without = head.baseline_outcome
    return msgspec.structs.replace(
        head,
        tasks=found.read_all("main"),
        baseline_outcome=without and msgspec.structs.replace(without, tasks=found.read_all("baseline")),
    )


def _figures(task: str, trials: Mapping[int, JournaledTrial]) -> TaskFigures:
    return TaskFigures(
        task_id=task, trials={number: one.figures for number, one in trials.items()}, planned=len(trials)
    )


def _head(header: RunHeader, trials: Trials, metadata: dict[str, str]) -> SuiteResult:
    return SuiteResult(
        schemaVersion=SCHEMA_VERSION,
        eval_id=header.id,
        skill="",
        eval_name=display_path(Path(header.suite)),
        timestamp=header.started,
        config=RunConfig(runs_per_test=0, model_id=header.model, engine_type="", timeout_sec=0),
        summary=summary([_figures(task, found) for task, found in trials.items()], 1, 0),
        metrics={},
        tasks=[],
        metadata=metadata,
    )


def _task_head(figures: TaskFigures, trials: Mapping[int, JournaledTrial]) -> TaskHead:
    return TaskHead(
        test_id=figures.task_id,
        display_name=figures.task_id,
        status=figures.status,
        cached=figures.cached,
        rejudged=figures.rejudged,
        stats=task_stats(figures.task_id, figures.ordered),
        trials=tuple(trials[number].head for number in sorted(trials)),
    )
