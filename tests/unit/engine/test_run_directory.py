"""The directory of a run: what is kept of it, what a resumed run finds there, and which run it refuses to resume."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.program import mock_suite
from tests.unit.report.factory import run

from waza.engine.invocation import InvocationJournal, Job
from waza.engine.plan import make_plan
from waza.engine.run_directory import RunDirectory, open_run_directory, recorded_header
from waza.errors import UsageError
from waza.model.loaded import Project, Suite
from waza.model.origin import Origin
from waza.results.journal_lines import RunEnd, TrialRecord
from waza.suite.load import load


def suite(root: Path, *config: str) -> Suite:
    tasks = {"a": "inputs: {prompt: p}", "b": "inputs: {prompt: q}"}
    return load(mock_suite(root / "suite", tasks, config=["trials_per_task: 2", *config]))


@contextmanager
def opened(
    root: Path,
    loaded: Suite,
    *,
    graded: bool = True,
    resume: bool = False,
    commits: Mapping[str, str] | None = None,
) -> Iterator[RunDirectory]:
    jobs = [Job(loaded, "m")]
    invocation = InvocationJournal.resume(root, jobs, "") if resume else InvocationJournal.start(root, jobs)
    assert invocation is not None
    with closing(invocation):
        directory = open_run_directory(
            invocation,
            make_plan(loaded, "m"),
            Project(directory=root),
            commits or {},
            Origin(),
            graded=graded,
            repeat="outside",
            warn=pytest.fail,
        )
        with closing(directory):
            yield directory


def trial(task: str, number: int, status: Any = "passed", **more: Any) -> TrialRecord:
    return TrialRecord(arm="main", task=task, result=run(number, status), **more)


def test_each_run_has_a_directory_with_its_results(tmp_path: Path):
    with opened(tmp_path, suite(tmp_path)) as directory:
        directory.add_trial(trial("a", 1))
        outcome, _ = directory.finish("cancelled")
        assert directory.saved == tmp_path / ".waza/runs" / directory.id / "results.json"
        assert msgspec.json.decode(directory.saved.read_bytes())["eval_id"] == directory.id
        assert [len(task.runs) for task in outcome.tasks()] == [1, 0]


def test_a_resumed_run_lacks_what_is_not_in_the_journal_and_what_is_to_be_repeated(tmp_path: Path):
    loaded = suite(tmp_path)
    with opened(tmp_path, loaded) as first:
        first.add_trial(trial("a", 1))
        first.add_trial(trial("a", 2, "error", outside=True))
        first.add_trial(trial("b", 2, "error"))
        assert first.missing_trials("main", "a") == []
    with opened(tmp_path, loaded, resume=True) as second:
        assert second.id == first.id
        assert (second.resumed, second.past.complete, second.past.trials) == (True, False, 2)
        assert second.missing_trials("main", "a") == [2]
        assert second.missing_trials("main", "b") == [1]
        second.add_trial(trial("a", 2))
        assert second.missing_trials("main", "a") == []


def test_a_finished_run_is_complete(tmp_path: Path):
    loaded = suite(tmp_path)
    with opened(tmp_path, loaded) as first:
        for task in "ab":
            for number in (1, 2):
                first.add_trial(trial(task, number))
        first.end(RunEnd(status="complete"))
    with opened(tmp_path, loaded, resume=True) as second:
        assert second.past.complete


@pytest.mark.parametrize(
    ("config", "graded", "changed"),
    [
        (["timeout_seconds: 7"], True, r"the time limit \(--timeout\)"),
        (["judge_model: other"], True, r"the judge \(--judge-model, --judge\)"),
        (["max_attempts: 2"], True, "the suite, a task, a grader"),
        ([], False, "--skip-graders"),
    ],
)
def test_a_run_of_something_else_is_not_resumed(
    tmp_path: Path, config: list[str], graded: bool, changed: str
):
    with opened(tmp_path, suite(tmp_path)) as first:
        first.add_trial(trial("a", 1))
    with (
        pytest.raises(UsageError, match=f"{first.id} cannot be resumed: .*{changed}.* since it started"),
        opened(tmp_path, suite(tmp_path, *config), graded=graded, resume=True),
    ):
        pass


def test_limits_of_the_run_alone_may_change(tmp_path: Path):
    with opened(tmp_path, suite(tmp_path)) as first:
        first.add_trial(trial("a", 1))
    changed = suite(tmp_path, "parallel: true", "workers: 4", "stop_after_errors: 2")
    with opened(tmp_path, changed, resume=True) as second:
        assert second.past.trials == 1


def test_what_graders_read_must_be_what_it_was_for_earlier_trials(tmp_path: Path):
    loaded = suite(tmp_path)
    with opened(tmp_path, loaded) as first:
        first.check_grader_files({"/x/rule.md": "1"})
        first.add_trial(trial("a", 1))
    with opened(tmp_path, loaded, resume=True) as second:
        second.check_grader_files({"/x/rule.md": "1"})
        with pytest.raises(UsageError, match=r"rule\.md"):
            second.check_grader_files({"/x/rule.md": "2"})


def test_the_commits_of_a_run_are_found_again(tmp_path: Path):
    loaded = suite(tmp_path)
    with opened(tmp_path, loaded, commits={"HEAD of r": "0" * 40}):
        pass
    invocation = InvocationJournal.resume(tmp_path, [Job(loaded, "m")], "")
    assert invocation is not None
    recorded = recorded_header(invocation, Job(loaded, "m"))
    assert recorded is not None
    assert recorded.commits == {"HEAD of r": "0" * 40}
    assert recorded_header(invocation, Job(loaded, "other")) is None
    invocation.close()


def test_a_run_in_which_nothing_finished_leaves_nothing(tmp_path: Path):
    with opened(tmp_path, suite(tmp_path)) as directory:
        directory.discard_if_empty()
        assert not directory.journal.directory.exists()


def test_a_run_that_is_not_saved_is_gone_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    directory = open_run_directory(
        InvocationJournal.unsaved(tmp_path),
        make_plan(suite(tmp_path), "m"),
        Project(directory=tmp_path),
        {},
        Origin(),
        graded=True,
        repeat="outside",
        warn=pytest.fail,
    )
    directory.add_trial(trial("a", 1))
    outcome, _ = directory.finish("complete")
    assert next(outcome.tasks()).runs[0].final_output == "hello"
    assert directory.saved is None
    directory.close()
    assert list((tmp_path / "temp").iterdir()) == []
    assert not (tmp_path / ".waza").exists()
