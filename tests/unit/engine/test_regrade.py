"""Regrading: new verdicts over recorded trials, and what stays as it was."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.support.program import mock_suite
from tests.unit.report.factory import run, task, verdict
from tests.unit.report.factory import suite as results

from waza.engine.regrade import RegradeResult, rebuild_observation, regrade
from waza.errors import UsageError
from waza.model.loaded import Project, Suite
from waza.model.observation import PROMPT, CommandInvocation, Event, SkillInvocation, ToolEvent
from waza.model.result import TaskResult
from waza.suite.load import load

SAYS_HELLO = "inputs: {prompt: p}\ngraders: [{type: text, name: g, config: {contains: [hello]}}]"
HAS_FILE = "inputs: {prompt: p}\ngraders: [{type: file, name: g, config: {must_exist: [a.txt]}}]"


def suite(root: Path, **tasks: str) -> Suite:
    return load(mock_suite(root / "suite", tasks))


def regraded(
    root: Path, loaded: Suite, *recorded: TaskResult, only: str = "", workspace: Path | None = None
) -> RegradeResult:
    project = Project(directory=root)
    return asyncio.run(regrade(loaded, results(recorded), project, workspace=workspace, only=only))


def statuses(done: RegradeResult) -> dict[str, list[str]]:
    return {one.test_id: [trial.status for trial in one.runs] for one in done.result.tasks}


def test_verdicts_are_those_of_the_suite_as_it_is_now(tmp_path: Path):
    recorded = task("a", run(1, "failed", final_output="hello"), run(2, "passed", final_output="bye"))
    done = regraded(tmp_path, suite(tmp_path, a=SAYS_HELLO), recorded)
    assert statuses(done) == {"a": ["passed", "failed"]}
    assert [list(trial.validations or {}) for trial in done.result.tasks[0].runs] == [["g"], ["g"]]
    assert (done.grades.passed, done.grades.overall_score) == (False, 0.5)
    assert done.grades.tasks["a"].grader_averages == {"g": 0.5}
    assert done.result.metadata["verdict"]["passed"] is False


def test_a_trial_that_broke_stays_an_error_unless_only_its_graders_did(tmp_path: Path):
    agent = run(1, "error", error_msg="the engine broke", final_output="hello")
    graders = run(2, "error", error_msg="running graders: g: it broke", final_output="hello")
    done = regraded(tmp_path, suite(tmp_path, a=SAYS_HELLO), task("a", agent, graders))
    assert statuses(done) == {"a": ["error", "passed"]}
    first, second = done.result.tasks[0].runs
    assert (first.validations, first.error_msg) == ({}, "the engine broke")
    assert second.error_msg == ""


def test_one_task_may_be_graded_and_the_others_stay(tmp_path: Path):
    loaded = suite(tmp_path, a=SAYS_HELLO, b=SAYS_HELLO)
    other = task("b", run(1, "passed", [verdict("old")], final_output="bye"))
    done = regraded(tmp_path, loaded, task("a", run(final_output="bye")), other, only="a")
    assert statuses(done) == {"a": ["failed"], "b": ["passed"]}
    assert list(done.grades.tasks) == ["a"]


def test_a_grader_of_files_needs_a_workspace(tmp_path: Path):
    loaded = suite(tmp_path, a=HAS_FILE)
    without = regraded(tmp_path, loaded, task("a"))
    assert statuses(without) == {"a": ["error"]}
    assert "--workspace DIR" in without.result.tasks[0].runs[0].error_msg
    (tmp_path / "work").mkdir()
    assert statuses(regraded(tmp_path, loaded, task("a"), workspace=tmp_path / "work")) == {"a": ["failed"]}
    (tmp_path / "work/a.txt").touch()
    assert statuses(regraded(tmp_path, loaded, task("a"), workspace=tmp_path / "work")) == {"a": ["passed"]}


def test_what_cannot_be_graded_is_named(tmp_path: Path):
    loaded = suite(tmp_path, a=SAYS_HELLO, b=SAYS_HELLO)
    assert regraded(tmp_path, loaded, task("a")).warnings == (
        "the results have no trial of the task 'b'; it is left out",
    )
    cut = regraded(tmp_path, loaded, task("a", run(truncated=True)), task("b")).warnings
    assert len(cut) == 1
    assert cut[0].startswith("a, trial 1: only head and tail")
    with pytest.raises(UsageError, match="no task 'c' in both"):
        regraded(tmp_path, loaded, task("a"), only="c")
    with pytest.raises(UsageError, match="nothing to grade"):
        regraded(tmp_path, loaded, task("c"))


def test_an_observation_is_rebuilt_from_what_was_recorded(tmp_path: Path):
    text = "inputs: {prompt: p, follow_up_prompts: [q], environment: {A: '1'}}\nexpected_outcome: greets"
    (loaded,) = suite(tmp_path, a=text).tasks
    call = ToolEvent(turn=1, sequence=1, tool_name="view", success=True)
    recorded = run(
        3,
        final_output="out",
        prompt="rendered",
        transcript=[Event(type=PROMPT, content="rendered"), Event(type=PROMPT, content="last")],
        tool_events=[call],
        skill_invocations=[SkillInvocation(name="s")],
        command_invocations=[CommandInvocation(command="git", exit_code=0, response_index=0)],
    )
    seen = rebuild_observation(loaded, recorded, tmp_path, "without")
    assert (seen.task_id, seen.trial, seen.output, seen.prompt) == ("a", 3, "out", "rendered")
    assert (seen.question, seen.expected_outcome, seen.baseline_output) == ("last", "greets", "without")
    assert (seen.tool_events, seen.tools_used, seen.environment) == ((call,), ["view"], {"A": "1"})
    assert (seen.workspace, [one.name for one in seen.skill_invocations]) == (str(tmp_path), ["s"])
    assert [one.command for one in seen.command_invocations] == ["git"]
    silent = msgspec.structs.replace(recorded, transcript=[])
    assert rebuild_observation(loaded, silent, None).question == "q"  # the last prompt of the task
