"""A comparison of results as sections (`waza compare`): what can be said, then the figures behind it."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit.share import decimal, percent
from waza.report.section import Draw, Part, Table, wrapped
from waza.report.words import COUNTS_BROKEN, DOWN, LEAVES_OUT_BROKEN, UP, duration, one_line
from waza.results.compare import SideBySide, TaskDelta, ToolMetrics
from waza.results.comparison.comparison import Comparison, MetricComparison
from waza.results.comparison.sentence import NAMES, amount, bounds, shown_p

_NOT_KNOWN = "not known"
AGGREGATE_NOTE = f"Over all tasks and trials, {COUNTS_BROKEN}; in the comparison: {LEAVES_OUT_BROKEN}"


def print_comparison(found: SideBySide, draw: Draw) -> None:
    """Draw the files, what can be said of them, their figures, tool use if there is any, and each task's change."""
    numbers = [f"[{i}]" for i in range(1, len(found.files) + 1)]
    files = [
        f"{number} {file} ({model or 'default model'})"
        for number, file, model in zip(numbers, found.files, found.models, strict=True)
    ]
    draw("FILES", files)
    draw("COMPARISON", [part for one in found.all_comparisons for part in _comparison(one)])
    draw("SUITES", list(_suites(found)))
    refused = [wrapped(f"No deltas: {one_line(found.not_measured)}")] if found.not_measured else []
    draw("AGGREGATE", [_aggregate(found, numbers), *refused, wrapped(AGGREGATE_NOTE)])
    if any(metrics.total_calls for metrics in found.tool_metrics):
        draw("TOOL USE", [_tools(found.tool_metrics, numbers)])
    draw("PER-TASK DELTAS", _tasks(found.task_deltas, numbers))


def _comparison(found: Comparison) -> Iterator[Part]:
    yield wrapped(f"{one_line(found.b)} against {one_line(found.a)}: {found.sentence}")
    yield _metrics([found, *found.metrics.values()])
    parts = (
        ("tasks", found.variance.task),
        ("trials", found.variance.trial),
        ("judges", found.variance.judge),
    )
    known = ", ".join(f"{name} {_NOT_KNOWN if value is None else f'{value:.2g}'}" for name, value in parts)
    yield f"Variance of the score by {known}"


def _metrics(found: list[MetricComparison]) -> Table:
    lines = [
        (
            NAMES[one.metric],
            "n/a" if one.mean_difference is None else amount(one.mean_difference, one.metric),
            bounds(one) or "n/a",
            "n/a" if one.p_value is None else shown_p(one.p_value).removeprefix("p = ").removeprefix("p "),
            f"{one.wins}/{one.losses}/{one.ties}",
        )
        for one in found
    ]
    return Table(("", "Difference", "Interval", "p", "+/-/="), lines)


def _suites(found: SideBySide) -> Iterator[str]:
    for suite in found.suites or ():
        for one in suite.comparisons:
            names = f" ({one_line(one.b)} against {one_line(one.a)})" if len(suite.comparisons) > 1 else ""
            yield wrapped(f"{one_line(suite.suite)}{names}: {one.sentence}")


def _aggregate(found: SideBySide, numbers: list[str]) -> Table:
    lines = [
        (
            "Score",
            *(decimal(score, 4) for score in found.aggregate_scores),
            _signed(found.aggregate_score_delta, 4),
        ),
        (
            "Task success rate",
            *(percent(rate) for rate in found.success_rates),
            "n/a" if found.success_rate_delta is None else _signed(found.success_rate_delta * 100, 1) + " pp",
        ),
        ("Tests", *(str(total) for total in found.total_tests), ""),
        (
            "Duration",
            *(duration(time) for time in found.durations_ms),
            _longer(found.duration_delta_ms),
        ),
        ("Normalized gain", *("" for _ in numbers), _signed(found.normalized_gain, 4)),
    ]
    return Table(("", *numbers, "Delta"), lines)


def _tools(metrics: list[ToolMetrics], numbers: list[str]) -> Table:
    lines = [
        ("Calls", *(str(m.total_calls) for m in metrics)),
        ("Tasks with tools", *(str(m.tasks_with_tools) for m in metrics)),
        ("Calls per task", *(_optional(m.avg_calls_per_task, ".2f") for m in metrics)),
        ("Successful calls", *(_rate(m.success_rate) for m in metrics)),
        ("Tool graders passed", *(_rate(m.selection_accuracy) for m in metrics)),
        (
            "Tasks by 0/1/2/3+ calls",
            *("/".join(str(count) for count in m.call_count_histogram.values()) for m in metrics),
        ),
    ]
    return Table(("", *numbers), lines)


def _tasks(deltas: list[TaskDelta], numbers: list[str]) -> list[Table]:
    lines = [
        (
            one_line(task.display_name),
            *(
                status if score is None else f"{decimal(score)} {status}"
                for score, status in zip(task.scores, task.statuses, strict=True)
            ),
            _arrow(task.score_delta),
        )
        for task in deltas
    ]
    return [Table(("Task", *numbers, "Delta"), lines)] if lines else []


def _rate(value: float | None) -> str:
    return "n/a" if value is None else percent(value)


def _optional(value: float | None, form: str) -> str:
    return "n/a" if value is None else format(value, form)


def _longer(delta_ms: int | None) -> str:
    return "n/a" if delta_ms is None else f"{'+' if delta_ms > 0 else ''}{duration(delta_ms)}"


def _signed(value: float | None, digits: int) -> str:
    return "n/a" if value is None else f"{value:+.{digits}f}"


def _arrow(delta: float | None) -> str:
    if delta is None:
        return "n/a"
    sign = UP if delta > 1e-9 else DOWN if delta < -1e-9 else ""
    return f"{sign} {_signed(delta, 2)}".strip()
