"""Results as a Markdown document (`--reporter markdown:FILE`), and how model text is made harmless in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from waza.kit.foreign import harmless
from waza.model.result import SuiteResult
from waza.report.console import rates
from waza.report.rows import Row, Run, rows
from waza.report.words import counted, duration, one_line, percent, status_mark
from waza.results.outcome import Outcome

_PUNCTUATION = re.compile(r"[\\`*_\[\]|~#!$]")
_CALLS = re.compile("[@#]")  # GitHub makes links and notifications of @name and #12, escaped or not
_WORD_JOINER = "\u2060"
_TICKS = re.compile("`+")


def text(value: str, limit: int = 200) -> str:
    """Return any text as Markdown that shows just that text, in one line, also in a table's cell.

    HTML, links, code and tables cannot come of it, and `@name` does not call anybody.
    """
    plain = escape(one_line(harmless(value), limit), quote=False)
    return _CALLS.sub(rf"\g<0>{_WORD_JOINER}", _PUNCTUATION.sub(r"\\\g<0>", plain))


def code(value: str, limit: int = 500) -> str:
    """Return any text as a code span of one line. Not for cells of tables: a `|` would end them."""
    plain = one_line(harmless(value), limit)
    if not plain:
        return ""
    ticks = "`" * (max((len(run) for run in _TICKS.findall(plain)), default=0) + 1)
    pad = " " if plain[0] in "` " or plain[-1] in "` " else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def document(outcome: Outcome) -> str:
    """Return the results of one suite on one model as Markdown. Goes through the tasks once."""
    found = rows(outcome.tasks())
    lines = [*_summary(outcome.head), "", *_tasks(found), *_failures(found), ""]
    return "\n".join(lines)


def _summary(head: SuiteResult) -> Iterator[str]:
    summary = head.summary
    yield f"# {text(head.eval_name)}"
    yield ""
    yield "| | |"
    yield "|---|---|"
    counts = (
        f"{summary.total_tests}: {summary.succeeded} passed, {summary.failed} failed,"
        f" {counted(summary.errors, 'error')}, {summary.skipped} skipped"
    )
    for name, value in (
        ("Skill", head.skill or "-"),
        ("Model", head.config.model_id or "(default)"),
        ("Engine", head.config.engine_type),
        ("Started", head.timestamp),
        ("Duration", duration(summary.duration_ms)),
        ("Tasks", counts),
        *rates(head),
        ("Aggregate score", f"{summary.aggregate_score:.2f}"),
        ("Weighted score", f"{summary.weighted_score:.2f}"),
    ):
        yield f"| {name} | {text(value)} |"


def _tasks(found: list[Row]) -> Iterator[str]:
    yield "## Tasks"
    yield ""
    yield "| Task | Status | Score | Pass rate | Duration |"
    yield "|---|---|---:|---:|---:|"
    for row in found:
        stats = row.stats
        flaky = " flaky" if row.flaky else ""
        first = f" (pass@1 {percent(row.first_tries / row.runs)})" if row.retried else ""
        figures = (
            f"{stats.avg_score:.2f} | {percent(stats.pass_rate)}{first} | {duration(stats.avg_duration_ms)}"
            if stats
            else "- | - | -"
        )
        yield f"| {text(row.name)} | {status_mark(row.status)} {row.status}{flaky} | {figures} |"


def _failures(found: list[Row]) -> Iterator[str]:
    failed = [row for row in found if row.failed]
    if not failed:
        return
    yield ""
    yield "## Failures"
    for row in failed:
        yield ""
        yield f"### {text(row.name)} ({row.status})"
        yield ""
        if row.never_passed:
            yield f"It never passed: 0 of {row.runs} runs."
            yield ""
        if row.impact:
            yield f"Without the skills it passed in {percent(row.impact.pass_rate_baseline)} of its runs."
            yield ""
        for run in row.bad_runs:
            yield from _run(run, row.runs)


def _run(run: Run, of: int) -> Iterator[str]:
    yield f"- Run {run.number}/{of} ({run.status})"
    if run.error:
        yield f"  - error: {code(run.error)}"
    for check in run.misses:
        yield f"  - **{text(check.label)}** ({check.score:.2f}) {code(check.feedback)}".rstrip()
        yield from (f"    - {name}: {code(value)}" for name, value in check.told)
    if run.output:
        yield f"  - output: {code(run.output)}"
