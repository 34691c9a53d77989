"""Results as a comment for a GitHub pull request (`--format github-comment`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.share import decimal, percent
from waza.model.result import SuiteResult
from waza.report.console import rates, trigger_failures
from waza.report.interpret import interpretation
from waza.report.markdown import code, impact_lines, overview_lines, text, verdict_lines, warning_lines
from waza.report.rows import RunRow, TaskRow, counts, rows
from waza.report.words import BULLET, duration, status_mark
from waza.results.invocation import InvocationResults
from waza.results.outcome import Outcome
from waza.results.verdict import gates, verdict_of

LONGEST = 60_000  # characters; GitHub refuses comments above 65,536


def make_comment(invocation: InvocationResults, *, interpret: bool = False) -> str:
    """Return the comment as Markdown, at most `LONGEST` characters of it. Goes through the tasks once.

    Of several suites or models it says first what all of them come to. Where the details of tasks would make it
    too long, it says how many are left out. `interpret` adds what the figures mean.
    """
    outcomes = invocation.outcomes
    top = ["## Waza Evaluation Results", ""]
    if invocation.single:
        return "\n".join([*top, *_part(outcomes[0], LONGEST, interpret=interpret), ""])
    suites = _cut(["", *overview_lines(invocation)], LONGEST // 4, "suites")
    lines = [*top, *verdict_lines(invocation.verdict), *suites]
    budget = (LONGEST - _size(lines)) // max(1, len(outcomes))
    for name, outcome in invocation.named:
        heading = ["", f"## {text(name)}", ""]
        part = [*heading, *_part(outcome, budget - _size(heading), interpret=interpret)]
        if _size(lines) + _size(part) > LONGEST:
            lines += ["", "The details of further suites are not shown here."]
            break
        lines += part
    return "\n".join([*lines, ""])


def _part(outcome: Outcome, budget: int, *, interpret: bool) -> list[str]:
    """Return the lines on one outcome; they fit into the budget, if that has space for their summary."""
    head, found = outcome.head, rows(outcome.tasks())
    names = (
        ("Benchmark", head.eval_name),
        ("Skill", head.skill or "-"),
        ("Model", head.config.model_id or "(default)"),
    )
    footer = ["", "---", "", f" {BULLET} ".join(f"{name}: {text(value)}" for name, value in names)]
    meaning = []
    if interpret:
        meanings = [f"- {text(line, 500)}" for line in interpretation(head, found)]
        meaning = list(_cut(["", "### Interpretation", "", *meanings], budget // 4, "lines"))
    warned = list(_cut(list(warning_lines(head, "###")), budget // 8, "warnings"))
    top = [
        *_summary(head, found),
        *warned,
        *_cut(_table(found), budget // 3, "tasks"),
        *_flaky(found),
        *meaning,
    ]
    blocks = ["\n".join(_details(row)) for row in found if row.failed]
    left = budget - _size([*top, *footer]) - budget // 4 - 100
    if blocks:
        top += ["", "### Failed Task Details", *_cut(blocks, left, "failed tasks")]
    triggers = [f"- {text(line, 500)}" for line in trigger_failures(head.trigger_results)]
    if triggers:
        top += _cut(["", "### Failed Trigger Tests", "", *triggers], budget // 8, "prompts")
    if changed := impact_lines(head, found, outcome):
        top += _cut(["", "### Skill Impact", "", *changed], budget // 8, "lines")
    return [*top, *footer]


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _cut(blocks: Sequence[str], budget: int, noun: str) -> Iterator[str]:
    """Yield blocks as long as they fit into the budget, then how many did not."""
    for number, block in enumerate(blocks):
        budget -= len(block) + 1
        if budget < 0:
            yield ""
            yield f"{len(blocks) - number} more {noun} are not shown here."
            return
        yield block


def _summary(head: SuiteResult, found: Sequence[TaskRow]) -> Iterator[str]:
    summary, verdict = head.summary, verdict_of(head)
    mark, _, word = verdict.shown.partition(" ")
    yield f"**{mark} {word.capitalize()}, score {decimal(summary.aggregate_score)}, {duration(summary.duration_ms)}**"
    yield ""
    yield from (f"- {text(reason, 500)}" for reason in verdict.reasons)
    yield f"- Tests: {summary.total_tests} total, {counts(found)}"
    yield from (f"- {name}: {value}" for name, value in rates(head, found))
    for gate in gates(head):
        if gate.passed:
            yield f"- Gate {text(gate.name)} passed: {gate.found}"
    yield (
        f"- Score range: {decimal(summary.min_score)} to {decimal(summary.max_score)}"
        f" (\u03c3 = {summary.std_dev:.4f})"
    )


def _table(found: Sequence[TaskRow]) -> list[str]:
    head = ["", "### Task Results", "", "| Task | Score | Status | Graders |", "|---|---:|---|---|"]
    return head + [
        f"| {text(row.title)} | {decimal(row.score)} | {status_mark(row.ending)} {row.ending}"
        f" | {text(', '.join(row.graders), 500) or '-'} |"
        for row in found
    ]


def _flaky(found: Sequence[TaskRow]) -> Iterator[str]:
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


def _details(row: TaskRow) -> Iterator[str]:
    yield ""
    yield f"#### {text(row.title)}"
    if row.never_passed:
        yield ""
        yield f"Never passed: 0 of {row.runs} trials."
    if row.error:
        yield ""
        yield f"- {status_mark('error')} it did not run: {code(row.error)}"
    for run in row.bad_runs:
        yield from _run(run, row.planned)


def _run(run: RunRow, of: int) -> Iterator[str]:
    yield ""
    yield f"Trial {run.number}/{of} ({run.status})"
    yield ""
    if run.error:
        yield f"- {status_mark('error')} {code(run.error)}"
    for check in sorted(run.checks, key=lambda check: (check.grader, check.after_turn)):
        mark = status_mark("passed" if check.passed else "failed")
        yield f"- {mark} **{text(check.label)}** ({decimal(check.score)}) {code(check.feedback)}".rstrip()
