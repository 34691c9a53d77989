"""Journals that say what cannot have happened are refused; the others give the figures that they gave before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.journals import rewritten
from tests.support.program import mock_suite
from tests.unit.report.factory import run, verdict

from waza.engine.journal import Journal
from waza.engine.replay import Repeat, ReplayedRun, replay
from waza.errors import WazaError
from waza.model.loaded import Suite
from waza.model.result import TrialResult
from waza.model.trial import TrialKey
from waza.results.assemble import Fold
from waza.results.journal_lines import JOURNAL, RunEnd, RunHeader, TrialRecord
from waza.suite.load import load


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    tasks = dict.fromkeys("ab", "inputs: {prompt: p}")
    return load(mock_suite(tmp_path / "suite", tasks, config=["trials_per_task: 2"]))


def header() -> RunHeader:
    return RunHeader(
        id="run-x", suite="s", digest="d", model="m", arms=["main"], waza="1", started="2026-01-01"
    )


def written(root: Path, *lines: TrialRecord | RunEnd | None) -> Path:
    """Write a journal; None starts another part of the run."""
    journal = Journal.create(root / "run", header())
    for line in lines:
        if isinstance(line, TrialRecord):
            journal.append_trial(line)
        elif line is not None:
            journal.write_end(line)
        else:
            journal.write_resumed("2026-01-02")
    journal.close()
    return journal.directory


def played(directory: Path, suite: Suite, repeat: Repeat = "outside") -> tuple[ReplayedRun, Fold]:
    journal, fold = Journal.reopen(directory), Fold(suite, "m", ["main"])
    try:
        return replay(journal, fold, repeat), fold
    finally:
        journal.close()


def trial(task: str, number: int, status: Any = "passed", **more: Any) -> TrialRecord:
    return TrialRecord(arm="main", task=task, result=run(number, status), **more)


ALL = (trial("a", 1), trial("a", 2), trial("b", 1), trial("b", 2))
COMPLETE = RunEnd(status="complete")


def test_the_parts_of_a_run_add_up(tmp_path: Path, suite: Suite):
    directory = written(
        tmp_path,
        trial("a", 1, clock=40),
        trial("a", 2, clock=70),  # killed here
        None,
        trial("b", 1, clock=5),
        RunEnd(status="cancelled", durations={"main": 9}),
        None,
        trial("b", 2, clock=3),
        RunEnd(status="complete", durations={"main": 100}),
    )
    past, fold = played(directory, suite)
    assert (past.complete, past.trials, fold.durations) == (True, 4, {"main": 179})


def test_a_run_that_was_cut_off_is_not_complete(tmp_path: Path, suite: Suite):
    past, fold = played(written(tmp_path, *ALL[:3], RunEnd(status="cancelled")), suite)
    assert (past.complete, past.trials) == (False, 3)
    assert len(fold.trials("main", "b")) == 1


def test_only_errors_with_a_cause_outside_of_the_agent_are_repeated(tmp_path: Path, suite: Suite):
    broke = (trial("a", 1, "error"), trial("a", 2, "error", outside=True), trial("b", 1, "failed"), ALL[3])
    directory = written(tmp_path, *broke, COMPLETE)
    past, _ = played(directory, suite)
    assert (past.repeat, past.complete) == ({TrialKey("main", "a", 2)}, False)
    past, _ = played(directory, suite, "errors")
    assert past.repeat == {TrialKey("main", "a", 1), TrialKey("main", "a", 2)}
    assert past.trials == 2


def test_the_latest_record_of_a_trial_counts(tmp_path: Path, suite: Suite):
    again = trial("a", 1, "passed")
    past, fold = played(
        written(tmp_path, trial("a", 1, "error", outside=True), *ALL[1:], COMPLETE, None, again, COMPLETE),
        suite,
    )
    assert (past.complete, past.repeat, past.trials) == (True, set(), 4)
    assert fold.trials("main", "a")[1].status == "passed"


def test_a_task_that_a_hook_stopped_or_fail_fast_left_out_lacks_no_trial(tmp_path: Path, suite: Suite):
    end = RunEnd(status="complete", stopped={"main": {"b": "the hook failed"}})
    past, fold = played(written(tmp_path, *ALL[:2], end), suite)
    assert (past.complete, fold.tasks["main"]["b"].stopped) == (True, "the hook failed")
    assert not played(tmp_path / "run", suite, "errors")[0].complete
    skipped = RunEnd(status="complete", skipped={"main": ["b"]})
    directory = written(tmp_path / "other", *ALL[:2], skipped)
    assert not played(directory, suite)[0].complete, "fail_fast is off now, so the task is to be run"
    config = msgspec.structs.replace(suite.file.config, fail_fast=True)
    fast = msgspec.structs.replace(suite, file=msgspec.structs.replace(suite.file, config=config))
    assert played(directory, fast)[0].complete


def changed(what: Callable[[dict[str, Any]], object]) -> Callable[[list[dict[str, Any]]], object]:
    return lambda lines: what(lines[2]["trial"])


def scored(score: float) -> TrialResult:
    return run(1, "passed", [verdict(score=score)])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changed(lambda one: one.update(task="c")), "there is no task 'c' in this run"),
        (changed(lambda one: one.update(arm="baseline")), "there is no task 'a' in this run"),
        (changed(lambda one: one["run"].update(run_number=99)), "trial 99 of 'a', which has 2"),
        (changed(lambda one: one["run"].update(run_number=-5)), "trial -5 of 'a'"),
        (changed(lambda one: one["run"].update(run_number=1)), "trial 1 of 'a' for a second time"),
        (changed(lambda one: one["run"].update(attempts=3)), "attempt 3 of at most 1"),
        (changed(lambda one: one["run"].update(duration_ms=-1)), "a duration below 0"),
        (changed(lambda one: one["run"]["validations"]["polite"].update(score=7)), "the score 7, which"),
        (changed(lambda one: one["run"]["validations"]["polite"].update(score=1e308)), "the score 1e+308"),
        (changed(lambda one: one["run"]["validations"]["polite"].update(score=-0.1)), "the score -0.1"),
        (changed(lambda one: one["run"].update(status="fine")), "Invalid enum value 'fine'"),
    ],
)
def test_a_line_that_cannot_be_is_refused_with_its_number(
    tmp_path: Path, suite: Suite, change: Callable[[list[dict[str, Any]]], object], why: str
):
    directory = written(tmp_path, *ALL, COMPLETE)
    rewritten(directory / JOURNAL, change)
    with pytest.raises(WazaError) as refused:
        played(directory, suite)
    assert f"{JOURNAL}:3: " in str(refused.value)
    assert why in str(refused.value)


def test_an_end_without_all_trials_is_refused(tmp_path: Path, suite: Suite):
    directory = written(tmp_path, *ALL, COMPLETE)
    rewritten(directory / JOURNAL, lambda lines: lines.pop(4))
    with pytest.raises(WazaError, match=f"{JOURNAL}:5: the end, although trials of 'b' are missing"):
        played(directory, suite)
