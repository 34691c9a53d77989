"""The report on one suite on one model: its tasks, what was measured besides, what failed, and the totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.share import decimal, differs, percent
from waza.kit.text import pluralize, shorten_middle
from waza.model.observation import Usage, add_usage
from waza.model.result import ConfidenceInterval, SuiteResult, TriggerResult
from waza.report.interpret import interpretation
from waza.report.rows import TaskRow, rows
from waza.report.section import Draw, Part, Table, facts
from waza.report.words import BULLET, duration, grouped, indented, one_line, status_mark
from waza.results.ending import CUT_OFF, NO_DATA, came_to_its_end
from waza.results.outcome import Outcome
from waza.results.verdict import gates, verdict_of

_FEEDBACK = 500  # characters of a feedback that are shown unless verbose
_PROMPT = 100  # characters of a prompt of a trigger test
_STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # of k, for which pass@k is shown


def print_report(
    outcome: Outcome, draw: Draw, *, verbose: bool = False, interpret: bool = False, snapshots: bool = False
) -> None:
    """Draw the results of one suite on one model, section by section: what failed and the totals come last.

    `verbose` shows feedback uncut and the figures of each task, `interpret` adds the plain-language section,
    `snapshots` the section on the expected files that diff graders rewrote. Goes through the tasks once.
    """
    head, found = outcome.head, rows(outcome.tasks())
    sections: list[tuple[str, Iterator[Part]]] = [
        ("PER-TASK BREAKDOWN", _breakdown(found, verbose=verbose)),
        ("RESULTS BY GROUP", _groups(head)),
        ("TRIGGER ACCURACY", _trigger(head)),
        ("METRICS", _metrics(head)),
        ("USAGE SUMMARY", _usage(head.summary.usage, found)),
        ("SNAPSHOT UPDATES", _snapshots(found) if snapshots else iter(())),
        ("INTERPRETATION", interpretation(head, found) if interpret else iter(())),
        (f"SUGGESTIONS ({head.config.model_id or 'default model'})", _suggestions(head)),
        ("WARNINGS", _warnings(head)),
        ("FAILED TASKS", _failed(found, 10**9 if verbose else _FEEDBACK)),
        ("BENCHMARK RESULTS", _benchmark(head, found)),
    ]
    for title, parts in sections:
        draw(title, list(parts))


def rates(head: SuiteResult, found: Sequence[TaskRow]) -> list[tuple[str, str]]:
    """Return the success rate, and the rate over graded tasks if the two differ.

    Of a run that did not come to its end there is no rate: nobody knows what the rest would have done.
    """
    summary = head.summary
    share = f"{summary.succeeded} of {pluralize(summary.total_tests, 'task')}"
    if not came_to_its_end(head):
        cut = _ended(found, CUT_OFF)
        rest = f"{cut} {CUT_OFF}" if cut else "but trials, trigger tests or hooks did not end"
        return [("Task success rate", f"not known; {share} that ran passed, {rest}")]
    shown = [("Task success rate", f"{percent(summary.success_rate)} ({share})")]
    graded = summary.graded_success_rate
    if graded is not None and differs(graded, summary.success_rate):
        of = summary.succeeded + summary.failed
        note = f"{percent(graded)} ({summary.succeeded} of {of}, without errors and skipped tasks)"
        shown.append(("Graded success rate", note))
    return shown


def _ended(found: Sequence[TaskRow], ending: str) -> int:
    return sum(row.ending == ending for row in found)


def _benchmark(head: SuiteResult, found: Sequence[TaskRow]) -> Iterator[str]:
    summary = head.summary
    left_out = (("Skipped", _ended(found, "skipped")), ("Cut off", _ended(found, CUT_OFF)))
    pairs = [
        ("Benchmark", one_line(head.eval_name)),
        *([("Skill", one_line(head.skill))] if head.skill else []),
        ("Model", head.config.model_id or "(default)"),
        ("Total tests", str(summary.total_tests)),
        ("Succeeded", str(summary.succeeded)),
        ("Failed", str(summary.failed)),
        ("Errors", str(summary.errors)),
        *((name, str(count)) for name, count in left_out if count),
        *rates(head, found),
        ("Aggregate score", decimal(summary.aggregate_score)),
        ("Min score", decimal(summary.min_score)),
        ("Max score", decimal(summary.max_score)),
        ("Std deviation", f"{summary.std_dev:.4f}"),
        *_statistics(head),
        ("Duration", duration(summary.duration_ms)),
    ]
    yield from facts(pairs)
    verdict = verdict_of(head)
    mark = "passed" if verdict.passed else "skipped" if verdict.ungraded else "failed"
    yield f"{status_mark(mark)} {verdict.word.upper()}"
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
    for name, values in (("Any of k passes", found.pass_at_k), ("All of k pass", found.pass_hat_k)):
        steps = [k for k in range(1, len(values) + 1) if k in _STEPS or k == len(values)]
        if steps:
            yield name, ", ".join(f"{decimal(values[k - 1])} (k={k})" for k in steps)


def _interval(interval: ConfidenceInterval) -> str:
    return f"[{decimal(interval.lower)}, {decimal(interval.upper)}]"


def _groups(head: SuiteResult) -> Iterator[str]:
    for group in head.summary.groups:
        rate = group.passed / group.total if group.total else 0.0
        share = f"{group.passed}/{group.total} passed ({percent(rate)})"
        yield f"{one_line(group.name)}: {share}  avg: {decimal(group.avg_score)}"


def _breakdown(found: Sequence[TaskRow], *, verbose: bool) -> Iterator[Part]:
    """Yield a line a task, and with `verbose` the figures of each that had several trials."""
    if found:
        yield Table(("Task", "Status", "Score", "Trials", "Duration"), [_task(row) for row in found])
    if not verbose:
        return
    for row in found:
        stats = row.stats
        if stats and row.runs > 1:
            yield (
                f"{BULLET} {one_line(row.title)}: trial pass rate {percent(stats.pass_rate)}{_interval_of(row)},"
                f" score {decimal(stats.min_score)} to {decimal(stats.max_score)},"
                f" standard deviation {stats.std_dev_score:.4f}"
            )


def _task(row: TaskRow) -> tuple[str, ...]:
    known = (("golden", row.golden), ("cached", row.cached), ("judged again", row.rejudged))
    tags = [tag for tag, on in known if on]
    if row.flaky:
        tags.append(f"flaky, pass@1 {percent(row.first_tries / row.runs, 0)}" if row.retried else "flaky")
    name = f"{status_mark(row.ending)} {one_line(row.title)}"
    status = ", ".join([row.ending, *tags])
    if not row.stats:
        return name, status, "-", "-", "-"
    trials = f"{row.passed_runs}/{row.planned}"
    return name, status, decimal(row.score), trials, duration(row.stats.avg_duration_ms)


def _interval_of(row: TaskRow) -> str:
    found = row.stats.pass_rate_ci if row.stats else None
    return f" (CI95 {_interval(found)})" if found else ""


def _failed(found: Sequence[TaskRow], limit: int) -> Iterator[str]:
    for row in found:
        if row.failed:
            never = f": none of its {row.runs} trials passed" if row.never_passed else ""
            yield f"{status_mark(row.status)} {one_line(row.title)} [{row.status}]{never}"
            yield from _reasons(row, limit)
            if row.impact:
                yield f"    without the skills: passed in {percent(row.impact.pass_rate_baseline)} of its trials"


def _reasons(row: TaskRow, limit: int) -> Iterator[str]:
    """Yield each error, what followed from it, and each failing grader once, with the trial that showed it first."""
    if not row.bad_runs:
        why = f": {indented(shorten_middle(row.error, limit), '      ')}" if row.error else ""
        yield f"  {BULLET} it did not run{why}"
    seen: set[str] = set()
    for run in row.bad_runs:
        note = f" [trial {run.number} of {row.planned}]" if row.planned > 1 else ""
        if run.error:
            if run.error not in seen:
                yield f"  {BULLET} error: {indented(shorten_middle(run.error, limit), '      ')}{note}"
                if run.misses:
                    yield f"      after that failed: {', '.join(check.label for check in run.misses)}"
            seen.add(run.error)
            continue
        for check in run.misses:
            if check.label not in seen:
                seen.add(check.label)
                feedback = indented(shorten_middle(check.feedback, limit), "      ")
                yield f"  {BULLET} {check.label} {decimal(check.score)}: {feedback}{note}"
                yield from (f"      {name}: {value}" for name, value in check.details)
    output = next((run.output for run in row.bad_runs if run.output), "")
    if output:
        yield f"    output: {output}"


def _trigger(head: SuiteResult) -> Iterator[str]:
    found = head.trigger_metrics
    if found is None:
        return
    ratios = (("Precision", found.precision), ("Recall", found.recall), ("F1", found.f1))
    yield from facts(
        [
            ("Accuracy", percent(found.accuracy)),
            *([("Errors", str(found.errors))] if found.errors else []),
            *((name, percent(ratio)) for name, ratio in ratios if ratio is not None),
        ]
    )
    yield (
        f"TP {found.true_positives}  FP {found.false_positives}"
        f"  FN {found.false_negatives}  TN {found.true_negatives}"
    )
    yield from trigger_failures(head.trigger_results)


def trigger_failures(results: Sequence[TriggerResult]) -> Iterator[str]:
    """Yield each prompt on which the skill did not do as it should: what was expected, and what happened."""
    for one in results:
        wanted = "should trigger" if one.should_trigger else "should not trigger"
        prompt = f'"{one_line(one.prompt, _PROMPT)}"'
        if one.error_msg:
            yield f"{status_mark('error')} {prompt} {wanted}: {one_line(one.error_msg, _FEEDBACK)}"
        elif one.should_trigger != one.did_trigger:
            seen = "it triggered" if one.did_trigger else "it did not trigger"
            yield f"{status_mark('failed')} {prompt} {wanted}: {seen}"


def _metrics(head: SuiteResult) -> Iterator[str]:
    for name, metric in sorted(head.metrics.items()):
        mark = status_mark("passed" if metric.passed else "failed")
        yield f"{mark} {one_line(name)}: {decimal(metric.value)} (threshold {decimal(metric.threshold)})"
    yield from (
        f"{status_mark('failed')} {one_line(gate.name)}: {gate.found}"
        for gate in gates(head)
        if gate.found == NO_DATA
    )


def _usage(usage: Usage | None, found: Sequence[TaskRow]) -> Iterator[Part]:
    """Yield what agents used, what judges and responders used besides, and both together."""
    judges = add_usage([row.judging for row in found])
    total = add_usage([usage, judges])
    if total is None:
        return
    host = f" ({total.provider_host})" if total.provider_host else ""
    requests = "Provider requests" if total.provider else "Premium requests"
    yield from facts(
        [
            *([("Provider", total.provider + host)] if total.provider else []),
            *([(requests, f"{total.premium_requests:.0f}")] if total.premium_requests else []),
            *([("AI credits", _credits(total.ai_credits))] if total.ai_credits is not None else []),
            ("Turns", grouped(total.turns)),
            ("Input tokens", grouped(total.input_tokens)),
            ("Output tokens", grouped(total.output_tokens)),
            ("Cached tokens read", grouped(total.cache_read_tokens)),
            ("Cached tokens written", grouped(total.cache_write_tokens)),
            ("Total tokens", grouped(total.input_tokens + total.output_tokens)),
            *(
                [("Judges' part", f"{grouped(judges.input_tokens + judges.output_tokens)} tokens")]
                if judges
                else []
            ),
        ]
    )
    if len(total.model_metrics) > 1:
        lines = [
            (
                name,
                grouped(model.input_tokens),
                grouped(model.output_tokens),
                f"{model.request_count:.0f}",
                _credits(model.ai_credits),
            )
            for name, model in sorted(total.model_metrics.items())
        ]
        yield ""
        yield Table(("Model", "In", "Out", "Requests", "AI Credits"), lines)


def _credits(credits_used: float | None) -> str:
    return "n/a" if credits_used is None else f"{credits_used:.9f}"


def _snapshots(found: Sequence[TaskRow]) -> Iterator[str]:
    lines = [f"{one_line(row.title)}: {update}" for row in found for update in row.snapshots]
    yield from lines or ["none: no diff grader with a snapshot ran"]


def _suggestions(head: SuiteResult) -> Iterator[str]:
    text = head.metadata.get("suggestion_report")
    if isinstance(text, str) and text:
        yield text
