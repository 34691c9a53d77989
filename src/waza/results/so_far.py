"""What is known of a run without results: the trials in its journal, of a run in progress or one that was cut off."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import WazaError
from waza.kit.line_file import is_locked
from waza.model.pass_rule import ALL
from waza.model.result import RunConfig, SuiteResult, TaskResult, TrialResult
from waza.model.suite import SCHEMA_VERSION
from waza.model.trial import Arm
from waza.problem import display_path
from waza.results.ending import CUT_OFF, IN_PROGRESS
from waza.results.figures import TaskFigures, TrialFigures, figures_of, summary
from waza.results.journal_lines import (
    JOURNAL,
    PlannedTask,
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

    Its tasks are those of the plan, which the header of the journal has. Several threads may use it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = threading.RLock()
        self._clear(file=0)

    def _clear(self, file: int) -> None:
        self.header: RunHeader | None = None
        self.entries: list[JournaledTrial | PartBegan | RunEnd] = []
        self._planned: dict[str, PlannedTask] = {}
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
                self._planned = {task.id: task for task in self.header.tasks}
                self._trials = {arm: {task: {} for task in self._planned} for arm in self.header.arms}
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

    def _tasks(self, arm: Arm) -> Trials:
        """Return the tasks of an arm with their finished trials."""
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
        baseline = self._head(header, "baseline", {}) if "baseline" in header.arms else None
        head = self._head(header, "main", status)
        return msgspec.structs.replace(head, is_baseline=baseline is not None, baseline_outcome=baseline)

    def heads(self, arm: Arm) -> Sequence[TaskHead]:
        """Return the tasks of an arm in short."""
        going_on = is_locked(self.directory / JOURNAL)
        return [self._task_head(task, found, going_on=going_on) for task, found in self._tasks(arm).items()]

    def read(self, arm: Arm, place: int) -> TaskResult:
        """Return the task with this place among the heads. Raises FileChangedError, OSError."""
        with self._lock:
            task, trials = list(self._trials.get(arm, {}).items())[place]
            trials = dict(trials)
        return self._read(task, trials)

    def read_all(self, arm: Arm) -> list[TaskResult]:
        """Return all tasks of an arm; raises as `read` does."""
        return [self._read(task, trials) for task, trials in self._tasks(arm).items()]

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
        head = self._task_head(task, trials)
        return TaskResult(
            cached=head.cached,
            rejudged=head.rejudged,
            test_id=head.test_id,
            display_name=head.display_name,
            group=head.group,
            golden=head.golden,
            tags=list(head.tags),
            status=head.status,
            runs=runs,
            missing_trials=head.missing_trials,
            ended_by=head.ended_by,
            stats=head.stats,
        )

    def _figures(self, task: str, trials: Mapping[int, JournaledTrial]) -> TaskFigures:
        header = self.header
        return TaskFigures(
            task_id=task,
            trials={number: one.figures for number, one in trials.items()},
            planned=max(len(trials), header.trials if header else 0),
            rule=header.pass_rule if header else ALL,
            stop=header.stop_when if header else None,
        )

    def _task_head(
        self, task: str, trials: Mapping[int, JournaledTrial], *, going_on: bool = False
    ) -> TaskHead:
        figures, planned = (
            self._figures(task, trials),
            self._planned.get(task, PlannedTask(id=task, name=task)),
        )
        return TaskHead(
            test_id=task,
            display_name=planned.name,
            group=planned.group,
            golden=planned.golden,
            tags=tuple(planned.tags),
            status=figures.status,
            cached=figures.cached,
            rejudged=figures.rejudged,
            missing_trials=figures.missing,
            ended_by=figures.ended_by,
            stats=figures.stats,
            trials=tuple(trials[number].head for number in sorted(trials)),
            going_on=going_on,
        )

    def _head(self, header: RunHeader, arm: Arm, metadata: dict[str, Any]) -> SuiteResult:
        config = RunConfig(
            runs_per_test=header.trials,
            model_id=header.model,
            engine_type=header.executor,
            timeout_sec=0,
            pass_rule=header.pass_rule,
            stop_when=header.stop_when,
        )
        return SuiteResult(
            schemaVersion=SCHEMA_VERSION,
            eval_id=header.id,
            skill=header.skill,
            eval_name=header.name or display_path(Path(header.suite)),
            timestamp=header.started,
            config=config,
            summary=summary([self._figures(*one) for one in self._tasks(arm).items()], 1, 0),
            metrics={},
            tasks=[],
            metadata=metadata,
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
