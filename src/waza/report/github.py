"""Results as a comment for a GitHub pull request (`--format github-comment`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.model.result import SuiteResult
from waza.report.console import rates
from waza.report.markdown import code, text
from waza.report.rows import Row, Run, rows
from waza.report.words import BULLET, counted, duration, percent, status_mark
from waza.results.outcome import Outcome

LONGEST = 60_000  # characters; GitHub refuses comments above 65,536


def comment(outcome: Outcome) -> str:
    """Return the comment as Markdown, at most `LONGEST` characters of it. Goes through the tasks once.

    Where the details of failed tasks would make it too long, it says how many are left out.
    """
    head, found = outcome.head, rows(outcome.tasks())
    footer = [
        "",
        "---",
        "",
        f" {BULLET} ".join(
            f"{name}: {text(value)}"
            for name, value in (
                ("Benchmark", head.eval_name),
                ("Skill", head.skill or "-"),
                ("Model", head.config.model_id or "(default)"),
            )
        ),
    ]
    top = [*_summary(head), *_cut(_table(found), LONGEST // 2, "tasks"), *_flaky(found)]
    blocks = ["\n".join(_details(row)) for row in found if row.failed]
    room = LONGEST - sum(len(line) + 1 for line in (*top, *footer)) - 100
    if blocks:
        top += ["", "### Failed Task Details", *_cut(blocks, room, "failed tasks")]
    return "\n".join([*top, *footer, ""])


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
    summary = head.summary
    passed = not summary.failed and not summary.errors
    verdict = f"{'✅' if passed else '❌'} {'Passed' if passed else 'Failed'}"
    yield "## Waza Evaluation Results"
    yield ""
    yield f"**{verdict}, score {summary.aggregate_score:.2f}, {duration(summary.duration_ms)}**"
    yield ""
    yield (
        f"- Tests: {summary.total_tests} total, {summary.succeeded} passed, {summary.failed} failed,"
        f" {counted(summary.errors, 'error')}" + (f", {summary.skipped} skipped" if summary.skipped else "")
    )
    yield from (f"- {name}: {value}" for name, value in rates(head))
    yield (
        f"- Score range: {summary.min_score:.2f} to {summary.max_score:.2f} (\u03c3 = {summary.std_dev:.4f})"
    )


def _table(found: Sequence[Row]) -> list[str]:
    head = ["", "### Task Results", "", "| Task | Score | Status | Graders |", "|---|---:|---|---|"]
    return head + [
        f"| {text(row.name)} | {row.score:.2f} | {status_mark(row.status)} {row.status}"
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
        yield f"- {text(row.name)}: pass rate {rate}{first}"
    if len(flaky) > 100:
        yield f"- and {len(flaky) - 100} more"


def _details(row: Row) -> Iterator[str]:
    yield ""
    yield f"#### {text(row.name)}"
    if row.never_passed:
        yield ""
        yield f"Never passed: 0 of {row.runs} runs."
    for run in row.bad_runs:
        yield from _run(run, row.runs)


def _run(run: Run, of: int) -> Iterator[str]:
    yield ""
    yield f"Run {run.number}/{of} ({run.status})"
    yield ""
    if run.error:
        yield f"- {status_mark('error')} {code(run.error)}"
    for check in sorted(run.checks, key=lambda check: (check.grader, check.after_turn)):
        mark = status_mark("passed" if check.passed else "failed")
        yield f"- {mark} **{text(check.label)}** ({check.score:.2f}) {code(check.feedback)}".rstrip()
