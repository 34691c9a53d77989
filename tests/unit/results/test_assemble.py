"""The fold from finished trials to an outcome, and the exit code that it deserves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.program import mock_suite
from tests.unit.report.factory import run, verdict

from waza.model.loaded import Suite
from waza.model.observation import Usage
from waza.model.result import SessionDigest, TrialResult, TriggerMetrics, TriggerResult
from waza.model.trial import Arm
from waza.results.assemble import Fold, Triggers, groups_of, run_config
from waza.results.outcome import Outcome
from waza.suite.load import load
from waza.suite.loading import LoadOptions

# They make the names of metrics known; what they say is made up by the tests.
GRADERS = """
graders:
- {type: text, name: polite, config: {contains: [a]}}
- {type: text, name: nothing, config: {contains: [a]}}
- {type: behavior, name: lean, config: {max_tokens: 9}}
"""


def suite_of(root: Path, *tasks: str, head: str = "", config: Sequence[str] = ()) -> Suite:
    head += GRADERS if "metrics:" in head else ""
    (root / "trigger_tests.yaml").write_text("skill: s\nshould_trigger_prompts: [{prompt: p}]\n")
    return load(mock_suite(root, dict.fromkeys(tasks, "inputs: {prompt: p}"), head=head, config=config))


class Folded:
    """A fold with a journal in memory."""

    def __init__(self, suite: Suite, *arms: Arm) -> None:
        self.suite, self.fold = suite, Fold(suite, "m", arms or ("main",))
        self.runs: list[TrialResult] = []

    def add(self, task: str, one: TrialResult, arm: Arm = "main", **more: Any) -> None:
        self.runs.append(one)
        self.fold.add(arm, task, one, len(self.runs) - 1, **more)

    def read_trial(self, offset: int) -> TrialResult:
        return self.runs[offset]

    def read_encoded(self, offset: int) -> msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(self.runs[offset]))

    def outcome(self, **more: Any) -> tuple[Outcome, list[str]]:
        return self.fold.outcome(self, run_id="run-1", timestamp="2026-01-31", **more)


def test_tasks_stand_in_the_order_of_the_plan_and_trials_by_number(tmp_path: Path) -> None:
    folded = Folded(suite_of(tmp_path, "a", "b"))
    for task, number in (("b", 2), ("a", 1), ("b", 1)):
        folded.add(task, run(number))
    outcome, warnings = folded.outcome()
    for _ in range(2):  # tasks can be gone through again
        found = [(task.test_id, [one.run_number for one in task.runs]) for task in outcome.tasks()]
        assert found == [("a", [1]), ("b", [1, 2])]
    assert (outcome.head.tasks, warnings) == ([], [])
    assert outcome.head.eval_id == "run-1"
    assert list(outcome.baseline_tasks()) == []


def test_of_a_trial_that_was_run_again_the_last_record_counts_once(tmp_path: Path) -> None:
    folded = Folded(suite_of(tmp_path, "a", head="metrics: [{name: polite}]"))
    folded.add("a", run(1, "error", [verdict("polite", passed=False)]))
    folded.add("a", run(1, "passed", [verdict("polite")]))
    outcome, _ = folded.outcome()
    (task,) = outcome.tasks()
    assert (task.status, [one.error_retries for one in task.runs]) == ("passed", [1])
    assert outcome.head.metrics["polite"].value == 1


def test_results_do_not_depend_on_the_order_in_which_trials_end(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "a", "b", head="metrics: [{name: polite}]", config=["trials_per_task: 3"])
    trials = [(task, n) for task in ("a", "b") for n in (1, 2, 3)]
    scores = {key: 0.1 * (i + 1) for i, key in enumerate(trials)}
    found = []
    for order in (trials, trials[::-1], trials[3:] + trials[:3]):
        folded = Folded(suite)
        for task, n in order:
            details = {"pairwise": {**PAIR, "reasoning": f"{task} {n}"}}
            said = [
                verdict("polite", score=scores[task, n]),
                verdict("better", type="prompt", details=details),
            ]
            spent = Usage(
                turns=1,
                input_tokens=1,
                output_tokens=1,
                cache_read_tokens=0,
                cache_write_tokens=0,
                premium_requests=0,
                provider=f"{task}{n}",
            )
            session = SessionDigest(tool_call_count=0, tools_used=[], errors=[], usage=spent)
            folded.add(task, run(n, "passed", said, session_digest=session))
        outcome, _ = folded.outcome()
        found.append((msgspec.to_builtins(outcome.head), msgspec.to_builtins(list(outcome.tasks()))))
    assert found[0] == found[1] == found[2]
    sessions = found[0][0]["evaluation_usage"]["sessions"]
    assert [one["usage"]["provider"] for one in sessions] == ["a1", "a2", "a3", "b1", "b2", "b3"]


def test_what_never_ran_is_listed_as_skipped(tmp_path: Path) -> None:
    folded = Folded(suite_of(tmp_path, "a", "b", "c"))
    folded.add("b", run())
    folded.fold.stop("main", "c", "the hook failed")
    outcome, _ = folded.outcome()
    found = {task.test_id: task for task in outcome.tasks()}
    assert [(name, one.status, len(one.runs)) for name, one in found.items()] == [
        ("a", "skipped", 0),
        ("b", "passed", 1),
        ("c", "error", 0),
    ]
    assert found["a"].stats is found["c"].stats is None
    assert (outcome.head.summary.total_tests, outcome.head.summary.skipped) == (2, 1)
    broken_off, _ = folded.outcome(metadata={"run_status": "cancelled"})
    assert [task.test_id for task in broken_off.tasks()] == ["a", "b", "c"]
    assert broken_off.verdict.reasons[0] == "the run did not come to its end (cancelled): 1 trial did not run"


def test_a_task_and_the_summary_agree_on_one_that_was_stopped_later(tmp_path: Path) -> None:
    folded = Folded(suite_of(tmp_path, "a"))
    folded.add("a", run(1, "passed"))
    folded.fold.stop("main", "a", "the hook failed when the run was gone on with")
    outcome, _ = folded.outcome()
    assert [task.status for task in outcome.tasks()] == ["error"]
    assert (outcome.head.summary.errors, outcome.head.summary.succeeded) == (1, 0)


PAIR = {"winner": "skill", "magnitude": "equal", "reasoning": "r", "position_consistent": True}


def test_skill_impact_needs_both_arms(tmp_path: Path) -> None:
    folded = Folded(suite_of(tmp_path, "a", "b", "c"), "baseline", "main")
    better = verdict("better", type="prompt", details={"pairwise": PAIR})
    odd = verdict("odd", type="other", details={"pairwise": 3})
    folded.add("a", run(1, "passed", [better, odd]))
    folded.add("a", run(2, "failed", [better, odd]))
    folded.add("a", run(1, "failed"), "baseline")
    folded.add("a", run(2, "failed"), "baseline")
    folded.add("b", run(1, "passed"))
    folded.add("c", run(1, "passed"), "baseline")
    outcome, _ = folded.outcome()
    found = {task.test_id: task.skill_impact for task in outcome.tasks()}
    assert found["b"] is found["c"] is None
    assert msgspec.to_builtins(found["a"]) == {
        "pass_rate_with_skills": 0.5,
        "pass_rate_baseline": 0,
        "delta": 0.5,
        "percent_change": 5000,
        "pairwise": PAIR,
    }
    below = list(outcome.baseline_tasks())
    assert [(task.test_id, len(task.runs)) for task in below] == [("a", 2), ("b", 0), ("c", 1)]
    assert [task.skill_impact for task in below] == [None, None, None]
    assert outcome.head.is_baseline
    assert outcome.head.baseline_outcome is not None
    assert outcome.head.baseline_outcome.summary.total_tests == 2


METRICS = """
metrics:
- {name: task_completion, threshold: 0.6}
- {name: behavior_quality}
- {name: polite}
- {name: trigger_accuracy, threshold: 0.5}
- {name: nothing, gate: true, threshold: 1}
- {name: off, enabled: false}
"""


def test_metrics_of_the_main_arm_whatever_the_order(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "a", "b", head=METRICS)
    kinds = ("behavior", "action_sequence", "tool_calls", "tool_constraint", "text")
    made = [
        run(number, "passed" if number == 1 else "failed", [verdict("polite", score=0.1 * number), *others])
        for number in range(1, 8)
        for others in [[verdict(kind, type=kind, score=number / 7) for kind in kinds]]
    ]
    heads = []
    for order in (made, made[::-1]):
        folded = Folded(suite, "main", "baseline")
        for one in order:
            folded.add("a", one)
            folded.add("a", run(one.run_number, "passed", [verdict("polite", score=1)]), "baseline")
        folded.add("b", run(1, "passed", []))
        outcome, warnings = folded.outcome()
        assert [warning.split("'")[1] for warning in warnings] == ["trigger_accuracy", "nothing"]
        heads.append(outcome.head)
    assert heads[0].metrics == heads[1].metrics
    assert {name: one.value for name, one in heads[0].metrics.items()} == {
        "behavior_quality": pytest.approx(4 / 7, abs=1e-9),
        "polite": pytest.approx(0.4, abs=1e-9),
        "task_completion": 0.5,
    }
    assert [one.passed for one in heads[0].metrics.values()] == [True, True, False]


ACCURACY = TriggerMetrics(
    true_positives=1,
    false_positives=0,
    true_negatives=0,
    false_negatives=1,
    precision=1,
    recall=0.5,
    f1=0.6667,
    accuracy=0.5,
)


def test_trigger_tests_give_their_figures_and_their_usage(tmp_path: Path) -> None:
    folded = Folded(suite_of(tmp_path, "a", head=METRICS), "main", "baseline")
    folded.add("a", run())
    spent = Usage(
        turns=1,
        input_tokens=2,
        output_tokens=3,
        cache_read_tokens=0,
        cache_write_tokens=0,
        premium_requests=1,
    )
    results = (TriggerResult(prompt="p", should_trigger=True, did_trigger=True),)
    outcome, _ = folded.outcome(triggers=Triggers(ACCURACY, results, (spent, None, spent)))
    head = outcome.head
    assert (head.metrics["trigger_accuracy"].value, head.metrics["trigger_accuracy"].passed) == (0.5, True)
    assert (head.trigger_metrics, head.trigger_results) == (ACCURACY, list(results))
    assert head.summary.usage is not None
    assert (head.summary.usage.turns, head.summary.usage.input_tokens) == (2, 4)
    assert head.baseline_outcome is not None
    assert head.baseline_outcome.summary.usage is None
    assert (head.baseline_outcome.trigger_metrics, head.baseline_outcome.metrics) == (None, {})


@pytest.mark.parametrize(
    ("dimension", "groups"),
    [
        ("model", ("m",)),
        ("skill", ("s",)),
        ("tags", ("untagged",)),
        ("task_id", ("a",)),
        ("", ()),
        ("odd", ()),
    ],
)
def test_groups_of_a_task(dimension: str, groups: tuple[str, ...], tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "a", head="skill: s", config=[f"group_by: '{dimension}'"])
    assert groups_of(suite, suite.tasks[0], "m") == groups
    tagged = msgspec.structs.replace(suite.tasks[0], tags=("x", "y"))
    assert groups_of(suite, tagged, "m") == (("x", "y") if dimension == "tags" else groups)
    assert groups_of(suite, suite.tasks[0], "") == (() if dimension == "model" else groups)


@pytest.mark.parametrize(
    ("main", "baseline", "code"),
    [
        (["passed"], None, 0),
        (["passed", "skipped"], None, 0),
        (["skipped"], None, 0),
        (["passed", "failed"], None, 1),
        (["passed", "error"], None, 1),
        (["passed", "failed"], ["failed", "failed"], 0),
        (["passed", "passed"], ["passed", "passed"], 1),
        (["failed", "error"], ["failed", "failed"], 1),
        (["passed", "passed"], ["passed", "error"], 1),
        (["passed", "passed"], ["failed"], 1),
        (["passed", "passed"], ["failed", "failed"], 0),
        (["passed", "failed"], ["passed", "passed"], 1),
    ],
)
def test_verdicts(main: list[Any], baseline: list[Any] | None, code: int, tmp_path: Path) -> None:
    suite = suite_of(tmp_path, *"ab"[: len(main)])
    folded = Folded(suite, "main", *(("baseline",) if baseline else ()))
    for task, status in zip("ab", main, strict=False):
        folded.add(task, run(1, status))
    for task, status in zip("ab", baseline or [], strict=False):
        folded.add(task, run(1, status), "baseline")
    assert folded.outcome()[0].verdict.acceptable == (code == 0)


@pytest.mark.parametrize(
    ("metric", "code"),
    [
        ("{name: polite, threshold: 0.5}", 0),
        ("{name: polite, threshold: 0.5, gate: true}", 1),
        ("{name: polite, threshold: 0, gate: true}", 0),
        ("{name: trigger_accuracy, threshold: 0.6}", 1),
        ("{name: trigger_accuracy, threshold: 0.5}", 0),
        ("{name: trigger_recall, threshold: 0.6}", 0),
        ("{name: trigger_recall, threshold: 0.6, gate: true}", 1),
    ],
)
def test_verdicts_of_metrics(metric: str, code: int, tmp_path: Path) -> None:
    suite = suite_of(tmp_path, "a", head=f"metrics: [{metric}]")
    folded = Folded(suite)
    folded.add("a", run(1, "passed", [verdict(score=0.4)]))
    assert folded.outcome(triggers=Triggers(ACCURACY))[0].verdict.passed == (code == 0)


@pytest.mark.parametrize(("executor", "effort"), [("mock", ""), ("", "high")])
def test_an_effort_that_was_not_applied_is_not_recorded(tmp_path: Path, executor: str, effort: str) -> None:
    path = mock_suite(tmp_path, {"t": "inputs: {prompt: p}"}, config=["reasoning_effort: high"])
    path.write_text(path.read_text().replace("executor: mock", "executor: copilot-sdk"))
    found = run_config(load(path, LoadOptions(executor=executor)), "m")
    assert (found.reasoning_effort, found.judge_reasoning_effort) == (effort, "")
