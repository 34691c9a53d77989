"""Results as a comment for a GitHub pull request (`--format github-comment`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.share import decimal, percent
from waza.kit.text import counted
from waza.model.result import SuiteResult
from waza.report.console import rates, trigger_failures
from waza.report.interpret import interpretation
from waza.report.markdown import code, text, verdict_lines, warning_lines
from waza.report.rows import Row, Run, rows
from waza.report.words import BULLET, duration, status_mark
from waza.results.invocation import Invocation, name_of
from waza.results.outcome import Outcome
from waza.results.verdict import gates, verdict_of

LONGEST = 60_000  # characters; GitHub refuses comments above 65,536


def comment(invocation: Invocation, *, interpret: bool = False) -> str:
    """Return the comment as Markdown, at most `LONGEST` characters of it. Goes through the tasks once.

    Of several suites or models it says first what all of them come to. Where the details of tasks would make it
    too long, it says how many are left out. `interpret` adds what the figures mean.
    """
    outcomes = invocation.outcomes
    top = ["## Waza Evaluation Results", ""]
    if len(outcomes) == 1 and not invocation.not_started:
        return "\n".join([*top, *_part(outcomes[0], LONGEST, interpret=interpret), ""])
    lines = [*top, *verdict_lines(invocation.verdict), *_cut(_suites(invocation), LONGEST // 4, "suites")]
    room = (LONGEST - _size(lines)) // max(1, len(outcomes))
    for outcome in outcomes:
        heading = ["", f"## {text(name_of(outcome.head))}", ""]
        part = [*heading, *_part(outcome, room - _size(heading), interpret=interpret)]
        if _size(lines) + _size(part) > LONGEST:
            lines += ["", "The details of further suites are not shown here."]
            break
        lines += part
    return "\n".join([*lines, ""])


def _suites(invocation: Invocation) -> list[str]:
    lines = ["", "| Suite | Verdict | Tasks passed | Score |", "|---|---|---:|---:|"]
    for outcome in invocation.outcomes:
        summary = outcome.head.summary
        word = outcome.verdict.shown
        passed = f"{summary.succeeded} of {summary.total_tests}"
        lines.append(
            f"| {text(name_of(outcome.head))} | {word} | {passed} | {decimal(summary.aggregate_score)} |"
        )
    return lines + [f"| {text(one.name)} | ❌ not started | - | - |" for one in invocation.not_started]


def _part(outcome: Outcome, room: int, *, interpret: bool) -> list[str]:
    """Return the lines on one outcome; they fit into the room, if that has space for their summary."""
    head, found = outcome.head, rows(outcome)
    names = (
        ("Benchmark", head.eval_name),
        ("Skill", head.skill or "-"),
        ("Model", head.config.model_id or "(default)"),
    )
    footer = ["", "---", "", f" {BULLET} ".join(f"{name}: {text(value)}" for name, value in names)]
    meaning = []
    if interpret:
        told = [f"- {text(line, 500)}" for line in interpretation(head, found)]
        meaning = list(_cut(["", "### Interpretation", "", *told], room // 4, "lines"))
    warned = list(_cut(list(warning_lines(head, "###")), room // 8, "warnings"))
    top = [*_summary(head), *warned, *_cut(_table(found), room // 3, "tasks"), *_flaky(found), *meaning]
    blocks = ["\n".join(_details(row)) for row in found if row.failed]
    left = room - _size([*top, *footer]) - room // 8 - 100
    if blocks:
        top += ["", "### Failed Task Details", *_cut(blocks, left, "failed tasks")]
    triggers = [f"- {text(line, 500)}" for line in trigger_failures(head.trigger_results)]
    if triggers:
        top += _cut(["", "### Failed Trigger Tests", "", *triggers], room // 8, "prompts")
    return [*top, *footer]


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _cut(blocks: Sequence[str], room: int, noun: str) -> Iterator[str]:
    """Yield blocks as long as they fit into the room, then how many did not."""
    for number, block in enumerate(blocks):
        room -= len(block) + 1
        if room < 0:
            yield ""
            yield f"{len(blocks) - number} more {noun} are not shown here."
            return
        yield block


def _summary(head: SuiteResult) -> Iterator[str]:
    summary, verdict = head.summary, verdict_of(head)
    mark, _, word = verdict.shown.partition(" ")
    yield f"**{mark} {word.capitalize()}, score {decimal(summary.aggregate_score)}, {duration(summary.duration_ms)}**"
    yield ""
    yield from (f"- {text(reason, 500)}" for reason in verdict.reasons)
    yield (
        f"- Tests: {summary.total_tests} total, {summary.succeeded} passed, {summary.failed} failed,"
        f" {counted(summary.errors, 'error')}" + (f", {summary.skipped} skipped" if summary.skipped else "")
    )
    yield from (f"- {name}: {value}" for name, value in rates(head))
    for gate in gates(head):
        if gate.passed:
            yield f"- Gate {text(gate.name)} passed: {gate.found}"
    yield (
        f"- Score range: {decimal(summary.min_score)} to {decimal(summary.max_score)}"
        f" (\u03c3 = {summary.std_dev:.4f})"
    )


def _table(found: Sequence[Row]) -> list[str]:
    head = ["", "### Task Results", "", "| Task | Score | Status | Graders |", "|---|---:|---|---|"]
    return head + [
        f"| {text(row.title)} | {decimal(row.score)} | {status_mark(row.ending)} {row.ending}"
        f" | {text(', '.join(row.graders), 500) or '-'} |"
        for row in found
    ]


def _flaky(found: Sequence[Row]) -> Iterator[str]:
    flaky = [row for row in found if row.flaky and row.stats]
    if not flaky:
        return
    yield from ("", "### Flaky Tasks", "")
    for row in flaky[:100]:
        rate = percent(row.stats.pass_rate if row.stats else 0.0, 0)
        first = f", pass@1 {percent(row.first_tries / row.runs, 0)}" if row.retried else ""
        yield f"- {text(row.title)}: trial pass rate {rate}{first}"
    if len(flaky) > 100:
        yield f"- and {len(flaky) - 100} more"


def _details(row: Row) -> Iterator[str]:
    yield ""
    yield f"#### {text(row.title)}"
    if row.never_passed:
        yield ""
        yield f"Never passed: 0 of {row.runs} trials."
    if row.error:
        yield ""
        yield f"- {status_mark('error')} it did not run: {code(row.error)}"
    for run in row.bad_runs:
        yield from _run(run, row.runs)


def _run(run: Run, of: int) -> Iterator[str]:
    yield ""
    yield f"Trial {run.number}/{of} ({run.status})"
    yield ""
    if run.error:
        yield f"- {status_mark('error')} {code(run.error)}"
    for check in sorted(run.checks, key=lambda check: (check.grader, check.after_turn)):
        mark = status_mark("passed" if check.passed else "failed")
        yield f"- {mark} **{text(check.label)}** ({decimal(check.score)}) {code(check.feedback)}".rstrip()
