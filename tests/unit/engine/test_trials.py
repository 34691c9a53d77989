"""Trials and attempts, through a whole run: which are made, what is kept of them, and what status they give."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from tests.support.program import mock_suite, waza

from waza.engine.trial import trial_status
from waza.executors.mock import MockExecutor
from waza.model.event import AttemptRetried, SuiteStopped, TaskStarted
from waza.model.result import CheckpointRecord

PASSES = "{type: text, name: fine, config: {contains: ['yes']}}"
GRADERS = f"graders: [{PASSES}]"


def script(*answers: str) -> str:
    """A task whose executions answer one after the other; `!x` breaks with the error x."""
    lines = ["inputs: {prompt: p}", "mock:", "  executions:"]
    for n, said in enumerate(answers, 1):
        what = f"error: '{said[1:]}'" if said.startswith("!") else f"output: '{said}'"
        lines.append(f"    - {{{what}, usage: {{input_tokens: {n}}}}}")
    return "\n".join(lines)


def test_attempts_end_with_the_first_that_does_not_fail(ran):
    tasks = {
        "a-first": script("yes", "never"),
        "b-second": script("no secret", "yes", "never"),
        "c-never": script("no", "no", "no 3"),
        "d-breaks": script("no", "!lost", "yes"),
        "e-breaks-at-once": script("!lost", "yes"),
    }
    done = ran(tasks, GRADERS, ["max_attempts: 3"])
    found = {
        name: (done.of(name).status, done.of(name).attempts, done.of(name).final_output) for name in tasks
    }
    assert found == {
        "a-first": ("passed", 1, "yes"),
        "b-second": ("passed", 2, "yes"),
        "c-never": ("failed", 3, "no 3"),
        "d-breaks": ("error", 2, ""),
        "e-breaks-at-once": ("error", 1, ""),
    }
    retried = [(event.task_id, event.attempt, event.failed_graders) for event in done.said(AttemptRetried)]
    assert retried == [
        ("b-second", 1, ("fine",)),
        ("c-never", 1, ("fine",)),
        ("c-never", 2, ("fine",)),
        ("d-breaks", 1, ("fine",)),
    ]


def test_of_a_discarded_attempt_stays_what_it_cost_but_no_word_of_it(ran):
    done = ran({"t": script("no: the secret word", "no again", "yes")}, GRADERS, ["max_attempts: 3"])
    history = done.of("t").attempt_history
    assert [(one.attempt, one.status, one.failed_graders) for one in history] == [
        (1, "failed", ["fine"]),
        (2, "failed", ["fine"]),
    ]
    assert [one.usage.input_tokens if one.usage else None for one in history] == [1, 2]
    assert "secret" not in repr(done.of("t"))
    assert "no again" not in repr(done.of("t"))
    usage = done.of("t").session_digest.usage
    assert usage is not None
    assert usage.input_tokens == 3
    assert done.of("t").failure_artifacts is None


def test_a_task_that_passed_late_is_flaky(ran):
    done = ran({"late": script("no", "yes"), "early": script("yes")}, GRADERS, ["max_attempts: 2"])
    flaky = {name: task.stats.flaky for name, task in done.tasks.items() if task.stats}
    assert flaky == {"late": True, "early": False}
    assert {name: task.status for name, task in done.tasks.items()} == {"late": "passed", "early": "passed"}


def test_executions_serve_trials_and_attempts_in_turn(ran):
    answers = [f"no {n}" for n in range(4)] + ["yes 4"]
    done = ran({"t": script(*answers)}, GRADERS, ["trials_per_task: 4", "max_attempts: 2"])
    # Execution k serves (trial - 1) * 2 + attempt - 1, modulo 5: trials begin at 0, 2, 4 and 6.
    got = [(run.final_output, run.attempts, run.status) for run in done.tasks["t"].runs]
    assert got == [
        ("no 1", 2, "failed"),
        ("no 3", 2, "failed"),
        ("yes 4", 1, "passed"),
        ("no 2", 2, "failed"),
    ]


def test_the_status_of_a_task(ran):
    tasks = {
        "a": script("yes", "yes", "yes"),
        "b": script("yes", "no", "!lost"),
        "c": script("yes", "!lost", "yes"),
        "d": script("!lost"),
    }
    done = ran(tasks, GRADERS, ["trials_per_task: 3"])
    assert {name: task.status for name, task in done.tasks.items()} == {
        "a": "passed",
        "b": "failed",
        "c": "error",
        "d": "error",
    }
    total = done.head.summary
    assert (total.total_tests, total.succeeded, total.failed, total.errors, total.skipped) == (4, 1, 1, 2, 0)
    assert (total.success_rate, total.graded_success_rate) == (0.25, 0.5)


def test_fail_fast_one_after_the_other(ran):
    tasks = {"a": script("yes"), "b": script("!lost"), "c": script("yes"), "d": script("yes")}
    done = ran(tasks, GRADERS, ["fail_fast: true", "trials_per_task: 2"])
    assert {name: task.status for name, task in done.tasks.items()} == {
        "a": "passed",
        "b": "error",
        "c": "skipped",
        "d": "skipped",
    }
    assert len(done.tasks["b"].runs) == 2  # the task itself is run to its end
    assert done.tasks["c"].runs == []
    assert done.tasks["c"].stats is None
    total = done.head.summary
    assert (total.total_tests, total.succeeded, total.errors, total.skipped) == (2, 1, 1, 2)
    assert (total.success_rate, total.aggregate_score) == (0.5, 0.5)
    assert [event.task_id for event in done.said(TaskStarted)] == ["a", "b"]
    assert len(done.said(SuiteStopped)) == 1


def test_fail_fast_side_by_side(ran, tmp_path: Path):
    # Of two workers one fails while the other waits for a file that the failing task leaves behind.
    flag = tmp_path / "flag"
    wait = f"until [ -e {flag} ]; do sleep 0.02; done"
    slow = f"inputs: {{prompt: p}}\nmock: {{output: 'yes'}}\ngraders: [{{type: program, name: w, config: {{command: sh, args: ['-c', '{wait}']}}}}]"
    tasks = {
        "a-slow": slow,
        "b-fails": script("no"),
        **{f"c-{n}": script("yes") for n in range(5)},
    }
    head = f"{GRADERS}\nhooks: {{after_task: [{{command: 'test {{{{.TaskName}}}} != b-fails || touch {flag}'}}]}}"
    done = ran(tasks, head, ["fail_fast: true", "parallel: true", "workers: 2"])
    statuses = {name: task.status for name, task in done.tasks.items()}
    assert statuses["a-slow"] == "passed"  # what runs already is run to its end
    assert statuses["b-fails"] == "failed"
    assert {statuses[f"c-{n}"] for n in range(5)} == {"skipped"}
    assert done.head.summary.skipped == 5


def test_fail_fast_after_the_last_task_stops_nothing(ran):
    done = ran({"a": script("yes"), "b": script("no")}, GRADERS, ["fail_fast: true"])
    assert done.said(SuiteStopped) == []
    assert done.head.summary.skipped == 0


def test_fail_fast_counts_each_arm_by_itself(ran, tmp_path: Path):
    skill = tmp_path / "suite/skills/s"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: s\ndescription: d\n---\nbody\n", encoding="utf-8")
    tasks = {"a": script("no"), "b": script("yes")}
    config = ["fail_fast: true", "skill_directories: [skills]"]
    done = ran(tasks, f"{GRADERS}\nbaseline: true", config)
    baseline = done.head.baseline_outcome
    assert baseline is not None
    assert (baseline.summary.failed, baseline.summary.skipped) == (1, 1)
    assert (done.head.summary.failed, done.head.summary.skipped) == (1, 1)


def test_an_executor_that_breaks_costs_the_run_alone(ran, monkeypatch: pytest.MonkeyPatch):
    opening = MockExecutor.open

    async def breaking(self, attempt, place):
        if attempt.task.id == "b":
            raise KeyError("session")
        return await opening(self, attempt, place)

    monkeypatch.setattr(MockExecutor, "open", breaking)
    done = ran({"a": script("yes"), "b": script("yes"), "c": script("yes")}, GRADERS)
    assert {name: task.status for name, task in done.tasks.items()} == {
        "a": "passed",
        "b": "error",
        "c": "passed",
    }
    broken = done.of("b")
    assert broken.error_msg.startswith(f"the executor broke: KeyError: 'session' ({__file__}:")
    assert broken.error_msg.endswith(', in breaking: raise KeyError("session"))')
    assert (broken.prompt, broken.validations, broken.final_output) == ("p", None, "")
    assert broken.failure_artifacts is not None


def test_a_session_that_does_not_keep_its_own_limit_is_given_up(ran, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("waza.engine.converse.GRACE", 0.01)
    closed = []

    class Deaf:
        session_id = "deaf"

        async def send(self, prompt, limits):
            await asyncio.Event().wait()

        async def aclose(self):
            closed.append(True)

    async def deaf(self, attempt, place):
        return Deaf()

    monkeypatch.setattr(MockExecutor, "open", deaf)
    run = ran({"t": f"{script('yes')}\ntimeout_seconds: 1"}, GRADERS).of("t")
    assert (run.status, run.timed_out) == ("error", True)
    assert run.error_msg == "the agent did not answer within 1 s"
    assert closed == [True]
    assert run.validations is not None
    assert not run.validations["fine"].passed


def point(status: str) -> CheckpointRecord:
    return CheckpointRecord(after_turn=1, status=status, validations={})  # type: ignore[arg-type]  # of three words


@pytest.mark.parametrize(
    ("error", "checkpoints", "status"),
    [
        ("", [], "skipped"),
        ("lost", [], "error"),
        ("", ["passed"], "skipped"),
        ("", ["failed"], "failed"),
        ("", ["failed", "error"], "error"),
        ("lost", ["failed"], "error"),
    ],
)
def test_the_status_of_an_ungraded_run(error, checkpoints, status):
    assert trial_status(error, None, [point(one) for one in checkpoints], has_baseline=False) == status


def test_a_grader_that_raises_in_a_thread_on_the_last_task_does_not_hold_the_run(
    ran, monkeypatch: pytest.MonkeyPatch
):
    def raising(self, seen, helpers):
        assert threading.current_thread() is not threading.main_thread()
        raise RuntimeError("out of paper")

    monkeypatch.setattr("waza.graders.file.File.grade", raising)
    grader = "graders: [{type: file, name: f, config: {must_exist: [x]}}]"
    done = ran(
        {"a": script("yes"), "b": f"{script('yes')}\n{grader}"}, GRADERS, ["parallel: true", "workers: 2"]
    )
    assert (done.of("a").status, done.of("b").status) == ("passed", "error")
    assert "RuntimeError: out of paper" in done.of("b").error_msg


def test_a_mean_hides_no_dead_task(tmp_path: Path):
    metric = "metrics: [{name: task_completion, threshold: 0.5, gate: true}]"
    few = {"A": script("yes"), "B": script("no")}
    many = {f"t{n:02d}": script("no" if n in {3, 14, 27} else "yes") for n in range(31)}
    for tasks, dead in ((few, {"B"}), (many, {"t03", "t14", "t27"})):
        root = tmp_path / str(len(tasks))
        mock_suite(root, tasks, f"{GRADERS}\n{metric}", ["trials_per_task: 10"])
        ended = waza("run", "eval.yaml", cwd=root)
        assert ended.code == 1  # though the metric is above its threshold
        never = [line for line in ended.out.splitlines() if "none of its 10 trials passed" in line]
        named = {line.split(" [")[0].strip("✗ ") for line in never}
        assert named == dead
