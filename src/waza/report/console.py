"""The result block of one suite on one model, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.share import differs, percent
from waza.kit.text import counted
from waza.model.observation import Usage
from waza.model.result import Interval, SuiteResult
from waza.report.interpret import interpretation
from waza.report.rows import Row, rows
from waza.report.table import table
from waza.report.words import BULLET, Write, duration, grouped, indented, one_line, shortened, status_mark
from waza.results.outcome import Outcome
from waza.results.verdict import COMPLETE, verdict_of

WIDTH = 51
_FEEDBACK = 500  # characters of a feedback that are shown unless verbose


def report(
    outcome: Outcome, out: Write, *, verbose: bool = False, interpret: bool = False, snapshots: bool = False
) -> None:
    """Print the results of one suite on one model, section by section.

    `verbose` shows feedback uncut, `interpret` adds the plain-language section, `snapshots` the section on
    the expected files that diff graders wrote anew. Goes through the tasks once.
    """
    head, found = outcome.head, rows(outcome)
    sections = [
        ("BENCHMARK RESULTS", _benchmark(head)),
        ("WARNINGS", _warnings(head)),
        ("RESULTS BY GROUP", _groups(head)),
        ("PER-TASK BREAKDOWN", _breakdown(found)),
        ("FAILED TASKS", _failed(found, 10**9 if verbose else _FEEDBACK)),
        ("NEVER PASSED", _never_passed(found)),
        ("TRIAGE HIGHLIGHTS", _triage(found)),
        ("FLAKY TASKS", _flaky(found)),
        ("TRIGGER ACCURACY", _trigger(head)),
        ("METRICS", _metrics(head)),
        ("USAGE SUMMARY", _usage(head.summary.usage)),
        ("SNAPSHOT UPDATES", _snapshots(found) if snapshots else iter(())),
        ("INTERPRETATION", interpretation(head, found) if interpret else iter(())),
        (f"SUGGESTIONS ({head.config.model_id or 'default model'})", _suggestions(head)),
    ]
    for title, lines in sections:
        section(title, list(lines), out)


def section(title: str, lines: Sequence[str], out: Write) -> None:
    """Print a section under its title; nothing for a section without lines."""
    if not lines:
        return
    for line in ("", "=" * WIDTH, title, "=" * WIDTH, *lines):
        out(line)


def facts(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return names and values, one pair a line, with the values in one column."""
    width = max((len(name) for name, _ in pairs), default=0) + 1
    return [f"{name + ':':<{width}}  {value}" for name, value in pairs]


def rates(head: SuiteResult) -> list[tuple[str, str]]:
    """Return the success rate, and beside it the rate over graded tasks where the two differ.

    Of a run that did not come to its end there is no rate: nobody knows what the rest would have done.
    """
    summary = head.summary
    share = f"{summary.succeeded} of {counted(summary.total_tests, 'task')}"
    if head.metadata.get("run_status", COMPLETE) != COMPLETE:
        return [("Success rate", f"not known; {share} that ran passed, {summary.skipped} did not run")]
    found = [("Success rate", f"{percent(summary.success_rate)} ({share})")]
    graded = summary.graded_success_rate
    if graded is not None and differs(graded, summary.success_rate):
        of = summary.succeeded + summary.failed
        note = f"{percent(graded)} ({summary.succeeded} of {of}, without errors and skipped tasks)"
        found.append(("Graded success rate", note))
    return found


def _benchmark(head: SuiteResult) -> Iterator[str]:
    summary = head.summary
    pairs = [
        ("Benchmark", one_line(head.eval_name)),
        *([("Skill", one_line(head.skill))] if head.skill else []),
        ("Model", head.config.model_id or "(default)"),
        ("Total tests", str(summary.total_tests)),
        ("Succeeded", str(summary.succeeded)),
        ("Failed", str(summary.failed)),
        ("Errors", str(summary.errors)),
        *([("Skipped", str(summary.skipped))] if summary.skipped else []),
        *rates(head),
        ("Aggregate score", f"{summary.aggregate_score:.2f}"),
        ("Min score", f"{summary.min_score:.2f}"),
        ("Max score", f"{summary.max_score:.2f}"),
        ("Std deviation", f"{summary.std_dev:.4f}"),
        *_statistics(head),
        ("Duration", duration(summary.duration_ms)),
    ]
    yield from facts(pairs)
    verdict = verdict_of(head)
    yield f"{status_mark('passed')} PASSED" if verdict.passed else f"{status_mark('failed')} FAILED"
    yield from (f"  {BULLET} {one_line(reason)}" for reason in verdict.reasons)


def _warnings(head: SuiteResult) -> Iterator[str]:
    yield from (
        f"{status_mark('error')} {one_line(warning)}" for warning in head.metadata.get("warnings", ())
    )


def _statistics(head: SuiteResult) -> Iterator[tuple[str, str]]:
    found = head.summary.statistics
    if found is None:
        return
    yield "Score CI95", _interval(found.bootstrap_ci)
    if found.success_rate_ci:
        yield "Success rate CI95", _interval(found.success_rate_ci)
    for name, values in (("pass@k", found.pass_at_k), ("pass^k", found.pass_hat_k)):
        if values:
            yield f"{name} (k=1..{len(values)})", " ".join(f"{value:.2f}" for value in values)


def _interval(interval: Interval) -> str:
    return f"[{interval.lower:.2f}, {interval.upper:.2f}]"


def _groups(head: SuiteResult) -> Iterator[str]:
    for group in head.summary.groups:
        rate = group.passed / group.total if group.total else 0.0
        share = f"{group.passed}/{group.total} passed ({percent(rate)})"
        yield f"{one_line(group.name)}: {share}  avg: {group.avg_score:.2f}"


def _breakdown(found: Sequence[Row]) -> Iterator[str]:
    for row in found:
        tags = "".join(
            f" [{tag}]"
            for tag, on in (("flaky", row.flaky), ("golden", row.golden), ("cached", row.cached))
            if on
        )
        yield f"{status_mark(row.status)} {one_line(row.title)} [{row.status}]{tags}"
        stats = row.stats
        if stats:
            first = f" pass@1={percent(row.first_tries / row.runs)}" if row.retried else ""
            yield (
                f"    pass_rate={percent(stats.pass_rate)}{first} avg={stats.avg_score:.2f}"
                f" min={stats.min_score:.2f} max={stats.max_score:.2f} stddev={stats.std_dev_score:.4f}"
                f" avg_dur={stats.avg_duration_ms}ms"
            )


def _failed(found: Sequence[Row], limit: int) -> Iterator[str]:
    for row in found:
        if row.failed:
            yield f"{status_mark(row.status)} {one_line(row.title)} [{row.status}]"
            yield from _reasons(row, limit)
            if row.impact:
                yield f"    without the skills: passed in {percent(row.impact.pass_rate_baseline)} of its runs"


def _reasons(row: Row, limit: int) -> Iterator[str]:
    """Yield each error and each failing grader once, with the run in which it was seen first."""
    if not row.bad_runs:
        yield f"  {BULLET} it did not run"
    seen: set[str] = set()
    for run in row.bad_runs:
        note = f" [run {run.number} of {row.runs}]" if row.runs > 1 else ""
        if run.error and run.error not in seen:
            seen.add(run.error)
            yield f"  {BULLET} error: {indented(shortened(run.error, limit), '      ')}{note}"
        for check in run.misses:
            if check.label not in seen:
                seen.add(check.label)
                feedback = indented(shortened(check.feedback, limit), "      ")
                yield f"  {BULLET} {check.label} {check.score:.2f}: {feedback}{note}"
                yield from (f"      {name}: {value}" for name, value in check.told)
    output = next((run.output for run in row.bad_runs if run.output), "")
    if output:
        yield f"    output: {output}"


def _never_passed(found: Sequence[Row]) -> Iterator[str]:
    for row in found:
        if row.never_passed:
            yield f"{BULLET} {one_line(row.title)}: 0 of {row.runs} runs"


def _triage(found: Sequence[Row]) -> Iterator[str]:
    for row in found:
        if row.triage:
            yield f"{BULLET} {one_line(row.title)}: {row.triage}"


def _flaky(found: Sequence[Row]) -> Iterator[str]:
    for row in found:
        stats = row.stats
        if row.flaky and stats:
            first = f" (pass@1 {percent(row.first_tries / row.runs, 0)})" if row.retried else ""
            yield (
                f"{BULLET} {one_line(row.title)}: pass rate {percent(stats.pass_rate, 0)}{first},"
                f" score {stats.avg_score:.2f} ± {stats.std_dev_score:.2f},"
                f" CI95 [{stats.ci95_lo:.2f}, {stats.ci95_hi:.2f}]"
            )


def _trigger(head: SuiteResult) -> Iterator[str]:
    found = head.trigger_metrics
    if found is None:
        return
    yield from facts(
        [
            ("Accuracy", percent(found.accuracy)),
            *([("Errors", str(found.errors))] if found.errors else []),
            ("Precision", percent(found.precision)),
            ("Recall", percent(found.recall)),
            ("F1", percent(found.f1)),
        ]
    )
    yield (
        f"TP {found.true_positives}  FP {found.false_positives}"
        f"  FN {found.false_negatives}  TN {found.true_negatives}"
    )


def _metrics(head: SuiteResult) -> Iterator[str]:
    for name, metric in sorted(head.metrics.items()):
        mark = status_mark("passed" if metric.passed else "failed")
        yield f"{mark} {one_line(name)}: {metric.value:.2f} (threshold {metric.threshold:.2f})"


def _usage(usage: Usage | None) -> Iterator[str]:
    if usage is None:
        return
    host = f" ({usage.provider_host})" if usage.provider_host else ""
    requests = "Provider requests" if usage.provider else "Premium requests"
    yield from facts(
        [
            *([("Provider", usage.provider + host)] if usage.provider else []),
            (requests, f"{usage.premium_requests:.0f}"),
            *([("AI credits", _credits(usage.ai_credits))] if usage.ai_credits is not None else []),
            ("Turns", grouped(usage.turns)),
            ("Input tokens", grouped(usage.input_tokens)),
            ("Output tokens", grouped(usage.output_tokens)),
            ("Cached tokens read", grouped(usage.cache_read_tokens)),
            ("Cached tokens written", grouped(usage.cache_write_tokens)),
            ("Total tokens", grouped(usage.input_tokens + usage.output_tokens)),
        ]
    )
    if len(usage.model_metrics) > 1:
        lines = [
            (
                name,
                grouped(model.input_tokens),
                grouped(model.output_tokens),
                f"{model.request_count:.0f}",
                _credits(model.ai_credits),
            )
            for name, model in sorted(usage.model_metrics.items())
        ]
        yield ""
        yield from table(("Model", "In", "Out", "Requests", "AI Credits"), lines)


def _credits(credits_used: float | None) -> str:
    return "n/a" if credits_used is None else f"{credits_used:.9f}"


def _snapshots(found: Sequence[Row]) -> Iterator[str]:
    lines = [f"{one_line(row.title)}: {update}" for row in found for update in row.snapshots]
    yield from lines or ["none: no diff grader with a snapshot ran"]


def _suggestions(head: SuiteResult) -> Iterator[str]:
    text = head.metadata.get("suggestion_report")
    if isinstance(text, str) and text:
        yield text
