"""Results as a Markdown document (`--reporter markdown:FILE`), and how model text is made harmless in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from waza.kit.share import decimal, percent
from waza.kit.text import shorten_middle
from waza.kit.unsafe_text import escape_unsafe
from waza.report.reporter import Reporter
from waza.report.requirements import NOTE, count_requirements, requirement_table
from waza.report.rows import BadTrial
from waza.report.section import Draw, Part, Table
from waza.report.view import InvocationView, RunView
from waza.report.words import Write, duration, one_line, status_mark
from waza.results.invocation import InvocationResults
from waza.results.verdict import RunVerdict

_LONGEST_LINE = 2_000  # characters
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


def make_markdown_draw(out: Write) -> Draw:
    """Return what draws sections as chapters of a Markdown document: lines as list items, and tables."""

    def draw(title: str, parts: Sequence[Part]) -> None:
        if parts:
            out(f"\n## {text(title.capitalize())}")
        listing = False
        for part in parts:
            if isinstance(part, Table):
                out("\n".join(["", *table_lines(part), ""]))
            elif part:
                out(f"- {text(part, _LONGEST_LINE)}" if listing else f"\n- {text(part, _LONGEST_LINE)}")
            listing = not isinstance(part, Table)

    return draw


def table_lines(table: Table, *, texts: bool = False) -> Iterator[str]:
    """Yield a table; its first column is left-aligned, others right, unless they are `texts` as well."""
    yield f"| {' | '.join(map(text, table.titles))} |"
    yield f"|---|{('---|' if texts else '---:|') * (len(table.titles) - 1)}"
    yield from (f"| {' | '.join(map(text, line))} |" for line in table.lines)


def document(invocation: InvocationResults) -> str:
    """Return the results as Markdown: of several suites or models, first what all of them come to."""
    view = InvocationView(invocation)
    lines = list[str]()
    if not view.single:
        lines += ["# Waza results", "", *verdict_lines(view.verdict), "", *overview_lines(view)]
    for run in view.runs():
        lines += _part(run, run.head.eval_name, "#") if view.single else ["", *_part(run, run.name, "##")]
    return "\n".join([*lines, ""])


def verdict_lines(verdict: RunVerdict) -> Iterator[str]:
    """Yield the verdict, and each reason against passing as a list item."""
    yield f"**{verdict.mark} {verdict.word.capitalize()}**"
    if verdict.reasons:
        yield ""
        yield from (f"- {text(reason, 500)}" for reason in verdict.reasons)


def warning_lines(view: RunView, heading: str) -> Iterator[str]:
    """Yield the warnings of a suite as a chapter; nothing without warnings."""
    if view.warnings:
        yield from ("", f"{heading} Warnings", "")
        yield from (f"- {text(warning, 500)}" for warning in view.warnings)


def requirement_lines(view: RunView, heading: str) -> Iterator[str]:
    """Yield the requirements as a chapter; nothing without any."""
    if found := count_requirements(view.requirements):
        yield from ("", f"{heading} Requirements", "", f"{found}.", "")
        yield from table_lines(requirement_table(view.requirements), texts=True)
        yield from ("", NOTE)


def matrix_lines(view: RunView, heading: str) -> Iterator[str]:
    """Yield which skill was invoked where which was expected as a chapter; nothing without neighbours."""
    if matrix := view.trigger_matrix:
        yield from ("", f"{heading} Skills invoked", "", *table_lines(matrix))


def impact_lines(view: RunView) -> list[str]:
    """Return what the skills changed as list items; nothing without a baseline."""
    lines = view.impact.lines if view.impact else []
    return [f"- {text(line, 500)}" for line in lines if line]


def overview_lines(view: InvocationView) -> Iterator[str]:
    """Yield a table of all suites and models, and of what was to run and did not."""
    yield "| Suite | Verdict | Tasks passed | Score |"
    yield "|---|---|---:|---:|"
    for line in view.lines:
        yield f"| {text(line.name)} | {line.shown} | {line.passed or '-'} | {line.score or '-'} |"


def _part(view: RunView, name: str, heading: str) -> Iterator[str]:
    yield f"{heading} {text(name)}"
    yield ""
    yield from verdict_lines(view.verdict)
    yield ""
    yield from _summary(view)
    yield from warning_lines(view, f"{heading}#")
    yield ""
    yield from _tasks(view, heading)
    yield from _failures(view, heading)
    yield from requirement_lines(view, f"{heading}#")
    if changed := impact_lines(view):
        yield from ("", f"{heading}# Skill impact", "", *changed)
    yield from matrix_lines(view, f"{heading}#")
    if view.trigger_failures:
        yield from ("", f"{heading}# Failed trigger tests", "")
        yield from (f"- {text(line, 500)}" for line in view.trigger_failures)


def _summary(view: RunView) -> Iterator[str]:
    head, summary = view.head, view.head.summary
    yield "| | |"
    yield "|---|---|"
    for name, value in (
        ("Skill", head.skill or "-"),
        ("Model", view.model),
        ("Engine", head.config.engine_type),
        ("Started", head.timestamp),
        ("Duration", duration(summary.duration_ms)),
        ("Tasks", f"{summary.total_tests}: {view.counts}"),
        *view.rates,
        *(
            (f"Gate {gate.name}", f"{'passed' if gate.passed else 'failed'}: {gate.found}")
            for gate in view.gates
        ),
        ("Aggregate score", view.aggregate),
        ("Weighted score", decimal(summary.weighted_score)),
    ):
        yield f"| {text(name)} | {text(value)} |"


def _tasks(view: RunView, heading: str) -> Iterator[str]:
    yield f"{heading}# Tasks"
    yield ""
    yield "| Task | Status | Score | Trials passed | Duration |"
    yield "|---|---|---:|---:|---:|"
    for row in view.tasks:
        stats = row.stats
        flaky = " flaky" if row.flaky else ""
        first = f" ({row.first_try_rate})" if row.retried else ""
        trials = f"{row.passed_trials} of {row.planned}{row.trials_note}{first}"
        figures = (
            f"{decimal(stats.avg_score)} | {trials} | {duration(stats.avg_duration_ms)}"
            if stats
            else "- | - | -"
        )
        yield f"| {text(row.title)} | {status_mark(row.ending)} {row.ending}{flaky} | {figures} |"


def _failures(view: RunView, heading: str) -> Iterator[str]:
    if not view.failed:
        return
    yield ""
    yield f"{heading}# Failures"
    for row in view.failed:
        yield ""
        yield f"{heading}## {text(row.title)} ({row.status})"
        yield ""
        if row.never_passed:
            yield f"It never passed: 0 of {row.trials} trials."
            yield ""
        if row.impact:
            yield f"Without the skills it passed in {percent(row.impact.pass_rate_baseline)} of its trials."
            yield ""
        if row.error:
            yield f"- it did not run: {code(row.error)}"
        for trial in row.bad_trials:
            yield from _trial(trial, row.planned)


def _trial(trial: BadTrial, of: int) -> Iterator[str]:
    yield f"- Trial {trial.number}/{of} ({trial.status})"
    if trial.error:
        yield f"  - error: {code(trial.error)}"
    for check in trial.misses:
        yield f"  - **{text(check.label)}** ({decimal(check.score)}) {code(check.feedback)}".rstrip()
        yield from (f"    - {name}: {code(value)}" for name, value in check.details)
    if trial.output:
        yield f"  - output: {code(trial.output)}"
