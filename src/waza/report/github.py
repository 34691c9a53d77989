"""Results as a comment for a GitHub pull request (`--format github-comment`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.share import decimal, percent
from waza.report.interpret import interpretation
from waza.report.markdown import (
    code,
    impact_lines,
    matrix_lines,
    overview_lines,
    requirement_lines,
    text,
    verdict_lines,
    warning_lines,
)
from waza.report.rows import BadTrial, TaskRow
from waza.report.view import InvocationView, RunView
from waza.report.words import BULLET, duration, status_mark
from waza.results.invocation import InvocationResults

LONGEST = 60_000  # characters; GitHub refuses comments above 65,536


def make_comment(invocation: InvocationResults, *, interpret: bool = False) -> str:
    """Return the comment as Markdown, at most `LONGEST` characters of it. Goes through the tasks once.

    Of several suites or models it says first what all of them come to. Where the details of tasks would make it
    too long, it says how many are left out. `interpret` adds what the figures mean.
    """
    view = InvocationView(invocation)
    top = ["## Waza Evaluation Results", ""]
    if view.single:
        (run,) = view.runs()
        return "\n".join([*top, *_part(run, LONGEST, interpret=interpret), ""])
    suites = _cut(["", *overview_lines(view)], LONGEST // 4, "suites")
    lines = [*top, *verdict_lines(view.verdict), *suites]
    budget = (LONGEST - _size(lines)) // max(1, len(invocation.outcomes))
    for run in view.runs():
        heading = ["", f"## {text(run.name)}", ""]
        part = [*heading, *_part(run, budget - _size(heading), interpret=interpret)]
        if _size(lines) + _size(part) > LONGEST:
            lines += ["", "The details of further suites are not shown here."]
            break
        lines += part
    return "\n".join([*lines, ""])


def _part(view: RunView, budget: int, *, interpret: bool) -> list[str]:
    """Return the lines on one run; they fit into the budget, if that has space for their summary."""
    names = (
        ("Benchmark", view.head.eval_name),
        ("Skill", view.head.skill or "-"),
        ("Model", view.model),
        ("Engine", view.head.config.engine_type),
    )
    footer = ["", "---", "", f" {BULLET} ".join(f"{name}: {text(value)}" for name, value in names)]
    meaning = []
    if interpret:
        meanings = [f"- {text(line, 500)}" for line in interpretation(view)]
        meaning = list(_cut(["", "### Interpretation", "", *meanings], budget // 4, "lines"))
    warned = list(_cut(list(warning_lines(view, "###")), budget // 8, "warnings"))
    top = [
        *_summary(view),
        *warned,
        *_cut(_table(view), budget // 3, "tasks"),
        *_flaky(view),
        *meaning,
    ]
    blocks = ["\n".join(_details(row)) for row in view.failed]
    left = budget - _size([*top, *footer]) - budget // 4 - 100
    if blocks:
        top += ["", "### Failed Task Details", *_cut(blocks, left, "failed tasks")]
    required = list(requirement_lines(view, "###"))
    top += _cut(required, budget // 8, "lines on requirements")
    top += _cut(list(matrix_lines(view, "###")), budget // 8, "lines on trigger tests")
    triggers = [f"- {text(line, 500)}" for line in view.trigger_failures]
    if triggers:
        top += _cut(["", "### Failed Trigger Tests", "", *triggers], budget // 8, "prompts")
    if changed := impact_lines(view):
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


def _summary(view: RunView) -> Iterator[str]:
    summary, verdict = view.head.summary, view.verdict
    score, took = decimal(summary.aggregate_score), duration(summary.duration_ms)
    yield f"**{verdict.mark} {verdict.word.capitalize()}, score {score}, {took}**"
    yield ""
    yield from (f"- {text(reason, 500)}" for reason in verdict.reasons)
    yield f"- Tests: {summary.total_tests} total, {view.counts}"
    yield from (f"- {name}: {value}" for name, value in view.rates)
    for gate in view.gates:
        if gate.passed:
            yield f"- Gate {text(gate.name)} passed: {gate.found}"
    yield (
        f"- Score range: {decimal(summary.min_score)} to {decimal(summary.max_score)}"
        f" (\u03c3 = {summary.std_dev:.4f}){f', {view.score_note}' if view.score_note else ''}"
    )


def _table(view: RunView) -> list[str]:
    head = ["", "### Task Results", "", "| Task | Score | Status | Graders |", "|---|---:|---|---|"]
    return head + [
        f"| {text(row.title)} | {decimal(row.score)} | {status_mark(row.ending)} {row.ending}"
        f" | {text(', '.join(row.graders), 500) or '-'} |"
        for row in view.tasks
    ]


def _flaky(view: RunView) -> Iterator[str]:
    flaky = [row for row in view.tasks if row.flaky and row.stats]
    if not flaky:
        return
    yield from ("", "### Flaky Tasks", "")
    for row in flaky[:100]:
        rate = percent(row.stats.pass_rate if row.stats else 0.0, 0)
        first = f", {row.first_try_rate}" if row.retried else ""
        yield f"- {text(row.title)}: trial pass rate {rate}{first}"
    if len(flaky) > 100:
        yield f"- and {len(flaky) - 100} more"


def _details(row: TaskRow) -> Iterator[str]:
    yield ""
    yield f"#### {text(row.title)}"
    if row.never_passed:
        yield ""
        yield f"Never passed: 0 of {row.trials} trials."
    if row.error:
        yield ""
        yield f"- {status_mark('error')} it did not run: {code(row.error)}"
    for trial in row.bad_trials:
        yield from _trial(trial, row.planned)


def _trial(trial: BadTrial, of: int) -> Iterator[str]:
    yield ""
    yield f"Trial {trial.number}/{of} ({trial.status})"
    yield ""
    if trial.error:
        yield f"- {status_mark('error')} {code(trial.error)}"
    for check in trial.checks:
        mark = status_mark("passed" if check.passed else "failed")
        yield f"- {mark} **{text(check.label)}** ({decimal(check.score)}) {code(check.feedback)}".rstrip()
