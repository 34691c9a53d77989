"""The result block: what it says of whom, and in which words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.report.factory import EVIL, Lines, checkpoint, outcome, run, suite, task, verdict

from waza.model.observation import ModelUsage, Usage
from waza.model.result import (
    FailureArtifacts,
    Group,
    Interval,
    MetricResult,
    SkillImpact,
    SuiteStatistics,
    TaskResult,
    TriggerMetrics,
)
from waza.report.console import report
from waza.results.outcome import Outcome


def told(result: Outcome, **options: Any) -> str:
    lines = Lines()
    report(result, lines, **options)
    return lines.text


def section(text: str, title: str) -> list[str]:
    """Return the lines of a section; empty if it is not there."""
    rule = "=" * 51
    found = text.split(f"\n{rule}\n{title}\n{rule}\n")
    return found[1].split("\n\n" + rule)[0].splitlines() if len(found) == 2 else []


FOUND = outcome(task("Greets"), task("Leaves", run(1, "failed", [verdict(passed=False, score=0.5)])))


def test_the_whole_block() -> None:
    assert (
        told(FOUND)
        == """
===================================================
BENCHMARK RESULTS
===================================================
Benchmark:        greeter-eval
Skill:            greeter
Model:            gpt-x
Total tests:      2
Succeeded:        1
Failed:           1
Errors:           0
Success rate:     50.0% (1 of 2 tasks)
Aggregate score:  0.75
Min score:        0.50
Max score:        1.00
Std deviation:    0.0000
Duration:         1.234s
✗ FAILED
  • 1 of 2 tasks did not pass: 1 failed

===================================================
PER-TASK BREAKDOWN
===================================================
✓ Greets [passed]
    pass_rate=100.0% avg=1.00 min=1.00 max=1.00 stddev=0.2500 avg_dur=4ms
✗ Leaves [failed]
    pass_rate=0.0% avg=0.50 min=0.50 max=0.50 stddev=0.2500 avg_dur=4ms

===================================================
FAILED TASKS
===================================================
✗ Leaves [failed]
  • polite (text) 0.50: 'hello' is missing
    output: hey"""
    )


def test_errors_in_the_denominator_and_out_of_it() -> None:
    tasks = [
        *(task(f"P{i}") for i in range(2)),
        *(task(f"F{i}", run(1, "failed")) for i in range(4)),
        *(task(f"E{i}", run(1, "error", [])) for i in range(2)),
    ]
    lines = section(told(outcome(*tasks)), "BENCHMARK RESULTS")
    assert "Success rate:         25.0% (2 of 8 tasks)" in lines
    assert "Graded success rate:  33.3% (2 of 6, without errors and skipped tasks)" in lines


def test_a_task_that_never_passes_is_named() -> None:
    good = [run(i) for i in range(1, 11)]
    bad = [run(i, "failed") for i in range(1, 11)]
    text = told(outcome(task("A", *good), task("B", *bad)))
    assert section(text, "NEVER PASSED") == ["• B: 0 of 10 runs"]


def test_flaky_tasks_and_those_that_needed_a_retry() -> None:
    text = told(
        outcome(task("D", run(1), run(2, "failed")), task("E", run(1, attempts=3), run(2)), task("A"))
    )
    assert section(text, "FLAKY TASKS") == [
        "• D: pass rate 50%, score 0.50 ± 0.25, CI95 [0.50, 1.00]",
        "• E: pass rate 100% (pass@1 50%), score 1.00 ± 0.25, CI95 [0.50, 1.00]",
    ]
    breakdown = section(text, "PER-TASK BREAKDOWN")
    assert "✓ E [passed] [flaky]" in breakdown
    assert breakdown[3].startswith("    pass_rate=100.0% pass@1=50.0% avg=1.00")


def test_tags() -> None:
    text = told(outcome(task("A", run(), golden=True, cached=True)))
    assert "✓ A [passed] [golden] [cached]" in text


def test_a_failure_says_what_was_expected_and_found_where_and_what_the_baseline_did() -> None:
    said = verdict(
        "order",
        passed=False,
        type="action_sequence",
        feedback="one\ntwo",
        details={
            "expected_actions": ["a", "b"],
            "actual_actions": ["a"],
            "evidence": [{"ref": "output[1..2]"}],
        },
    )
    impact = SkillImpact(pass_rate_with_skills=0.0, pass_rate_baseline=1.0, delta=-1.0, percent_change=-100.0)
    failing = task("T", run(1), run(2, "failed", [said], final_output="so\nit is"), skill_impact=impact)
    assert section(told(outcome(failing)), "FAILED TASKS") == [
        "✗ T [failed]",
        "  • order (action_sequence) 0.00: one",
        "      two [run 2 of 2]",
        "      expected: a, b",
        "      found: a",
        "      where: output[1..2]",
        "    output: so it is",
        "    without the skills: passed in 100.0% of its runs",
    ]


def test_each_failing_grader_is_told_once_and_checkpoints_with_their_turn() -> None:
    bad = verdict("g", passed=False)
    runs = [run(i, "failed", [bad], checkpoints=[checkpoint(2, bad)]) for i in (1, 2)]
    lines = section(told(outcome(task("T", *runs))), "FAILED TASKS")
    assert [line for line in lines if "•" in line] == [
        "  • g (text) 0.00: 'hello' is missing [run 1 of 2]",
        "  • g (text, after turn 2) 0.00: 'hello' is missing [run 1 of 2]",
    ]


def test_errors_are_told_and_tasks_that_did_not_run() -> None:
    text = told(
        outcome(task("E", run(1, "error", [])), task("H", status="error"), task("S", status="skipped"))
    )
    lines = section(text, "FAILED TASKS")
    assert lines == [
        "⚠ E [error]",
        "  • error: the engine broke",
        "    output: hey",
        "⚠ H [error]",
        "  • it did not run",
    ]
    assert "Skipped:          1" in text
    assert "○ S [skipped]" in text


@pytest.mark.parametrize(("verbose", "shown"), [(False, 499), (True, 3000)])
def test_long_feedback_is_cut_unless_verbose(verbose: bool, shown: int) -> None:
    long = task("T", run(1, "failed", [verdict(passed=False, feedback="ø" * 3000)]))
    assert told(outcome(long), verbose=verbose).count("ø") == shown


def test_triage_takes_the_first_bullet_or_the_beginning() -> None:
    def failing(name: str, summary: str) -> TaskResult:
        artifacts = FailureArtifacts(triage_summary=summary, captured_at="")
        return task(name, run(1, "failed", failure_artifacts=artifacts))

    text = told(outcome(failing("A", "## Why\n- the first\n- the second"), failing("B", "y" * 200)))
    assert section(text, "TRIAGE HIGHLIGHTS") == ["• A: the first", "• B: " + "y" * 160]


def test_groups() -> None:
    groups = [
        Group(name="m1", passed=1, total=3, avg_score=0.5),
        Group(name="m2", passed=0, total=0, avg_score=0),
    ]
    assert section(told(outcome(task(), summary={"groups": groups})), "RESULTS BY GROUP") == [
        "m1: 1/3 passed (33.3%)  avg: 0.50",
        "m2: 0/0 passed (0.0%)  avg: 0.00",
    ]


def test_trigger_accuracy_and_metrics() -> None:
    found = TriggerMetrics(
        true_positives=3,
        false_positives=1,
        true_negatives=4,
        false_negatives=2,
        errors=1,
        precision=0.75,
        recall=0.6,
        f1=0.6667,
        accuracy=0.7,
    )
    metric = MetricResult(identifier="trigger_accuracy", value=0.7, threshold=0.8, passed=False, weight=1)
    text = told(outcome(task(), trigger_metrics=found, metrics={"trigger_accuracy": metric}))
    assert section(text, "TRIGGER ACCURACY") == [
        "Accuracy:   70.0%",
        "Errors:     1",
        "Precision:  75.0%",
        "Recall:     60.0%",
        "F1:         66.7%",
        "TP 3  FP 1  FN 2  TN 4",
    ]
    assert section(text, "METRICS") == ["✗ trigger_accuracy: 0.70 (threshold 0.80)"]


def usage(**more: Any) -> Usage:
    given = {
        "turns": 3,
        "input_tokens": 12345,
        "output_tokens": 678,
        "cache_read_tokens": 10,
        "cache_write_tokens": 0,
        "premium_requests": 2.0,
    }
    return Usage(**{**given, **more})


def test_usage_of_one_model() -> None:
    lines = section(told(outcome(task(), summary={"usage": usage(ai_credits=0.5)})), "USAGE SUMMARY")
    assert lines == [
        "Premium requests:       2",
        "AI credits:             0.500000000",
        "Turns:                  3",
        "Input tokens:           12,345",
        "Output tokens:          678",
        "Cached tokens read:     10",
        "Cached tokens written:  0",
        "Total tokens:           13,023",
    ]


def test_usage_of_an_own_provider_and_several_models() -> None:
    models = {
        name: ModelUsage(
            input_tokens=1000,
            output_tokens=2,
            cache_read_tokens=0,
            cache_write_tokens=0,
            request_count=4.0,
            request_cost=0.0,
            ai_credits=spent,
        )
        for name, spent in (("b", 0.25), ("a", None))
    }
    used = usage(provider="custom", provider_host="llm.example", model_metrics=models)
    lines = section(told(outcome(task(), summary={"usage": used})), "USAGE SUMMARY")
    assert lines[:2] == ["Provider:               custom (llm.example)", "Provider requests:      2"]
    assert lines[-4:] == [
        "Model     In  Out  Requests   AI Credits",
        "-----  -----  ---  --------  -----------",
        "a      1,000    2         4          n/a",
        "b      1,000    2         4  0.250000000",
    ]


def test_snapshot_updates() -> None:
    updates = [
        {"path": "a", "snapshot": "a.txt", "status": "updated", "lines_changed": 3},
        {"path": "b", "snapshot": "b.txt", "status": "created", "lines_changed": 1},
        {"path": "c", "snapshot": "c.txt", "status": "unchanged", "lines_changed": 0},
    ]
    found = outcome(task("T", run(verdicts=[verdict(type="diff", details={"snapshot_updates": updates})])))
    assert section(told(found, snapshots=True), "SNAPSHOT UPDATES") == [
        "T: a.txt: updated (3 lines)",
        "T: b.txt: created",
        "T: c.txt: no changes",
    ]
    assert len(section(told(FOUND, snapshots=True), "SNAPSHOT UPDATES")) == 1
    assert not section(told(found), "SNAPSHOT UPDATES")


def test_statistics() -> None:
    interval = Interval(lower=0.25, upper=0.75, mean=0.5, confidence_level=0.95)
    found = SuiteStatistics(
        bootstrap_ci=interval,
        is_significant=True,
        success_rate_ci=interval,
        pass_hat_k=[0.5, 0.25],
        pass_at_k=[0.5, 0.75],
    )
    lines = section(told(outcome(task(), summary={"statistics": found})), "BENCHMARK RESULTS")
    assert "Score CI95:         [0.25, 0.75]" in lines
    assert "pass@k (k=1..2):    0.50 0.75" in lines
    assert "pass^k (k=1..2):    0.50 0.25" in lines


def test_an_interrupted_run_says_so() -> None:
    text = told(outcome(task(), metadata={"run_status": "cancelled"}))
    assert "✗ FAILED\n  • the run did not come to its end (cancelled)" in text
    assert "✓ PASSED" in told(outcome(task(), metadata={"run_status": "complete"}))


def test_suggestions_name_the_model() -> None:
    text = told(outcome(task(), metadata={"suggestion_report": "## Findings\nnone"}))
    assert section(text, "SUGGESTIONS (gpt-x)") == ["## Findings", "none"]


def test_a_name_stays_in_its_line() -> None:
    text = told(outcome(task("two\nlines" + EVIL)))
    assert "✓ two linesbad" in text


def test_tasks_are_gone_through_once() -> None:
    times = 0

    def source() -> Any:
        nonlocal times
        times += 1
        return iter([task()])

    told(Outcome(suite([task()]), source), interpret=True, snapshots=True)
    assert times == 1


@pytest.mark.parametrize(
    ("score", "label"),
    [
        (0.91, "Excellent"),
        (0.9, "Good"),
        (0.7, "Good"),
        (0.69, "Needs Work"),
        (0.5, "Needs Work"),
        (0.49, "Poor"),
    ],
)
def test_interpretation_labels(score: float, label: str) -> None:
    found = outcome(task(), summary={"aggregate_score": score, "weighted_score": 0.2})
    lines = section(told(found, interpret=True), "INTERPRETATION")
    assert lines[0].endswith(f", {label}")
    assert lines[1] == "Weighted score: 20.0%, Poor"


@pytest.mark.parametrize(
    ("rate", "phrase"),
    [(1.0, "All"), (0.99, "Most"), (0.8, "Most"), (0.79, "About half"), (0.5, "About half"), (0.49, "Few")],
)
def test_interpretation_of_the_pass_rate(rate: float, phrase: str) -> None:
    lines = section(told(outcome(task(), summary={"success_rate": rate}), interpret=True), "INTERPRETATION")
    assert lines[1].startswith(phrase)


def test_interpretation_of_tasks() -> None:
    found = outcome(
        task("D", run(1), run(2, "failed")),
        task("E", run(1, attempts=2)),
        task("A", run(1), run(2)),
        task("S", status="skipped"),
    )
    lines = section(told(found, interpret=True), "INTERPRETATION")
    assert "✗ D [failed]: score 50.0%, Needs Work" in lines
    assert "    Flaky: it passed in 50.0% of its runs; run more trials to see how it really does." in lines
    assert (
        "    Flaky: it passed only after a retry (pass@1 0.0%); run more trials before you trust it." in lines
    )
    assert "    Steady: every one of its 2 runs passed." in lines
    assert not section(told(found), "INTERPRETATION")
