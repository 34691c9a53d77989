"""The report on one suite on one model: its tasks, what was measured besides, what failed, the totals, skill impact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from waza.kit.share import decimal, percent
from waza.kit.text import shorten_middle
from waza.report.interpret import interpretation
from waza.report.requirements import requirement_parts
from waza.report.rows import TaskRow
from waza.report.section import Draw, Part, Table, facts, wrapped
from waza.report.show_hint import show_command
from waza.report.table import WIDTH
from waza.report.view import RunView, interval
from waza.report.words import BULLET, duration, indented, one_line, status_mark
from waza.results.ending import CUT_OFF, NO_DATA

_FEEDBACK = 500  # characters of a feedback that are shown unless verbose


def print_report(
    view: RunView,
    draw: Draw,
    *,
    verbose: bool = False,
    interpret: bool = False,
    snapshots: bool = False,
    saved: str = "",
) -> None:
    """Draw the results of one suite on one model, section by section: what failed and the totals come last.

    `verbose` shows feedback uncut and the figures of each task, `interpret` adds the plain-language section,
    `snapshots` the section on the expected files that diff graders rewrote. What the skills changed comes after all.
    `saved` is the id of a run that is kept; each failed task then names the command that shows why.
    """
    sections: list[tuple[str, Iterable[Part]]] = [
        ("PER-TASK BREAKDOWN", _breakdown(view, verbose=verbose)),
        ("RESULTS BY GROUP", view.groups),
        ("TRIGGER ACCURACY", _trigger(view)),
        ("METRICS", _metrics(view)),
        ("REQUIREMENTS", requirement_parts(view.requirements, WIDTH, whole=verbose)),
        ("USAGE SUMMARY", _usage(view)),
        ("SNAPSHOT UPDATES", _snapshots(view) if snapshots else ()),
        ("INTERPRETATION", interpretation(view) if interpret else ()),
        (f"SUGGESTIONS ({view.head.config.model_id or 'default model'})", _suggestions(view)),
        ("WARNINGS", [f"{status_mark('error')} {one_line(warning)}" for warning in view.warnings]),
        ("FAILED TASKS", _failed(view, 10**9 if verbose else _FEEDBACK, saved)),
        ("BENCHMARK RESULTS", _benchmark(view)),
        ("SKILL IMPACT", list(map(wrapped, view.impact.lines)) if view.impact else ()),
    ]
    for title, parts in sections:
        draw(title, list(parts))


def _benchmark(view: RunView) -> Iterator[str]:
    head, verdict = view.head, view.verdict
    summary = head.summary
    left_out = ((ending.capitalize(), view.count(ending)) for ending in ("skipped", CUT_OFF))
    pairs = [
        ("Benchmark", one_line(head.eval_name)),
        *([("Skill", one_line(head.skill))] if head.skill else []),
        ("Model", view.model),
        ("Engine", one_line(head.config.engine_type)),
        ("Total tests", str(summary.total_tests)),
        ("Succeeded", str(summary.succeeded)),
        ("Failed", str(summary.failed)),
        ("Errors", str(summary.errors)),
        *((name, str(count)) for name, count in left_out if count),
        *view.rates,
        *view.scores,
        *view.statistics,
        ("Duration", duration(summary.duration_ms)),
    ]
    yield from facts(pairs)
    yield f"{status_mark(verdict.status)} {verdict.word.upper()}"
    yield from (f"  {BULLET} {one_line(reason)}" for reason in verdict.reasons)


def _breakdown(view: RunView, *, verbose: bool) -> Iterator[Part]:
    """Yield a line a task, and with `verbose` the figures of each that had several trials."""
    if view.tasks:
        yield task_table(view.tasks)
    if not verbose:
        return
    for row in view.tasks:
        stats = row.stats
        if stats and row.trials > 1:
            yield (
                f"{BULLET} {one_line(row.title)}: trial pass rate {percent(stats.pass_rate)}{_interval_of(row)},"
                f" score {decimal(stats.min_score)} to {decimal(stats.max_score)},"
                f" standard deviation {stats.std_dev_score:.4f}"
            )


def task_table(found: Sequence[TaskRow]) -> Table:
    """Return the table of tasks: a line each, with its status, score, trials that passed, and duration."""
    return Table(("Task", "Status", "Score", "Trials", "Duration"), [_task(row) for row in found])


def _task(row: TaskRow) -> tuple[str, ...]:
    name = f"{status_mark(row.ending)} {one_line(row.title)}"
    status = ", ".join([row.ending, *row.tags])
    if not row.stats:
        return name, status, "-", "-", "-"
    trials = f"{row.passed_trials}/{row.planned}{row.trials_note}"
    return name, status, decimal(row.score), trials, duration(row.stats.avg_duration_ms)


def _interval_of(row: TaskRow) -> str:
    found = row.stats.pass_rate_ci if row.stats else None
    method = f", {found.method}" if found and found.method else ""
    return f" (CI95 {interval(found)}{method})" if found else ""


def _failed(view: RunView, limit: int, saved: str) -> Iterator[str]:
    for row in view.failed:
        never = f": none of its {row.trials} trials passed" if row.never_passed else ""
        yield f"{status_mark(row.status)} {one_line(row.title)} [{row.status}]{never}"
        yield from _reasons(row, limit)
        if row.impact:
            yield f"    without the skills: passed in {percent(row.impact.pass_rate_baseline)} of its trials"
        if saved and row.bad_trials:
            trial = row.bad_trials[0].number if row.trials > 1 else 0
            yield f"    show: {show_command(saved, row.id, trial)}"


def _reasons(row: TaskRow, limit: int) -> Iterator[str]:
    """Yield each error, what followed from it, and each failing grader once, with the trial that showed it first."""
    if not row.bad_trials:
        why = f": {indented(shorten_middle(row.error, limit), '      ')}" if row.error else ""
        yield f"  {BULLET} it did not run{why}"
    seen: set[str] = set()
    for trial in row.bad_trials:
        note = f" [trial {trial.number} of {row.planned}]" if row.planned > 1 else ""
        if trial.error:
            if trial.error not in seen:
                yield f"  {BULLET} error: {indented(shorten_middle(trial.error, limit), '      ')}{note}"
                if trial.misses:
                    yield f"      after that failed: {', '.join(check.label for check in trial.misses)}"
            seen.add(trial.error)
            continue
        for check in trial.misses:
            if check.label not in seen:
                seen.add(check.label)
                feedback = indented(shorten_middle(check.feedback, limit), "      ")
                yield f"  {BULLET} {check.label} {decimal(check.score)}: {feedback}{note}"
                yield from (f"      {name}: {value}" for name, value in check.details)
    shown = next((trial for trial in row.bad_trials if trial.output), None)
    if shown:
        final = "final " if any(check.after_turn for check in shown.misses) else ""
        yield f"    {final}output: {shown.output}"


def _trigger(view: RunView) -> Iterator[Part]:
    if view.trigger_figures:
        yield from facts(view.trigger_figures)
        yield view.trigger_counts
        if matrix := view.trigger_matrix:
            yield matrix
        yield from view.trigger_failures


def _metrics(view: RunView) -> Iterator[str]:
    for name, metric in sorted(view.head.metrics.items()):
        mark = status_mark("passed" if metric.passed else "failed")
        yield f"{mark} {one_line(name)}: {decimal(metric.value)} (threshold {decimal(metric.threshold)})"
    yield from (
        f"{status_mark('failed')} {one_line(gate.name)}: {gate.found}"
        for gate in view.gates
        if gate.found == NO_DATA
    )


def _usage(view: RunView) -> Iterator[Part]:
    """Yield what agents used, what judges and responders used besides, and both together."""
    yield from facts(view.usage_figures)
    if models := view.usage_by_model:
        yield from ("", models)


def _snapshots(view: RunView) -> Iterator[str]:
    lines = [f"{one_line(row.title)}: {update}" for row in view.tasks for update in row.snapshots]
    yield from lines or ["none: no diff grader with a snapshot ran"]


def _suggestions(view: RunView) -> Iterator[str]:
    text = view.head.metadata.get("suggestion_report")
    if isinstance(text, str) and text:
        yield text
