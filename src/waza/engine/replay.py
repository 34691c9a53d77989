"""From the journal of an earlier run to its figures, with every line checked against the suite."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from waza.model.cost import Spent
from waza.model.trial import Arm, TrialKey
from waza.results.assemble import Fold, Triggers
from waza.results.cost import charges, spent
from waza.results.journal_lines import NumberedLine, RunEnd, TrialRecord, damaged_line_error
from waza.suite.prices import Prices

Repeat = Literal["outside", "errors"]
"""Which errors a resumed run repeats: those with a cause outside of the agent, or all of them."""


class JournalReader(Protocol):
    """The journal of a run, which is in a directory."""

    @property
    def directory(self) -> Path:
        """Where it is."""
        ...

    def __iter__(self) -> Iterator[NumberedLine]:
        """Yield the lines behind the header. Raises WazaError with the number of a line that is damaged."""
        ...


class ReplayedRun(msgspec.Struct, kw_only=True):
    """What happened in the earlier parts of a run.

    `complete`: it ended as planned. `trials` counts those that are kept; those in `repeat` are run again. `triggers`
    has the results of the trigger tests; None: they are still to be run, or to be run again. `read` is what graders read when the
    first of the trials began. `warnings` are those of the run as a whole, `spent` is what they all used. `end` is how the
    last part ended; None for one that was killed.
    """

    complete: bool = False
    trials: int = 0
    repeat: set[TrialKey] = set()
    triggers: Triggers | None = None
    read: dict[str, str] = {}
    warnings: list[str] = []
    spent: Spent = Spent()
    end: RunEnd | None = None


def replay(
    journal: JournalReader, fold: Fold, repeat: Repeat, only: Collection[str] | None = None
) -> ReplayedRun:
    """Add the trials of a journal to a fold. Raises WazaError with the number of a line that is damaged or impossible.

    `only`: the journal is of a shard, which has these tasks of all in the fold.
    """
    past, part, used = ReplayedRun(), dict[Arm, int](), Spent()
    prices = Prices.of(fold.suite)
    outside = dict[TrialKey, bool]()
    end: RunEnd | None = None
    for found in journal:
        trial = found.line.trial
        if found.line.read is not None:
            past.read = found.line.read.files
            continue
        if trial is not None:
            _add_trial(trial, journal, fold, found, only)
            outside[TrialKey(trial.arm, trial.task, trial.result.run_number)] = trial.outside
            part[trial.arm] = max(part.get(trial.arm, 0), trial.clock)
            used = used.plus(_spent(trial, fold, prices))
        else:  # the end of a part, or the start of the next one after a kill
            _end_part(past, fold, found.line.end, part)
            known = found.line.end.spent if found.line.end else Spent()
            past.spent = known if known != Spent() else past.spent.plus(used)
            part, used = {}, Spent()
        end = found.line.end
        if end is not None and end.status == "complete":
            _check_whole(journal, fold, found, end, only)
            past.triggers = Triggers(
                end.trigger_metrics,
                tuple(end.trigger_results),
                tuple(end.trigger_usages),
                end.trigger_matrix,
                tuple(end.trigger_costs),
            )
    _add_durations(fold, part)
    past.end = end
    past.spent = past.spent.plus(used)
    to_repeat = {key for key, out in outside.items() if _is_error(fold, key) and (out or repeat == "errors")}
    past.repeat, past.trials = to_repeat, len(outside) - len(to_repeat)
    if repeat == "errors" and past.triggers and past.triggers.metrics and past.triggers.metrics.errors:
        past.triggers = None
    if end is not None and end.status == "complete":
        skipped = any(end.skipped.values()) and not fold.suite.file.config.fail_fast
        again = (
            to_repeat
            or skipped
            or (repeat == "errors" and (past.triggers is None or any(end.stopped.values())))
        )
        past.complete = not again
    if end is not None and past.complete:  # a run that goes on tries again what hooks stopped
        for arm, tasks in end.stopped.items():
            for task_id, reason in tasks.items():
                fold.stop(arm, task_id, reason)
    return past


def _add_trial(
    trial: TrialRecord,
    journal: JournalReader,
    fold: Fold,
    found: NumberedLine,
    only: Collection[str] | None,
) -> None:
    elsewhere = only is not None and trial.task not in only
    if why := f"there is no task {trial.task!r} in this shard" if elsewhere else contradiction(trial, fold):
        raise damaged_line_error(journal.directory, found.number, why)
    fold.add(trial.arm, trial.task, trial.result, found.offset, cached=trial.cached, rejudged=trial.rejudged)


def _spent(trial: TrialRecord, fold: Fold, prices: Prices) -> Spent:
    """Return what a trial used. One from the cache used nothing, or what judges did."""
    total = Spent()
    if trial.cached and not trial.rejudged:
        return total
    judge = fold.suite.file.config.judge_model or fold.model
    for usage, model in charges(trial.result, fold.model, judge, judges_only=trial.rejudged):
        if usage is not None:
            total = total.plus(spent(usage, model, prices))
    return total


def contradiction(trial: TrialRecord, fold: Fold) -> str:
    """Return why a trial cannot be one of this run, or nothing."""
    result, config = trial.result, fold.suite.file.config
    tasks = fold.tasks.get(trial.arm)
    if tasks is None or trial.task not in tasks:
        return f"there is no task {trial.task!r} in this run"
    if not 1 <= result.run_number <= config.trials_per_task:
        return f"trial {result.run_number} of {trial.task!r}, which has {config.trials_per_task}"
    if not 1 <= result.attempts <= config.max_attempts:
        return f"attempt {result.attempts} of at most {config.max_attempts}"
    if result.duration_ms < 0 or trial.clock < 0:
        return "a duration below 0"
    wrong = [one.score for one in (result.validations or {}).values() if not 0 <= one.score <= 1]
    if wrong:
        return f"the score {wrong[0]:g}, which is not from 0 to 1"
    before = tasks[trial.task].trials.get(result.run_number)
    if before is not None and before.status != "error":
        return f"trial {result.run_number} of {trial.task!r} for a second time"
    return ""


def _check_whole(
    journal: JournalReader, fold: Fold, found: NumberedLine, end: RunEnd, only: Collection[str] | None
) -> None:
    """Refuse the end of a complete run whose trials are not all there."""
    for arm, tasks in fold.tasks.items():
        excused = {*end.stopped.get(arm, {}), *end.skipped.get(arm, [])}
        planned = tasks if only is None else only
        lacking = [name for name in planned if tasks[name].missing and name not in excused]
        if lacking:
            raise damaged_line_error(
                journal.directory, found.number, f"the end, although trials of {lacking[0]!r} are missing"
            )


def _end_part(past: ReplayedRun, fold: Fold, end: RunEnd | None, clocks: Mapping[Arm, int]) -> None:
    """Keep what the end of a part records; a part that was killed has none, and took as long as its trials tell."""
    _add_durations(fold, end.durations if end else clocks)
    if end is not None:
        past.warnings = end.warnings


def _add_durations(fold: Fold, durations: Mapping[Arm, int]) -> None:
    for arm, took in durations.items():
        if arm in fold.durations:
            fold.durations[arm] += took


def _is_error(fold: Fold, key: TrialKey) -> bool:
    return fold.tasks[key.arm][key.task_id].trials[key.number].status == "error"
