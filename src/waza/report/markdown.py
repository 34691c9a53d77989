"""Results as a Markdown document (`--reporter markdown:FILE`), and how model text is made harmless in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from waza.kit.share import decimal, percent
from waza.kit.text import shorten_middle
from waza.kit.unsafe_text import escape_unsafe
from waza.model.result import SuiteResult
from waza.report.console import rates, trigger_failures
from waza.report.impact import describe_impact
from waza.report.reporter import Reporter
from waza.report.rows import RunRow, TaskRow, counts, rows
from waza.report.words import NO_SUITE, SKIPPED, duration, one_line, status_mark
from waza.results.invocation import InvocationResults
from waza.results.outcome import Outcome
from waza.results.verdict import RunVerdict, gates, verdict_of

_PUNCTUATION = re.compile(r"[\\`*_\[\]|~#!$]")
_CALLS = re.compile("[@#]")  # GitHub makes links and notifications of @name and #12, escaped or not
_WORD_JOINER = "\u2060"
_TICKS = re.compile("`+")


class MarkdownReporter(Reporter):
    """`--reporter markdown:FILE`."""

    extension = ".md"
    needs_file = True

    def report(self, results: InvocationResults) -> str:
        """Return the Markdown document."""
        return document(results)


def text(value: str, limit: int = 200) -> str:
    """Return any text as Markdown that shows just that text, in one line, also in a table's cell.

    HTML, links, code and tables cannot come of it, and `@name` does not call anybody.
    """
    plain = escape(one_line(escape_unsafe(value), limit), quote=False)
    return _CALLS.sub(rf"\g<0>{_WORD_JOINER}", _PUNCTUATION.sub(r"\\\g<0>", plain))


def code(value: str, limit: int = 500) -> str:
    """Return any text as a code span of one line. Not for cells of tables: a `|` would end them."""
    plain = shorten_middle(one_line(escape_unsafe(value)), limit)
    if not plain:
        return ""
    ticks = "`" * (max((len(run) for run in _TICKS.findall(plain)), default=0) + 1)
    pad = " " if plain[0] in "` " or plain[-1] in "` " else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def document(invocation: InvocationResults) -> str:
    """Return the results as Markdown: of several suites or models, first what all of them come to."""
    if invocation.single:
        (outcome,) = invocation.outcomes
        lines = list(_part(outcome, outcome.head.eval_name, "#"))
    else:
        lines = ["# Waza results", "", *verdict_lines(invocation.verdict), "", *overview_lines(invocation)]
        for name, outcome in invocation.named:
            lines += ["", *_part(outcome, name, "##")]
    return "\n".join([*lines, ""])


def verdict_lines(verdict: RunVerdict) -> Iterator[str]:
    """Yield the verdict, and each reason against passing as a list item."""
    mark, _, word = verdict.shown.partition(" ")
    yield f"**{mark} {word.capitalize()}**"
    if verdict.reasons:
        yield ""
        yield from (f"- {text(reason, 500)}" for reason in verdict.reasons)


def warning_lines(head: SuiteResult, heading: str) -> Iterator[str]:
    """Yield the warnings of a suite as a chapter; nothing without warnings."""
    warnings = head.metadata.get("warnings", ())
    if warnings:
        yield from ("", f"{heading} Warnings", "")
        yield from (f"- {text(warning, 500)}" for warning in warnings)


def impact_lines(head: SuiteResult, found: Sequence[TaskRow], outcome: Outcome) -> list[str]:
    """Return what the skills changed as list items; nothing without a baseline."""
    lines = describe_impact(head, found, rows(outcome.baseline_tasks()))
    return [f"- {text(line, 500)}" for line in lines if line]


def overview_lines(invocation: InvocationResults) -> Iterator[str]:
    """Yield a table of all suites and models, and of what was to run and did not."""
    yield "| Suite | Verdict | Tasks passed | Score |"
    yield "|---|---|---:|---:|"
    for name, outcome in invocation.named:
        summary = outcome.head.summary
        passed = f"{summary.succeeded} of {summary.total_tests}"
        yield f"| {text(name)} | {outcome.verdict.shown} | {passed} | {decimal(summary.aggregate_score)} |"
    for one in invocation.not_started:
        yield f"| {text(one.name)} | ❌ not started | - | - |"
    for name in invocation.without_suite:
        yield f"| {text(name)} | {SKIPPED} {NO_SUITE} | - | - |"


def _part(outcome: Outcome, name: str, heading: str) -> Iterator[str]:
    head, found = outcome.head, rows(outcome.tasks())
    yield f"{heading} {text(name)}"
    yield ""
    yield from verdict_lines(verdict_of(head))
    yield ""
    yield from _summary(head, found)
    yield from warning_lines(head, f"{heading}#")
    yield ""
    yield from _tasks(found, heading)
    yield from _failures(found, heading)
    if changed := impact_lines(head, found, outcome):
        yield from ("", f"{heading}# Skill impact", "", *changed)
    triggers = list(trigger_failures(head.trigger_results))
    if triggers:
        yield from ("", f"{heading}# Failed trigger tests", "")
        yield from (f"- {text(line, 500)}" for line in triggers)


def _summary(head: SuiteResult, found: Sequence[TaskRow]) -> Iterator[str]:
    summary = head.summary
    yield "| | |"
    yield "|---|---|"
    for name, value in (
        ("Skill", head.skill or "-"),
        ("Model", head.config.model_id or "(default)"),
        ("Engine", head.config.engine_type),
        ("Started", head.timestamp),
        ("Duration", duration(summary.duration_ms)),
        ("Tasks", f"{summary.total_tests}: {counts(found)}"),
        *rates(head, found),
        *(
            (f"Gate {gate.name}", f"{'passed' if gate.passed else 'failed'}: {gate.found}")
            for gate in gates(head)
        ),
        ("Aggregate score", decimal(summary.aggregate_score)),
        ("Weighted score", decimal(summary.weighted_score)),
    ):
        yield f"| {text(name)} | {text(value)} |"


def _tasks(found: Sequence[TaskRow], heading: str) -> Iterator[str]:
    yield f"{heading}# Tasks"
    yield ""
    yield "| Task | Status | Score | Trials passed | Duration |"
    yield "|---|---|---:|---:|---:|"
    for row in found:
        stats = row.stats
        flaky = " flaky" if row.flaky else ""
        first = f" (pass@1 {percent(row.first_tries / row.runs)})" if row.retried else ""
        trials = f"{row.passed_runs} of {row.planned}{first}"
        figures = (
            f"{decimal(stats.avg_score)} | {trials} | {duration(stats.avg_duration_ms)}"
            if stats
            else "- | - | -"
        )
        yield f"| {text(row.title)} | {status_mark(row.ending)} {row.ending}{flaky} | {figures} |"


def _failures(found: Sequence[TaskRow], heading: str) -> Iterator[str]:
    failed = [row for row in found if row.failed]
    if not failed:
        return
    yield ""
    yield f"{heading}# Failures"
    for row in failed:
        yield ""
        yield f"{heading}## {text(row.title)} ({row.status})"
        yield ""
        if row.never_passed:
            yield f"It never passed: 0 of {row.runs} trials."
            yield ""
        if row.impact:
            yield f"Without the skills it passed in {percent(row.impact.pass_rate_baseline)} of its trials."
            yield ""
        if row.error:
            yield f"- it did not run: {code(row.error)}"
        for run in row.bad_runs:
            yield from _run(run, row.planned)


def _run(run: RunRow, of: int) -> Iterator[str]:
    yield f"- Trial {run.number}/{of} ({run.status})"
    if run.error:
        yield f"  - error: {code(run.error)}"
    for check in run.misses:
        yield f"  - **{text(check.label)}** ({decimal(check.score)}) {code(check.feedback)}".rstrip()
        yield from (f"    - {name}: {code(value)}" for name, value in check.details)
    if run.output:
        yield f"  - output: {code(run.output)}"
