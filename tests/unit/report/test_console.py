"""The result block: what it says of whom, and in which words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.unit.report.factory import EVIL, Lines, checkpoint, outcome, run, suite, task, verdict

from waza.model.observation import ModelUsage, Usage
from waza.model.result import (
    ConfidenceInterval,
    Group,
    MetricResult,
    SessionDigest,
    SkillImpact,
    SuiteStatistics,
    TriggerMetrics,
    TriggerResult,
)
from waza.model.trial import Arm
from waza.report.console import print_report
from waza.report.view import RunView
from waza.results.outcome import Outcome


def report_text(result: Outcome, **options: Any) -> str:
    lines = Lines()
    print_report(RunView.of(result, "greeter"), lines.draw, **options)
    return lines.text


def section(text: str, title: str) -> list[str]:
    """Return the lines of a section; empty if it is not there."""
    rule = "=" * 51
    found = text.split(f"\n{rule}\n{title}\n{rule}\n")
    return found[1].split("\n\n" + rule)[0].splitlines() if len(found) == 2 else []


FOUND = outcome(task("Greets"), task("Leaves", run(1, "failed", [verdict(passed=False, score=0.5)])))


def test_the_whole_block() -> None:
    assert (
        report_text(FOUND)
        == """
===================================================
PER-TASK BREAKDOWN
===================================================
Task      Status  Score  Trials  Duration
--------  ------  -----  ------  --------
✓ Greets  passed   1.00     1/1       4ms
✗ Leaves  failed   0.50     0/1       4ms

===================================================
FAILED TASKS
===================================================
✗ Leaves [failed]
  • polite (text) 0.50: 'hello' is missing
    output: hey

===================================================
BENCHMARK RESULTS
===================================================
Benchmark:          greeter-eval
Skill:              greeter
Model:              gpt-x
Engine:             mock
Total tests:        2
Succeeded:          1
Failed:             1
Errors:             0
Task success rate:  50.0% (1 of 2 tasks)
Aggregate score:    0.75
Min score:          0.50
Max score:          1.00
Std deviation:      0.0000
Duration:           1.234s
✗ FAILED
  • 1 of 2 tasks did not pass: 1 failed"""
    )


def test_errors_in_the_denominator_and_out_of_it() -> None:
    tasks = [
        *(task(f"P{i}") for i in range(2)),
        *(task(f"F{i}", run(1, "failed")) for i in range(4)),
        *(task(f"E{i}", run(1, "error", [])) for i in range(2)),
    ]
    lines = section(report_text(outcome(*tasks)), "BENCHMARK RESULTS")
    assert "Task success rate:    25.0% (2 of 8 tasks)" in lines
    assert "Graded success rate:  33.3% (2 of 6, without errors and skipped tasks)" in lines


def test_a_task_that_never_passes_is_named() -> None:
    good = [run(i) for i in range(1, 11)]
    bad = [run(i, "failed") for i in range(1, 11)]
    text = report_text(outcome(task("A", *good), task("B", *bad)))
    assert section(text, "FAILED TASKS")[0] == "✗ B [failed]: none of its 10 trials passed"


def lines_of_tasks(text: str) -> list[list[str]]:
    """The cells of each task in the breakdown."""
    return [re.split("  +", line) for line in section(text, "PER-TASK BREAKDOWN")[2:]]


def test_flaky_tasks_and_those_that_needed_a_retry() -> None:
    found = outcome(task("D", run(1), run(2, "failed")), task("E", run(1, attempts=3), run(2)), task("A"))
    assert lines_of_tasks(report_text(found)) == [
        ["✗ D", "failed, flaky", "0.50", "1/2", "4ms"],
        ["✓ E", "passed, flaky, pass@1 50%", "1.00", "2/2", "4ms"],
        ["✓ A", "passed", "1.00", "1/1", "4ms"],
    ]


def test_figures_of_trials_are_shown_when_asked_for() -> None:
    found = outcome(task("D", run(1), run(2, "failed")), task("A"))
    line = "• D: trial pass rate 50.0%, score 0.00 to 1.00, standard deviation 0.2500"
    assert section(report_text(found, verbose=True), "PER-TASK BREAKDOWN")[4:] == [line]
    assert "trial pass rate" not in report_text(found)


def test_a_failing_task_is_reported_once() -> None:
    text = report_text(outcome(task("Greets"), task("Leaves", *(run(i, "failed") for i in (1, 2)))))
    assert [line for line in text.splitlines() if "Leaves" in line] == [
        "✗ Leaves  failed   0.00     0/2       4ms",
        "✗ Leaves [failed]: none of its 2 trials passed",
    ]


def test_what_failed_and_the_totals_come_last() -> None:
    found = outcome(
        task("A", run(1, "failed")),
        metadata={"warnings": ["w"]},
        summary={"usage": usage(premium_requests=0)},
    )
    titles = re.findall(r"={51}\n(.+)\n={51}", report_text(found, interpret=True))
    assert titles == [
        "PER-TASK BREAKDOWN",
        "USAGE SUMMARY",
        "INTERPRETATION",
        "WARNINGS",
        "FAILED TASKS",
        "BENCHMARK RESULTS",
    ]


def test_tables_fit_into_80_columns_by_shortening_the_middle_of_names() -> None:
    names = [f"checks that the first {'long ' * 30} name ends with {i}" for i in (1, 2)]
    lines = section(report_text(outcome(*map(task, names))), "PER-TASK BREAKDOWN")
    assert all(len(line) <= 80 for line in lines)
    assert [line.split("  ")[0][-14:] for line in lines[2:]] == ["me ends with 1", "me ends with 2"]
    assert all(line.startswith("✓ checks that") for line in lines[2:])


def test_an_error_comes_first_and_what_followed_from_it_after() -> None:
    broken = run(1, "error", [verdict("polite", passed=False)], error_msg="the engine broke")
    own = run(
        1,
        "error",
        [verdict("odd", passed=False, details={"error": "it broke"})],
        error_msg="running graders: odd: it broke",
    )
    lines = section(report_text(outcome(task("E", broken), task("G", own))), "FAILED TASKS")
    assert lines[1:3] == ["  • error: the engine broke", "      after that failed: polite (text)"]
    assert lines[5:6] == ["  • error: running graders: odd: it broke"]
    assert "after that" not in lines[6]


def test_tags() -> None:
    text = report_text(outcome(task("A", run(), golden=True, cached=True)))
    assert lines_of_tasks(text) == [["✓ A", "passed, golden, cached", "1.00", "1/1", "4ms"]]


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
    assert section(report_text(outcome(failing)), "FAILED TASKS") == [
        "✗ T [failed]",
        "  • order (action_sequence) 0.00: one",
        "      two [trial 2 of 2]",
        "      expected: a, b",
        "      found: a",
        "      where: output[1..2]",
        "    output: so it is",
        "    without the skills: passed in 100.0% of its trials",
    ]


def test_each_failing_grader_is_reported_once_and_checkpoints_with_their_turn() -> None:
    bad = verdict("g", passed=False)
    runs = [run(i, "failed", [bad], checkpoints=[checkpoint(2, bad)]) for i in (1, 2)]
    lines = section(report_text(outcome(task("T", *runs))), "FAILED TASKS")
    assert [line for line in lines if "•" in line] == [
        "  • g (text) 0.00: 'hello' is missing [trial 1 of 2]",
        "  • g (text, after turn 2) 0.00: 'hello' is missing [trial 1 of 2]",
    ]


def test_errors_are_reported_and_tasks_that_did_not_run() -> None:
    text = report_text(
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
    assert "Cut off:            1" in text
    assert lines_of_tasks(text)[2] == ["○ S", "cut off", "-", "-", "-"]


@pytest.mark.parametrize(("verbose", "shown"), [(False, 497), (True, 3000)])
def test_long_feedback_is_cut_unless_verbose(verbose: bool, shown: int) -> None:
    long = task("T", run(1, "failed", [verdict(passed=False, feedback="ø" * 3000)]))
    assert report_text(outcome(long), verbose=verbose).count("ø") == shown


def test_groups() -> None:
    groups = [
        Group(name="m1", passed=1, total=3, avg_score=0.5),
        Group(name="m2", passed=0, total=0, avg_score=0),
    ]
    assert section(report_text(outcome(task(), summary={"groups": groups})), "RESULTS BY GROUP") == [
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
    text = report_text(outcome(task(), trigger_metrics=found, metrics={"trigger_accuracy": metric}))
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
    lines = section(report_text(outcome(task(), summary={"usage": usage(ai_credits=0.5)})), "USAGE SUMMARY")
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


def test_usage_of_a_custom_provider_and_several_models() -> None:
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
    lines = section(report_text(outcome(task(), summary={"usage": used})), "USAGE SUMMARY")
    assert lines[:2] == ["Provider:               custom (llm.example)", "Provider requests:      2"]
    assert lines[-4:] == [
        "Model     In  Out  Requests   AI Credits",
        "-----  -----  ---  --------  -----------",
        "a      1,000    2         4          n/a",
        "b      1,000    2         4  0.250000000",
    ]


def test_usage_counts_judges_and_names_their_part() -> None:
    judged = run(grader_sessions=[SessionDigest(tool_call_count=0, tools_used=[], errors=[], usage=usage())])
    lines = section(report_text(outcome(task("A", judged), summary={"usage": usage()})), "USAGE SUMMARY")
    assert lines[-2:] == ["Total tokens:           26,046", "Judges' part:           13,023 tokens"]


def test_premium_requests_that_nobody_made_are_not_shown() -> None:
    lines = section(
        report_text(outcome(task(), summary={"usage": usage(premium_requests=0)})), "USAGE SUMMARY"
    )
    assert not any("equests" in line for line in lines)


def test_trigger_tests_that_failed_are_named() -> None:
    results = [
        TriggerResult(prompt="deploy it", should_trigger=True, did_trigger=False),
        TriggerResult(prompt="what is 2+2", should_trigger=False, did_trigger=True),
        TriggerResult(prompt="ship", should_trigger=True, did_trigger=False, error_msg="no answer"),
        TriggerResult(prompt="fine", should_trigger=True, did_trigger=True),
    ]
    assert RunView.of(outcome(task(), trigger_results=results), "greeter").trigger_failures == [
        '✗ "deploy it" should trigger: it did not trigger',
        '✗ "what is 2+2" should not trigger: it triggered',
        '⚠ "ship" should trigger: no answer',
    ]


def test_snapshot_updates() -> None:
    updates = [
        {"path": "a", "snapshot": "a.txt", "status": "updated", "lines_changed": 3},
        {"path": "b", "snapshot": "b.txt", "status": "created", "lines_changed": 1},
        {"path": "c", "snapshot": "c.txt", "status": "unchanged", "lines_changed": 0},
    ]
    found = outcome(task("T", run(verdicts=[verdict(type="diff", details={"snapshot_updates": updates})])))
    assert section(report_text(found, snapshots=True), "SNAPSHOT UPDATES") == [
        "T: a.txt: updated (3 lines)",
        "T: b.txt: created",
        "T: c.txt: no changes",
    ]
    assert len(section(report_text(FOUND, snapshots=True), "SNAPSHOT UPDATES")) == 1
    assert not section(report_text(found), "SNAPSHOT UPDATES")


def test_statistics() -> None:
    interval = ConfidenceInterval(lower=0.25, upper=0.75, mean=0.5, confidence_level=0.95)
    found = SuiteStatistics(
        bootstrap_ci=interval,
        is_significant=True,
        success_rate_ci=interval,
        pass_hat_k=[0.5, 0.25],
        pass_at_k=[0.5, 0.75],
    )
    lines = section(report_text(outcome(task(), summary={"statistics": found})), "BENCHMARK RESULTS")
    assert "Score CI95:         [0.25, 0.75]" in lines
    assert "Any of k passes:    0.50 (k=1), 0.75 (k=2)" in lines
    assert "All of k pass:      0.50 (k=1), 0.25 (k=2)" in lines


def test_an_interrupted_run_says_so() -> None:
    text = report_text(outcome(task(), metadata={"run_status": "cancelled"}))
    assert "✗ FAILED\n  • the run did not come to its end (cancelled)" in text
    assert "✓ PASSED" in report_text(outcome(task(), metadata={"run_status": "complete"}))


def test_suggestions_name_the_model() -> None:
    text = report_text(outcome(task(), metadata={"suggestion_report": "## Findings\nnone"}))
    assert section(text, "SUGGESTIONS (gpt-x)") == ["## Findings", "none"]


def test_a_name_stays_in_its_line() -> None:
    text = report_text(outcome(task("two\nlines" + EVIL)))
    assert "✓ two linesbad" in text


def test_tasks_are_gone_through_once() -> None:
    times = 0

    def source(_arm: Arm, _encoded: bool) -> Any:
        nonlocal times
        times += 1
        return iter([task()])

    report_text(Outcome(suite([task()]), source), interpret=True, snapshots=True)
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
    lines = section(report_text(found, interpret=True), "INTERPRETATION")
    assert lines[0] == "The run: passed"
    assert lines[1].endswith(f", {label}")
    assert lines[2] == "Weighted score: 20.0%, Poor"


@pytest.mark.parametrize(
    ("rate", "phrase"),
    [(1.0, "All"), (0.99, "Most"), (0.8, "Most"), (0.79, "About half"), (0.5, "About half"), (0.49, "Few")],
)
def test_interpretation_of_the_pass_rate(rate: float, phrase: str) -> None:
    lines = section(
        report_text(outcome(task(), summary={"success_rate": rate}), interpret=True), "INTERPRETATION"
    )
    assert lines[2].startswith(phrase)


def test_a_run_cut_off_after_its_last_task_does_not_say_that_none_is_missing() -> None:
    lines = section(report_text(outcome(task(), metadata={"run_status": "cancelled"})), "BENCHMARK RESULTS")
    said = "not known; 1 of 1 task that ran passed, but trials, trigger tests or hooks did not end"
    assert [line for line in lines if said in line]


def test_interpretation_praises_no_run_that_did_not_pass() -> None:
    found = outcome(task(), task("S", status="skipped"), metadata={"run_status": "cancelled"})
    lines = section(report_text(found, interpret=True), "INTERPRETATION")
    assert lines[0] == "The run: failed"
    assert "the run did not come to its end (cancelled)" in lines[1]
    assert not [line for line in lines[:4] if "Excellent" in line or "All tasks" in line]
    assert [line for line in lines if line.startswith("2 tasks: 1 passed")]


def test_interpretation_of_tasks() -> None:
    found = outcome(
        task("D", run(1), run(2, "failed")),
        task("E", run(1, attempts=2)),
        task("A", run(1), run(2)),
        task("S", status="skipped"),
    )
    lines = section(report_text(found, interpret=True), "INTERPRETATION")
    assert "✗ D [failed]: score 50.0%, Needs Work" in lines
    assert "    Flaky: it passed in 50.0% of its trials; run more trials to see how it really does." in lines
    assert (
        "    Flaky: it passed only after a retry (pass@1 0.0%); run more trials before you trust it." in lines
    )
    assert "    Steady: every one of its 2 trials passed." in lines
    assert not section(report_text(found), "INTERPRETATION")
