"""What is known of a run without results: the trials in its journal, of a run in progress or one that was cut off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from waza.model.result import RunConfig, SuiteResult, TaskResult
from waza.model.suite import SCHEMA_VERSION
from waza.problem import display_path
from waza.results.ending import CUT_OFF, IN_PROGRESS
from waza.results.figures import TaskFigures, figures_of, summary, task_stats
from waza.results.journal_lines import RunHeader, TrialRecord, journal_lines, read_header


def results_so_far(directory: Path, *, in_progress: bool) -> SuiteResult:
    """Return the finished trials in the journal of a run, in the form of results; `run_status` says what they are.

    Its tasks are those with a finished trial, in the order in which their first one finished. The journal knows neither
    their names nor how many trials were to run. Raises WazaError with the number of a line that is damaged.
    """
    header = read_header(directory)
    arms: dict[str, dict[str, dict[int, TrialRecord]]] = {arm: {} for arm in header.arms}
    for found in journal_lines(directory):
        record = found.line.trial
        if record is not None:  # a later record of a trial takes the place of an earlier one
            arms.setdefault(record.arm, {}).setdefault(record.task, {})[record.result.run_number] = record
    status = {"run_status": IN_PROGRESS if in_progress else CUT_OFF, "waza_version": header.waza}
    baseline = _results(header, arms["baseline"], {}) if "baseline" in arms else None
    head = _results(header, arms.get("main", {}), status)
    return msgspec.structs.replace(head, is_baseline=baseline is not None, baseline_outcome=baseline)


def _results(
    header: RunHeader, tasks: Mapping[str, Mapping[int, TrialRecord]], metadata: dict[str, str]
) -> SuiteResult:
    figures = [
        TaskFigures(
            task_id=task,
            trials={number: figures_of(record.result, 0) for number, record in records.items()},
            planned=len(records),
        )
        for task, records in tasks.items()
    ]
    return SuiteResult(
        schemaVersion=SCHEMA_VERSION,
        eval_id=header.id,
        skill="",
        eval_name=display_path(Path(header.suite)),
        timestamp=header.started,
        config=RunConfig(runs_per_test=0, model_id=header.model, engine_type="", timeout_sec=0),
        summary=summary(figures, 1, 0),
        metrics={},
        tasks=[_task(one, tasks[one.task_id]) for one in figures],
        metadata=metadata,
    )


def _task(figures: TaskFigures, records: Mapping[int, TrialRecord]) -> TaskResult:
    return TaskResult(
        cached=all(record.cached for record in records.values()),
        rejudged=any(record.rejudged for record in records.values()),
        test_id=figures.task_id,
        display_name=figures.task_id,
        status=figures.status,
        runs=[records[number].result for number in sorted(records)],
        stats=task_stats(figures.task_id, figures.ordered),
    )
